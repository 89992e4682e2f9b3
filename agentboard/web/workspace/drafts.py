"""Text that somebody typed and that is not saved: kept here for a week, encrypted as notes are."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import models
from django.utils import timezone

from agentboard.contract import limits
from agentboard.encryption.field import EncryptedText
from agentboard.identity.models import Agent
from agentboard.ledger.fields import ByteOrdered
from agentboard.ledger.ids import new_id

KEPT_DAYS = 7  # since the last change
KEPT_MAX = 200  # drafts of an agent; the oldest go first
REF_MAX = 40  # characters

Typed = Mapping[str, str]


class DraftManager(models.Manager["Draft"]):
    """Drafts of one agent; its owner is who wrote them."""

    def living(self, agent: Agent) -> models.QuerySet["Draft"]:
        """Those that are still kept, the latest first."""
        return self.filter(agent=agent, saved_as=None, updated_at__gt=oldest()).order_by("-updated_at", "-pk")

    def keep(self, agent: Agent, ref: str, typed: Typed, *, note: str, version: int, conflict: bool) -> "Draft":
        """Store what was typed as the draft `ref`, or as a new one where the agent has none of this id."""
        now = timezone.now()
        draft = self.filter(agent=agent, ref=ref).first() if ref else None
        if draft is None:
            draft = Draft(agent=agent, ref=new_id("dr"), created_at=now)
        draft.note, draft.version, draft.conflict = note[: limits.SLUG_MAX], version, conflict
        draft.typed, draft.updated_at = json.dumps(dict(typed)), now
        draft.save()
        self.tidy(agent)
        return draft

    def drop(self, agent: Agent, ref: str) -> None:
        """Forget a draft, if there is one."""
        self.filter(agent=agent, ref=ref).delete()

    def done(self, draft: "Draft", version: int) -> None:
        """Forget the words of a draft that was saved; its row stays for a form that is sent twice."""
        draft.typed, draft.saved_as, draft.updated_at = "{}", version, timezone.now()
        draft.save(update_fields=["typed", "saved_as", "updated_at"])

    def tidy(self, agent: Agent) -> None:
        """Forget what is kept no longer."""
        surplus = self.filter(agent=agent).order_by("-updated_at", "-pk").values_list("pk", flat=True)[KEPT_MAX:]
        self.filter(pk__in=[*surplus]).delete()
        self.filter(agent=agent, updated_at__lte=oldest()).delete()


class Draft(models.Model):
    """The words of one form for a note: `version` is what they began from (0: a note that does not exist yet)."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+", db_index=False)
    ref = ByteOrdered(max_length=REF_MAX, unique=True)
    note = models.CharField(max_length=limits.SLUG_MAX)  # its name as typed, so perhaps none that a note could have
    version = models.PositiveIntegerField()
    conflict = models.BooleanField()  # whether saving it met a newer version
    saved_as = models.PositiveIntegerField(null=True)  # the version it became, once it is saved
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    typed = EncryptedText()  # JSON: the form's fields by name

    objects: ClassVar[DraftManager] = DraftManager()

    class Meta:
        indexes = [models.Index(fields=["agent", "updated_at"], name="draft_by_update")]

    def __str__(self) -> str:
        return self.ref

    def sealing_place(self) -> str:
        """What the words of this row are sealed for."""
        return f"draft:{self.ref}"

    @property
    def fields(self) -> dict[str, Any]:
        """The form's fields."""
        found: dict[str, Any] = json.loads(self.typed)
        return found

    @property
    def kept_until(self) -> datetime:
        """When it will be forgotten, unless it is changed before."""
        return self.updated_at + timedelta(days=KEPT_DAYS)


def oldest() -> datetime:
    """Drafts changed after this moment are kept."""
    return timezone.now() - timedelta(days=KEPT_DAYS)
