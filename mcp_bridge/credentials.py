"""Who may come in: an agent key or an OAuth access token, and what is told to a client that has neither."""

from collections.abc import Iterable
from dataclasses import replace

from agentboard.contract.errors import Refusal
from agentboard.identity import keys
from agentboard.identity.caller import Caller, bearer, of_key
from agentboard.identity.scopes import ALL_SCOPES
from mcp_bridge.address import METADATA
from mcp_bridge.oauth.bearer import from_token

VIA = "mcp"


def caller_of(header: str) -> Caller:
    """The agent that the Authorization header lets in.

    Both kinds are looked up at every call, so what was revoked is out at the next one. Raises Refusal unauthenticated.
    """
    text = bearer(header)
    if text.startswith((keys.ACCESS_TOKEN, keys.REFRESH_TOKEN)):
        return from_token(text)
    return of_key(text, VIA)


def through(caller: Caller, client: str) -> Caller:
    """The caller, its `via` naming the client by its own word; a token's names the app that the person approved."""
    return replace(caller, via=f"{VIA} ({client})") if client and caller.via == VIA else caller


def challenge(origin: str, refusal: Refusal, sent: bool) -> str:
    """WWW-Authenticate of a 401 (RFC 9728, section 5.1): all scopes, since older clients cannot ask for more later."""
    error = {"error": "invalid_token", "error_description": refusal.message} if sent else {}
    return _challenge(origin, ALL_SCOPES, error)


def step_up(origin: str, caller: Caller, needed: str) -> str:
    """WWW-Authenticate of a 403 (RFC 6750, section 3.1): what is granted already and what the call needs beside it."""
    return _challenge(origin, caller.scopes | {needed}, {"error": "insufficient_scope"})


def _challenge(origin: str, scopes: Iterable[str], error: dict[str, str]) -> str:
    wanted = " ".join(scope for scope in ALL_SCOPES if scope in scopes)
    parameters = {**error, "scope": wanted, "resource_metadata": origin + METADATA}
    return "Bearer " + ", ".join(f'{name}="{_quotable(value)}"' for name, value in parameters.items())


def _quotable(text: str) -> str:
    """The text without what a quoted string or RFC 6750's error_description cannot hold."""
    return "".join(character for character in text if " " <= character <= "~" and character not in '"\\')
