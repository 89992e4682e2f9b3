"""list_memory: pages of notes by name or by change, filtered, with the tags in use on the first."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from memory.models import Note
from tests.board import Board
from tests.calls import Agent

PAST, FUTURE = "2020-01-01T00:00:00Z", "2900-01-01T00:00:00Z"


def names(answer: dict[str, Any]) -> list[str]:
    return [item["name"] for item in answer["items"]]


def listed(agent: Agent, **data: Any) -> list[str]:
    return names(agent.done("list_memory", **data))


def pages(agent: Agent, **data: Any) -> Iterator[list[str]]:
    """The names on each page in turn, each read when it is asked for."""
    answer = agent.done("list_memory", **data)
    yield names(answer)
    while "next_cursor" in answer:
        answer = agent.done("list_memory", **data, cursor=answer["next_cursor"])
        yield names(answer)


# ---- what an item is


def test_an_agent_without_notes_has_an_empty_list_and_no_cursor(atlas: Agent) -> None:
    assert atlas.done("list_memory") == {"items": [], "tags": []}


def test_an_item_is_the_note_as_a_read_gives_it(atlas: Agent) -> None:
    atlas.save("base")
    references = [{"name": "base", "version": 1}]
    atlas.save("plan", "Text\n", summary="s", use_when="u", tags=["b", "a"], memory_references=references)
    note = atlas.note("plan")
    assert atlas.done("list_memory", detail="full", tag="a")["items"] == [note]
    del note["body"]
    assert atlas.done("list_memory", tag="a")["items"] == [note]
    assert atlas.done("list_memory", tag="a", detail="summary")["items"] == [note]


def test_only_ones_own_living_notes_are_listed(atlas: Agent, boreas: Agent, board: Board) -> None:
    atlas.save("mine")
    atlas.save("gone")
    atlas.done("delete_memory", "gone", expected_version=1)
    boreas.save("foreign")
    sibling = board.agent(owner=board.people[0])  # another agent of the same person
    sibling.save("sibling")
    assert (listed(atlas), listed(boreas), listed(sibling)) == (["mine"], ["foreign"], ["sibling"])


# ---- order


def test_names_are_in_the_order_of_their_bytes_on_every_database(atlas: Agent) -> None:
    ordered = [
        "0",
        "00",
        "1",
        "10",
        "2",
        "a",
        "a-0",
        "a-1",
        "a-10",
        "a-2",
        "a-b",
        "a-b-c",
        "a0",
        "a00",
        "aa",
        "ab",
        "b",
    ]
    for name in sorted(ordered, key=lambda name: name[::-1]):
        atlas.save(name)
    assert ordered == sorted(ordered, key=str.encode)
    assert listed(atlas) == listed(atlas, order="name") == ordered
    assert [name for page in pages(atlas, limit=3) for name in page] == ordered


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite knows no locale")
def test_on_postgresql_the_order_of_names_is_not_the_locales(board: Board) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT collation_name FROM information_schema.columns "
            "WHERE table_name = 'memory_note' AND column_name = 'name'"
        )
        assert cursor.fetchall() == [("C",)]


def test_order_updated_puts_the_latest_changed_first(atlas: Agent) -> None:
    for name in ("a", "b", "c", "d"):
        atlas.save(name)
    atlas.save("b", "More", 1)
    atlas.done("mark_memory_reviewed", "a", expected_version=1)
    assert listed(atlas, order="updated") == ["a", "b", "d", "c"]
    assert list(pages(atlas, order="updated", limit=3)) == [["a", "b", "d"], ["c"]]


def test_notes_changed_at_the_very_same_time_are_all_listed_once(atlas: Agent) -> None:
    for number in range(7):
        atlas.save(f"n{number}")
    at = datetime.fromisoformat(atlas.note("n3")["updated_at"])
    Note.objects.filter(agent_id=atlas.pk).update(updated_at=at)
    seen = [name for page in pages(atlas, order="updated", limit=2) for name in page]
    assert sorted(seen) == [f"n{number}" for number in range(7)]


def test_an_unknown_order_is_refused(atlas: Agent) -> None:
    error = atlas.refused("invalid_arguments", "list_memory", order="size")
    assert error["details"] == [{"path": "order", "message": 'must be one of name, updated; "size" is not'}]


# ---- filters


@pytest.fixture
def shelf(atlas: Agent) -> Agent:
    """An agent with five notes that differ in what can be filtered by."""
    atlas.save("active", tags=["ops", "db"])
    atlas.save("archived", status="archived", tags=["ops-team"])
    atlas.save("due", review_after=PAST, tags=["db"])
    atlas.save("later", review_after=FUTURE)
    atlas.save("retired", status="superseded", review_after=PAST, tags=["ops"])
    return atlas


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["active", "archived", "due", "later", "retired"]),
        ({"status": "active"}, ["active", "due", "later"]),
        ({"status": "archived"}, ["archived"]),
        ({"status": "superseded"}, ["retired"]),
        ({"tag": "ops"}, ["active", "retired"]),
        ({"tag": "ops-team"}, ["archived"]),
        ({"tag": "team"}, []),
        ({"tag": "op"}, []),
        ({"tag": "db", "status": "active"}, ["active", "due"]),
        ({"review_due": True}, ["due", "retired"]),
        ({"review_due": False}, ["active", "archived", "later"]),
        ({"review_due": True, "status": "active", "tag": "db"}, ["due"]),
        ({"updated_since": PAST}, ["active", "archived", "due", "later", "retired"]),
        ({"updated_since": FUTURE}, []),
    ],
)
def test_filters_keep_what_fits_all_of_them(shelf: Agent, arguments: dict[str, Any], expected: list[str]) -> None:
    assert listed(shelf, **arguments) == expected
    assert [name for page in pages(shelf, limit=1, **arguments) for name in page] == expected


def test_updated_since_includes_the_very_moment_and_takes_any_offset(atlas: Agent) -> None:
    atlas.save("a")
    atlas.save("b")
    at = datetime.fromisoformat(atlas.note("b")["updated_at"])
    elsewhere = at + timedelta(hours=5, minutes=30)
    assert listed(atlas, updated_since=elsewhere.isoformat().replace("+00:00", "+05:30")) == ["b"]
    assert listed(atlas, updated_since=(at + timedelta(microseconds=1)).isoformat()) == []


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"status": "done"}, "status"),
        ({"tag": "Not a slug"}, "tag"),
        ({"tag": ""}, "tag"),
        ({"review_due": "yes"}, "review_due"),
        ({"review_due": 1}, "review_due"),
        ({"updated_since": "2030-01-01"}, "updated_since"),
        ({"updated_since": "2030-01-01T00:00:00"}, "updated_since"),
        ({"detail": "all"}, "detail"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": "ten"}, "limit"),
        ({"limit": ""}, "limit"),
        ({"cursor": ""}, "cursor"),
        ({"offset": 1}, "offset"),
        ({"expected_version": 1}, "expected_version"),
    ],
)
def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent, arguments: dict[str, Any], path: str) -> None:
    error = atlas.refused("invalid_arguments", "list_memory", **arguments)
    assert [detail["path"] for detail in error["details"]] == [path]


# ---- tags


def test_the_first_page_counts_the_tags_of_all_notes_the_most_used_first(shelf: Agent) -> None:
    counted = [{"tag": "db", "count": 2}, {"tag": "ops", "count": 2}, {"tag": "ops-team", "count": 1}]
    first = shelf.done("list_memory", limit=2)
    assert first["tags"] == counted
    assert shelf.done("list_memory", status="archived")["tags"] == counted  # whatever is filtered
    assert "tags" not in shelf.done("list_memory", limit=2, cursor=first["next_cursor"])


def test_the_counts_follow_every_write(atlas: Agent) -> None:
    def counts() -> dict[str, int]:
        return {row["tag"]: row["count"] for row in atlas.done("list_memory")["tags"]}

    assert counts() == {}
    atlas.save("a", tags=["x", "y"])
    assert counts() == {"x": 1, "y": 1}
    atlas.save("b", tags=["x"])
    assert counts() == {"x": 2, "y": 1}
    atlas.save("a", "More", 1, tags=["z"])
    assert counts() == {"x": 1, "z": 1}
    atlas.done("restore_memory", "a", version=1, expected_version=2)
    assert counts() == {"x": 2, "y": 1}
    atlas.done("delete_memory", "a", expected_version=3)
    assert counts() == {"x": 1}


# ---- pages


def test_a_page_has_20_items_unless_asked_for_1_to_100(atlas: Agent) -> None:
    for number in range(101):
        atlas.save(f"n{number:03}")
    assert len(listed(atlas)) == 20
    assert len(listed(atlas, limit=1)) == 1
    assert len(listed(atlas, limit=100)) == 100
    assert [len(page) for page in pages(atlas, limit=100)] == [100, 1]


def test_a_full_last_page_has_no_cursor(atlas: Agent) -> None:
    for name in ("a", "b"):
        atlas.save(name)
    assert "next_cursor" not in atlas.done("list_memory", limit=2)
    assert list(pages(atlas, limit=1)) == [["a"], ["b"]]


def test_the_limit_may_change_from_page_to_page(atlas: Agent) -> None:
    for name in "abcde":
        atlas.save(name)
    first = atlas.done("list_memory", limit=1)
    assert listed(atlas, limit=3, cursor=first["next_cursor"]) == ["b", "c", "d"]


def test_by_name_every_note_is_met_exactly_once_while_notes_change_come_and_go(atlas: Agent) -> None:
    kept = [f"n{number:02}" for number in range(0, 40, 2)]
    for name in kept:
        atlas.save(name)
    seen: list[str] = []
    for number, page in enumerate(pages(atlas, limit=3)):
        seen += page
        atlas.save(kept[number], "Changed", 1)  # before and after where the reader stands
        atlas.save(kept[-1 - number], "Changed", 1)
        atlas.save(f"a{number}")
        atlas.save(f"z{number}")
        if number:
            atlas.done("delete_memory", f"z{number - 1}", expected_version=1)
    assert [name for name in seen if name in kept] == kept
    assert len(seen) == len(set(seen))


def test_by_change_a_note_changed_meanwhile_is_not_met_twice(atlas: Agent) -> None:
    for name in "abcdef":
        atlas.save(name)
    seen: list[str] = []
    for number, page in enumerate(pages(atlas, order="updated", limit=2)):
        seen += page
        if number == 0:
            atlas.save("f", "More", 1)  # seen already, and now the latest
    assert seen == ["f", "e", "d", "c", "b", "a"]


# ---- cursors


def test_a_cursor_of_another_query_is_refused(atlas: Agent) -> None:
    for name in ("a", "b", "c"):
        atlas.save(name, tags=["t"])
    cursor = atlas.done("list_memory", limit=1)["next_cursor"]
    others: list[dict[str, Any]] = [
        {"order": "updated"},
        {"status": "active"},
        {"tag": "t"},
        {"review_due": False},
        {"updated_since": PAST},
        {"detail": "full"},
    ]
    for other in others:
        error = atlas.refused("invalid_arguments", "list_memory", cursor=cursor, **other)
        assert error["details"][0]["path"] == "cursor"
    assert listed(atlas, cursor=cursor, order="name", detail="summary") == ["b", "c"]  # defaults, named


def test_a_cursor_of_another_list_or_another_agent_is_refused(atlas: Agent, boreas: Agent, board: Board) -> None:
    for agent in (atlas, boreas):
        for name in ("a", "b"):
            agent.save(name)
            agent.save(name, "More", 1)
    cursor = atlas.done("list_memory", limit=1)["next_cursor"]
    revisions = atlas.done("list_memory_revisions", "a", limit=1)["next_cursor"]
    found = atlas.done("search_memory", q="more", limit=1)["next_cursor"]
    boreas.refused("invalid_arguments", "list_memory", cursor=cursor)
    for other in (revisions, found):
        atlas.refused("invalid_arguments", "list_memory", cursor=other)
    atlas.refused("invalid_arguments", "list_memory_revisions", "b", cursor=revisions)
    atlas.refused("invalid_arguments", "list_memory_revisions", "a", cursor=cursor)
    atlas.refused("invalid_arguments", "search_memory", q="more", cursor=cursor)
    atlas.refused("invalid_arguments", "search_memory", q="text", cursor=found)
    boreas.refused("invalid_arguments", "search_memory", q="more", cursor=found)
    assert listed(board.with_scopes(atlas, "memory:read"), cursor=cursor) == ["b"]  # the agent's, not the key's


def test_a_cursor_that_was_tampered_with_is_refused(atlas: Agent) -> None:
    for name in ("a", "b"):
        atlas.save(name)
    cursor = atlas.done("list_memory", limit=1)["next_cursor"]
    other = {"A": "B"}.get(cursor[0], "A")
    broken = [cursor[:-1], cursor[1:], other + cursor[1:], cursor + "A", cursor + "=", cursor[:12], cursor.swapcase()]
    broken += ["x", "AAAA", "!", "é", "null", "a" * 1024, "a" * 1025, cursor + " ", f"{cursor}\n", cursor * 2]
    for text in broken:
        error = atlas.refused("invalid_arguments", "list_memory", cursor=text)
        assert [detail["path"] for detail in error["details"]] == ["cursor"]


def test_a_cursor_tells_nothing_to_the_eye(atlas: Agent) -> None:
    atlas.save("plan-of-escape")
    atlas.save("z")
    assert "plan" not in atlas.done("list_memory", limit=1)["next_cursor"]


def test_listing_needs_its_scope(atlas: Agent, board: Board) -> None:
    board.with_scopes(atlas, "memory:write", "posts:read").refused("insufficient_scope", "list_memory")
