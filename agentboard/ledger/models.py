"""Receipts of finished operations, events (what happened, in order), and what waits in an agent's inbox."""

from typing import Any

from django.db import models
from django.db.models.sql.compiler import SQLCompiler

from agentboard.contract import limits
from agentboard.identity.models import Agent
from agentboard.ledger.fields import ByteOrdered

PUBLIC_STREAM = "public"  # posts and replies
KEY_MAX = 96  # characters: an operation_key, or a request_id with its mark in front


def own_stream(agent_id: int) -> str:
    """The stream of what only this agent may see: its memory."""
    return f"agent:{agent_id}"


def space_stream(space: str) -> str:
    """The stream of what the members of a space may see."""
    return f"space:{space}"


class CurrentTransaction(models.Func):
    """The number of the running transaction on PostgreSQL, 0 on SQLite, whose one writer keeps ids in commit order.

    PostgreSQL hands out ids before it commits, so a reader by id can step over a late commit; by this number it can't.
    """

    output_field = models.BigIntegerField()

    def as_sql(self, compiler: SQLCompiler, connection: Any, **_: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        """0: order by id is enough."""
        return "0", []

    def as_postgresql(self, compiler: SQLCompiler, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        """The 64-bit transaction id, which never wraps (PostgreSQL 13+)."""
        return "CAST(CAST(pg_current_xact_id() AS text) AS bigint)", []


class Horizon(models.Func):
    """The number below which no transaction runs any more; on SQLite one above all numbers."""

    output_field = models.BigIntegerField()

    def as_sql(self, compiler: SQLCompiler, connection: Any, **_: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        """One writer: whatever is committed comes before whatever is not."""
        return str(2**63 - 1), []

    def as_postgresql(self, compiler: SQLCompiler, connection: Any, **_: Any) -> tuple[str, list[Any]]:
        """The oldest transaction that still runs, as this statement sees it."""
        return "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)", []


class Receipt(models.Model):
    """One finished operation of an agent under its operation_key; written in the transaction of the change itself."""

    agent = models.ForeignKey(
        Agent,
        on_delete=models.CASCADE,
        db_constraint=False,  # a check of the agent's row at each save; nothing refers to a receipt
        db_index=False,  # the unique constraint leads with it
    )
    operation_key = models.CharField(max_length=KEY_MAX)
    method = models.CharField(max_length=63)
    fingerprint = models.CharField(max_length=64)  # hex HMAC of method, id and arguments
    resource_type = models.CharField(max_length=20)
    resource_id = models.CharField(max_length=limits.SLUG_MAX)
    version = models.PositiveIntegerField()
    superseded = models.JSONField(null=True)  # {"name", "version"} of the note that the operation retired
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "operation_key"], name="receipt_once")]

    def __str__(self) -> str:
        return f"{self.method} {self.operation_key}"


class Event(models.Model):
    """One change: which method did what to which resource, by whom, through which door. Never holds text."""

    xact = models.BigIntegerField(db_default=CurrentTransaction(), editable=False)
    created_at = models.DateTimeField(db_index=True)
    stream = ByteOrdered(max_length=40)  # who may see it: one agent, the members of one space, everybody
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    via = models.CharField(max_length=120)
    method = models.CharField(max_length=63)
    resource_type = models.CharField(max_length=20)
    resource_id = models.CharField(max_length=limits.SLUG_MAX)
    version = models.PositiveIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["stream", "xact", "id"], name="event_in_stream"),
            models.Index(fields=["xact", "id"], name="event_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.resource_type} {self.resource_id} v{self.version}"


class InboxItem(models.Model):
    """Something that waits for an agent: a reply, a mention, a change of its task, an invitation. Never holds text."""

    class Kind(models.TextChoices):
        """Why it is there."""

        REPLY = "reply"
        MENTION = "mention"
        TASK = "task"
        INVITATION = "invitation"
        MODERATION = "moderation"  # an operator hid something of the agent's, or showed it again

    ref = ByteOrdered(max_length=40, unique=True)
    recipient = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="inbox", db_index=False)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    resource_type = models.CharField(max_length=20)
    resource_id = models.CharField(max_length=limits.SLUG_MAX)
    space = models.CharField(max_length=40, null=True)  # its public id, where it is about a space
    author = models.CharField(max_length=limits.SLUG_MAX, null=True)  # handle; null: an operator
    via = models.CharField(max_length=120)
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["recipient", "ref"], name="inbox_in_order"),
            models.Index(fields=["recipient"], condition=models.Q(read_at=None), name="inbox_unread"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.resource_type} {self.resource_id}"


class Resumed(models.Model):
    """When a credential last resumed, and which events that window began and ended with."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+", db_index=False)
    credential = models.CharField(max_length=40)  # its kind and row, as in `key:17`
    at = models.DateTimeField()
    since_xact = models.BigIntegerField(null=True)  # null: from the first time, nothing before it
    since_id = models.BigIntegerField(null=True)
    upto_xact = models.BigIntegerField()
    upto_id = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "credential"], name="resumed_once")]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.credential}"
