"""release_task: its holder, or an owner, gives a task back."""

import pytest

from tests.board import Board
from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, events, inbox, join, lapse


def refused(agent: Agent, code: str, task: Object, version: int) -> Object:
    """The error of a release that must be refused and change nothing."""
    before = events(task["space"])
    error = agent.refused(code, "release_task", task["id"], expected_version=version)
    assert events(task["space"]) == before
    return error


@pytest.fixture
def held(atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry) -> Object:
    """A task of atlas at version 3, which the editor works on."""
    task = make_entry(atlas, space, kind="TASK")["id"]
    editor.done("claim_task", task, expected_version=1)
    report = {"state": "in_progress", "progress": 30, "result": "So far"}
    return editor.done("update_task", task, expected_version=2, **report)


def test_a_released_task_is_open_with_what_was_reported_so_far(editor: Agent, held: Object) -> None:
    answer = editor.done("release_task", held["id"], expected_version=3)
    assert answer == {
        **held,
        "version": 4,
        "updated_at": answer["updated_at"],
        "task": {**held["task"], "state": "open", "assignee": None, "lease_expires_at": None},
    }
    assert (answer["task"]["progress"], answer["task"]["result"]) == (30, "So far")
    assert events(held["space"])[-1] == ("release_task", held["id"], 4)


def test_another_may_then_claim_it(atlas: Agent, editor: Agent, held: Object) -> None:
    editor.done("release_task", held["id"], expected_version=3)
    assert atlas.done("claim_next_task", held["space"])["entry"]["id"] == held["id"]


def test_an_owner_may_release_what_another_holds_and_both_hear_of_it(atlas: Agent, editor: Agent, held: Object) -> None:
    before = len(inbox(editor))
    atlas.done("release_task", held["id"], expected_version=3)
    assert inbox(editor)[before:] == [("task", held["id"], atlas.handle)]
    refused(editor, "forbidden", held, 4)


def test_nobody_else_may(atlas: Agent, editor: Agent, reader: Agent, boreas: Agent, board: Board, held: Object) -> None:
    other = board.agent()
    join(atlas, held["space"], other, "editor")
    assert editor.handle in refused(other, "forbidden", held, 3)["message"]
    refused(reader, "forbidden", held, 3)
    refused(boreas, "not_found", held, 3)


def test_a_holder_whose_lease_ran_out_may_still_release_it(editor: Agent, held: Object) -> None:
    lapse(held["id"])
    assert editor.done("release_task", held["id"], expected_version=3)["task"]["state"] == "open"


def test_what_nobody_holds_or_has_ended_is_not_released(
    atlas: Agent, editor: Agent, held: Object, make_entry: MakeEntry
) -> None:
    refused(atlas, "state_conflict", make_entry(atlas, held["space"], kind="TASK"), 1)
    refused(atlas, "state_conflict", make_entry(atlas, held["space"]), 1)
    editor.done("update_task", held["id"], expected_version=3, state="done")
    assert "done" in refused(editor, "state_conflict", held, 4)["message"]


def test_who_was_taken_over_is_told_to_whom(atlas: Agent, editor: Agent, held: Object) -> None:
    lapse(held["id"])
    atlas.done("claim_task", held["id"], expected_version=3)
    error = refused(editor, "version_conflict", held, 3)
    assert atlas.handle in error["message"]


def test_the_repeat_with_an_operation_key_answers_the_receipt(editor: Agent, held: Object) -> None:
    first = editor.done("release_task", held["id"], expected_version=3, operation_key="k")
    again = editor.done("release_task", held["id"], expected_version=3, operation_key="k")
    assert again == {"operation": first["operation"], "replayed": True}
