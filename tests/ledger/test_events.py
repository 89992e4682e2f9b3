"""Events: one for each change, none for anything else, and none that a reader steps over."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from django.db import connection, transaction

from agentboard.asgi import threads
from agentboard.call import call
from agentboard.catalog import CATALOG
from agentboard.identity.caller import Caller
from agentboard.identity.scopes import ALL_SCOPES
from agentboard.ledger import feed
from agentboard.ledger.models import Event, own_stream
from tests.calls import Agent

Result = TypeVar("Result")
Told = tuple[str, str, int]  # method, note, version

postgresql_only = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer")


def events(agent: Agent) -> list[Told]:
    rows = Event.objects.filter(agent_id=agent.pk).order_by("id")
    return list(rows.values_list("method", "resource_id", "version"))


def test_every_write_makes_one_event_that_says_what_happened_to_what(atlas: Agent) -> None:
    atlas.save("plan")
    atlas.save("plan", "Two", 1)
    atlas.done("edit_memory", "plan", expected_version=2, append="!")
    atlas.done("restore_memory", "plan", expected_version=3, version=1)
    atlas.done("mark_memory_reviewed", "plan", expected_version=4)
    atlas.done("delete_memory", "plan", expected_version=5)
    atlas.save("plan", "Again")
    assert events(atlas) == [
        ("save_memory", "plan", 1),
        ("save_memory", "plan", 2),
        ("edit_memory", "plan", 3),
        ("restore_memory", "plan", 4),
        ("mark_memory_reviewed", "plan", 5),
        ("delete_memory", "plan", 6),
        ("save_memory", "plan", 7),
    ]


def test_an_event_tells_who_and_through_which_door_and_when_the_note_changed(atlas: Agent) -> None:
    saved = atlas.save("plan", "The secret text", summary="secret", tags=["tag-of-it"])
    row = Event.objects.filter(agent_id=atlas.pk).values().get()
    assert (row["via"], row["resource_type"], row["agent_id"]) == ("rest", "note", atlas.pk)
    assert row["stream"] == own_stream(atlas.pk)
    assert row["created_at"].isoformat().replace("+00:00", "Z") == saved["updated_at"]
    assert "secret" not in str(row)
    assert "tag-of-it" not in str(row)


def test_superseding_makes_two_events(atlas: Agent) -> None:
    atlas.save("old")
    supersedes = {"name": "old", "expected_version": 1}
    atlas.done("save_memory", "new", body="x", expected_version=0, supersedes=supersedes, operation_key="k")
    assert events(atlas)[1:] == [("save_memory", "new", 1), ("save_memory", "old", 2)]


def test_refused_and_replayed_calls_and_reads_make_none(atlas: Agent) -> None:
    atlas.save("plan", operation_key="k")
    before = events(atlas)
    atlas.save("plan", operation_key="k")
    atlas.refused("operation_key_conflict", "save_memory", "plan", body="x", expected_version=0, operation_key="k")
    atlas.refused("version_conflict", "save_memory", "plan", body="x", expected_version=0)
    atlas.refused("invalid_arguments", "save_memory", "plan", body="", expected_version=1)
    atlas.refused("not_found", "delete_memory", "missing", expected_version=1)
    arguments: dict[str, Any] = {"body": "x", "expected_version": 0}
    atlas.refused("not_found", "save_memory", "b", supersedes={"name": "gone", "expected_version": 1}, **arguments)
    atlas.refused("reference_unavailable", "save_memory", "b", superseded_by="gone", **arguments)
    atlas.note("plan")
    atlas.done("list_memory")
    atlas.done("search_memory", q="text")
    atlas.done("list_memory_revisions", "plan")
    atlas.done("compare_memory", "plan")
    assert events(atlas) == before


# ---- the feed


def elsewhere(work: Callable[..., Result], *arguments: Any) -> Result:
    """What `work` gives on another connection than this thread's."""
    return asyncio.run(threads.run(work, *arguments))


def caller(agent: Agent) -> Caller:
    return Caller(agent.pk, agent.handle, 0, frozenset(ALL_SCOPES), "rest", "session", None)


def saved_here(agent: Agent, name: str) -> None:
    """Save a note in whatever transaction this thread has open."""
    call(CATALOG["save_memory"], caller(agent), lambda: (name, {"body": "word", "expected_version": 0}))


def test_a_reader_gets_what_was_written_since_it_last_looked_in_its_stream(atlas: Agent, boreas: Agent) -> None:
    stream = own_stream(atlas.pk)
    atlas.save("before")
    position = elsewhere(feed.here)
    assert "before" not in elsewhere(feed.changed, stream, "note", position)[0] or connection.vendor == "postgresql"
    atlas.save("a")
    boreas.save("foreign")
    atlas.save("a", "Two", 1)
    atlas.save("b")
    ids, position = elsewhere(feed.changed, stream, "note", position)
    assert {"a", "b"} <= set(ids) <= {"a", "b", "before"}
    assert len(ids) == len(set(ids))
    assert elsewhere(feed.changed, stream, "entry", position)[0] == []
    atlas.done("delete_memory", "a", expected_version=2)
    assert "a" in elsewhere(feed.changed, stream, "note", position)[0]


@postgresql_only
def test_a_change_that_commits_late_with_an_earlier_id_is_not_stepped_over(atlas: Agent) -> None:
    stream = own_stream(atlas.pk)
    position = elsewhere(feed.here)
    with transaction.atomic():
        saved_here(atlas, "late")
        atlas.save("soon")
        ids, position = elsewhere(feed.changed, stream, "note", position)
        assert ids == ["soon"]
    ids, position = elsewhere(feed.changed, stream, "note", position)
    assert "late" in ids
    assert events(atlas) == [("save_memory", "late", 1), ("save_memory", "soon", 1)]


@postgresql_only
def test_nor_is_one_that_was_open_when_the_reader_began(atlas: Agent) -> None:
    with transaction.atomic():
        saved_here(atlas, "late")
        position = elsewhere(feed.here)
        atlas.save("soon")
        _, position = elsewhere(feed.changed, own_stream(atlas.pk), "note", position)
        _, position = elsewhere(feed.changed, own_stream(atlas.pk), "note", position)
    assert "late" in elsewhere(feed.changed, own_stream(atlas.pk), "note", position)[0]


@postgresql_only
def test_a_search_finds_a_note_that_committed_after_a_later_one_was_found(atlas: Agent) -> None:
    def found() -> list[str]:
        return [item["name"] for item in atlas.done("search_memory", q="word")["items"]]

    assert found() == []
    with transaction.atomic():
        saved_here(atlas, "late")
        atlas.save("soon", "word")
        assert found() == ["soon"]
    assert found() == ["late", "soon"]


@postgresql_only
def test_the_tags_in_use_count_a_note_that_committed_after_a_later_one_was_counted(atlas: Agent) -> None:
    def counts() -> dict[str, int]:
        return {row["tag"]: row["count"] for row in atlas.done("list_memory")["tags"]}

    data = {"body": "x", "expected_version": 0, "tags": ["t"]}
    assert counts() == {}
    with transaction.atomic():
        call(CATALOG["save_memory"], caller(atlas), lambda: ("late", data))
        atlas.save("soon", tags=["t"])
        assert counts() == {"t": 1}
    assert counts() == {"t": 2}
