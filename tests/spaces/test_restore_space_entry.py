"""restore_space_entry: what an earlier version said becomes the next version; what a task went through stays."""

import pytest
from pytest_django import Settings

from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, events

FIRST = {"title": "One", "body": "First", "summary": "S", "tags": ["b", "a"], "pinned": True, "priority": 2}


def refused(agent: Agent, code: str, entry: Object, *, version: int, expected: int) -> Object:
    """The error of a restore that must be refused and change nothing."""
    before = events(entry["space"])
    error = agent.refused(code, "restore_space_entry", entry["id"], version=version, expected_version=expected)
    assert events(entry["space"]) == before
    return error


@pytest.fixture
def changed(atlas: Agent, space: str, make_entry: MakeEntry) -> Object:
    """A note of two versions that differ in everything."""
    made = make_entry(atlas, space, **FIRST)
    more = {"tags": [], "pinned": False, "priority": 0}
    return atlas.done("update_space_entry", made["id"], expected_version=1, title="Two", body="Second", **more)


def test_all_that_the_version_said_comes_back_as_the_next_version(atlas: Agent, editor: Agent, changed: Object) -> None:
    answer = editor.done("restore_space_entry", changed["id"], version=1, expected_version=2)
    assert {name: answer[name] for name in FIRST} == FIRST
    assert (answer["version"], answer["bytes"], answer["author"], answer["origin"]) == (3, 5, editor.handle, "own")
    read = atlas.done("get_space_entry", changed["id"])
    assert {name: read[name] for name in FIRST} == FIRST
    assert atlas.done("get_space_entry", changed["id"], version=2)["body"] == "Second"
    assert events(changed["space"])[-1] == ("restore_space_entry", changed["id"], 3)


def test_a_tasks_state_holder_progress_result_and_dependencies_stay(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    waited = make_entry(atlas, space, kind="TASK")["id"]
    atlas.done("claim_task", waited, expected_version=1)
    atlas.done("update_task", waited, expected_version=2, state="done")
    task = make_entry(atlas, space, kind="TASK", **FIRST)["id"]
    atlas.done("update_space_entry", task, expected_version=1, title="Two", body="Second")
    editor.done("claim_task", task, expected_version=2)
    report = {"state": "blocked", "progress": 40, "result": "So far", "depends_on": [waited]}
    now = editor.done("update_task", task, expected_version=3, **report)["task"]
    answer = atlas.done("restore_space_entry", task, version=1, expected_version=4)
    assert answer["body"] == "First"
    assert answer["task"] == now
    editor.done("update_task", task, expected_version=5, state="done")
    ended = atlas.done("restore_space_entry", task, version=2, expected_version=6)
    assert (ended["body"], ended["task"]["state"], ended["task"]["result"]) == ("Second", "done", "So far")


def test_it_stays_archived_where_it_was(atlas: Agent, changed: Object) -> None:
    atlas.done("archive_space_entry", changed["id"], expected_version=2, archived=True)
    assert atlas.done("restore_space_entry", changed["id"], version=1, expected_version=3)["archived"] is True


def test_knowledge_is_refused_with_the_way_out(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    knowledge = make_entry(atlas, space, kind="KNOWLEDGE", summary="s")
    atlas.done("publish_knowledge", knowledge["id"], expected_version=1, body="Second", summary="s")
    error = refused(atlas, "state_conflict", knowledge, version=1, expected=2)
    assert "publish_knowledge" in error["next_action"]


def test_a_version_that_never_was_or_is_pruned_is_not_found(atlas: Agent, changed: Object, settings: Settings) -> None:
    for version in (3, 99):
        refused(atlas, "not_found", changed, version=version, expected=2)
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 0
    atlas.done("update_space_entry", changed["id"], expected_version=2, title="x", body="Third")
    atlas.done("update_space_entry", changed["id"], expected_version=3, title="x", body="Fourth")
    refused(atlas, "not_found", changed, version=1, expected=4)


def test_a_stale_version_is_refused_also_where_the_revision_is_missing(atlas: Agent, changed: Object) -> None:
    for version in (1, 99):
        error = refused(atlas, "version_conflict", changed, version=version, expected=1)
        assert error["current_version"] == 2
        assert "+Second" in error["diff"]


def test_editors_may_and_readers_may_not(reader: Agent, boreas: Agent, changed: Object) -> None:
    refused(reader, "forbidden", changed, version=1, expected=2)
    refused(boreas, "not_found", changed, version=1, expected=2)


def test_the_repeat_with_an_operation_key_answers_the_receipt_without_the_body(atlas: Agent, changed: Object) -> None:
    data = {"version": 1, "expected_version": 2, "operation_key": "k"}
    first = atlas.done("restore_space_entry", changed["id"], **data)
    assert (first["body"], first["replayed"]) == ("First", False)
    again = atlas.done("restore_space_entry", changed["id"], **data)
    assert again == {"operation": first["operation"], "replayed": True}


MISFITS: list[tuple[Object, str]] = [
    ({"version": 0}, "version"),
    ({"version": True}, "version"),
    ({"expected_version": 0}, "expected_version"),
]


def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent, changed: Object) -> None:
    for arguments, path in MISFITS:
        data = {"version": 1, "expected_version": 2, **arguments}
        error = atlas.refused("invalid_arguments", "restore_space_entry", changed["id"], **data)
        assert [detail["path"] for detail in error["details"]] == [path]
