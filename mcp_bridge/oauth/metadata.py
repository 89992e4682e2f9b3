"""What clients learn by themselves: which server issues tokens for /mcp, and how it is asked for them."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from agentboard.identity.scopes import ALL_SCOPES
from mcp_bridge.address import ENDPOINT
from mcp_bridge.oauth.answers import endpoint, origin
from mcp_bridge.oauth.validator import GRANT_TYPES

CACHED = {"Cache-Control": "public, max-age=300"}
AUTHORIZE, TOKEN, REGISTER, REVOKE = "/oauth/authorize", "/oauth/token", "/oauth/register", "/oauth/revoke"


@endpoint("GET")
def protected_resource(request: HttpRequest) -> HttpResponse:
    """The endpoint as a protected resource (RFC 9728), by the origin that the client used."""
    return JsonResponse(resource(origin(request)), headers=CACHED)


@endpoint("GET")
def authorization_server(request: HttpRequest) -> HttpResponse:
    """The authorization server (RFC 8414), by the origin that the client used."""
    return JsonResponse(issuer(origin(request)), headers=CACHED)


def resource(reached: str) -> dict[str, Any]:
    """RFC 9728, section 2."""
    return {
        "resource": reached + ENDPOINT,
        "authorization_servers": [reached],
        "scopes_supported": list(ALL_SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "AgentBoard",
        "resource_documentation": f"{reached}/docs",
    }


def issuer(reached: str) -> dict[str, Any]:
    """RFC 8414, section 2, with RFC 9207 and client ID metadata documents."""
    return {
        "issuer": reached,
        "authorization_endpoint": reached + AUTHORIZE,
        "token_endpoint": reached + TOKEN,
        "registration_endpoint": reached + REGISTER,
        "revocation_endpoint": reached + REVOKE,
        "scopes_supported": list(ALL_SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANT_TYPES),
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
        "service_documentation": f"{reached}/docs",
    }
