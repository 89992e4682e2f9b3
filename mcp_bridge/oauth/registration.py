"""Dynamic registration: an application describes itself and gets a client_id (RFC 7591)."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from agentboard import rate
from agentboard.contract.body import json_object
from agentboard.contract.errors import Refusal
from mcp_bridge.oauth import names, redirects
from mcp_bridge.oauth.answers import endpoint, spend, unstored
from mcp_bridge.oauth.models import Application
from mcp_bridge.oauth.parameters import body
from mcp_bridge.oauth.problem import Problem
from mcp_bridge.oauth.validator import GRANT_TYPES

BODY_MAX = 8 * 1024  # bytes
METADATA, REDIRECT = "invalid_client_metadata", "invalid_redirect_uri"  # RFC 7591, section 3.2.2
HOUR = settings.REGISTRATIONS_PER_HOUR
REGISTRATIONS = rate.Buckets("address", HOUR / 60, HOUR, settings.WORKERS)


@endpoint("POST")
def register(request: HttpRequest) -> HttpResponse:
    """A new application; only so many an hour from one address. It cannot be read or changed afterwards."""
    spend(rate.ADDRESSES, request)
    metadata = read(request)
    uris, name = redirect_uris(metadata), client_name(metadata)
    check_grants(metadata)
    spend(REGISTRATIONS, request)
    return unstored(answer(create(uris, name)), 201)


def read(request: HttpRequest) -> dict[str, Any]:
    """The client's metadata. Raises Problem."""
    if request.content_type not in ("application/json", ""):
        raise Problem(METADATA, "Send the client's metadata as application/json.")
    try:
        return json_object(body(request, BODY_MAX, METADATA))
    except Refusal as refusal:
        raise Problem(METADATA, ascii_only(refusal.message)) from None


def redirect_uris(metadata: dict[str, Any]) -> list[str]:
    """Where authorizations may be sent, each once. Raises Problem."""
    uris = metadata.get("redirect_uris")
    if not isinstance(uris, list) or not uris or not all(isinstance(uri, str) for uri in uris):
        raise Problem(REDIRECT, "redirect_uris must be a list of at least one URI.")
    if len(uris) > redirects.URIS_MAX:
        raise Problem(REDIRECT, f"redirect_uris may hold {redirects.URIS_MAX} URIs at most, not {len(uris)}.")
    for number, uri in enumerate(uris):
        if reason := redirects.problem(uri):
            raise Problem(REDIRECT, f"redirect_uris[{number}] {reason}.")
    return list(dict.fromkeys(uris))


def client_name(metadata: dict[str, Any]) -> str:
    """What the client calls itself, made harmless. Raises Problem."""
    name = metadata.get("client_name") or ""
    if not isinstance(name, str):
        raise Problem(METADATA, "client_name must be text.")
    return names.shown(name)


def check_grants(metadata: dict[str, Any]) -> None:
    """Raise Problem where the client wants none of what is served. What it wants beside that it doesn't get."""
    for field, served in (("grant_types", "authorization_code"), ("response_types", "code")):
        wanted = metadata.get(field)
        if wanted is not None and (not isinstance(wanted, list) or served not in wanted):
            raise Problem(METADATA, f"{field} must be a list that holds {served}, or be left out.")


def create(redirect_uris: list[str], name: str) -> Application:
    """The application's row."""
    return Application.objects.create(
        name=name,
        redirect_uris=" ".join(redirect_uris),
        client_type=Application.CLIENT_PUBLIC,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        registration_source=Application.RegistrationSource.DCR,
    )


def answer(application: Application) -> dict[str, Any]:
    """What was registered (RFC 7591, section 3.2.1): a public client, whatever it wished to be."""
    return {
        "client_id": application.client_id,
        "client_id_issued_at": int(application.created.timestamp()),
        "client_name": application.name,
        "redirect_uris": application.redirect_uris.split(),
        "grant_types": list(GRANT_TYPES),
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }


def ascii_only(text: str) -> str:
    """The text as an error_description can hold it (RFC 6749, section 5.2)."""
    return "".join(character for character in text if " " <= character <= "~" and character not in '"\\')
