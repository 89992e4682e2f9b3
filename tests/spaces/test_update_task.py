"""update_task: its holder or an owner reports; the version is the fence that keeps out who was taken over."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from spaces.models import Entry
from tests.board import Board
from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, events, inbox, join, lapse, like


def report(agent: Agent, task: str, version: int, **data: Any) -> Object:
    return agent.done("update_task", task, expected_version=version, **data)


def refused(agent: Agent, code: str, task: Object, version: int, **data: Any) -> Object:
    """The error of a report that must be refused and change nothing."""
    before = events(task["space"]), Entry.objects.filter(ref=task["id"]).values().get()
    error = agent.refused(code, "update_task", task["id"], expected_version=version, **data)
    assert (events(task["space"]), Entry.objects.filter(ref=task["id"]).values().get()) == before
    return error


@pytest.fixture
def task(atlas: Agent, space: str, make_entry: MakeEntry) -> Object:
    """An open task of atlas."""
    return make_entry(atlas, space, kind="TASK", tags=["a"])


@pytest.fixture
def held(editor: Agent, task: Object) -> Object:
    """The same task at version 2, held by the editor for 60 seconds."""
    return editor.done("claim_task", task["id"], expected_version=1, lease_seconds=60)


# ---- what changes


def test_a_report_is_a_version_and_changes_nothing_but_what_it_says(editor: Agent, held: Object) -> None:
    answer = report(editor, held["id"], 2, state="in_progress", progress=30)
    del held["body"]
    assert answer == {
        **held,
        "version": 3,
        "updated_at": answer["updated_at"],
        "task": {
            **held["task"],
            "state": "in_progress",
            "progress": 30,
            "lease_expires_at": answer["task"]["lease_expires_at"],
        },
    }
    assert events(held["space"])[-1] == ("update_task", held["id"], 3)
    assert editor.done("get_space_entry", held["id"])["body"] == "Body"


@pytest.mark.parametrize(
    "report_of", [{"state": "blocked"}, {"progress": 0}, {"progress": 100}, {"result": "So far"}, {"depends_on": []}]
)
def test_every_report_renews_the_lease(editor: Agent, held: Object, report_of: Object) -> None:
    answer = report(editor, held["id"], 2, **report_of)
    ends = datetime.fromisoformat(answer["task"]["lease_expires_at"])
    assert ends - datetime.fromisoformat(answer["updated_at"]) == timedelta(seconds=60)
    assert ends > datetime.fromisoformat(held["task"]["lease_expires_at"])


def test_states_may_follow_each_other_until_one_is_final(editor: Agent, held: Object) -> None:
    states = ["in_progress", "blocked", "in_progress", "blocked", "done"]
    told = [report(editor, held["id"], version, state=state)["task"] for version, state in enumerate(states, start=2)]
    assert [task["state"] for task in told] == states


@pytest.mark.parametrize("state", ["done", "cancelled"])
def test_an_end_is_final_and_needs_no_lease_any_more(atlas: Agent, editor: Agent, held: Object, state: str) -> None:
    ended = report(editor, held["id"], 2, state=state, result="All there is")["task"]
    assert (ended["state"], ended["assignee"], ended["lease_expires_at"]) == (state, editor.handle, None)
    assert ended["progress"] == (100 if state == "done" else None)
    for agent in (editor, atlas):
        for again in ({"state": "in_progress"}, {"state": state}, {"result": "Other"}, {"progress": 1}):
            assert state in refused(agent, "state_conflict", held, 3, **again)["message"]
    lapse(held["id"])
    assert atlas.done("get_space_entry", held["id"])["task"]["state"] == state
    editor.done("update_space_entry", held["id"], expected_version=3, title="x", body="Text may still change")


def test_a_claimed_task_can_be_done_at_once_with_a_progress_of_ones_own(editor: Agent, held: Object) -> None:
    assert report(editor, held["id"], 2, state="done", progress=90)["task"]["progress"] == 90


def test_a_result_is_kept_exactly_and_up_to_10_kib(atlas: Agent, editor: Agent, held: Object) -> None:
    results = ["  é\r\n\U0001f680\n", "\U0001f600" * 2560]
    for version, result in enumerate(results, start=2):
        assert report(editor, held["id"], version, result=result)["task"]["result"] == result
        assert atlas.done("get_space_entry", held["id"])["task"]["result"] == result


def test_the_authors_words_stay_the_authors(atlas: Agent, editor: Agent, held: Object) -> None:
    assert report(editor, held["id"], 2, result="Mine")["author"] == atlas.handle


# ---- whose it is


def test_only_the_holder_and_owners_may(
    atlas: Agent, editor: Agent, reader: Agent, boreas: Agent, board: Board, held: Object
) -> None:
    other = board.agent()
    join(atlas, held["space"], other, "editor")
    error = refused(other, "forbidden", held, 2, state="done")
    assert editor.handle in error["message"]
    refused(reader, "forbidden", held, 2, state="done")
    refused(boreas, "not_found", held, 2, state="done")
    assert report(atlas, held["id"], 2, state="done")["task"]["state"] == "done"


@pytest.mark.parametrize("state", ["in_progress", "blocked"])
def test_an_owner_changes_the_state_of_a_task_that_another_holds_and_it_stays_theirs(
    atlas: Agent, editor: Agent, held: Object, state: str
) -> None:
    now = report(atlas, held["id"], 2, state=state, progress=10)["task"]
    assert (now["state"], now["assignee"], now["progress"]) == (state, editor.handle, 10)
    assert now["lease_expires_at"] == held["task"]["lease_expires_at"]
    assert report(editor, held["id"], 3, state="done")["task"]["state"] == "done"


@pytest.mark.parametrize("state", ["done", "cancelled"])
def test_an_owner_ends_a_task_that_nobody_holds(atlas: Agent, task: Object, state: str) -> None:
    ended = report(atlas, task["id"], 1, state=state, result="Not needed")["task"]
    assert (ended["state"], ended["assignee"]) == (state, None)


@pytest.mark.parametrize("state", ["in_progress", "blocked"])
def test_but_what_nobody_holds_is_not_in_progress(atlas: Agent, editor: Agent, task: Object, state: str) -> None:
    error = refused(atlas, "state_conflict", task, 1, state=state)
    assert "claim" in error["message"]
    editor.done("claim_task", task["id"], expected_version=1)
    lapse(task["id"])
    refused(atlas, "state_conflict", task, 2, state=state)


def test_an_editor_that_holds_nothing_is_refused_also_where_nobody_does(editor: Agent, task: Object) -> None:
    assert "open" in refused(editor, "forbidden", task, 1, state="done")["message"]


def test_a_holder_that_became_a_reader_may_no_longer(atlas: Agent, editor: Agent, held: Object) -> None:
    join(atlas, held["space"], editor, "reader")
    refused(editor, "forbidden", held, 2, state="done")


# ---- the fence


def test_a_holder_whose_lease_ran_out_may_still_report_until_it_is_taken_over(
    atlas: Agent, editor: Agent, held: Object
) -> None:
    lapse(held["id"])
    assert atlas.done("get_space_entry", held["id"])["task"]["state"] == "open"
    now = report(editor, held["id"], 2, state="in_progress")["task"]
    assert (now["state"], now["assignee"]) == ("in_progress", editor.handle)
    assert now["lease_expires_at"] > held["task"]["lease_expires_at"]
    lapse(held["id"])
    assert report(editor, held["id"], 3, state="done", result="Late, but done")["task"]["state"] == "done"


def test_who_was_taken_over_is_told_that_the_lease_is_lost_and_to_whom(
    atlas: Agent, editor: Agent, board: Board, held: Object
) -> None:
    other = board.agent()
    join(atlas, held["space"], other, "editor")
    lapse(held["id"])
    taken = other.done("claim_next_task", held["space"])["entry"]
    assert (taken["id"], taken["version"]) == (held["id"], 3)
    error = refused(editor, "version_conflict", held, 2, state="done", result="Stale")
    assert other.handle in error["message"]
    assert (error["current_version"], error["changed_by"]) == (3, other.handle)
    error = refused(editor, "forbidden", held, 3, state="done", result="Stale")
    assert other.handle in error["message"]
    assert report(other, held["id"], 3, state="done", result="Fresh")["task"]["result"] == "Fresh"
    error = refused(editor, "version_conflict", held, 2, state="done", result="Stale")
    assert "done" in error["message"]
    assert error["changed_by"] == other.handle


def test_who_was_released_by_an_owner_no_longer_holds_it(atlas: Agent, editor: Agent, held: Object) -> None:
    atlas.done("release_task", held["id"], expected_version=2)
    refused(editor, "version_conflict", held, 2, state="done")
    refused(editor, "forbidden", held, 3, state="done")


def test_a_text_changed_meanwhile_is_a_conflict_with_the_diff(atlas: Agent, editor: Agent, held: Object) -> None:
    atlas.done("update_space_entry", held["id"], expected_version=2, title="x", body="Do it otherwise\n")
    error = refused(editor, "version_conflict", held, 2, state="done")
    assert "+Do it otherwise" in error["diff"]
    assert editor.handle in error["message"], "it still holds the task"
    report(editor, held["id"], error["current_version"], state="done")


# ---- depends_on


def test_dependencies_are_replaced_as_a_whole_in_the_order_given(
    atlas: Agent, space: str, task: Object, make_entry: MakeEntry
) -> None:
    others = [make_entry(atlas, space, kind="TASK")["id"] for _ in range(3)]
    for version, depends_on in enumerate((others[:2], others[::-1], [others[1]], []), start=1):
        assert report(atlas, task["id"], version, depends_on=depends_on)["task"]["depends_on"] == depends_on
        assert atlas.done("get_space_entry", task["id"])["task"]["depends_on"] == depends_on
    report(atlas, task["id"], 5, depends_on=others)
    assert report(atlas, task["id"], 6, progress=1)["task"]["depends_on"] == others


def test_a_circle_is_refused_however_long(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    chain = [make_entry(atlas, space, kind="TASK")]
    for _ in range(4):
        chain.append(make_entry(atlas, space, kind="TASK", depends_on=[chain[-1]["id"]]))
    for last in chain[:5]:
        error = refused(atlas, "state_conflict", chain[0], 1, depends_on=[last["id"]])
        assert chain[0]["id"] in error["message"]
    report(atlas, chain[4]["id"], 1, depends_on=[chain[0]["id"], chain[2]["id"]])
    report(atlas, chain[2]["id"], 1, depends_on=[])
    report(atlas, chain[0]["id"], 1, depends_on=[chain[2]["id"]])


def test_a_refused_report_leaves_the_dependencies_as_they_were(
    atlas: Agent, space: str, task: Object, make_entry: MakeEntry
) -> None:
    ahead = make_entry(atlas, space, kind="TASK")["id"]
    report(atlas, task["id"], 1, depends_on=[ahead])
    refused(atlas, "reference_unavailable", task, 2, depends_on=["en_unknown"])
    refused(atlas, "state_conflict", task, 2, depends_on=[task["id"]])
    refused(atlas, "version_conflict", task, 1, depends_on=[])
    refused(atlas, "state_conflict", task, 2, depends_on=[], state="blocked")
    assert atlas.done("get_space_entry", task["id"])["task"]["depends_on"] == [ahead]


def test_what_is_no_task_of_the_space_is_refused(
    atlas: Agent, boreas: Agent, space: str, task: Object, make_entry: MakeEntry
) -> None:
    foreign_space = boreas.done("create_space", request_id="r", name="n", title="t")["id"]
    foreign = make_entry(boreas, foreign_space, kind="TASK")["id"]
    told = set()
    for id in (foreign, like(foreign)):
        error = refused(atlas, "reference_unavailable", task, 1, depends_on=[id])
        told.add(error["message"].replace(id, "…"))
    assert len(told) == 1
    note = make_entry(atlas, space)["id"]
    assert refused(atlas, "invalid_arguments", task, 1, depends_on=[note])["details"][0]["path"] == "depends_on.0"


# ---- arguments


@pytest.mark.parametrize("nothing", [{}, {"state": None, "progress": None, "result": None, "depends_on": None}])
def test_at_least_one_thing_must_be_reported(editor: Agent, held: Object, nothing: Object) -> None:
    refused(editor, "invalid_arguments", held, 2, **nothing)


MISFITS: list[tuple[Object, str]] = [
    ({"state": "open"}, "state"),
    ({"state": "claimed"}, "state"),
    ({"state": "finished"}, "state"),
    ({"progress": 101}, "progress"),
    ({"progress": -1}, "progress"),
    ({"progress": "50"}, "progress"),
    ({"progress": True}, "progress"),
    ({"progress": 0.5}, "progress"),
    ({"result": ""}, "result"),
    ({"result": " \n"}, "result"),
    ({"result": "\U0001f600" * 2560 + "a"}, "result"),
    ({"depends_on": ["x", "x"]}, "depends_on"),
    ({"depends_on": [f"en_{number}" for number in range(21)]}, "depends_on"),
    ({"state": "done", "assignee": "atlas"}, "assignee"),
    ({"state": "done", "lease_seconds": 60}, "lease_seconds"),
    ({"state": "done", "expected_version": 0}, "expected_version"),
]


def test_an_argument_that_does_not_fit_is_refused_and_named(editor: Agent, held: Object) -> None:
    for arguments, path in MISFITS:
        before = events(held["space"])
        error = editor.refused("invalid_arguments", "update_task", held["id"], **{"expected_version": 2, **arguments})
        assert [detail["path"] for detail in error["details"]] == [path]
        assert events(held["space"]) == before


def test_a_key_of_this_server_in_a_result_is_refused(editor: Agent, held: Object) -> None:
    refused(editor, "invalid_arguments", held, 2, result=f"Made with {editor.key}")


@pytest.mark.parametrize("kind", ["NOTE", "DECISION", "KNOWLEDGE"])
def test_nothing_but_a_task_is_reported_on(atlas: Agent, space: str, make_entry: MakeEntry, kind: str) -> None:
    refused(atlas, "state_conflict", make_entry(atlas, space, kind=kind, summary="s"), 1, state="done")


# ---- who hears of it


def test_who_wrote_it_and_who_holds_it_hear_of_what_others_do(atlas: Agent, editor: Agent, held: Object) -> None:
    mine, theirs = inbox(atlas), inbox(editor)
    report(editor, held["id"], 2, progress=1)
    assert inbox(atlas)[len(mine) :] == [("task", held["id"], editor.handle)]
    assert inbox(editor) == theirs
    report(atlas, held["id"], 3, progress=2)
    assert inbox(editor)[len(theirs) :] == [("task", held["id"], atlas.handle)]
    assert len(inbox(atlas)) == len(mine) + 1


def test_the_repeat_with_an_operation_key_reports_once(atlas: Agent, editor: Agent, held: Object) -> None:
    first = report(editor, held["id"], 2, state="done", operation_key="k")
    told = inbox(atlas)
    again = report(editor, held["id"], 2, state="done", operation_key="k")
    assert again == {"operation": first["operation"], "replayed": True}
    assert inbox(atlas) == told
