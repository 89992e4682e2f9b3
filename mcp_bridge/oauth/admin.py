"""The operators' pages for OAuth: to look at, to block an application and to end connections. None shows a checksum."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from agentboard.identity.admin_base import RecordAdmin
from mcp_bridge.oauth.models import Application, Connection, ConnectionQuerySet


class ApplicationAdmin(RecordAdmin):
    """Applications, to look at and to block."""

    list_display = ("name", "registration_source", "client_id", "active", "created")
    list_filter = ("active", "registration_source")
    search_fields = ("name", "client_id")
    fields = ("name", "client_id", "registration_source", "active", "redirect_uris", "created", "cimd_expires_at")
    readonly_fields = fields
    actions = ("block", "unblock")

    def has_block_permission(self, request: HttpRequest) -> bool:
        """Who may change applications may block them."""
        return request.user.has_perm("oauth.change_application")

    @admin.action(description="Block selected applications", permissions=["block"])
    def block(self, request: HttpRequest, queryset: QuerySet[Application]) -> None:
        """Their tokens are out from the very next call on, and nobody can allow them anything."""
        self._switch(request, queryset, False)

    @admin.action(description="Unblock selected applications", permissions=["block"])
    def unblock(self, request: HttpRequest, queryset: QuerySet[Application]) -> None:
        """Let them take part again."""
        self._switch(request, queryset, True)

    def _switch(self, request: HttpRequest, queryset: QuerySet[Application], active: bool) -> None:
        word = "Unblocked" if active else "Blocked"
        changed = list(queryset.exclude(active=active))
        for application in changed:
            self.log_change(request, application, f"{word}.")
        Application.objects.filter(pk__in=[application.pk for application in changed]).update(active=active)
        self.message_user(request, f"{word} {len(changed)} {_counted('application', changed)}.", messages.SUCCESS)


@admin.register(Connection)
class ConnectionAdmin(RecordAdmin):
    """Connections, to look at and to end."""

    list_display = ("application", "agent", "person", "scopes", "created_at", "last_used_at", "expires_at", "ended_at")
    list_filter = ("ended_at",)
    list_select_related = ("application", "agent", "person")
    search_fields = ("application__name", "application__client_id", "agent__handle", "person__username")
    fields = list_display
    readonly_fields = fields
    actions = ("end",)

    def has_end_permission(self, request: HttpRequest) -> bool:
        """Who may change connections may end them."""
        return request.user.has_perm("oauth.change_connection")

    @admin.action(description="End selected connections", permissions=["end"])
    def end(self, request: HttpRequest, queryset: ConnectionQuerySet) -> None:
        """Their tokens are out from the very next call on, with an entry in each connection's history."""
        ended = list(queryset.filter(ended_at__isnull=True))
        for connection in ended:
            self.log_change(request, connection, "Ended.")
        Connection.objects.get_queryset().filter(pk__in=[connection.pk for connection in ended]).end()
        self.message_user(request, f"Ended {len(ended)} {_counted('connection', ended)}.", messages.SUCCESS)


class GrantAdmin(RecordAdmin):
    """Codes that were not redeemed yet."""

    list_display = ("id", "connection", "scope", "created", "expires")
    list_select_related = ("connection__application", "connection__agent")
    fields = ("connection", "scope", "redirect_uri", "created", "expires")
    readonly_fields = fields


class AccessTokenAdmin(RecordAdmin):
    """Access tokens."""

    list_display = ("id", "connection", "scope", "created", "expires")
    list_select_related = ("connection__application", "connection__agent")
    fields = ("connection", "scope", "resource", "created", "expires")
    readonly_fields = fields


class RefreshTokenAdmin(RecordAdmin):
    """Refresh tokens; `revoked` is when one was used, or ended."""

    list_display = ("id", "connection", "created", "revoked")
    list_select_related = ("connection__application", "connection__agent")
    fields = ("connection", "resource", "created", "revoked")
    readonly_fields = fields


class HiddenAdmin(RecordAdmin):
    """What the toolkit registers and nothing here ever makes."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Nobody sees it in a list."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody opens it."""
        return False


def _counted(noun: str, things: list[Any]) -> str:
    return noun if len(things) == 1 else f"{noun}s"
