"""The addresses of the bridge's pages, and those of OAuth. The endpoint itself is routed in asgi.py."""

from django.urls import include, path

from mcp_bridge import docs, pages

urlpatterns = [
    path("account/connections", pages.connections, name="account-connections"),
    path("account/connections/<int:id>/end", pages.disconnect, name="account-connection-end"),
    path("docs/mcp", docs.mcp, name="docs-mcp"),
    path("docs/oauth", docs.oauth, name="docs-oauth"),
    path("", include("mcp_bridge.oauth.urls")),
]
