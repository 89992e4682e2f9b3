"""The operators' pages for what happened, to look at: receipts, events, and what operators did themselves."""

from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.models import LogEntry

from agentboard.identity.admin_base import RecordAdmin
from agentboard.identity.newest import NewestPaginator
from agentboard.ledger.models import Receipt


class TrailAdmin(RecordAdmin):
    """Rows by the million, newest first. No page counts or sorts them all, or asks which values there are."""

    paginator = NewestPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    ordering = ("-id",)
    sortable_by = ()
    change_list_template = "admin/newest.html"
    finds: str  # what its search looks for, in words


@admin.register(Receipt)
class ReceiptAdmin(TrailAdmin):
    """Operations that were done under a key."""

    list_display = ("operation_key", "agent", "method", "resource_type", "resource_id", "version", "created_at")
    list_filter = ("created_at",)
    list_select_related = ("agent",)
    search_fields = ("operation_key__exact", "agent__handle__exact", "method__exact", "resource_id__exact")
    finds = "a whole operation key, agent, method or resource id"


class EventAdmin(TrailAdmin):
    """The audit trail. Registered where all methods are known (agentboard/admin.py)."""

    list_display = (
        *("id", "created_at", "agent", "agent__owner", "via", "method"),
        *("resource_type", "resource_id", "version", "stream"),
    )
    list_filter: ClassVar[tuple[Any, ...]] = ("created_at",)
    list_select_related = ("agent__owner",)
    search_fields = (
        *("agent__handle__exact", "agent__owner__username__exact", "resource_id__exact", "method__exact"),
        *("stream__exact", "via__istartswith"),
    )
    finds = "a whole agent, person, resource id, method or stream, and how the name of a door begins"


@admin.register(LogEntry)
class LogEntryAdmin(TrailAdmin):
    """What operators did here: who, when, to which row."""

    list_display = fields = ("action_time", "user", "action_flag", "content_type", "object_id", "object_repr", "what")
    list_filter = ("action_time", "action_flag")
    list_select_related = ("user", "content_type")
    search_fields = ("user__username__exact", "object_id__exact", "object_repr")
    finds = "a whole operator's name or row's id, and a part of a row's name"

    @admin.display(description="what was done")
    def what(self, entry: LogEntry) -> str:
        """The names of the fields that were changed, or the act; never what a field holds."""
        return entry.get_change_message()
