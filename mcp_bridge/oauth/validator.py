"""What the protocol's engine asks about clients, codes and tokens, answered from the database."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2.rfc6749 import errors

from agentboard.identity import keys
from agentboard.identity.scopes import ALL_SCOPES
from mcp_bridge.oauth.models import REFRESH_LIFE, Application, Connection, Grant, RefreshToken

# A client that lost the answer, or runs several programs on one stored token, sends a token again that was rotated a
# moment ago: within so many seconds that gets a sibling pair, later it counts as theft.
ROTATION_WINDOW = timedelta(seconds=60)
GRANT_TYPES = ("authorization_code", "refresh_token")

_AGAIN = "Ask the person for a new authorization."
ENDED = f"The connection that this belongs to was ended. {_AGAIN}"
USED_CODE = f"This code was used before, so its tokens were ended. {_AGAIN}"
USED_TOKEN = f"This refresh token was replaced a while ago, so all tokens of its connection were ended. {_AGAIN}"


class Validator(OAuth2Validator):
    """The toolkit's validator, with public clients only, hashed codes, and its own way of refreshing.

    The toolkit's way loses concurrent refreshes where tokens are stored hashed: it answers with an empty token.
    """

    def validate_client_id(self, client_id: str, request: Any, *args: Any, **kwargs: Any) -> bool:
        """Whether there is such an application. Documents were fetched before: no request waits for one in here."""
        request.client = Application.objects.filter(client_id=client_id, active=True).first()
        return request.client is not None

    def client_authentication_required(self, request: Any, *args: Any, **kwargs: Any) -> bool:
        """Never: no client has a secret."""
        return False

    def authenticate_client_id(self, client_id: str, request: Any, *args: Any, **kwargs: Any) -> bool:
        """Whether there is such an application."""
        return self.validate_client_id(client_id, request)

    def validate_grant_type(
        self, client_id: str, grant_type: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Two grants for everybody, whatever the application's row says."""
        return grant_type in GRANT_TYPES

    def validate_response_type(
        self, client_id: str, response_type: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """A code for everybody, whatever the application's row says."""
        return response_type == "code"

    def is_pkce_required(self, client_id: str, request: Any) -> bool:
        """Always."""
        return True

    def validate_scopes(
        self, client_id: str, scopes: list[str], client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Whether one of them at least is ours; others, such as offline_access, are ignored (RFC 6749, section 3.3)."""
        request.scopes = _known(scopes)
        return bool(request.scopes)

    def is_within_original_scope(
        self, request_scopes: list[str], refresh_token: str, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Whether all of ours among them were granted."""
        request.scopes = _known(request_scopes)
        return bool(request.scopes) and request.connection.scope_set.issuperset(request.scopes)

    def validate_code(self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        """Raise InvalidGrantError for a code that opens nothing; a used one ends what it opened (RFC 6749, 4.1.2)."""
        digest = keys.digest(code)
        grant = Grant.objects.select_related("connection__agent__owner").filter(code=digest, application=client).first()
        if grant is None:
            used = Connection.objects.get_queryset().filter(code_digest=digest, application=client)
            raise _invalid(request, USED_CODE if used.end() else f"This server does not know this code. {_AGAIN}")
        if grant.expires <= timezone.now():
            raise _invalid(request, f"This code has expired: one lives for a minute. {_AGAIN}")
        _check_people(request, grant.connection)
        request.grant, request.connection, request.user = grant, grant.connection, grant.user
        request.scopes = grant.scope.split()
        request.redirect_uri = request.redirect_uri or grant.redirect_uri  # OAuth 2.1 leaves it out here
        return True

    def get_code_challenge(self, code: str, request: Any) -> str:
        """Of the code that `validate_code` found."""
        return str(request.grant.code_challenge)

    def get_code_challenge_method(self, code: str, request: Any) -> str:
        """Of the code that `validate_code` found."""
        return str(request.grant.code_challenge_method)

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Raise InvalidGrantError for another than that of the authorization request."""
        if redirect_uri != request.grant.redirect_uri:
            raise _invalid(request, "redirect_uri differs from that of the authorization request; send the same one.")
        return True

    def validate_refresh_token(self, refresh_token: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        """Raise InvalidGrantError for a token that gets nothing."""
        related = RefreshToken.objects.select_related("connection__agent__owner")
        found = related.filter(token_checksum=keys.digest(refresh_token), application=client).first()
        if found is None:
            raise _invalid(request, f"This server does not know this refresh token. {_AGAIN}")
        if found.connection.ended_at is not None:
            raise _invalid(request, ENDED)
        if found.created + REFRESH_LIFE <= timezone.now():
            raise _invalid(request, f"This refresh token has expired: one lives for 30 days. {_AGAIN}")
        _check_people(request, found.connection)
        if _too_late(found.revoked):
            found.connection.end()
            raise _invalid(request, USED_TOKEN)
        request.refresh, request.connection, request.user = found, found.connection, found.user
        return True

    def get_original_scopes(self, refresh_token: str, request: Any, *args: Any, **kwargs: Any) -> str:
        """What the person granted."""
        return str(request.connection.scopes)

    def save_bearer_token(self, token: dict[str, Any], request: Any, *args: Any, **kwargs: Any) -> None:
        """Use up what was presented and store the new pair, in one transaction. Raises InvalidGrantError.

        Of two requests with one code the second finds it used, and ends what the first one got.
        """
        by_code = request.grant_type == "authorization_code"
        with transaction.atomic():
            connection = Connection.objects.select_for_update(no_key=True).filter(pk=request.connection.pk).first()
            if connection is None or connection.ended_at is not None:
                raise _invalid(request, ENDED)
            usable = _take_code(request.grant) if by_code else _rotate(request.refresh)
            if usable:
                connection.mint(token["access_token"], token["refresh_token"], token["scope"])
        if not usable:
            connection.end()
            raise _invalid(request, USED_CODE if by_code else USED_TOKEN)

    def invalidate_authorization_code(self, client_id: str, code: str, request: Any, *args: Any, **kwargs: Any) -> None:
        """Done in `save_bearer_token` already."""

    def revoke_token(self, token: str, token_type_hint: str, request: Any, *args: Any, **kwargs: Any) -> None:
        """End the connection of a token that is the client's own; nothing for any other (RFC 7009, section 2.2)."""
        digest = keys.digest(token)
        of_client = Connection.objects.get_queryset().filter(application=request.client)
        for tokens in ("access_tokens", "refresh_tokens"):
            of_client.filter(pk__in=of_client.filter(**{f"{tokens}__token_checksum": digest}).values("pk")).end()


def _known(scopes: list[str]) -> list[str]:
    """Those that are ours, in their one order."""
    return [scope for scope in ALL_SCOPES if scope in scopes]


def _take_code(grant: Grant) -> bool:
    """Use the code up; whether it was still there. In a transaction that holds the connection's lock."""
    return bool(Grant.objects.filter(pk=grant.pk).delete()[0])


def _rotate(token: RefreshToken) -> bool:
    """Replace the token, unless that was done a moment ago; whether it may have a successor.

    In a transaction that holds the connection's lock.
    """
    if RefreshToken.objects.filter(pk=token.pk, revoked__isnull=True).update(revoked=timezone.now()):
        return True
    return not _too_late(RefreshToken.objects.values_list("revoked", flat=True).get(pk=token.pk))


def _too_late(replaced: datetime | None) -> bool:
    return replaced is not None and replaced + ROTATION_WINDOW <= timezone.now()


def _check_people(request: Any, connection: Connection) -> None:
    """Raise InvalidGrantError where the agent or its owner may not act, or the agent has changed hands."""
    agent = connection.agent
    if agent.owner_id != connection.person_id:
        raise _invalid(request, f"The agent {agent.handle} now belongs to another person. {_AGAIN}")
    if not agent.active or not agent.owner.is_active:
        who = f"The agent {agent.handle}" if not agent.active else f"The owner of the agent {agent.handle}"
        raise _invalid(request, f"{who} is deactivated. Ask an operator of this server.")


def _invalid(request: Any, description: str) -> errors.InvalidGrantError:
    return errors.InvalidGrantError(description, request=request)
