"""update_space_entry: title and body are replaced; tags, pinned and priority stay where they are not given."""

from typing import Any

import pytest
from pytest_django import Settings

from agentboard.contract import limits
from tests.board import Board
from tests.calls import Agent, Object, posted
from tests.memory.patching import patched
from tests.spaces.conftest import MakeEntry, MakeSpace, events, join, lapse, like

TEXT = {"title": "New", "body": "New body"}


def update(agent: Agent, entry: str, version: int, **data: Any) -> Object:
    return agent.done("update_space_entry", entry, expected_version=version, **TEXT | data)


def refused(agent: Agent, code: str, entry: Object, version: int = 1, **data: Any) -> Object:
    """The error of an update that must be refused and change nothing."""
    before = events(entry["space"])
    error = agent.refused(code, "update_space_entry", entry["id"], expected_version=version, **TEXT | data)
    assert events(entry["space"]) == before
    return error


@pytest.fixture
def note(atlas: Agent, space: str, make_entry: MakeEntry) -> Object:
    """A note that has everything a note can have."""
    return make_entry(atlas, space, summary="Short", tags=["b", "a"], pinned=True, priority=2)


# ---- what changes


def test_the_answer_is_the_entry_without_the_body_just_sent(atlas: Agent, space: str, note: Object) -> None:
    reply = atlas.call("update_space_entry", note["id"], expected_version=1, **TEXT)
    assert reply.status == 200
    changed = reply.json
    assert changed == {**note, "title": "New", "version": 2, "bytes": 8, "updated_at": changed["updated_at"]}
    assert changed["updated_at"] > note["updated_at"]
    assert events(space)[-1] == ("update_space_entry", note["id"], 2)


@pytest.mark.parametrize("absent", [{}, {"tags": None, "pinned": None, "priority": None, "operation_key": None}])
def test_omitted_tags_pinned_and_priority_stay(atlas: Agent, note: Object, absent: Object) -> None:
    update(atlas, note["id"], 1, **absent)
    read = atlas.done("get_space_entry", note["id"])
    assert {name: read[name] for name in ("summary", "tags", "pinned", "priority", "title", "body")} == {
        "summary": "Short",
        "tags": ["b", "a"],
        "pinned": True,
        "priority": 2,
        **TEXT,
    }


def test_given_ones_change_also_to_nothing(atlas: Agent, note: Object) -> None:
    changes: list[Object] = [{"tags": []}, {"pinned": False}, {"priority": 0}]
    changes.append({"tags": ["c", "b"], "pinned": True, "priority": 3})
    for version, given in enumerate(changes, start=1):
        before = atlas.done("get_space_entry", note["id"])
        update(atlas, note["id"], version, **given)
        after = atlas.done("get_space_entry", note["id"])
        assert {name: after[name] for name in ("tags", "pinned", "priority")} == {
            name: before[name] for name in ("tags", "pinned", "priority")
        } | given


def test_the_text_is_kept_exactly(atlas: Agent, note: Object) -> None:
    given = {"title": " T\n", "body": "    code\r\n\n\ufeffe\u0301 \U0001f680\n"}
    update(atlas, note["id"], 1, **given)
    read = atlas.done("get_space_entry", note["id"])
    assert {name: read[name] for name in given} == given


def test_the_editor_becomes_the_author_and_the_version_before_is_retained(
    atlas: Agent, editor: Agent, note: Object
) -> None:
    changed = update(editor, note["id"], 1)
    assert (changed["author"], changed["origin"]) == (editor.handle, "own")
    assert atlas.done("get_space_entry", note["id"])["origin"] == "space"
    past = atlas.done("get_space_entry", note["id"], version=1)
    assert (past["title"], past["body"], past["author"]) == ("Title", "Body", atlas.handle)


def test_the_same_text_again_is_a_version_too(atlas: Agent, note: Object) -> None:
    assert [update(atlas, note["id"], version)["version"] for version in (1, 2)] == [2, 3]


def test_a_tasks_state_holder_and_lease_stay(atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry) -> None:
    task = make_entry(atlas, space, kind="TASK")["id"]
    editor.done("claim_task", task, expected_version=1)
    held = editor.done("update_task", task, expected_version=2, state="blocked", progress=40, result="So far")["task"]
    assert update(atlas, task, 3)["task"] == held


