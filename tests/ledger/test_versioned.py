"""What a call costs: how many statements it sends to the database, whatever the amount that is stored."""

from typing import Any

import pytest
from django.db import connection
from django.db.models import Max
from django.test.utils import CaptureQueriesContext

from agentboard.identity import caller
from agentboard.ledger import feed
from agentboard.ledger.models import Event
from memory.models import Note, Revision
from tests.board import Board
from tests.calls import Agent, Rest, in_this_thread
from tests.serving import wait_for

FRAME = {"BEGIN", "BEGIN IMMEDIATE", "COMMIT"}


@pytest.fixture
def atlas(board: Board, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """An agent whose calls run in the test's own thread, where statements can be counted."""
    monkeypatch.setattr(caller, "note_use", lambda key_id: None)  # now and then writes when a key was used
    agent = board.agent()
    agent.door = Rest(in_this_thread)
    agent.save("warm", "up")
    agent.note("warm")
    return agent


def statements(agent: Agent, name: str, id: str | None = None, /, **data: Any) -> list[str]:
    """What a call that succeeds sends to the database, beginning with the look at the key."""
    with CaptureQueriesContext(connection) as captured:
        agent.done(name, id, **data)
    sent = [str(query["sql"]) for query in captured.captured_queries]
    assert "identity_agentkey" in sent[0]
    return sent


def count(agent: Agent, name: str, id: str | None = None, /, **data: Any) -> int:
    return len(statements(agent, name, id, **data))


def settled(agent: Agent, name: str, /, **data: Any) -> int:
    """The statements of a read once no change is so young that it might have to be looked at again.

    On PostgreSQL a change stays young while an older transaction runs, also one of another database.
    """
    newest = Event.objects.aggregate(newest=Max("xact"))["newest"]
    wait_for(lambda: connection.vendor == "sqlite" or feed.here().at > newest, 30)  # seconds
    agent.done(name, **data)
    return count(agent, name, **data)


# ---- writes


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite runs the parts one by one")
@pytest.mark.parametrize("key", [None, "key-1"])
def test_on_postgresql_a_save_without_links_is_the_look_at_the_key_and_one_statement(
    atlas: Agent, key: str | None
) -> None:
    assert count(atlas, "save_memory", "plan", body="x", expected_version=0, operation_key=key) == 2
    again = None if key is None else "key-2"
    assert count(atlas, "save_memory", "plan", body="y", expected_version=1, operation_key=again) == 2


@pytest.mark.sqlite_only
@pytest.mark.parametrize(("key", "parts"), [(None, 3), ("key-1", 4)])
def test_on_sqlite_a_save_is_one_transaction_of_its_parts(atlas: Agent, key: str | None, parts: int) -> None:
    _, begin, *sent, commit = statements(atlas, "save_memory", "plan", body="x", expected_version=0, operation_key=key)
    assert begin.startswith("BEGIN")
    assert commit.startswith("COMMIT")
    assert len(sent) == parts  # note, revision, event, receipt


def test_a_save_costs_the_same_with_many_notes_and_versions(atlas: Agent) -> None:
    data = {"body": "x", "expected_version": 0}
    first = count(atlas, "save_memory", "first", **data)
    fill(atlas, 100)
    assert count(atlas, "save_memory", "last", **data) == first


@pytest.mark.parametrize("references", [1, 20])
def test_a_save_with_references_costs_the_same_whatever_their_number(atlas: Agent, references: int) -> None:
    fill(atlas, 20)
    linked = [{"name": f"n{number:04}", "version": 1} for number in range(references)]
    sent = statements(atlas, "save_memory", "plan", body="x", expected_version=0, memory_references=linked)
    assert len([sql for sql in sent if "memory_note" in sql]) <= 4
    assert len(sent) <= 9


# ---- reads


def fill(agent: Agent, number: int, references: list[dict[str, Any]] | None = None) -> None:
    """So many notes at once, as saving would have stored them."""
    agent.save("pattern", "x")
    pattern = Note.objects.get(agent_id=agent.pk, name="pattern")
    fields = [field.attname for field in Note._meta.concrete_fields if not field.primary_key]
    shared = {name: getattr(pattern, name) for name in fields if name not in ("name", "memory_references")}
    Note.objects.bulk_create(Note(**shared, name=f"n{n:04}", memory_references=references or []) for n in range(number))
    shown = [
        field.attname for field in Revision._meta.concrete_fields if not field.primary_key and field.name != "note"
    ]
    notes = Note.objects.filter(agent_id=agent.pk, name__startswith="n0")
    Revision.objects.bulk_create(Revision(note=note, **{name: getattr(note, name) for name in shown}) for note in notes)
    agent.done("delete_memory", "pattern", expected_version=1)


@pytest.mark.parametrize("name", ["get_memory", "list_memory_revisions"])
def test_reading_a_note_takes_at_most_two_statements_beside_the_key(atlas: Agent, name: str) -> None:
    atlas.save("plan")
    assert count(atlas, name, "plan") <= 3


def test_reading_a_note_takes_one_statement_beside_the_key(atlas: Agent) -> None:
    atlas.save("plan")
    assert count(atlas, "get_memory", "plan") == 2


def test_reading_a_note_with_twenty_references_takes_two_statements_more(atlas: Agent) -> None:
    references = [{"name": f"base-{number}", "version": 1} for number in range(20)]
    for reference in references:
        atlas.save(str(reference["name"]))
        atlas.save(str(reference["name"]), "Two", 1)
    atlas.save("plan", memory_references=references)
    assert count(atlas, "get_memory", "plan") == 4


@pytest.mark.parametrize("arguments", [{}, {"limit": 100}, {"detail": "full", "limit": 100}, {"order": "updated"}])
def test_a_list_takes_the_same_statements_with_ten_notes_and_a_thousand(
    atlas: Agent, board: Board, arguments: dict[str, Any]
) -> None:
    many = board.agent()
    many.door = atlas.door
    for agent, number in ((atlas, 10), (many, 1000)):
        fill(agent, number)
    few, a_thousand = (settled(agent, "list_memory", **arguments) for agent in (atlas, many))
    assert few == a_thousand <= 4


def test_a_list_of_notes_with_twenty_references_each_takes_two_statements_more(atlas: Agent) -> None:
    references = [{"name": f"base-{number}", "version": 1} for number in range(20)]
    for reference in references:
        atlas.save(str(reference["name"]))
    plain = settled(atlas, "list_memory", limit=100)
    for reference in references:
        atlas.save(str(reference["name"]), "Two", 1)
    for number in range(30):
        atlas.save(f"plan-{number}", memory_references=references)
    assert settled(atlas, "list_memory", limit=100) == plain + 2


def test_a_list_without_bodies_does_not_read_them(atlas: Agent) -> None:
    (sent,) = [sql for sql in statements(atlas, "list_memory") if '"updated_at"' in sql]
    assert '"summary"' in sent
    assert '"body"' not in sent


def test_a_warm_search_takes_the_same_statements_whatever_is_stored(atlas: Agent, board: Board) -> None:
    for number in range(5):
        atlas.save(f"n{number}", "alpha")
    few = settled(atlas, "search_memory", q="alpha")
    for number in range(5, 60):
        atlas.save(f"n{number}", "alpha")
    assert settled(atlas, "search_memory", q="alpha", limit=100) == few <= 4
