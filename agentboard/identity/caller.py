"""Who is calling: the agent behind a credential, with which scopes, through which door."""

from dataclasses import dataclass
from typing import NoReturn

from django.utils import timezone

from agentboard.contract.errors import Refusal
from agentboard.identity import keys, scopes
from agentboard.identity.last_use import flush_last_used, note_use
from agentboard.identity.models import AgentKey
from agentboard.statements import Parameter, Statement

__all__ = ["Caller", "bearer", "flush_last_used", "from_key", "note_use", "of_key"]

_SEND = "Send `Authorization: Bearer <agent_key>`."
_GET = "Get a key from the person who owns the agent (`manage.py agent key HANDLE` prints one, once), then send "
_NEW_KEY = _GET + "`Authorization: Bearer <agent_key>`."

_KEY_WITH_AGENT = Statement(
    lambda: (
        AgentKey.objects.order_by()
        .filter(digest=Parameter("digest", AgentKey._meta.get_field("digest")))
        .values_list(
            "id",
            "scopes",
            "revoked_at",
            "expires_at",
            "agent_id",
            "agent__handle",
            "agent__active",
            "agent__owner_id",
            "agent__owner__is_active",
        )
    )
)


BROWSER = "browser"  # the `via` of an agent's owner, who acts as the agent


@dataclass(frozen=True, slots=True)
class Caller:
    """An agent in a call.

    `via` is `rest`, `browser` or `mcp (<client>)`. `credential` is the kind, `key`, `token` or `session`, and
    `credential_id` the row of that kind (null for a session); together they tell one credential from all others.
    """

    agent_id: int
    handle: str
    owner_id: int
    scopes: frozenset[str]
    via: str
    credential: str
    credential_id: int | None


def from_key(header: str, via: str) -> Caller:
    """The agent whose key the Authorization header's value holds (`""` where there is no header). Notes the use.

    One indexed query at every call, so whatever was revoked or deactivated is out at the very next one. Raises Refusal
    `unauthenticated` that says what is wrong; whether a key ended is told only to who holds it.
    """
    return of_key(bearer(header), via)


def of_key(key: str, via: str) -> Caller:
    """The same for the key itself."""
    if not keys.well_formed(key):
        _refuse_malformed(key)
    row = _KEY_WITH_AGENT.row(digest=keys.digest(key))
    if row is None:
        _refuse("This server does not know this agent key: it belongs to another server, or its agent was deleted.")
    key_id, granted, revoked_at, expires_at, agent_id, handle, agent_active, owner_id, owner_active = row
    if revoked_at is not None:
        _refuse("This agent key was revoked.")
    if expires_at is not None and expires_at <= timezone.now():
        _refuse("This agent key has expired.")
    if not agent_active:
        _refuse(f"The agent {handle} is deactivated.", "Ask the agent's owner or an operator to activate it again.")
    if not owner_active:
        _refuse(f"The person who owns the agent {handle} is deactivated.", "Ask an operator of this server.")
    note_use(key_id)
    return Caller(agent_id, handle, owner_id, scopes.granted(granted), via, "key", key_id)


def bearer(header: str) -> str:
    """The one credential in the header (RFC 9110, section 11.6.2; RFC 6750, section 2.1); a comma joins two headers."""
    words = header.replace(",", " , ").split()
    if not words:
        _refuse("The call carries no Authorization header.")
    bearers = sum(word.lower() == "bearer" for word in words)
    if bearers > 1 or (bearers and "," in words):
        _refuse("The Authorization header holds more than one credential; exactly one is accepted.", _SEND)
    if words[0].lower() != "bearer":
        _refuse("The Authorization header does not begin with the scheme Bearer.", _SEND)
    if len(words) == 1:
        _refuse("The Authorization header has nothing after Bearer.")
    if len(words) > 2:
        _refuse(
            "The Authorization header holds more than one word after Bearer; a key has no white space in it.", _SEND
        )
    return words[1]


def _refuse_malformed(text: str) -> NoReturn:
    if text.startswith((keys.ACCESS_TOKEN, keys.REFRESH_TOKEN)):
        _refuse(
            "This is an OAuth token; OAuth access tokens are accepted only at /mcp.",
            "Call /mcp with it, or use an agent key here: `Authorization: Bearer <agent_key>`.",
        )
    if text.startswith(keys.KEY):
        _refuse(
            "This agent key is mistyped or cut: its checksum or length does not fit.",
            "Copy the whole key again: ab_ and 49 letters and digits. If it is lost, its owner can make a new one.",
        )
    _refuse("This is not an agent key: one begins with ab_, followed by 49 letters and digits.")


def _refuse(message: str, next_action: str = _NEW_KEY) -> NoReturn:
    raise Refusal("unauthenticated", message, next_action=next_action)
