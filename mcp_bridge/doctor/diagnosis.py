"""Why a code, a refresh token or an access token was refused, looked up once it was: the answer itself says less."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils import timezone

from agentboard.identity import keys
from mcp_bridge.doctor.reasons import Reason
from mcp_bridge.oauth.models import REFRESH_LIFE, AccessToken, Application, Connection, Grant, RefreshToken

RELATED = ("connection__agent__owner", "connection__application")


@dataclass(frozen=True)
class Diagnosis:
    """The reason, and the connection it is about, where one was found."""

    reason: Reason
    connection: Connection | None = None


def of_client(client_id: str) -> Reason | None:
    """What keeps an application out; None for one that may take part."""
    application = Application.objects.filter(client_id=client_id).first()
    if application is None:
        return Reason.DOCUMENT_REFUSED if client_id.startswith("https:") else Reason.CLIENT_UNKNOWN
    return None if application.active else Reason.CLIENT_BLOCKED


def of_grant(given: Mapping[str, str]) -> Diagnosis:
    """Of a token request that got invalid_grant."""
    if "refresh_token" in given:
        return _of_refresh_token(given["refresh_token"])
    digest = keys.digest(given.get("code", ""))
    grant = Grant.objects.select_related(*RELATED).filter(code=digest).first()
    if grant is None:
        used = Connection.objects.select_related("agent", "application").filter(code_digest=digest).first()
        return Diagnosis(Reason.CODE_USED if used else Reason.CODE_UNKNOWN, used)
    return Diagnosis(_of_code(grant, given), grant.connection)


def _of_code(grant: Grant, given: Mapping[str, str]) -> Reason:
    if grant.application.client_id != given.get("client_id"):
        return Reason.CODE_UNKNOWN
    if grant.expires <= timezone.now():
        return Reason.CODE_EXPIRED
    if given.get("redirect_uri", grant.redirect_uri) != grant.redirect_uri:
        return Reason.REDIRECT_URI_DIFFERS
    return _of_people(grant.connection) or Reason.PKCE_WRONG


def _of_refresh_token(text: str) -> Diagnosis:
    found = RefreshToken.objects.select_related(*RELATED).filter(token_checksum=keys.digest(text)).first()
    if found is None:
        return Diagnosis(Reason.REFRESH_UNKNOWN)
    connection = found.connection
    if connection.ended_at is not None:
        # Ending a connection takes its last tokens along; one that was replaced before came back too late.
        replayed = found.revoked is not None and found.revoked < connection.ended_at
        return Diagnosis(Reason.REFRESH_REPLAYED if replayed else Reason.CONNECTION_ENDED, connection)
    expired = found.created + REFRESH_LIFE <= timezone.now()
    return Diagnosis(
        Reason.REFRESH_EXPIRED if expired else _of_people(connection) or Reason.REFRESH_UNKNOWN, connection
    )


def of_access_token(text: str) -> Diagnosis | None:
    """Of a token that the endpoint refused; None where it has only run out, since its client then gets the next one."""
    if not keys.well_formed(text, keys.ACCESS_TOKEN):
        return Diagnosis(Reason.TOKEN_MALFORMED)
    found = AccessToken.objects.select_related(*RELATED).filter(token_checksum=keys.digest(text)).first()
    if found is None:
        return Diagnosis(Reason.TOKEN_UNKNOWN)
    connection = found.connection
    if connection.ended_at is not None:
        return Diagnosis(Reason.CONNECTION_ENDED, connection)
    if not connection.application.active:
        return Diagnosis(Reason.CLIENT_BLOCKED, connection)
    reason = _of_people(connection)
    return Diagnosis(reason, connection) if reason else None


def _of_people(connection: Connection) -> Reason | None:
    if connection.agent.owner_id != connection.person_id:
        return Reason.AGENT_MOVED
    if not connection.agent.active:
        return Reason.AGENT_INACTIVE
    return None if connection.agent.owner.is_active else Reason.OWNER_INACTIVE
