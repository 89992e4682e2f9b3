"""PostgreSQL commits out of order: no event of an older transaction that commits late is ever stepped over."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone

from agentboard.ledger import notices
from agentboard.ledger.models import Resumed, own_stream
from tests.board import Board
from tests.calls import Agent
from tests.events.reading import EventReader, later, settled, told, unshared, written
from tests.serving import wait_for

pytestmark = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer")

INSERT = """
    INSERT INTO ledger_event (xact, created_at, stream, agent_id, via, method, resource_type, resource_id, version)
    VALUES (pg_current_xact_id()::text::bigint, now(), %s, %s, 'rest', 'save_memory', 'note', %s, 1) RETURNING id"""


class OtherWriter:
    """A connection of its own, whose transaction stays open until told to end."""

    def __init__(self, agent: Agent, connected: psycopg.Connection) -> None:
        self.agent, self.connection = agent, connected

    def write(self, name: str) -> int:
        """Insert an event as its first writing does; the event's id."""
        row = self.connection.execute(INSERT, (own_stream(self.agent.pk), self.agent.pk, name)).fetchone()
        assert row
        return int(row[0])


@contextmanager
def writers(agent: Agent, number: int) -> Iterator[list[OtherWriter]]:
    """So many further connections to the test database."""
    parameters = connection.get_connection_params()
    named = {name: parameters[name] for name in ("dbname", "user", "password", "host", "port") if parameters.get(name)}
    with ExitStack() as stack:
        yield [OtherWriter(agent, stack.enter_context(psycopg.connect(**named))) for _ in range(number)]


def end(how: Callable[[], None]) -> None:
    """Commit or roll back; what the other databases of the server are busy with is over too."""
    how()
    settled()


def test_a_later_event_waits_for_an_older_transaction_and_both_come_in_order_once(board: Board, atlas: Agent) -> None:
    reader = EventReader(unshared(board, atlas), patient=False)
    atlas.save("before")
    settled()
    assert told(reader.rest()) == [("save_memory", "before", 1)]
    with writers(atlas, 1) as (other,):
        late = other.write("late")
        atlas.save("soon")
        assert reader.page() == []
        atlas.save("later-still")
        assert reader.page() == []
        assert told(EventReader(reader.agent, patient=False).rest()) == [("save_memory", "before", 1)]
        end(other.connection.commit)
        found = reader.rest()
    assert [event["resource"]["id"] for event in found] == ["late", "soon", "later-still"]
    assert found[0]["id"] == str(late)
    assert reader.page() == []


def test_an_older_transaction_that_writes_its_event_after_the_later_one_comes_first(board: Board, atlas: Agent) -> None:
    reader = EventReader(unshared(board, atlas), patient=False)
    with writers(atlas, 1) as (other,):
        other.connection.execute("SELECT pg_current_xact_id()")
        atlas.save("soon")
        assert reader.page() == []
        late = other.write("late")
        end(other.connection.commit)
    found = reader.rest(limit=1)
    assert [event["resource"]["id"] for event in found] == ["late", "soon"]
    assert int(found[1]["id"]) < int(found[0]["id"]) == late  # by its number alone it would have been stepped over


def test_one_that_rolls_back_leaves_nothing_and_holds_nothing_up(board: Board, atlas: Agent) -> None:
    reader = EventReader(unshared(board, atlas), patient=False)
    with writers(atlas, 1) as (other,):
        other.write("never")
        atlas.save("soon")
        assert reader.page() == []
        end(other.connection.rollback)
    assert told(reader.rest()) == [("save_memory", "soon", 1)]


def test_many_open_at_once_that_commit_in_any_order_give_each_event_once(board: Board, atlas: Agent) -> None:
    reader = EventReader(unshared(board, atlas), patient=False)
    seen: list[str] = []
    with writers(atlas, 5) as others:
        for number, other in enumerate(others):
            other.write(f"first-{number}")
            atlas.save(f"done-{number}")
        for number in (3, 0, 4, 1, 2):
            others[number].write(f"second-{number}")
            others[number].connection.commit()
            seen += [event["resource"]["id"] for event in reader.rest(limit=1)]
            atlas.save(f"after-{number}")
            seen += [event["resource"]["id"] for event in reader.rest(limit=1)]
    settled()
    seen += [event["resource"]["id"] for event in reader.rest()]
    expected = [name for n in range(5) for name in (f"first-{n}", f"second-{n}", f"done-{n}")]
    assert seen == expected + [f"after-{number}" for number in (3, 0, 4, 1, 2)]
    assert seen == [event["resource"]["id"] for event in EventReader(reader.agent, patient=False).rest()]


def test_a_reader_that_only_reads_holds_nothing_up(board: Board, atlas: Agent) -> None:
    reader = EventReader(unshared(board, atlas), patient=False)
    with transaction.atomic():
        assert timezone.now()
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM ledger_event")
        atlas.save("soon")
        settled()
        assert told(reader.rest()) == [("save_memory", "soon", 1)]


def test_who_waits_gets_both_soon_after_the_older_one_commits(board: Board, atlas: Agent) -> None:
    agent = unshared(board, atlas)
    stream = own_stream(atlas.pk)
    with writers(atlas, 1) as (other,), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(EventReader(agent, patient=False).page, wait_seconds=25)
        wait_for(lambda: stream in notices.awaited(), 10)  # seconds
        other.write("late")
        atlas.save("soon")
        assert not threading.Event().wait(1.5)  # longer than one look after the notice
        assert not waiting.done()
        end(other.connection.commit)
        assert told(waiting.result(5)) == [("save_memory", "late", 1), ("save_memory", "soon", 1)]


def test_what_commits_late_belongs_to_the_next_window_of_resume(board: Board, atlas: Agent) -> None:
    atlas.done("resume")
    with writers(atlas, 1) as (other,):
        other.write("late")
        atlas.save("soon")
        with later(minutes=11):
            assert atlas.done("resume")["changes"] == []
        end(other.connection.commit)
    Resumed.objects.filter(agent_id=atlas.pk).update(at=timezone.now() - timedelta(minutes=11))
    changes = atlas.done("resume")["changes"]
    assert [change["resource"]["id"] for change in changes] == ["soon", "late"]


def test_events_of_one_transaction_stay_together(board: Board, atlas: Agent) -> None:
    reader = EventReader(unshared(board, atlas), patient=False)
    with writers(atlas, 1) as (other,):
        other.write("a")
        written(atlas, own_stream(atlas.pk), "x", "y")
        other.write("b")
        end(other.connection.commit)
    assert [event["resource"]["id"] for event in reader.rest(limit=1)] == ["a", "b", "x", "y"]
