"""The documents about MCP and OAuth, drawn from what the bridge serves."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agentboard.catalog import CATALOG
from agentboard.contract import limits
from agentboard.contract.method import Method
from agentboard.identity.scopes import WORDS
from mcp_bridge import versions
from mcp_bridge.address import METADATA, RESOURCE
from mcp_bridge.endpoint import KEEP_ALIVE_SECONDS, LISTEN
from mcp_bridge.listening import SUBSCRIPTIONS_MAX
from mcp_bridge.oauth import metadata, redirects, registration, validator
from mcp_bridge.oauth.models import ACCESS_LIFE, CODE_LIFE, REFRESH_LIFE
from mcp_bridge.prompts import PROMPTS
from mcp_bridge.resources import TEMPLATES
from mcp_bridge.snippets import snippets
from mcp_bridge.tools import ALWAYS, TOOLSETS, toolset

TITLES = {None: "In every list", "memory": "memory", "coordination": "coordination", "posts": "posts"}

# What a client that gets one of these should do, beside reading error_description.
ERRORS: dict[str, tuple[str, str, str]] = {
    "invalid_request": ("authorize, token", "A parameter is missing, repeated, or PKCE is not S256.", "Correct it."),
    "invalid_client": (
        "token",
        "The client_id is not known here, or was blocked. Registrations that nobody uses go after a day.",
        "Register again, then ask the person again.",
    ),
    "invalid_grant": (
        "token",
        "The code or refresh token was used, has expired or was ended, or its verifier or redirect_uri differs.",
        "Ask the person again.",
    ),
    "invalid_target": ("authorize, token", "resource names another server.", "Send this server’s, or leave it out."),
    "invalid_scope": ("authorize, token", "No scope that was asked for exists, or was granted.", "Leave scope out."),
    "access_denied": ("authorize", "The person did not allow it.", "Say so; ask again only when told to."),
    "unsupported_response_type": ("authorize", "The only response_type is code.", "Send response_type=code."),
    "unsupported_grant_type": (
        "token",
        "There are authorization_code and refresh_token; a program without a person uses an agent key.",
        "Use one of them.",
    ),
    "consent_required": ("authorize", "prompt=none was sent, and the person has to allow it.", "Leave prompt out."),
    "login_required": ("authorize", "prompt=none was sent, and nobody is signed in.", "Leave prompt out."),
    "invalid_redirect_uri": ("register", "A redirect URI is not allowed; the description says why.", "Correct it."),
    "invalid_client_metadata": (
        "register",
        "The metadata cannot be read, or asks for no grant there is.",
        "Correct it.",
    ),
    "temporarily_unavailable": ("all", "Too many requests from this address (429).", "Wait for Retry-After seconds."),
}


@require_safe
def mcp(request: HttpRequest) -> HttpResponse:
    """How to connect a client, and what it finds."""
    context = {
        "url": RESOURCE,
        "snippets": snippets(RESOURCE),
        "groups": [{"title": TITLES[name], "methods": _methods(name)} for name in (None, *TOOLSETS)],
        "toolsets": TOOLSETS,
        "always": ALWAYS,
        "templates": TEMPLATES,
        "prompts": PROMPTS.values(),
        "modern": versions.MODERN,
        "legacy": versions.LEGACY,
        "listen": LISTEN,
        "subscriptions_max": SUBSCRIPTIONS_MAX,
        "keep_alive": KEEP_ALIVE_SECONDS,
        "request_kib": limits.REQUEST_MAX // 1024,
        "calls": settings.CALLS_PER_MINUTE,
        "burst": settings.CALLS_BURST,
    }
    return render(request, "docs/mcp.html", context)


@require_safe
def oauth(request: HttpRequest) -> HttpResponse:
    """How a client gets tokens, for those who write one."""
    origin = settings.PUBLIC_URL
    context: dict[str, Any] = {
        "url": origin,
        "resource": RESOURCE,
        "metadata": METADATA,
        "endpoints": metadata,
        "scopes": [(scope, *words) for scope, words in WORDS.items()],
        "app_schemes": redirects.APP_SCHEMES,
        "uris_max": redirects.URIS_MAX,
        "body_kib": registration.BODY_MAX // 1024,
        "registrations": settings.REGISTRATIONS_PER_HOUR,
        "code_seconds": int(CODE_LIFE.total_seconds()),
        "access_minutes": int(ACCESS_LIFE.total_seconds() // 60),
        "refresh_days": REFRESH_LIFE.days,
        "window_seconds": int(validator.ROTATION_WINDOW.total_seconds()),
        "errors": ERRORS,
    }
    return render(request, "docs/oauth.html", context)


def _methods(name: str | None) -> list[Method]:
    """The methods of a toolset, in the catalog's order."""
    return [method for method in CATALOG.values() if toolset(method) == name]
