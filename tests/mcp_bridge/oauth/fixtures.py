"""Client ID metadata documents as widespread applications publish them, without the network."""

from typing import Any

from oauth2_provider import cimd

from mcp_bridge.oauth.documents import narrowed

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer"
CODE = {"grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"]}

CLAUDE = "https://claude.ai/oauth/mcp-oauth-client-metadata"
CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"
VS_CODE = "https://vscode.dev/oauth/client-metadata.json"
CHATGPT = "https://chatgpt.com/oauth/abc/client.json"
HEADLESS = "https://client.example/meta.json"

DOCUMENTS: dict[str, dict[str, Any]] = {
    CLAUDE: {
        "client_name": "Claude",
        "client_uri": "https://claude.ai",
        "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
        "grant_types": ["authorization_code", "refresh_token", ASSERTION],
        "token_endpoint_auth_method": "none",
    },
    CLAUDE_CODE: {
        "client_name": "Claude Code",
        "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
        "token_endpoint_auth_method": "none",
    },
    VS_CODE: {
        "client_name": "Visual Studio Code",
        "redirect_uris": ["https://vscode.dev/redirect", "http://127.0.0.1:33418/", "http://127.0.0.1/"],
        "grant_types": ["authorization_code", "refresh_token", DEVICE],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    },
    CHATGPT: {
        "client_name": "ChatGPT",
        "redirect_uris": ["https://chatgpt.com/connector/oauth/abc"],
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
        "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
    },
    HEADLESS: {"client_name": "Headless", "redirect_uris": ["http://127.0.0.1/callback"]},
}


class Documents:
    """In place of the fetcher: these documents, narrowed as fetched ones are."""

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        """The document, for an hour. Raises CIMDError for any other."""
        if client_id not in DOCUMENTS:
            raise cimd.CIMDError("there is no such document")
        return narrowed({"client_id": client_id, **CODE, **DOCUMENTS[client_id]}, client_id), 3_600
