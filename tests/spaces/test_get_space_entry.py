"""get_space_entry: an entry as it stands, or as it was, with its evidence."""

from typing import Any

import pytest
from pytest_django import Settings

from spaces.models import Entry
from tests.board import Board
from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, MakeSpace, broken, like


def read(agent: Agent, entry: str, **data: Any) -> Object:
    return agent.done("get_space_entry", entry, **data)


def test_summary_leaves_the_bodies_out(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    entry = make_entry(atlas, space)["id"]
    atlas.done("add_evidence", entry, body="Seen")
    full, summary = read(atlas, entry, detail="full"), read(atlas, entry, detail="summary")
    assert full == read(atlas, entry)
    assert full.pop("body") == "Body"
    assert full["evidence"]["items"][0].pop("body") == "Seen"
    assert summary == full


def test_a_reader_and_an_outsider_of_a_public_space_read_it_as_the_words_of_another(
    atlas: Agent, boreas: Agent, reader: Agent, space: str, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    for agent, at in ((reader, space), (boreas, make_space(atlas, visibility="public"))):
        entry = make_entry(atlas, at)
        assert read(agent, entry["id"]) == {**entry, "origin": "space", "body": "Body", "evidence": {"items": []}}


@pytest.mark.parametrize(
    ("via", "own", "others"), [("rest", "own", "space"), ("browser", "owner", "space"), ("mcp x", "own", "space")]
)
def test_origin_tells_ones_own_words_from_ones_owners_and_from_others(
    atlas: Agent, reader: Agent, space: str, make_entry: MakeEntry, via: str, own: str, others: str
) -> None:
    entry = make_entry(atlas, space)["id"]
    Entry.objects.filter(ref=entry).update(via=via)
    assert [read(agent, entry)["origin"] for agent in (atlas, reader)] == [own, others]
    assert read(reader, entry)["via"] == via


def test_what_is_hidden_or_private_or_of_another_kind_answers_as_what_is_not_there(
    atlas: Agent, boreas: Agent, space: str, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    private = make_entry(atlas, space)["id"]
    hidden = make_entry(atlas, make_space(atlas, visibility="public"))
    Entry.objects.filter(ref=hidden["id"]).update(hidden_at=hidden["created_at"])
    told = set()
    for agent, id in ((boreas, private), (boreas, hidden["id"]), (atlas, hidden["id"]), (atlas, like(private))):
        for data in ({}, {"version": 1}):
            error = agent.refused("not_found", "get_space_entry", id, **data)
            told.add(str(error).replace(id, "…"))
    assert len(told) == 1
    atlas.refused("not_found", "get_space_entry", space)


# ---- versions


def test_a_retained_version_is_read_as_it_was(atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry) -> None:
    first = make_entry(atlas, space, summary="One", tags=["a"], priority=1)
    entry = first["id"]
    now = editor.done(
        "update_space_entry", entry, expected_version=1, title="Two", body="Second", tags=[], pinned=True, priority=2
    )
    past = read(atlas, entry, version=1)
    assert past == {**first, "body": "Body", "evidence": {"items": []}}
    current = read(atlas, entry, version=2)
    assert current == read(atlas, entry)
    assert (current["title"], current["body"], current["author"], current["origin"]) == (
        "Two",
        "Second",
        editor.handle,
        "space",
    )
    assert current["updated_at"] == now["updated_at"]
    assert "body" not in read(atlas, entry, version=1, detail="summary")


@pytest.mark.parametrize("act", ["claim_task", "archive_space_entry"])
def test_a_version_by_whoever_changed_no_text_keeps_the_author_of_the_text(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry, act: str
) -> None:
    entry = make_entry(atlas, space, kind="TASK")["id"]
    more = {"archived": True} if act == "archive_space_entry" else {}
    editor.done(act, entry, expected_version=1, **more)
    for agent, origin in ((atlas, "own"), (editor, "space")):
        now, at_two = read(agent, entry), read(agent, entry, version=2)
        assert (now["author"], now["origin"]) == (atlas.handle, origin)
        assert (at_two["author"], at_two["origin"]) == (atlas.handle, origin)


def test_a_version_that_never_was_or_is_pruned_is_not_found(
    atlas: Agent, space: str, make_entry: MakeEntry, settings: Settings
) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 0
    entry = make_entry(atlas, space)["id"]
    for version in range(1, 4):
        atlas.done("update_space_entry", entry, expected_version=version, title="Title", body=f"{version}")
    for version in (1, 2, 5, 2**31 - 1):
        error = atlas.refused("not_found", "get_space_entry", entry, version=version)
        assert f"version {version}" in error["message"]
    assert read(atlas, entry, version=3)["body"] == "2"


# ---- evidence


def test_evidence_comes_with_it_in_pages_each_exactly_once(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    entry = make_entry(atlas, space)["id"]
    added = [atlas.done("add_evidence", entry, body=f"{number}")["id"] for number in range(7)]
    answer = read(atlas, entry, limit=3)
    seen = [item["id"] for item in answer["evidence"]["items"]]
    assert len(seen) == 3
    while "next_cursor" in answer["evidence"]:
        atlas.done("add_evidence", entry, body="Meanwhile") if len(seen) < 5 else None
        answer = read(atlas, entry, limit=3, cursor=answer["evidence"]["next_cursor"])
        assert answer["body"] == "Body"
        seen += [item["id"] for item in answer["evidence"]["items"]]
    assert len(seen) == len(set(seen))
    assert [id for id in seen if id in added] == sorted(added)
    assert len(read(atlas, entry)["evidence"]["items"]) == len(seen)


def test_a_cursor_of_another_entry_query_or_agent_or_tampered_with_is_refused(
    atlas: Agent, reader: Agent, space: str, make_entry: MakeEntry
) -> None:
    entries = [make_entry(atlas, space)["id"] for _ in range(2)]
    for entry in entries:
        for _ in range(2):
            atlas.done("add_evidence", entry, body="Seen")
    cursor = read(atlas, entries[0], limit=1)["evidence"]["next_cursor"]
    atlas.refused("invalid_arguments", "get_space_entry", entries[1], cursor=cursor)
    atlas.refused("invalid_arguments", "get_space_entry", entries[0], cursor=cursor, detail="summary")
    atlas.refused("invalid_arguments", "get_space_entry", entries[0], cursor=cursor, version=1)
    reader.refused("invalid_arguments", "get_space_entry", entries[0], cursor=cursor)
    other = atlas.done("list_space_entries", space, limit=1)["next_cursor"]
    for text in (*broken(cursor), other):
        error = atlas.refused("invalid_arguments", "get_space_entry", entries[0], cursor=text)
        assert [detail["path"] for detail in error["details"]] == ["cursor"]


@pytest.mark.parametrize(
    "arguments", [{"version": 0}, {"version": "one"}, {"limit": 0}, {"limit": 101}, {"detail": "all"}, {"q": "x"}]
)
def test_an_argument_that_does_not_fit_is_refused_and_named(
    atlas: Agent, space: str, make_entry: MakeEntry, arguments: Object
) -> None:
    entry = make_entry(atlas, space)["id"]
    error = atlas.refused("invalid_arguments", "get_space_entry", entry, **arguments)
    assert [detail["path"] for detail in error["details"]] == [*arguments]


def test_reading_needs_its_scope(atlas: Agent, board: Board, space: str, make_entry: MakeEntry) -> None:
    entry = make_entry(atlas, space)["id"]
    board.with_scopes(atlas, "coordination:write").refused("insufficient_scope", "get_space_entry", entry)
