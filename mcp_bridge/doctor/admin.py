"""The operators' page for attempts to connect: what keeps apps out of this server."""

from django.contrib import admin

from agentboard.identity.admin_base import RecordAdmin
from mcp_bridge.doctor.models import Attempt

FIELDS = (
    "client",
    "program",
    "client_id",
    "person",
    "agent",
    "step",
    "stopped_at",
    "reason",
    "started_at",
    "updated_at",
)


@admin.register(Attempt)
class AttemptAdmin(RecordAdmin):
    """Attempts, the latest first; the address stays out of sight, hashed as it is."""

    list_display = ("client", "program", "person", "agent", "step", "stopped_at", "reason", "updated_at")
    list_filter = ("step", "reason")
    list_select_related = ("person", "agent")
    search_fields = ("client", "program", "client_id", "person__username", "agent__handle")
    date_hierarchy = "updated_at"
    ordering = ("-updated_at", "-id")
    fields = FIELDS
