"""The texts of tokens, as the toolkit's settings name them."""

from typing import Any

from agentboard.identity import keys


def access_token(request: Any) -> str:
    """A fresh access token, `abo_…`."""
    return keys.new_secret(keys.ACCESS_TOKEN)


def refresh_token(request: Any) -> str:
    """A fresh refresh token, `abr_…`."""
    return keys.new_secret(keys.REFRESH_TOKEN)
