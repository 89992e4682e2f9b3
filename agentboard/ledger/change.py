"""One write call: who writes, by which method, under which operation key, in one transaction."""

import hmac
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import cache
from types import TracebackType
from typing import Any, Self

import orjson
from django.conf import settings
from django.db import connection, models, transaction
from django.utils import timezone

from agentboard.contract.errors import Refusal
from agentboard.identity.caller import Caller
from agentboard.identity.models import Agent
from agentboard.ledger import notices
from agentboard.ledger.ids import new_id
from agentboard.ledger.models import Event, InboxItem, Receipt, own_stream
from agentboard.statements import Parameter, Statement

REQUEST_MARK = "request/"


# SQLite has one writer at a time, and who finds it taken sleeps for milliseconds, asking again: the threads of this
# process take turns here instead, each woken as soon as the one before it has committed.
_WRITER = threading.Lock()


class Change:
    """The frame of one write. As a context manager it commits on leaving, and rolls back when an error leaves it.

    The transaction begins on first need: a write that is one statement needs none around it, which spares PostgreSQL
    two round trips. Whoever reads before writing, or writes twice, calls `begin` first.
    """

    def __init__(self, caller: Caller, method: str, arguments: dict[str, Any]) -> None:
        self.caller, self.method = caller, method
        self.operation_key = key_of(arguments)
        self.fingerprint = fingerprint(method, arguments) if self.operation_key else ""
        self.superseded: dict[str, Any] | None = None  # goes into the receipt: {"name", "version"} of a retired note
        self.now: datetime = timezone.now()
        self.stream = own_stream(caller.agent_id)
        self.begun = False
        self.settled = self.operation_key is None  # or: its receipt is written
        self._stack = ExitStack()
        self._streams: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, at)
        if error is None:
            notices.publish(self._streams)

    def begin(self) -> None:
        """Open the transaction unless it is open. On SQLite it takes the write lock at once."""
        if not self.begun:
            if connection.vendor == "sqlite" and not connection.in_atomic_block:
                self._stack.enter_context(_WRITER)
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
        self.recorded(self.stream)
        if receipt and self.operation_key:
            self.settled = True
            Receipt.objects.create(
                **resource,
                **who,
                operation_key=self.operation_key,
                fingerprint=self.fingerprint,
                superseded=self.superseded,
            )

    def recorded(self, stream: str) -> None:
        """An event was written to this stream; those who wait on it hear of it once the change is committed."""
        self._streams.add(stream)

    def tell(
        self, recipients: Iterable[int], kind: InboxItem.Kind, resource_type: str, resource_id: str, space: str | None
    ) -> None:
        """Put an item into the inboxes of these agents, but not into the caller's own."""
        self.begin()
        InboxItem.objects.bulk_create(
            InboxItem(
                ref=new_id("in"),
                recipient_id=recipient,
                kind=kind,
                resource_type=resource_type,
                resource_id=resource_id,
                space=space,
                author=self.caller.handle,
                via=self.caller.via,
                created_at=self.now,
            )
            for recipient in sorted(set(recipients) - {self.caller.agent_id})
        )

    def answered(self, content: dict[str, Any], resource_type: str, resource_id: str, version: int) -> dict[str, Any]:
        """`content`, with the operation beside it where an operation key came along."""
        if not self.operation_key:
            return content
        about = (self.operation_key, self.method, resource_type, resource_id, version, self.superseded, self.now)
        return {**content, "operation": operation(*about), "replayed": False}


def key_of(arguments: dict[str, Any]) -> str | None:
    """The key that makes the call happen once: its operation_key, or the request_id of a creation.

    A request_id carries a mark that no operation_key can have, so the two never meet.
    """
    if request_id := arguments.get("request_id"):
        return REQUEST_MARK + str(request_id)
    return arguments.get("operation_key")


def operation(
    key: str, method: str, resource_type: str, resource_id: str, version: int, superseded: Any, created_at: datetime
) -> dict[str, Any]:
    """The `operation` of an answer."""
    shape = {
        "operation_key": key.removeprefix(REQUEST_MARK),
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
    told = {name: value for name, value in arguments.items() if name not in ("operation_key", "request_id")}
    return hmac.digest(_key(), orjson.dumps([method, told], option=orjson.OPT_SORT_KEYS), "sha256").hex()


_RECEIPT = Statement(
    lambda: Receipt.objects.filter(
        agent=Parameter("agent_id", models.BigIntegerField()),
        operation_key=Parameter("operation_key", models.CharField()),
    ).values_list("id", "fingerprint", "method", "resource_type", "resource_id", "version", "superseded", "created_at")
)


def replay(change: Change, may_see: Callable[[Caller, str, str], bool] | None = None) -> dict[str, Any] | None:
    """What the operation key answers when its operation is done already, or None when it is free.

    An expired receipt is removed, so the key is free again. Raises operation_key_conflict when the key was spent on
    another call, and not_found where the caller may no longer see what it was done to. Outside any transaction of the
    change.
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
    if may_see is not None and not may_see(change.caller, resource_type, resource_id):
        raise Refusal("not_found", f"There is no {resource_type} {resource_id} that this agent may see.")
    done = operation(change.operation_key, method, resource_type, resource_id, version, superseded, created_at)
    return {"operation": done, "replayed": True}
