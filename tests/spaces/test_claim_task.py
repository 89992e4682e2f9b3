"""claim_task: a lease on an open task, which ends by itself."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.board import Board
from tests.calls import Agent, Object
from tests.serving import wait_for
from tests.spaces.conftest import MakeEntry, MakeSpace, events, inbox, join, lapse


def claim(agent: Agent, task: str, version: int = 1, **data: Any) -> Object:
    return agent.done("claim_task", task, expected_version=version, **data)


def refused(agent: Agent, code: str, task: Object, version: int = 1, **data: Any) -> Object:
    """The error of a claim that must be refused and change nothing."""
    before = events(task["space"])
    error = agent.refused(code, "claim_task", task["id"], expected_version=version, **data)
    assert events(task["space"]) == before
    return error


@pytest.fixture
def task(atlas: Agent, space: str, make_entry: MakeEntry) -> Object:
    """An open task of atlas."""
    return make_entry(atlas, space, kind="TASK")


def lease(answer: Object) -> timedelta:
    """For how long the claim was given, by the server's clock."""
    ends: str = answer["task"]["lease_expires_at"]
    return datetime.fromisoformat(ends) - datetime.fromisoformat(answer["updated_at"])


# ---- a claim


def test_a_claim_is_a_version_and_answers_the_task_with_its_body(editor: Agent, task: Object) -> None:
    answer = claim(editor, task["id"])
    assert answer == {
        **task,
        "origin": "space",
        "version": 2,
        "updated_at": answer["updated_at"],
        "body": "Body",
        "task": {
            **task["task"],
            "state": "claimed",
            "assignee": editor.handle,
            "lease_expires_at": answer["task"]["lease_expires_at"],
        },
    }
    assert events(task["space"])[-1] == ("claim_task", task["id"], 2)


@pytest.mark.parametrize(
    ("given", "seconds"), [({}, 900), ({"lease_seconds": 1}, 1), ({"lease_seconds": 86_400}, 86_400)]
)
def test_it_lasts_for_as_long_as_was_asked(atlas: Agent, task: Object, given: Object, seconds: int) -> None:
    assert lease(claim(atlas, task["id"], **given)) == timedelta(seconds=seconds)


def test_a_held_task_is_claimed_by_nobody_else_nor_again(atlas: Agent, editor: Agent, task: Object) -> None:
    claim(editor, task["id"])
    for agent in (atlas, editor):
        error = refused(agent, "state_conflict", task, 2)
        assert editor.handle in error["message"]


def test_an_agent_may_hold_any_number(editor: Agent, space: str, make_entry: MakeEntry) -> None:
    for _ in range(5):
        claim(editor, make_entry(editor, space, kind="TASK")["id"])
    assert len(editor.done("list_space_entries", space, assignee=editor.handle)["items"]) == 5


# ---- its end


def test_a_lease_runs_out_by_itself_and_the_task_reads_as_open(
    atlas: Agent, editor: Agent, space: str, task: Object
) -> None:
    claim(editor, task["id"], lease_seconds=1)

    def now() -> Object:
        found: Object = atlas.done("get_space_entry", task["id"])["task"]
        return found

    assert now()["state"] == "claimed"
    wait_for(lambda: now()["state"] == "open", 10)
    assert now() == task["task"]
    (item,) = atlas.done("list_space_entries", space, state="open")["items"]
    assert (item["task"], item["version"]) == (task["task"], 2)
    assert claim(atlas, task["id"], 2)["task"]["assignee"] == atlas.handle


@pytest.mark.parametrize("state", ["claimed", "in_progress", "blocked"])
def test_a_task_whose_lease_ran_out_is_claimed_from_its_version(
    atlas: Agent, editor: Agent, task: Object, state: str
) -> None:
    version = claim(editor, task["id"])["version"]
    if state != "claimed":
        report = {"state": state, "progress": 30, "result": "So far"}
        version = editor.done("update_task", task["id"], expected_version=version, **report)["version"]
    lapse(task["id"])
    now = claim(atlas, task["id"], version)["task"]
    assert (now["state"], now["assignee"]) == ("claimed", atlas.handle)
    if state != "claimed":
        assert (now["progress"], now["result"]) == (30, "So far")


def test_who_let_the_lease_run_out_may_claim_again(editor: Agent, task: Object) -> None:
    claim(editor, task["id"])
    lapse(task["id"])
    assert claim(editor, task["id"], 2)["task"]["assignee"] == editor.handle


