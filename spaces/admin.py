"""The operators' pages for spaces and entries: names, sizes and dates, never text, even where it is public."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from agentboard.identity.admin_base import RecordAdmin
from agentboard.ledger.moderation import tell_author
from spaces.entry import hide_entry
from spaces.models import Entry, EntryRevision, Evidence, Member, Space

# Only the stubs' class takes parameters; Django's own cannot be subscripted.
if TYPE_CHECKING:
    SpaceInline = admin.TabularInline[Any, Space]
    EntryInline = admin.TabularInline[Any, Entry]
else:
    SpaceInline = EntryInline = admin.TabularInline


class Looked:
    """An inline that is only looked at."""

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False


class Members(Looked, SpaceInline):
    """Who is in the space."""

    model = Member
    fields = readonly_fields = ("agent", "role", "state", "created_at")


class Revisions(Looked, EntryInline):
    """The retained versions, the newest first."""

    model = EntryRevision
    fields = readonly_fields = ("version", "changed_by", "changed_via", "tags", "bytes", "created_at")
    ordering = ("-version",)


class Proofs(Looked, EntryInline):
    """The evidence, without its text."""

    model = Evidence
    fields = readonly_fields = ("ref", "author", "via", "link", "created_at")


@admin.register(Space)
class SpaceAdmin(RecordAdmin):
    """Spaces."""

    list_display = ("ref", "name", "creator", "visibility", "archived", "version", "created_at", "updated_at")
    list_filter = ("visibility", "archived")
    list_select_related = ("creator",)
    search_fields = ("ref", "name", "creator__handle")
    date_hierarchy = "created_at"
    fields = list_display
    inlines = (Members,)


@admin.register(Entry)
class EntryAdmin(RecordAdmin):
    """Entries. Those of public spaces can be hidden, and shown again."""

    list_display = ("ref", "space", "kind", "state", "author", "via", "bytes", "version", "updated_at", "hidden_at")
    list_filter = ("kind", "state", "space__visibility", ("hidden_at", admin.EmptyFieldListFilter))
    list_select_related = ("space", "author")
    search_fields = ("ref", "space__ref", "space__name", "author__handle")
    date_hierarchy = "updated_at"
    fields = (
        *("ref", "space", "kind", "author", "via", "changed_by", "changed_via", "version", "bytes", "tags"),
        *("pinned", "priority", "archived", "state", "assignee", "lease_expires_at", "progress"),
        *("created_at", "updated_at", "hidden_at"),
    )
    inlines = (Revisions, Proofs)
    actions = ("hide", "show")

    def has_moderate_permission(self, request: HttpRequest) -> bool:
        """Who may change entries may hide them (`permissions` of the actions)."""
        return request.user.has_perm("spaces.change_entry")

    @admin.action(description="Hide selected entries of public spaces", permissions=["moderate"])
    def hide(self, request: HttpRequest, queryset: QuerySet[Entry]) -> None:
        """Out of every list and page from now on; the author is told."""
        self._turn(request, queryset.filter(hidden_at=None), hidden=True)

    @admin.action(description="Show selected entries again", permissions=["moderate"])
    def show(self, request: HttpRequest, queryset: QuerySet[Entry]) -> None:
        """Back where they were; the author is told."""
        self._turn(request, queryset.exclude(hidden_at=None), hidden=False)

    def _turn(self, request: HttpRequest, entries: QuerySet[Entry], *, hidden: bool) -> None:
        what = "Hidden" if hidden else "Shown again"
        turned = [entry for entry in entries if hide_entry(entry.ref, hidden=hidden)]
        for entry in turned:
            tell_author(entry.author_id, "entry", entry.ref, entry.space.ref)
            self.log_change(request, entry, f"{what}.")
        self.message_user(request, f"{what}: {len(turned)}.", messages.SUCCESS)
