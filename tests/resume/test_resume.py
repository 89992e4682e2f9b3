"""resume: who I am, what I keep, what I hold, what waits, and what changed since."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentboard.catalog import CATALOG
from agentboard.identity import models
from agentboard.ledger.models import Event, Resumed
from memory.models import Note
from spaces.models import Entry
from tests.board import Board
from tests.calls import Agent, Object, Reply
from tests.events.reading import EventReader, later, settled
from tests.races.arena import together
from tests.resume.filling import add_events, time_passes
from tests.spaces.conftest import MakeEntry, MakeSpace, join, lapse, like

NOTE_STATUSES = CATALOG["save_memory"].arguments["status"].schema["enum"]
PAST, FUTURE = "2026-01-01T00:00:00Z", "2090-01-01T00:00:00Z"


def names(answer: Object) -> list[str]:
    """The notes of the answer, in its order."""
    return [note["name"] for note in answer["memory"]["notes"]]


def changes(answer: Object) -> dict[str, list[str]]:
    """What changed, and why it is shown."""
    return {change["resource"]["id"]: change["why"] for change in answer["changes"]}


def next_window(agent: Agent) -> None:
    """Resume, and let so much time pass that the next one begins a new window."""
    agent.done("resume")
    time_passes(agent, minutes=11)


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch, board: Board) -> None:
    """Each resume comes when nothing is being written any more."""
    send = Agent.send

    def after_all(agent: Agent, name: str, *about: Any, **more: Any) -> Reply:
        if name == "resume":
            settled()
        return send(agent, name, *about, **more)

    monkeypatch.setattr(Agent, "send", after_all)


# ---- sections


def test_an_agent_that_keeps_nothing_gets_every_section_empty(atlas: Agent) -> None:
    answer = atlas.done("resume")
    assert answer.pop("cursor")
    assert answer == {
        "me": {
            "agent": atlas.handle,
            "scopes": sorted(answer["me"]["scopes"]),
        },
        "since": None,
        "memory": {"working_context": None, "notes": []},
        "tasks": {"held": [], "available": []},
        "inbox": {"unread": 0, "items": []},
        "changes": [],
        "not_included": [],
        "left_out": {},
    }
    assert len(answer["me"]["scopes"]) == 6


@pytest.mark.parametrize(
    ("scopes", "missing"),
    [
        (["memory:read"], {"tasks": "coordination:read"}),
        (["coordination:read"], {"memory": "memory:read"}),
        (["memory:read", "coordination:read"], {}),
        (["posts:read"], {"memory": "memory:read", "tasks": "coordination:read"}),
        (
            ["memory:write", "coordination:write", "posts:write"],
            {"memory": "memory:read", "tasks": "coordination:read"},
        ),
    ],
)
def test_a_section_whose_scope_is_missing_is_left_out_and_named(
    board: Board, atlas: Agent, space: str, make_entry: MakeEntry, scopes: list[str], missing: dict[str, str]
) -> None:
    atlas.save("plan")
    atlas.save("working-context")
    task = make_entry(atlas, space, kind="TASK", title="Secret")["id"]
    agent = board.with_scopes(atlas, *scopes)
    next_window(agent)
    atlas.save("plan", "Two", 1)
    atlas.done("claim_task", task, expected_version=1)
    answer = agent.done("resume")
    assert answer["me"]["scopes"] == sorted(scopes)
    assert {part["section"]: part["scope"] for part in answer["not_included"]} == missing
    assert set(answer) & {"memory", "tasks"} == {"memory", "tasks"} - set(missing)
    assert answer["left_out"] == {}
    kinds = {change["resource"]["type"] for change in answer["changes"]}
    assert kinds == {kind for kind, section in (("note", "memory"), ("entry", "tasks")) if section not in missing}
    if "memory" in missing:
        assert "plan" not in str(answer)
    if "tasks" in missing:
        assert task not in str(answer)


def test_the_working_context_comes_with_its_body_and_the_other_notes_without(atlas: Agent) -> None:
    atlas.save("working-context", "Where I am", summary="Context")
    atlas.save("plan", "Secret plan", summary="The plan", use_when="Planning", tags=["t"])
    memory = atlas.done("resume")["memory"]
    assert memory["working_context"] == atlas.note("working-context")
    (note,) = memory["notes"]
    whole = atlas.note("plan")
    assert whole.pop("body") == "Secret plan"
    assert note == whole
    assert (note["summary"], note["use_when"]) == ("The plan", "Planning")


def test_due_reviews_come_first_then_the_latest_changed(atlas: Agent) -> None:
    for number, name in enumerate(("a", "b", "c", "d", "e")):
        atlas.save(name, review_after=PAST if name in "bd" else FUTURE if name == "c" else None)
        at = datetime(2026, 5, 1, tzinfo=UTC) + timedelta(days=number)
        Note.objects.filter(agent_id=atlas.pk, name=name).update(updated_at=at)
    answer = atlas.done("resume")
    assert names(answer) == ["d", "b", "e", "c", "a"]
    assert [note["review_due"] for note in answer["memory"]["notes"]] == [True, True, False, False, False]
    assert changes(answer) == {"d": ["review_due"], "b": ["review_due"]}


@pytest.mark.parametrize("status", sorted({*NOTE_STATUSES} - {"active"}))
def test_only_active_notes_are_shown(atlas: Agent, status: str) -> None:
    atlas.save("old", status=status, review_after=PAST)
    atlas.save("gone")
    atlas.done("delete_memory", "gone", expected_version=1)
    atlas.save("working-context", status=status)
    answer = atlas.done("resume")
    assert names(answer) == []
    assert answer["memory"]["working_context"] is None


def test_references_tell_their_state_and_stale_ones_are_told_with_the_reason(atlas: Agent) -> None:
    for name in ("same", "newer", "gone", "retired"):
        atlas.save(name)
    references = [{"name": name, "version": 1} for name in ("same", "newer", "gone", "retired")]
    atlas.save("plan", memory_references=references)
    atlas.save("newer", "Two", 1)
    atlas.done("delete_memory", "gone", expected_version=1)
    atlas.save("successor", supersedes={"name": "retired", "expected_version": 1})
    answer = atlas.done("resume")
    (plan,) = (note for note in answer["memory"]["notes"] if note["name"] == "plan")
    states = {reference["name"]: reference["state"] for reference in plan["memory_references"]}
    assert states == {"same": "current", "newer": "historical", "gone": "unavailable", "retired": "historical"}
    assert [stale["name"] for stale in plan["stale_references"]] == ["newer", "gone", "retired"]
    assert changes(answer) == {"plan": ["reference_stale"]}
    assert plan == {**plan, **{k: v for k, v in atlas.note("plan").items() if k != "body"}}


# ---- tasks


def test_tasks_held_come_with_the_end_of_their_lease_the_first_to_end_foremost(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    tasks = [make_entry(atlas, space, kind="TASK", body="Secret body")["id"] for _ in range(4)]
    for task, seconds in zip(tasks, (900, 60, 300, 60), strict=True):
        (editor if task == tasks[3] else atlas).done("claim_task", task, expected_version=1, lease_seconds=seconds)
    answer = atlas.done("resume")["tasks"]
    assert [task["id"] for task in answer["held"]] == [tasks[1], tasks[2], tasks[0]]
    assert all(task["task"]["lease_expires_at"] for task in answer["held"])
    assert {task["task"]["assignee"] for task in answer["held"]} == {atlas.handle}
    assert "Secret body" not in str(answer)
    assert answer["available"] == []
    lapse(tasks[1])
    answer = atlas.done("resume")["tasks"]
    assert [task["id"] for task in answer["held"]] == [tasks[2], tasks[0]]
    assert [task["id"] for task in answer["available"]] == [tasks[1]]
    assert answer["available"][0]["task"]["state"] == "open"


def test_a_task_that_has_ended_or_was_given_back_is_held_no_more(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    done, back = (make_entry(atlas, space, kind="TASK")["id"] for _ in range(2))
    for task in (done, back):
        atlas.done("claim_task", task, expected_version=1)
    atlas.done("update_task", done, expected_version=2, state="done")
    atlas.done("release_task", back, expected_version=2)
    tasks = atlas.done("resume")["tasks"]
    assert (tasks["held"], [task["id"] for task in tasks["available"]]) == ([], [back])


def test_tasks_to_take_come_by_priority_then_age_and_without_those_that_wait(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    low, high, low_too = (make_entry(atlas, space, kind="TASK", priority=p)["id"] for p in (0, 3, 0))
    waits = make_entry(atlas, space, kind="TASK", priority=3, depends_on=[low])["id"]
    put_away = make_entry(atlas, space, kind="TASK")
    atlas.done("archive_space_entry", put_away["id"], expected_version=1, archived=True)
    make_entry(atlas, space, kind="NOTE")

    def available() -> list[str]:
        return [task["id"] for task in atlas.done("resume")["tasks"]["available"]]

    assert available() == [high, low, low_too]
    atlas.done("claim_task", low, expected_version=1)
    assert available() == [high, low_too]
    atlas.done("update_task", low, expected_version=2, state="cancelled")
    assert available() == [high, waits, low_too]
    Entry.objects.filter(ref=high).update(hidden_at=datetime.now(UTC))
    assert available() == [waits, low_too]
    space_version = atlas.done("get_space", space)["version"]
    atlas.done("update_space", space, expected_version=space_version, archived=True)
    assert available() == []


@pytest.mark.parametrize(("role", "sees"), [("owner", True), ("editor", True), ("reader", False)])
def test_a_task_is_to_take_for_those_who_may_claim_it(
    atlas: Agent, boreas: Agent, space: str, make_entry: MakeEntry, role: str, sees: bool
) -> None:
    make_entry(atlas, space, kind="TASK")
    assert boreas.done("resume")["tasks"]["available"] == []
    atlas.done("set_space_member", space, agent=boreas.handle, role=role)
    assert boreas.done("resume")["tasks"]["available"] == []
    boreas.done("respond_to_invitation", space, accept=True)
    assert bool(boreas.done("resume")["tasks"]["available"]) is sees


def test_a_public_space_offers_its_tasks_to_members_only(
    atlas: Agent, boreas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    make_entry(atlas, make_space(atlas, visibility="public"), kind="TASK")
    assert boreas.done("resume")["tasks"] == {"held": [], "available": []}


def test_who_left_holds_nothing(atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry) -> None:
    task = make_entry(atlas, space, kind="TASK")["id"]
    editor.done("claim_task", task, expected_version=1)
    assert len(editor.done("resume")["tasks"]["held"]) == 1
    atlas.done("remove_space_member", space, agent=editor.handle)
    answer = editor.done("resume")
    assert (answer["tasks"], answer["changes"]) == ({"held": [], "available": []}, [])


# ---- the inbox


def test_unread_items_come_the_newest_first_and_read_ones_do_not(atlas: Agent, boreas: Agent) -> None:
    for _ in range(3):
        atlas.done("create_post", type="QUESTION", title="x", body=f"@{boreas.handle}")
    items = boreas.done("inbox")["items"]
    assert boreas.done("resume")["inbox"] == {"unread": 3, "items": items}
    boreas.done("mark_inbox_read", ids=[items[1]["id"]])
    assert boreas.done("resume")["inbox"] == {"unread": 2, "items": [items[0], items[2]]}


# ---- what changed


def test_the_first_resume_shows_no_changes_and_later_ones_show_what_came_since(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    atlas.save("plan")
    first = atlas.done("resume")
    assert (first["since"], first["changes"]) == (None, [])
    time_passes(atlas, minutes=11)
    atlas.save("plan", "Two", 1)
    entry = make_entry(editor, space)["id"]
    atlas.save("plan", "Three", 2)
    answer = atlas.done("resume")
    assert answer["since"]
    assert changes(answer) == {"plan": ["own_change"], entry: ["changed_by_other"]}
    assert [change["resource"]["id"] for change in answer["changes"]] == ["plan", entry]
    plan, other = answer["changes"]
    assert (plan["version"], plan["method"], plan["author"], plan["via"]) == (3, "save_memory", atlas.handle, "rest")
    assert (other["space"], other["author"]) == (space, editor.handle)
    time_passes(atlas, minutes=11)
    assert atlas.done("resume")["changes"] == []


def test_what_a_person_did_is_told_as_such(atlas: Agent) -> None:
    atlas.save("plan")
    next_window(atlas)
    add_events(atlas, ["plan"], via="browser")
    assert changes(atlas.done("resume")) == {"plan": ["edited_by_person"]}


def test_a_note_may_be_shown_for_several_reasons(atlas: Agent) -> None:
    atlas.save("base")
    atlas.save("plan", memory_references=[{"name": "base", "version": 1}], review_after=PAST)
    next_window(atlas)
    atlas.save("base", "Two", 1)
    atlas.save("plan", "Two", 1, memory_references=[{"name": "base", "version": 1}], review_after=PAST)
    assert changes(atlas.done("resume")) == {
        "plan": ["own_change", "reference_stale", "review_due"],
        "base": ["own_change"],
    }


def test_a_repeat_within_ten_minutes_shows_the_same_window_and_what_came_in_meanwhile(atlas: Agent) -> None:
    next_window(atlas)
    atlas.save("a")
    first = atlas.done("resume")
    assert changes(first) == {"a": ["own_change"]}
    atlas.save("b")
    repeat = atlas.done("resume")
    assert changes(repeat) == {"b": ["own_change"], "a": ["own_change"]}
    time_passes(atlas, minutes=9, seconds=50)
    assert list(changes(atlas.done("resume"))) == ["b", "a"]
    time_passes(atlas, seconds=15)
    assert changes(atlas.done("resume")) == {"b": ["own_change"]}  # not seen when the first window was closed
    time_passes(atlas, minutes=11)
    assert changes(atlas.done("resume")) == {}


def test_the_very_first_window_can_be_repeated_too(atlas: Agent) -> None:
    assert atlas.done("resume")["since"] is None
    atlas.save("a")
    again = atlas.done("resume")
    assert (again["since"], again["changes"]) == (None, [])
    time_passes(atlas, minutes=11)
    assert changes(atlas.done("resume")) == {"a": ["own_change"]}


def test_each_credential_has_its_own_window(board: Board, atlas: Agent) -> None:
    other = board.with_scopes(atlas, "memory:read")
    next_window(atlas)
    atlas.save("a")
    assert changes(atlas.done("resume")) == {"a": ["own_change"]}
    assert other.done("resume")["changes"] == []
    time_passes(atlas, minutes=11)
    atlas.save("b")
    assert changes(other.done("resume")) == {"b": ["own_change"]}
    assert changes(atlas.done("resume")) == {"b": ["own_change"]}
    rows = Resumed.objects.filter(agent_id=atlas.pk).values_list("credential", flat=True)
    assert len(rows) == 2


def test_since_shows_another_window_and_leaves_the_remembered_one_alone(atlas: Agent) -> None:
    events = EventReader(atlas)
    atlas.save("a")
    events.rest(limit=100)
    atlas.save("b")
    next_window(atlas)
    atlas.save("c")
    before = list(Resumed.objects.filter(agent_id=atlas.pk).values())
    assert list(changes(atlas.done("resume", since=events.cursor))) == ["c", "b"]
    assert list(Resumed.objects.filter(agent_id=atlas.pk).values()) == before
    answer = atlas.done("resume")
    assert list(changes(answer)) == ["c"]
    assert list(changes(atlas.done("resume", since=answer["since"]))) == ["c"]
    assert atlas.done("resume", since=answer["cursor"])["changes"] == []


def test_its_cursor_goes_on_in_list_events_without_a_gap(board: Board, atlas: Agent) -> None:
    agent = board.with_scopes(atlas, "memory:read")
    atlas.save("a")
    answer = agent.done("resume")
    atlas.save("b")
    events = EventReader(agent, answer["cursor"])
    assert [event["resource"]["id"] for event in events.rest()] == ["b"]


def test_a_since_that_is_foreign_spoilt_or_too_old_is_refused(atlas: Agent, boreas: Agent) -> None:
    cursor = boreas.done("list_events")["next_cursor"]
    atlas.refused("invalid_arguments", "resume", since=cursor)
    boreas.refused("invalid_arguments", "resume", since=cursor + "A")
    with later(days=-91):
        old = boreas.done("list_events")["next_cursor"]
    boreas.refused("cursor_expired", "resume", since=old)
    assert boreas.done("resume")["changes"] == []


def test_after_an_absence_longer_than_events_are_kept_it_still_answers(atlas: Agent) -> None:
    atlas.save("a")
    next_window(atlas)
    atlas.save("b")
    Event.objects.filter(agent_id=atlas.pk).update(created_at=datetime(2020, 1, 1, tzinfo=UTC))
    time_passes(atlas, days=100)
    atlas.save("c")
    assert changes(atlas.done("resume")) == {"c": ["own_change"]}


def test_many_changes_of_one_thing_hide_none_of_another(atlas: Agent) -> None:
    next_window(atlas)
    atlas.save("other")
    add_events(atlas, ["plan"] * 500)
    assert list(changes(atlas.done("resume"))) == ["plan", "other"]


def test_posts_are_told_by_the_inbox_and_not_among_the_changes(atlas: Agent, boreas: Agent) -> None:
    post = atlas.done("create_post", type="QUESTION", title="x", body="x")["id"]
    next_window(atlas)
    reply = boreas.done("reply_to_post", post, body="y")["id"]
    answer = atlas.done("resume")
    assert answer["changes"] == []
    assert [item["resource"]["id"] for item in answer["inbox"]["items"]] == [reply]


# ---- what is not shown


def test_nothing_private_of_others_is_ever_shown(
    board: Board, atlas: Agent, boreas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    sibling = board.agent(owner=models.Agent.objects.get(pk=boreas.pk).owner)
    for agent in (boreas, sibling):
        next_window(agent)
    secret = "Xyzzy"
    atlas.save("working-context", f"{secret} body", summary=secret, tags=["xyzzy"])
    atlas.save("due", secret, review_after=PAST)
    space = make_space(atlas, title=secret)
    task = make_entry(atlas, space, kind="TASK", title=secret, body=f"@{boreas.handle} {secret}")["id"]
    held = make_entry(atlas, space, kind="TASK", title=secret)["id"]
    atlas.done("claim_task", held, expected_version=1)
    sibling.save("mine-alone", secret, summary=secret)
    for agent in (boreas, board.agent()):
        answer = agent.done("resume")
        for part in (secret, secret.lower(), task, held, space, atlas.handle, "mine-alone"):
            assert part not in str(answer)
    atlas.done("set_space_member", space, agent=boreas.handle, role="owner")
    invited = boreas.done("resume")
    assert secret not in str(invited)
    assert task not in str(invited)
    assert [item["kind"] for item in invited["inbox"]["items"]] == ["invitation"]


def test_who_is_removed_is_shown_nothing_of_the_space_at_the_very_next_call(
    atlas: Agent, boreas: Agent, space: str, make_entry: MakeEntry
) -> None:
    next_window(boreas)
    join(atlas, space, boreas, "editor")
    task = make_entry(atlas, space, kind="TASK", body=f"@{boreas.handle}")["id"]
    answer = boreas.done("resume")
    assert task in str(answer["tasks"])
    assert task in str(answer["changes"])
    atlas.done("remove_space_member", space, agent=boreas.handle)
    for more in ({}, {"since": answer["since"]}):
        assert space not in str(boreas.done("resume", **more))
        assert task not in str(boreas.done("resume", **more))
    assert like(task) not in str(boreas.done("resume"))


@pytest.mark.parametrize("data", [{"limit": 5}, {"cursor": "x"}, {"detail": "full"}, {"id": "x"}])
def test_it_takes_no_other_arguments(atlas: Agent, data: dict[str, Any]) -> None:
    atlas.refused("invalid_arguments", "resume", **data)


def test_two_at_once_by_one_credential_are_both_answered(atlas: Agent) -> None:
    def work() -> Object:
        return atlas.door.send(atlas.key, "resume", None, {}).json

    for _ in range(5):
        Resumed.objects.filter(agent_id=atlas.pk).delete()
        assert all(answer["since"] is None for answer in together([work] * 8))
        assert Resumed.objects.filter(agent_id=atlas.pk).count() == 1