@pytest.mark.parametrize("state", ["done", "cancelled"])
def test_an_ended_task_is_claimed_by_nobody_ever(atlas: Agent, editor: Agent, task: Object, state: str) -> None:
    claim(editor, task["id"])
    editor.done("update_task", task["id"], expected_version=2, state=state)
    for agent in (atlas, editor):
        assert state in refused(agent, "state_conflict", task, 3)["message"]


# ---- dependencies


def test_a_task_waits_until_all_it_depends_on_are_done_or_cancelled(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    ahead = [make_entry(atlas, space, kind="TASK")["id"] for _ in range(3)]
    task = make_entry(atlas, space, kind="TASK", depends_on=ahead)
    left = list(ahead)
    for state in ("done", "cancelled", "done"):
        error = refused(atlas, "state_conflict", task)
        assert [id for id in ahead if id in error["message"]] == left
        claim(atlas, left[0])
        error = refused(atlas, "state_conflict", task)
        assert [id for id in ahead if id in error["message"]] == left
        atlas.done("update_task", left.pop(0), expected_version=2, state=state)
    assert claim(atlas, task["id"])["task"]["depends_on"] == ahead


def test_it_waits_also_for_one_that_is_blocked_or_whose_lease_ran_out(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    ahead = make_entry(atlas, space, kind="TASK")["id"]
    task = make_entry(atlas, space, kind="TASK", depends_on=[ahead])
    claim(atlas, ahead)
    atlas.done("update_task", ahead, expected_version=2, state="blocked", progress=100)
    refused(atlas, "state_conflict", task)
    lapse(ahead)
    refused(atlas, "state_conflict", task)


# ---- refused


@pytest.mark.parametrize("kind", ["NOTE", "DECISION", "KNOWLEDGE"])
def test_nothing_but_a_task_is_claimed(atlas: Agent, space: str, make_entry: MakeEntry, kind: str) -> None:
    assert kind in refused(atlas, "state_conflict", make_entry(atlas, space, kind=kind, summary="s"))["message"]


def test_a_stale_version_is_refused_and_told_who_holds_it(atlas: Agent, editor: Agent, task: Object) -> None:
    claim(editor, task["id"])
    error = refused(atlas, "version_conflict", task)
    assert (error["current_version"], error["changed_by"]) == (2, editor.handle)
    assert editor.handle in error["message"]
    atlas.done("update_space_entry", task["id"], expected_version=2, title="x", body="Other\n")
    assert "+Other" in refused(atlas, "version_conflict", task)["diff"]


def test_editors_and_owners_may_and_nobody_else(
    atlas: Agent, reader: Agent, boreas: Agent, task: Object, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    refused(reader, "forbidden", task)
    refused(boreas, "not_found", task)
    refused(boreas, "forbidden", make_entry(atlas, make_space(atlas, visibility="public"), kind="TASK"))
    join(atlas, task["space"], reader, "editor")
    claim(reader, task["id"])


@pytest.mark.parametrize("seconds", [0, -1, 86_401, "900", True, 1.5])
def test_a_lease_lasts_from_a_second_to_a_day(atlas: Agent, task: Object, seconds: object) -> None:
    error = refused(atlas, "invalid_arguments", task, lease_seconds=seconds)
    assert [detail["path"] for detail in error["details"]] == ["lease_seconds"]


def test_claiming_needs_its_scope(atlas: Agent, board: Board, task: Object) -> None:
    refused(board.with_scopes(atlas, "coordination:read"), "insufficient_scope", task)


def test_the_repeat_with_an_operation_key_answers_the_receipt_and_renews_nothing(
    atlas: Agent, editor: Agent, task: Object
) -> None:
    first = claim(editor, task["id"], operation_key="k")
    again = claim(editor, task["id"], operation_key="k")
    assert again == {"operation": first["operation"], "replayed": True}
    now = atlas.done("get_space_entry", task["id"])
    assert (now["version"], now["task"]) == (2, first["task"])


def test_who_wrote_the_task_hears_of_it_and_who_claims_it_does_not(
    atlas: Agent, editor: Agent, reader: Agent, task: Object
) -> None:
    others = inbox(editor), inbox(reader)
    claim(editor, task["id"])
    assert inbox(atlas) == [("task", task["id"], editor.handle)]
    assert (inbox(editor), inbox(reader)) == others
