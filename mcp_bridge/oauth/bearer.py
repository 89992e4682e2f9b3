"""Who is calling with an OAuth access token: the agent that a person chose for the application."""

from typing import NoReturn

from django.utils import timezone

from agentboard.contract.errors import Refusal
from agentboard.identity import keys, scopes
from agentboard.identity.caller import Caller
from agentboard.identity.last_use import LastUse
from agentboard.statements import Parameter, Statement
from mcp_bridge.address import RESOURCE
from mcp_bridge.oauth.models import AccessToken, Connection

VIA_MAX = 120  # characters

_REFRESH = "Get a new access token with the refresh token at the token endpoint."
_CONNECT = "Connect again: the person chooses an agent, and the application gets new tokens."
_OPERATOR = "Ask an operator of this server."

_TOKEN_WITH_AGENT = Statement(
    lambda: (
        AccessToken.objects.order_by()
        .filter(token_checksum=Parameter("digest", AccessToken._meta.get_field("token_checksum")))
        .values_list(
            "scope",
            "expires",
            "resource",
            "connection_id",
            "connection__ended_at",
            "connection__person_id",
            "connection__application__name",
            "connection__application__active",
            "connection__agent_id",
            "connection__agent__handle",
            "connection__agent__active",
            "connection__agent__owner_id",
            "connection__agent__owner__is_active",
        )
    )
)

_uses = LastUse(Connection)
note_use = _uses.note
flush_last_used = _uses.flush


def from_token(text: str) -> Caller:
    """The agent for which this access token was given. Notes the use.

    One indexed query at every call, so whatever was ended, transferred or deactivated is out at the very next one.
    Raises Refusal `unauthenticated` that says what is wrong, never repeating the token; why a token no longer works is
    told only to who holds it. The credential is the connection, since tokens change by the hour.
    """
    if not keys.well_formed(text, keys.ACCESS_TOKEN):
        _refuse_malformed(text)
    row = _TOKEN_WITH_AGENT.row(digest=keys.digest(text))
    if row is None:
        _refuse("This server does not know this access token: it was given by another server, or long ago.")
    scope, expires, resource, connection_id, ended_at, person_id, name, usable, *agent = row
    agent_id, handle, agent_active, owner_id, owner_active = agent
    if ended_at is not None:
        _refuse("The connection that this access token belongs to was ended.")
    if expires <= timezone.now():
        _refuse("This access token has expired.", _REFRESH)
    if resource != [RESOURCE]:
        _refuse("This access token was given for another resource than this server's /mcp.")
    if not usable:
        _refuse("The application that this access token was given to is blocked on this server.", _OPERATOR)
    if owner_id != person_id:
        _refuse(f"The agent {handle} now belongs to another person than the one who allowed this connection.")
    if not agent_active:
        _refuse(f"The agent {handle} is deactivated.", "Ask the agent's owner or an operator to activate it again.")
    if not owner_active:
        _refuse(f"The person who owns the agent {handle} is deactivated.", _OPERATOR)
    note_use(connection_id)
    via = f"mcp ({name[: VIA_MAX - len('mcp ()')]})"
    return Caller(agent_id, handle, owner_id, scopes.granted(scope), via, "token", connection_id)


def _refuse_malformed(text: str) -> NoReturn:
    if text.startswith(keys.REFRESH_TOKEN):
        _refuse("This is a refresh token; it is good for the token endpoint only.", _REFRESH)
    if text.startswith(keys.ACCESS_TOKEN):
        _refuse("This access token is mistyped or cut: its checksum or length does not fit.")
    _refuse("This is not an access token: one begins with abo_, followed by 49 letters and digits.")


def _refuse(message: str, next_action: str = _CONNECT) -> NoReturn:
    raise Refusal("unauthenticated", message, next_action=next_action)
