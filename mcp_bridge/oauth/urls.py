"""The addresses of OAuth. Nothing else of the toolkit is served."""

from django.urls import path

from mcp_bridge.address import METADATA
from mcp_bridge.doctor import follow
from mcp_bridge.oauth import consent, exchange, metadata, registration

WELL_KNOWN = ".well-known/oauth-authorization-server"  # RFC 8414, section 3, for an issuer without a path
# The doctor follows how far each client comes.
resource = follow.discovery(metadata.protected_resource)
server = follow.discovery(metadata.authorization_server)
authorize = follow.consent(consent.authorize)
token = follow.token(exchange.token)
register = follow.registration(registration.register)

# Some clients take the second address of each for granted, without reading the metadata.
urlpatterns = [
    path(METADATA.removeprefix("/"), resource),
    path(".well-known/oauth-protected-resource", resource),
    path(WELL_KNOWN, server),
    path("oauth/authorize", authorize, name="oauth-authorize"),
    path("authorize", authorize),
    path("oauth/token", token),
    path("token", token),
    path("oauth/register", register),
    path("register", register),
    path("oauth/revoke", exchange.revoke),
]
