"""The operators' pages for people, agents and keys. No page shows a key or its digest, and none makes one."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from agentboard.identity.admin_base import OwnerAdmin, RecordAdmin
from agentboard.identity.models import Agent, AgentKey, AgentKeyQuerySet, Person

# Only the stubs' class takes parameters; Django's own cannot be subscripted.
if TYPE_CHECKING:
    AgentInline = admin.TabularInline[AgentKey, Agent]
    StockPersonAdmin = UserAdmin[Person]
else:
    AgentInline = admin.TabularInline
    StockPersonAdmin = UserAdmin

KEY_FIELDS = ("name", "hint", "scopes", "created_at", "expires_at", "revoked_at", "last_used_at")


@admin.register(Person)
class PersonAdmin(OwnerAdmin, StockPersonAdmin):
    """People: Django's own pages for accounts."""


class KeysOfAgent(AgentInline):
    """An agent's keys, to look at."""

    model = AgentKey
    fields = readonly_fields = KEY_FIELDS
    extra = 0
    can_delete = False
    show_change_link = True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: a key is shown once, where it is made."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: keys are revoked in their own list."""
        return False


@admin.register(Agent)
class AgentAdmin(OwnerAdmin):
    """Agents. The handle stays as it was made: others refer to it."""

    list_display = ("handle", "display_name", "owner", "active", "created_at")
    list_filter = ("active",)
    list_select_related = ("owner",)
    search_fields = ("handle", "display_name", "owner__username")
    autocomplete_fields = ("owner",)
    fields = ("handle", "display_name", "purpose", "owner", "active", "created_at")
    inlines = (KeysOfAgent,)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The time of making always, the handle once it is made."""
        return ("created_at",) if obj is None else ("handle", "created_at")


@admin.register(AgentKey)
class AgentKeyAdmin(RecordAdmin):
    """Keys, to look at and to revoke. `manage.py agent key` and the account pages make them, and show them once."""

    list_display = ("agent", *KEY_FIELDS)
    list_display_links = ("name",)
    list_filter = ("revoked_at",)
    list_select_related = ("agent",)
    search_fields = ("agent__handle", "name", "hint")
    fields = ("agent", *KEY_FIELDS)
    actions = ("revoke",)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Who may change keys may revoke them (`permissions` of the action)."""
        return request.user.has_perm("identity.change_agentkey")

    @admin.action(description="Revoke selected keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: AgentKeyQuerySet) -> None:
        """End them from the very next call on, with an entry in each key's history."""
        for key in queryset.filter(revoked_at__isnull=True):
            self.log_change(request, key, "Revoked.")
        count = queryset.revoke()
        self.message_user(request, f"Revoked {count} {'key' if count == 1 else 'keys'}.", messages.SUCCESS)
