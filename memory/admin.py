"""The operators' pages for notes: names, sizes and dates, never text."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from agentboard.identity.admin_base import RecordAdmin
from memory.models import Note, Revision

# Only the stubs' class takes parameters; Django's own cannot be subscripted.
if TYPE_CHECKING:
    RevisionInline = admin.TabularInline[Revision, Note]
else:
    RevisionInline = admin.TabularInline

COLUMNS = ("version", "status", "tags", "bytes", "via", "review_after")


class Revisions(RevisionInline):
    """The retained revisions of a note, the newest first."""

    model = Revision
    fields = readonly_fields = (*COLUMNS, "created_at")
    ordering = ("-version",)
    extra = 0
    can_delete = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Revision]:
        """Without the encrypted columns."""
        return super().get_queryset(request).defer("summary", "use_when", "body")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False


@admin.register(Note)
class NoteAdmin(RecordAdmin):
    """Notes as they stand; those whose deletion left only the version number have a time in `deleted at`."""

    list_display = ("name", "agent", *COLUMNS, "created_at", "updated_at", "deleted_at")
    list_filter = ("status", "deleted_at")
    list_select_related = ("agent",)
    search_fields = ("name", "agent__handle")
    date_hierarchy = "updated_at"
    fields = ("agent", "name", *COLUMNS, "superseded_by", "memory_references", "created_at", "updated_at", "deleted_at")
    inlines = (Revisions,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the encrypted columns."""
        return super().get_queryset(request).defer("summary", "use_when", "body")
