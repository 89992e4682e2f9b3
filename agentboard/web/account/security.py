"""What guards the account: the password, an authenticator app, passkeys and recovery codes."""

import ipaddress
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth
from allauth.mfa.webauthn.views import AddWebAuthnView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe


@require_safe
def security(request: HttpRequest) -> HttpResponse:
    """All of it, with what can be added and removed."""
    mine = Authenticator.objects.filter(user=request.user).order_by("created_at")
    found = {kind: [each for each in mine if each.type == kind] for kind in Authenticator.Type.values}
    codes = found[Authenticator.Type.RECOVERY_CODES]
    context = {
        "app": next(iter(found[Authenticator.Type.TOTP]), None),
        "passkeys": [_passkey(each) for each in found[Authenticator.Type.WEBAUTHN]],
        "codes": codes[0] if codes else None,
        "codes_left": len(codes[0].wrap().get_unused_codes()) if codes else 0,
        "by_number": by_number(request),
    }
    return render(request, "account/security.html", context)


class AddPasskey(AddWebAuthnView):  # type: ignore[misc]  # allauth has no types
    """A new passkey: stored on the device, and unlocked there by whoever holds it."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """What the browser is asked to make."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        context["options"] = auth.begin_registration(self.request.user, True)
        context["by_number"] = by_number(self.request)
        return context

    def get_success_url(self) -> str:
        """To the recovery codes, where these were made just now."""
        return reverse("mfa_view_recovery_codes" if self.did_generate_recovery_codes else "mfa_index")


add_passkey = AddPasskey.as_view()


def by_number(request: HttpRequest) -> bool:
    """Whether this page was asked for by an IP address, to which no passkey can belong (WebAuthn, section 5.1.2)."""
    host = request.get_host().rpartition(":")[0] or request.get_host()
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _passkey(authenticator: Authenticator) -> dict[str, Any]:
    return {
        "id": authenticator.pk,
        "name": authenticator.wrap().name,
        "created_at": authenticator.created_at,
        "last_used_at": authenticator.last_used_at,
    }
