"""What tests of events do again and again: read on from where one stopped, at whatever time it is."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar
from unittest import mock

from django.db import connection
from django.utils import timezone

from agentboard.asgi import threads
from agentboard.identity.caller import Caller
from agentboard.identity.scopes import ALL_SCOPES
from agentboard.ledger.change import Change
from agentboard.ledger.models import Event
from tests.board import Board
from tests.calls import Agent, Object
from tests.serving import wait_for

Result = TypeVar("Result")
Told = tuple[str, str, int]  # method, resource, version
ROWS_AT_ONCE = 8  # of one statement
SETTLED_SECONDS = 60
UNSHARED = tuple(scope for scope in ALL_SCOPES if not scope.startswith("posts:"))


class EventReader:
    """An agent that reads events on from where it stopped."""

    def __init__(self, agent: Agent, cursor: str | None = None, *, patient: bool = True) -> None:
        self.agent, self.cursor, self._patient = agent, cursor, patient

    def page(self, **data: Any) -> list[Object]:
        """The items of one answer; unless told otherwise once everything before is settled."""
        if self._patient:
            settled()
        if self.cursor is not None:
            data["cursor"] = self.cursor
        answer = self.agent.done("list_events", **data)
        self.cursor = answer["next_cursor"]
        return list(answer["items"])

    def rest(self, **data: Any) -> list[Object]:
        """All items that there are now."""
        items: list[Object] = []
        while found := self.page(**data):
            items += found
        return items


def unshared(board: Board, agent: Agent) -> Agent:
    """The agent with a key that opens no posts, whose events would be those of other tests too."""
    return board.with_scopes(agent, *UNSHARED)


def told(events: Sequence[Object]) -> list[Told]:
    """Method, resource and version of each."""
    return [(event["method"], event["resource"]["id"], event["version"]) for event in events]


def happened(agent: Agent) -> list[Told]:
    """What the agent may see, from the oldest on."""
    return told(EventReader(agent).rest(limit=100))


def caller_of(agent: Agent) -> Caller:
    """The agent as the methods see it."""
    return Caller(agent.pk, agent.handle, 0, frozenset(ALL_SCOPES), "rest", "session", None)


def written(agent: Agent, stream: str, *names: str, fail: bool = False) -> None:
    """Write one event each to the stream, in one transaction, in a few statements; `fail`: and roll back."""
    change = Change(caller_of(agent), "save_memory", {})
    about = {"stream": stream, "agent_id": agent.pk, "via": "rest", "method": "save_memory", "resource_type": "note"}
    rows = [Event(**about, created_at=change.now, resource_id=name, version=1) for name in names]
    with change:
        change.begin()
        for start in range(0, len(rows), ROWS_AT_ONCE):
            Event.objects.bulk_create(rows[start : start + ROWS_AT_ONCE])
        change.recorded(stream)
        if fail:
            raise RuntimeError("given up")


def elsewhere(work: Callable[..., Result], *arguments: Any) -> Result:
    """What `work` gives on another connection than this thread's."""
    return asyncio.run(threads.run(work, *arguments))


@contextmanager
def later(**ago: float) -> Iterator[None]:
    """Meanwhile every clock of this process is ahead by a timedelta (behind, where it is negative)."""
    now, ahead = timezone.now, timedelta(**ago)
    with mock.patch.object(timezone, "now", side_effect=lambda: now() + ahead):
        yield


def settled() -> None:
    """Come back when all that is being written now has ended.

    On PostgreSQL a transaction of any database of the server holds the events behind it back, those of other tests too.
    """
    if connection.vendor == "postgresql":
        begun = _bound("pg_snapshot_xmax")
        wait_for(lambda: _bound("pg_snapshot_xmin") >= begun, SETTLED_SECONDS)


def _bound(function: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT CAST(CAST({function}(pg_current_snapshot()) AS text) AS bigint)")
        return int(cursor.fetchone()[0])
