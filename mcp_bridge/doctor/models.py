"""One app's attempt to connect: how far it came, and why it stopped."""

from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from agentboard.identity.models import Agent

KEPT = timedelta(days=14)
NAME_MAX = 120  # characters
CLIENT_ID_MAX = 255  # characters


class Step(models.IntegerChoices):
    """The steps of connecting, in their order."""

    NONE = 0, "Nothing yet"
    DISCOVERY = 1, "Discovery"
    REGISTRATION = 2, "Registration"
    CONSENT = 3, "Consent"
    TOKEN = 4, "Token"
    FIRST_CALL = 5, "First call"


class AttemptManager(models.Manager["Attempt"]):
    """Attempts are found here."""

    def shown_to(self, person_id: int, address: str) -> models.QuerySet["Attempt"]:
        """Those of the person, and those of nobody yet from the address (hashed) that they browse from."""
        own = Q(person_id=person_id) | Q(person=None, address=address)
        return self.filter(own, updated_at__gt=timezone.now() - KEPT).order_by("-updated_at", "-id")


class Attempt(models.Model):
    """From the first look at this server to the first call; or to where it stopped.

    Holds no secret and no address in clear: `address` is its keyed hash. `client` is what the app calls itself,
    `program` what its HTTP library says.
    """

    client_id = models.CharField(max_length=CLIENT_ID_MAX, blank=True)
    client = models.CharField(max_length=NAME_MAX, blank=True)
    program = models.CharField(max_length=NAME_MAX, blank=True)
    address = models.CharField(max_length=32)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="attempts", db_index=False
    )
    agent = models.ForeignKey(Agent, null=True, on_delete=models.CASCADE, related_name="attempts")
    step = models.PositiveSmallIntegerField(choices=Step.choices, default=Step.NONE)  # the furthest that was reached
    stopped_at = models.PositiveSmallIntegerField(choices=Step.choices, default=Step.NONE)
    reason = models.CharField(max_length=40, blank=True)  # a code of reasons.py; empty where nothing stopped it
    started_at = models.DateTimeField()
    updated_at = models.DateTimeField(db_index=True)

    objects: ClassVar[AttemptManager] = AttemptManager()

    class Meta:
        indexes = [
            models.Index(fields=["address", "updated_at"], name="attempt_by_address"),
            models.Index(fields=["client_id", "updated_at"], name="attempt_by_client"),
            models.Index(fields=["person", "updated_at"], name="attempt_by_person"),
        ]

    def __str__(self) -> str:
        return f"{self.client or self.program or 'an app'}: {Step(self.step).label}"

    @property
    def done(self) -> bool:
        """Whether it came to its first call."""
        return self.step == Step.FIRST_CALL and not self.reason

    @property
    def by_key(self) -> bool:
        """Whether the app came with an agent key, which needs no registration, consent or token."""
        last = max(self.step, self.stopped_at)
        return not self.client_id and last == Step.FIRST_CALL
