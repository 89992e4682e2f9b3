"""Applications, the connections that people give them, and what stands for a connection: codes and tokens.

The toolkit's five models are all swapped for these, since they refer to each other in a circle.
"""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone
from oauth2_provider import models as toolkit

from agentboard.identity import keys, scopes
from agentboard.identity.models import Agent, Person
from mcp_bridge.address import RESOURCE
from mcp_bridge.oauth import redirects

CODE_LIFE = timedelta(seconds=settings.OAUTH2_PROVIDER["AUTHORIZATION_CODE_EXPIRE_SECONDS"])
ACCESS_LIFE = timedelta(seconds=settings.OAUTH2_PROVIDER["ACCESS_TOKEN_EXPIRE_SECONDS"])
REFRESH_LIFE = timedelta(seconds=settings.OAUTH2_PROVIDER["REFRESH_TOKEN_EXPIRE_SECONDS"])


class Application(toolkit.AbstractApplication):
    """A client: it registered itself, or its client_id is the URL of a document about it. It never has a secret."""

    client_secret = models.CharField(max_length=1, blank=True, default="", editable=False)
    hash_client_secret = None  # type: ignore[assignment]  # the toolkit would run PBKDF2 over a random secret for each public client
    skip_authorization = None  # type: ignore[assignment]  # nothing skips the consent page
    active = models.BooleanField(default=True, help_text="What is not active gets no tokens, and its tokens are out.")

    objects: ClassVar[models.Manager["Application"]] = models.Manager()

    class Meta:
        ordering = ("-id",)

    @property
    def verified_host(self) -> str | None:
        """The host whose document describes the application; None where it described itself."""
        published = self.registration_source == self.RegistrationSource.CIMD
        return redirects.host(self.client_id) if published else None

    def is_usable(self, request: object) -> bool:
        """Whether it may take part at all."""
        return self.active

    def redirect_uri_allowed(self, uri: str) -> bool:
        """Whether it is one of the registered ones, the port of a loopback address aside (RFC 8252, section 7.3)."""
        return redirects.problem(uri) is None and super().redirect_uri_allowed(uri)


class ConnectionQuerySet(models.QuerySet["Connection"]):
    """Connections, several at once."""

    def live(self) -> "ConnectionQuerySet":
        """Those that were not ended and have not run out."""
        return self.filter(ended_at__isnull=True, expires_at__gt=timezone.now())

    def end(self) -> int:
        """End them from the very next call on, with all their tokens; answers how many were not ended before."""
        now = timezone.now()
        with transaction.atomic():
            # Whoever writes tokens takes the connection's row first, so nobody waits for anybody in a circle.
            rows = self.select_for_update().order_by("pk").values_list("pk", flat=True)
            chosen = Connection.objects.filter(pk__in=list(rows))
            count = chosen.filter(ended_at__isnull=True).update(ended_at=now)
            RefreshToken.objects.filter(connection__in=chosen, revoked__isnull=True).update(revoked=now)
            Grant.objects.filter(connection__in=chosen).delete()
        return count


class ConnectionManager(models.Manager["Connection"]):
    """Connections come into being here."""

    def get_queryset(self) -> ConnectionQuerySet:
        """Connections that can be ended together."""
        return ConnectionQuerySet(self.model, using=self._db)

    def live(self) -> ConnectionQuerySet:
        """Those that were not ended and have not run out."""
        return self.get_queryset().live()

    def allow(
        self,
        agent: Agent,
        application: Application,
        granted: Iterable[str],
        *,
        code: str,
        redirect_uri: str,
        code_challenge: str,
    ) -> "Connection":
        """The connection that the agent's owner has just allowed, with the authorization code that opens it once."""
        now, digest = timezone.now(), keys.digest(code)
        with transaction.atomic():
            connection = self.create(
                agent=agent,
                person=agent.owner,
                application=application,
                scopes=scopes.stored(granted),
                code_digest=digest,
                created_at=now,
                expires_at=now + CODE_LIFE,
            )
            Grant.objects.create(
                connection=connection,
                user=agent.owner,
                application=application,
                code=digest,
                expires=now + CODE_LIFE,
                redirect_uri=redirect_uri,
                scope=connection.scopes,
                code_challenge=code_challenge,
                code_challenge_method=Grant.CODE_CHALLENGE_S256,
                resource=[RESOURCE],
            )
        return connection


def thirty_days_from_now() -> datetime:
    """When a connection runs out whose tokens were given now."""
    return timezone.now() + REFRESH_LIFE


class Connection(models.Model):
    """One authorization: a person lets an application act as one of their agents, within scopes, until it ends.

    `family` is shared by all its refresh tokens. It runs out 30 days after the last of them was given, and before its
    code was used, with the code.
    """

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="connections")
    person = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="connections")
    application = models.ForeignKey(Application, on_delete=models.CASCADE, related_name="connections")
    scopes = models.CharField(max_length=200, help_text="Separated by spaces.")
    family = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    code_digest = models.CharField(max_length=64, unique=True, null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(default=thirty_days_from_now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    ended_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects: ClassVar[ConnectionManager] = ConnectionManager()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.application.name} as {self.agent.handle}"

    @property
    def scope_set(self) -> frozenset[str]:
        """What the person granted."""
        return scopes.granted(self.scopes)

    def end(self) -> bool:
        """End it from the very next call on; whether it had not been ended before."""
        return bool(Connection.objects.get_queryset().filter(pk=self.pk).end())

    def mint(self, access_token: str, refresh_token: str, granted: str) -> None:
        """Store a pair of tokens, by checksum. In a transaction that holds this row's lock."""
        now = timezone.now()
        shared = {"connection": self, "user": self.person, "application": self.application, "resource": [RESOURCE]}
        access = AccessToken.objects.create(
            **shared,
            token_checksum=keys.digest(access_token),
            scope=granted,
            expires=now + ACCESS_LIFE,
        )
        RefreshToken.objects.create(
            **shared,
            token_checksum=keys.digest(refresh_token),
            token_family=self.family,
            access_token=access,
        )
        Connection.objects.filter(pk=self.pk).update(expires_at=now + REFRESH_LIFE)


class Grant(toolkit.AbstractGrant):
    """An authorization code that was not redeemed yet; `code` holds its SHA-256."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="grants")

    objects: ClassVar[models.Manager["Grant"]] = models.Manager()


class IDToken(toolkit.AbstractIDToken):
    """Never made: the toolkit wants a table to point to, and there is no OpenID Connect here."""


class AccessToken(toolkit.AbstractAccessToken):
    """What lets a client in at /mcp for an hour; only its SHA-256 is stored."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="access_tokens")

    objects: ClassVar[models.Manager["AccessToken"]] = models.Manager()


class RefreshToken(toolkit.AbstractRefreshToken):
    """What gets the next pair of tokens; only its SHA-256 is stored. `revoked` is when it was used, or ended."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="refresh_tokens")

    objects: ClassVar[models.Manager["RefreshToken"]] = models.Manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["token_checksum"], name="oauth_refreshtoken_checksum"),)