# ---- knowledge


def test_knowledge_is_refused_with_the_way_out(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    knowledge = make_entry(atlas, space, kind="KNOWLEDGE", summary="s")
    for version in (1, 7):
        error = refused(atlas, "state_conflict", knowledge, version)
        assert "KNOWLEDGE" in error["message"]
        assert "publish_knowledge" in error["next_action"]


# ---- conflicts


def test_a_stale_update_is_told_who_changed_what_and_when(atlas: Agent, editor: Agent, note: Object) -> None:
    changed = update(editor, note["id"], 1, body="Body\nand more\n")
    error = refused(atlas, "version_conflict", note)
    assert error.pop("message") == f"{note['id']} is not at version 1: it is at version 2."
    del error["next_action"], error["help"]
    assert error == {
        "code": "version_conflict",
        "resource": {"type": "entry", "id": note["id"]},
        "current_version": 2,
        "changed_by": editor.handle,
        "changed_via": "rest",
        "changed_at": changed["updated_at"],
        "diff": "--- version 1\n+++ version 2\n@@ -1 +1,2 @@\n-Body\n\\ No newline at end of file\n+Body\n+and more",
    }


def test_the_diff_spans_all_versions_in_between_and_suffices_to_merge(
    atlas: Agent, editor: Agent, note: Object
) -> None:
    bodies = ["Body", "one\n", "one\ntwo\n", "three\n"]
    for version, body in enumerate(bodies[1:], start=1):
        update(editor, note["id"], version, body=body)
    for version in (1, 2, 3):
        error = refused(atlas, "version_conflict", note, version)
        assert patched(bodies[version - 1], error["diff"]) == bodies[-1]
    assert update(atlas, note["id"], error["current_version"])["version"] == 5


@pytest.mark.parametrize("version", [2, 99, 2**31 - 1])
def test_from_a_version_that_never_was_there_is_no_diff(atlas: Agent, note: Object, version: int) -> None:
    error = refused(atlas, "version_conflict", note, version)
    assert "diff" not in error
    assert error["current_version"] == 1


def test_nor_from_one_that_was_pruned(atlas: Agent, note: Object, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 0
    for version in range(1, 5):
        update(atlas, note["id"], version, body=f"{version}")
    assert "diff" not in refused(atlas, "version_conflict", note)
    assert "diff" in refused(atlas, "version_conflict", note, 4)


def test_a_long_diff_is_cut_and_says_so(atlas: Agent, note: Object) -> None:
    update(atlas, note["id"], 1, body="中\n" * 5_000)
    error = refused(atlas, "version_conflict", note)
    assert error["truncated"] is True
    assert len(error["diff"].encode()) <= limits.DIFF_MAX


def test_of_a_task_a_conflict_tells_who_holds_it(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    task = make_entry(atlas, space, kind="TASK")
    held = editor.done("claim_task", task["id"], expected_version=1)["task"]
    message = refused(atlas, "version_conflict", task)["message"]
    assert editor.handle in message
    assert held["lease_expires_at"][:19] in message
    lapse(task["id"])
    message = refused(atlas, "version_conflict", task)["message"]
    assert editor.handle not in message
    assert "open" in message


# ---- who


def test_editors_and_owners_may_and_nobody_else(
    atlas: Agent, editor: Agent, reader: Agent, boreas: Agent, note: Object
) -> None:
    refused(reader, "forbidden", note)
    message = refused(boreas, "not_found", note)["message"]
    error = boreas.refused("not_found", "update_space_entry", like(note["id"]), expected_version=1, **TEXT)
    assert error["message"].replace(like(note["id"]), "…") == message.replace(note["id"], "…")
    update(editor, note["id"], 1)
    join(atlas, note["space"], reader, "owner")
    update(reader, note["id"], 2)


def test_a_reader_is_refused_before_anything_is_told_of_versions(reader: Agent, note: Object) -> None:
    assert "current_version" not in refused(reader, "forbidden", note, 7)


def test_nobody_from_outside_changes_a_public_space(
    atlas: Agent, boreas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    refused(boreas, "forbidden", make_entry(atlas, make_space(atlas, visibility="public")))


# ---- arguments


MISFITS: list[tuple[Object, str]] = [
    ({"title": None}, "title"),
    ({"title": " "}, "title"),
    ({"title": "x" * 201}, "title"),
    ({"body": None}, "body"),
    ({"body": "\n"}, "body"),
    ({"body": "\U0001f600" * 5120 + "a"}, "body"),
    ({"tags": ["a", "a"]}, "tags"),
    ({"tags": ["A"]}, "tags.0"),
    ({"tags": {}}, "tags"),
    ({"pinned": "no"}, "pinned"),
    ({"priority": 4}, "priority"),
    ({"priority": True}, "priority"),
    ({"expected_version": 0}, "expected_version"),
    ({"expected_version": True}, "expected_version"),
    ({"expected_version": "1"}, "expected_version"),
    ({"expected_version": 1.5}, "expected_version"),
    ({"expected_version": -1}, "expected_version"),
    ({"expected_version": ""}, "expected_version"),
    ({"expected_version": [1]}, "expected_version"),
    ({"expected_version": None}, "expected_version"),
    ({"expected_version": 2**31}, "expected_version"),
    ({"operation_key": "Not a slug"}, "operation_key"),
    ({"operation_key": ""}, "operation_key"),
    ({"summary": "x"}, "summary"),
    ({"kind": "NOTE"}, "kind"),
    ({"data": TEXT}, "data"),
    ({"id": "x"}, "id"),
]


def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent, note: Object) -> None:
    for arguments, path in MISFITS:
        before = events(note["space"])
        data = {"expected_version": 1, **TEXT, **arguments}
        error = atlas.refused("invalid_arguments", "update_space_entry", note["id"], **data)
        assert {detail["path"] for detail in error["details"]} == {path}
        assert events(note["space"]) == before


def test_a_whole_number_may_be_written_with_a_point(atlas: Agent, note: Object) -> None:
    assert update(atlas, note["id"], 1.0, priority=3.0)["priority"] == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"5", b"null", b"{", b'{"title":"a","title":"b"}', b"\xff"])
def test_what_is_no_json_object_changes_nothing(atlas: Agent, note: Object, body: bytes) -> None:
    reply = posted(atlas, f"/v1/space-entries/{note['id']}", body)
    assert (reply.status, reply.code) == (400, "invalid_json")
    assert atlas.done("get_space_entry", note["id"])["version"] == 1


def test_an_empty_body_counts_as_an_empty_object(atlas: Agent, note: Object) -> None:
    reply = posted(atlas, f"/v1/space-entries/{note['id']}", b"")
    assert reply.code == "invalid_arguments"
    assert {detail["path"] for detail in reply.json["error"]["details"]} == {"expected_version", "title", "body"}


@pytest.mark.parametrize("name", ["title", "body"])
def test_a_key_of_this_server_in_a_text_is_refused(atlas: Agent, note: Object, name: str) -> None:
    text: Object = {name: f"use {atlas.key} for it"}
    error = refused(atlas, "invalid_arguments", note, **text)
    assert [detail["path"] for detail in error["details"]] == [name]


def test_updating_needs_its_scope(atlas: Agent, board: Board, note: Object) -> None:
    refused(board.with_scopes(atlas, "coordination:read"), "insufficient_scope", note)


# ---- once


def test_the_same_call_again_answers_the_receipt_alone_also_when_the_entry_has_moved_on(
    atlas: Agent, editor: Agent, note: Object
) -> None:
    first = update(atlas, note["id"], 1, operation_key="k")
    assert first["replayed"] is False
    assert first["operation"]["version"] == 2
    update(editor, note["id"], 2)
    before = events(note["space"])
    assert update(atlas, note["id"], 1, operation_key="k") == {"operation": first["operation"], "replayed": True}
    assert events(note["space"]) == before
    refused(atlas, "operation_key_conflict", note, 1, operation_key="k", body="Other")
    refused(atlas, "operation_key_conflict", note, 3, operation_key="k")
