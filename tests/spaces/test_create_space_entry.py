"""create_space_entry: notes, decisions, knowledge and tasks, each kept exactly as written."""

from typing import Any

import pytest

from spaces.models import Entry
from tests.board import Board
from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, MakeSpace, events, inbox, join, like

NOTE = {"kind": "NOTE", "title": "Title", "body": "Body"}
UNCLAIMED: Object = {
    "state": "open",
    "assignee": None,
    "lease_expires_at": None,
    "progress": None,
    "result": None,
    "depends_on": [],
}


def refused(agent: Agent, code: str, space: str, **data: Any) -> Object:
    """The error of an entry that must be refused and not come into being."""
    before = Entry.objects.count()
    error = agent.refused(code, "create_space_entry", space, **NOTE | data)
    assert Entry.objects.count() == before
    return error


@pytest.mark.parametrize("kind", ["NOTE", "DECISION", "KNOWLEDGE", "TASK"])
def test_each_kind_has_the_shape_of_an_entry_and_a_task_more(atlas: Agent, space: str, kind: str) -> None:
    reply = atlas.call("create_space_entry", space, **NOTE | {"kind": kind, "summary": "In short"})
    assert reply.status == 201
    made = reply.json
    assert made["id"].startswith("en_")
    assert made["created_at"] == made["updated_at"]
    assert {name: made[name] for name in made if name not in ("id", "created_at", "updated_at")} == {
        "space": space,
        "kind": kind,
        "title": "Title",
        "summary": "In short",
        "tags": [],
        "pinned": False,
        "priority": 0,
        "archived": False,
        "version": 1,
        "bytes": 4,
        "author": atlas.handle,
        "via": "rest",
        "origin": "own",
        **({"task": UNCLAIMED} if kind == "TASK" else {}),
    }
    read = atlas.done("get_space_entry", made["id"])
    assert read == {**made, "body": "Body", "evidence": {"items": []}}
    assert events(space)[1:] == [("create_space_entry", made["id"], 1)]


