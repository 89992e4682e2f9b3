"""One write call: who writes, by which method, under which operation key, in one transaction."""

import hmac
import json
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import cache
from types import TracebackType
from typing import Any, Self

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from agentboard.contract.errors import Refusal
from agentboard.identity.caller import Caller
from agentboard.identity.models import Agent
from agentboard.ledger.models import Event, Receipt, own_stream
from agentboard.statements import Parameter, Statement


class Change:
    """The frame of one write. As a context manager it commits on leaving, and rolls back when an error leaves it.

    The transaction begins on first need: a write that is one statement needs none around it, which spares PostgreSQL
    two round trips. Whoever reads before writing, or writes twice, calls `begin` first.
    """

    def __init__(self, caller: Caller, method: str, arguments: dict[str, Any]) -> None:
        self.caller, self.method = caller, method
        self.operation_key: str | None = arguments.get("operation_key")
        self.fingerprint = fingerprint(method, arguments) if self.operation_key else ""
        self.superseded: dict[str, Any] | None = None  # goes into the receipt: {"name", "version"} of a retired note
        self.now: datetime = timezone.now()
        self.stream = own_stream(caller.agent_id)
        self.begun = False
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, at)

    def begin(self) -> None:
        """Open the transaction unless it is open. On SQLite it takes the write lock at once."""
        if not self.begun:
            self._stack.enter_context(transaction.atomic())
            self.begun = True

    def alone(self) -> None:
        """Begin, and let the agent's other changes of this kind wait until this one has ended.

        For rules over several rows (quota, chains): on PostgreSQL by a lock on the agent's row; SQLite has one writer.
        """
        self.begin()
        Agent.objects.select_for_update(no_key=True).filter(pk=self.caller.agent_id).values_list("pk").first()

    def record(self, resource_type: str, resource_id: str, version: int, *, receipt: bool = True) -> None:
        """Write the event and, where an operation key came along, the receipt. Inside the change's transaction."""
        self.begin()
        resource = {"resource_type": resource_type, "resource_id": resource_id, "version": version}
        who = {"agent_id": self.caller.agent_id, "method": self.method, "created_at": self.now}
        Event.objects.create(**resource, **who, via=self.caller.via, stream=self.stream)
        if receipt and self.operation_key:
            Receipt.objects.create(
                **resource,
                **who,
                operation_key=self.operation_key,
                fingerprint=self.fingerprint,
                superseded=self.superseded,
            )

    def answered(self, content: dict[str, Any], resource_type: str, resource_id: str, version: int) -> dict[str, Any]:
        """`content`, with the operation beside it where an operation key came along."""
        if not self.operation_key:
            return content
        about = (self.operation_key, self.method, resource_type, resource_id, version, self.superseded, self.now)
        return {**content, "operation": operation(*about), "replayed": False}


def operation(
    key: str, method: str, resource_type: str, resource_id: str, version: int, superseded: Any, created_at: datetime
) -> dict[str, Any]:
    """The `operation` of an answer."""
    shape = {
        "operation_key": key,
        "method": method,
        "resource": {"type": resource_type, "id": resource_id},
        "version": version,
        "created_at": created_at,
        "expires_at": created_at + timedelta(days=settings.RECEIPT_DAYS),
    }
    return {**shape, "superseded": superseded} if superseded else shape


@cache
def _key() -> bytes:
    return hmac.digest(settings.SECRET_KEY.encode(), b"agentboard operation fingerprint", "sha256")


def fingerprint(method: str, arguments: dict[str, Any]) -> str:
    """HMAC-SHA256 (hex) over method, id and arguments without the key itself: the same whatever door they came by."""
    told = {name: value for name, value in arguments.items() if name != "operation_key"}
    text = json.dumps([method, told], sort_keys=True, separators=(",", ":"))
    return hmac.digest(_key(), text.encode(), "sha256").hex()


_RECEIPT = Statement(
    lambda: Receipt.objects.filter(
        agent=Parameter("agent_id", models.BigIntegerField()),
        operation_key=Parameter("operation_key", models.CharField()),
    ).values_list("id", "fingerprint", "method", "resource_type", "resource_id", "version", "superseded", "created_at")
)


def replay(change: Change) -> dict[str, Any] | None:
    """What the operation key answers when its operation is done already, or None when it is free.

    An expired receipt is removed, so the key is free again. Raises operation_key_conflict when the key was spent on
    another call. Outside any transaction of the change.
    """
    if not change.operation_key:
        return None
    found = _RECEIPT.row(agent_id=change.caller.agent_id, operation_key=change.operation_key)
    if found is None:
        return None
    pk, print_, method, resource_type, resource_id, version, superseded, created_at = found
    if created_at + timedelta(days=settings.RECEIPT_DAYS) <= change.now:
        Receipt.objects.filter(pk=pk).delete()
        return None
    if not hmac.compare_digest(print_, change.fingerprint):
        raise Refusal(
            "operation_key_conflict",
            f'operation_key "{change.operation_key}" was used at {created_at:%Y-%m-%dT%H:%M:%SZ} by {method} on '
            f"{resource_type} {resource_id}, with other arguments or for another thing than this call.",
        )
    done = operation(change.operation_key, method, resource_type, resource_id, version, superseded, created_at)
    return {"operation": done, "replayed": True}
