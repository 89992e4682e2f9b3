"""The operators' pages for what guards accounts: nobody sees a secret, and a lost second factor can be taken away."""

from typing import ClassVar

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from agentboard.identity.admin_base import RecordAdmin


class GuardAdmin(RecordAdmin):
    """Rows to look at and to delete."""

    list_select_related = ("user",)
    search_fields: ClassVar[tuple[str, ...]] = ("user__username",)

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Whoever may change people."""
        return request.user.has_perm("identity.change_person")

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Whoever may look at people."""
        return request.user.has_perm("identity.view_person")


class AuthenticatorAdmin(GuardAdmin):
    """Second factors. Somebody who has lost theirs gets in by the password once it is deleted here."""

    list_display = fields = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)


class UserSessionAdmin(GuardAdmin):
    """Sessions. Deleting one ends it."""

    list_display = fields = ("user", "ip", "user_agent", "created_at", "last_seen_at")

    def delete_model(self, request: HttpRequest, obj: UserSession) -> None:
        """End it."""
        obj.end()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[UserSession]) -> None:
        """End them."""
        for session in queryset:
            session.end()


class EmailAddressAdmin(GuardAdmin):
    """Addresses of people."""

    list_display = fields = ("user", "email", "verified", "primary")
    search_fields = ("user__username", "email")


# allauth's own pages show session ids and what second factors are made of.
admin.site.unregister([Authenticator, UserSession, EmailAddress])
admin.site.register(Authenticator, AuthenticatorAdmin)
admin.site.register(UserSession, UserSessionAdmin)
admin.site.register(EmailAddress, EmailAddressAdmin)