def test_it_keeps_what_it_was_given_exactly(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    given = {
        "title": " <b>Title</b>\n",
        "body": "    code\r\n\n\u2028text\ufeff é e\u0301 \U0001f680\n",
        "summary": " \n",
        "tags": ["b", "a-1", "0"],
        "pinned": True,
        "priority": 3,
    }
    made = make_entry(atlas, space, **given)
    read = atlas.done("get_space_entry", made["id"])
    assert {name: read[name] for name in given} == given
    assert read["bytes"] == len(given["body"].encode())  # type: ignore[attr-defined]


def test_the_same_title_may_be_used_again(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    assert make_entry(atlas, space)["id"] != make_entry(atlas, space)["id"]


@pytest.mark.parametrize("kind", ["NOTE", "DECISION", "TASK"])
def test_only_knowledge_needs_a_summary(atlas: Agent, space: str, make_entry: MakeEntry, kind: str) -> None:
    assert make_entry(atlas, space, kind=kind)["summary"] is None
    for absent in ({}, {"summary": None}):
        error = refused(atlas, "invalid_arguments", space, kind="KNOWLEDGE", **absent)
        assert [detail["path"] for detail in error["details"]] == ["summary"]


# ---- depends_on


def test_a_task_waits_for_tasks_of_its_space_in_the_order_given(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    waited = [make_entry(atlas, space, kind="TASK")["id"] for _ in range(20)][::-1]
    made = make_entry(atlas, space, kind="TASK", depends_on=waited)
    assert made["task"]["depends_on"] == waited
    assert atlas.done("get_space_entry", made["id"])["task"]["depends_on"] == waited
    assert made["version"] == 1


def test_nothing_else_waits(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    task = make_entry(atlas, space, kind="TASK")["id"]
    for kind in ("NOTE", "DECISION", "KNOWLEDGE"):
        error = refused(atlas, "invalid_arguments", space, kind=kind, summary="s", depends_on=[task])
        assert [detail["path"] for detail in error["details"]] == ["depends_on"]
        make_entry(atlas, space, kind=kind, summary="s", depends_on=[])


def test_a_task_of_another_space_answers_as_one_that_is_not_there(
    atlas: Agent, boreas: Agent, space: str, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    near = make_entry(atlas, space, kind="TASK")["id"]
    hidden = make_entry(boreas, make_space(boreas), kind="TASK")["id"]
    elsewhere = make_entry(atlas, make_space(atlas), kind="TASK")["id"]
    told = set()
    for id in (hidden, elsewhere, like(near), "nonsense"):
        error = refused(atlas, "reference_unavailable", space, kind="TASK", depends_on=[near, id])
        told.add(error["message"].replace(id, "…"))
    assert len(told) == 1


def test_it_cannot_wait_for_what_is_no_task(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    note = make_entry(atlas, space)["id"]
    error = refused(atlas, "invalid_arguments", space, kind="TASK", depends_on=[note])
    assert error["details"][0]["path"] == "depends_on.0"


# ---- who


def test_editors_and_owners_may_and_nobody_else(
    atlas: Agent, editor: Agent, reader: Agent, boreas: Agent, space: str, make_entry: MakeEntry
) -> None:
    assert make_entry(editor, space)["author"] == editor.handle
    refused(reader, "forbidden", space)
    refused(boreas, "not_found", space)
    join(atlas, space, reader, "owner")
    make_entry(reader, space)


def test_nobody_from_outside_writes_in_a_public_space(atlas: Agent, boreas: Agent, make_space: MakeSpace) -> None:
    refused(boreas, "forbidden", make_space(atlas, visibility="public"))


# ---- limits


def test_texts_and_lists_may_be_as_long_as_their_limits(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    given = {
        "title": "\U0001f680" * 200,
        "body": "\U0001f600" * 5120,
        "summary": "é" * 1024,
        "tags": [f"{number}" * 80 for number in range(10)],
    }
    read = atlas.done("get_space_entry", make_entry(atlas, space, **given)["id"])
    assert {name: read[name] for name in given} == given
    assert read["bytes"] == 20_480


MISFITS: list[tuple[Object, str]] = [
    ({"kind": "note"}, "kind"),
    ({"kind": None}, "kind"),
    ({"title": None}, "title"),
    ({"title": ""}, "title"),
    ({"title": "\t"}, "title"),
    ({"title": "x" * 201}, "title"),
    ({"title": "a\0"}, "title"),
    ({"body": None}, "body"),
    ({"body": ""}, "body"),
    ({"body": " \n\u3000"}, "body"),
    ({"body": "\U0001f600" * 5120 + "a"}, "body"),
    ({"body": "x" * 20_481}, "body"),
    ({"body": "\ud800"}, "body"),
    ({"summary": "é" * 1024 + "x"}, "summary"),
    ({"tags": ["a"] * 2}, "tags"),
    ({"tags": [f"t{number}" for number in range(11)]}, "tags"),
    ({"tags": ["Not a slug"]}, "tags.0"),
    ({"tags": ["ok", "a" * 81]}, "tags.1"),
    ({"tags": ["ok\n"]}, "tags.0"),
    ({"tags": "ok"}, "tags"),
    ({"pinned": 1}, "pinned"),
    ({"pinned": "true"}, "pinned"),
    ({"priority": 4}, "priority"),
    ({"priority": -1}, "priority"),
    ({"priority": "1"}, "priority"),
    ({"priority": True}, "priority"),
    ({"priority": 1.5}, "priority"),
    ({"kind": "TASK", "depends_on": ["x", "x"]}, "depends_on"),
    ({"kind": "TASK", "depends_on": [f"en_{number}" for number in range(21)]}, "depends_on"),
    ({"kind": "TASK", "depends_on": [""]}, "depends_on.0"),
    ({"state": "open"}, "state"),
    ({"expected_version": 0}, "expected_version"),
    ({"data": {}}, "data"),
]


def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent, space: str) -> None:
    for arguments, path in MISFITS:
        error = refused(atlas, "invalid_arguments", space, **arguments)
        assert {detail["path"] for detail in error["details"]} == {path}


def test_a_limit_in_bytes_is_told_in_bytes(atlas: Agent, space: str) -> None:
    error = refused(atlas, "invalid_arguments", space, body="\U0001f600" * 5121)
    assert "20484 bytes" in error["message"]
    assert "20480" in error["message"]


def test_a_null_for_an_optional_argument_means_absent(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    names = ("summary", "tags", "pinned", "priority", "depends_on", "operation_key")
    made = make_entry(atlas, space, kind="TASK", **dict.fromkeys(names))
    assert (made["summary"], made["tags"], made["pinned"], made["priority"]) == (None, [], False, 0)
    assert make_entry(atlas, space, priority=2.0)["priority"] == 2


@pytest.mark.parametrize("name", ["title", "body", "summary"])
def test_a_key_of_this_server_in_a_text_is_refused(atlas: Agent, boreas: Agent, space: str, name: str) -> None:
    error = refused(atlas, "invalid_arguments", space, **{name: f"use {boreas.key} for it"})
    assert [detail["path"] for detail in error["details"]] == [name]
    assert boreas.key not in str(error)


def test_writing_needs_its_scope(atlas: Agent, board: Board, space: str) -> None:
    refused(board.with_scopes(atlas, "coordination:read"), "insufficient_scope", space)


def test_a_refused_entry_calls_nobody(atlas: Agent, editor: Agent, space: str) -> None:
    before = inbox(editor)
    refused(atlas, "reference_unavailable", space, kind="TASK", body=f"@{editor.handle}", depends_on=["en_x"])
    assert inbox(editor) == before
