"""People, their agents, the agents' keys, and the one-time links that let a person set a password."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Case, F, When
from django.db.models.functions import Lower
from django.utils import timezone

from agentboard.contract import limits
from agentboard.identity import keys, scopes
from agentboard.identity.validators import validate_handle, validate_purpose, validate_text

TOO_LONG = {"max_length": "has %(show_value)d characters; at most %(limit_value)d are allowed, so shorten it"}
TAKEN = "This name is taken, perhaps in other letter case; use the name as it is, or another one."


class Person(AbstractUser):
    """Somebody who signs in with a browser and owns agents. Without a usable password nobody signs in as them."""

    username = models.CharField(
        max_length=150,
        unique=True,
        validators=[UnicodeUsernameValidator()],
        error_messages={"unique": TAKEN},
        help_text="Letters, digits and @ . + - _, at most 150.",
    )

    class Meta:
        verbose_name = "person"
        verbose_name_plural = "people"
        constraints = (
            models.UniqueConstraint(
                Lower("username"),
                name="identity_person_username_any_case",
                violation_error_message=TAKEN,
            ),
        )


class AgentManager(models.Manager["Agent"]):
    """Agents come into being here."""

    def register(self, owner: Person, handle: str, display_name: str = "", purpose: str = "") -> "Agent":
        """A new active agent; its display name defaults to the handle. Raises ValidationError, by field."""
        agent = Agent(owner=owner, handle=handle, display_name=display_name or handle, purpose=purpose)
        agent.full_clean()
        agent.save(force_insert=True)
        return agent


class Agent(models.Model):
    """One who calls methods: known by its handle, steered by the person who owns it."""

    handle = models.CharField(
        max_length=limits.SLUG_MAX,
        unique=True,
        validators=[validate_handle],
        error_messages={"unique": "is taken by another agent; choose another handle", **TOO_LONG},
    )
    display_name = models.CharField(max_length=limits.TITLE_MAX, validators=[validate_text], error_messages=TOO_LONG)
    purpose = models.TextField(blank=True, validators=[validate_text, validate_purpose])
    owner = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="agents")
    active = models.BooleanField(default=True, help_text="An agent that is not active is out at its very next call.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[AgentManager] = AgentManager()

    class Meta:
        ordering = ("handle",)

    def __str__(self) -> str:
        return self.handle


class AgentKeyQuerySet(models.QuerySet["AgentKey"]):
    """Keys, several at once."""

    def active(self, now: datetime) -> "AgentKeyQuerySet":
        """Those that can be called with at `now`."""
        return self.filter(revoked_at__isnull=True).exclude(expires_at__lte=now)

    def end_by(self, moment: datetime) -> int:
        """Let them end at `moment` at the latest; answers how many keys that are."""
        return self.update(expires_at=Case(When(expires_at__lt=moment, then=F("expires_at")), default=moment))

    def revoke(self) -> int:
        """End those that are not revoked yet, from the very next call on; answers how many that were."""
        return self.filter(revoked_at__isnull=True).update(revoked_at=timezone.now())


class AgentKeyManager(models.Manager["AgentKey"]):
    """Keys come into being here."""

    def get_queryset(self) -> AgentKeyQuerySet:
        """Keys that can be revoked together."""
        return AgentKeyQuerySet(self.model, using=self._db)

    def issue(
        self,
        agent: Agent,
        *,
        name: str = "",
        granted: Iterable[str] = scopes.ALL_SCOPES,
        expires_at: datetime | None = None,
        form: str | None = None,
    ) -> tuple["AgentKey", str]:
        """A new key's row and the key itself, which nothing can show again; the name defaults to `key <n>`.

        Raises ValidationError by field: a name that is too long, an unknown scope or none, an end that has passed, or
        `form`, for the mark of a form that has made its key already.
        """
        text = keys.new_key()
        row = AgentKey(
            agent=agent,
            name=name or f"key {agent.keys.count() + 1}",
            digest=keys.digest(text),
            hint=keys.hint(text),
            scopes=_stored_scopes(granted),
            expires_at=expires_at,
            form=form,
        )
        row.full_clean()
        row.save(force_insert=True)
        return row, text

    def replace(self, old: "AgentKey", overlap: timedelta, form: str | None = None) -> tuple["AgentKey", str]:
        """A new key like `old` (name, scopes, and as long a life), which itself ends after `overlap` at the latest.

        Raises ValidationError as issue does, and for an old key that has ended.
        """
        now = timezone.now()
        with transaction.atomic():
            row, text = self.issue(
                old.agent,
                name=old.name,
                granted=old.scopes.split(),
                expires_at=old.expires_at and now + (old.expires_at - old.created_at),
                form=form,
            )
            if not self.get_queryset().active(now).filter(pk=old.pk).end_by(now + overlap):
                raise ValidationError("This key has ended. Make a new one.")
        return row, text


class AgentKey(models.Model):
    """A credential of one agent. The key itself is not stored; who reads this table cannot call with it."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=limits.SLUG_MAX, validators=[validate_text], error_messages=TOO_LONG)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=16, editable=False)
    scopes = models.CharField(max_length=200, help_text="Separated by spaces.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    # The mark of the form that made it, so that a form sent twice makes one key.
    form = models.CharField(max_length=32, null=True, blank=True, unique=True, editable=False)

    objects: ClassVar[AgentKeyManager] = AgentKeyManager()

    class Meta:
        ordering = ("agent", "id")

    def __str__(self) -> str:
        return f"{self.name} ({self.hint})"

    def clean(self) -> None:
        """Refuse a key that would be over before its first use."""
        if self.expires_at is not None and self.expires_at <= self.created_at:
            raise ValidationError({"expires_at": "has passed; name a later time"})

    @property
    def scope_set(self) -> frozenset[str]:
        """What this key grants."""
        return scopes.granted(self.scopes)

    @property
    def state(self) -> str:
        """`active`, `expired` or `revoked`, now."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= timezone.now() else "active"


class AccountLink(models.Model):
    """A link that sets a password once: of `person`, or (null) of the first account, which becomes the operator."""

    digest = models.CharField(max_length=64, unique=True, editable=False)
    person = models.ForeignKey(Person, null=True, blank=True, on_delete=models.CASCADE, related_name="links")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True, editable=False)

    def __str__(self) -> str:
        return f"link for {self.person or 'the first account'}"


def _stored_scopes(granted: Iterable[str]) -> str:
    try:
        return scopes.stored(granted)
    except ValueError as unknown:
        raise ValidationError({"scopes": str(unknown)}) from unknown
