"""The Django app of OAuth."""

from django.apps import AppConfig


class OAuthConfig(AppConfig):
    """Applications, the connections that people give them, and their tokens."""

    name = "mcp_bridge.oauth"
    label = "oauth"
    verbose_name = "OAuth for MCP clients"
