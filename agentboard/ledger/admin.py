"""The operators' pages for receipts and events: what happened, to look at."""

from django.contrib import admin

from agentboard.identity.admin_base import RecordAdmin
from agentboard.ledger.models import Event, Receipt


@admin.register(Receipt)
class ReceiptAdmin(RecordAdmin):
    """Operations that were done under a key."""

    list_display = ("operation_key", "agent", "method", "resource_type", "resource_id", "version", "created_at")
    list_filter = ("method",)
    list_select_related = ("agent",)
    search_fields = ("operation_key", "agent__handle", "resource_id")
    date_hierarchy = "created_at"


@admin.register(Event)
class EventAdmin(RecordAdmin):
    """The audit trail."""

    list_display = ("id", "created_at", "stream", "agent", "via", "method", "resource_type", "resource_id", "version")
    list_filter = ("method", "resource_type")
    list_select_related = ("agent",)
    search_fields = ("agent__handle", "resource_id", "via")
    date_hierarchy = "created_at"
    ordering = ("-id",)
