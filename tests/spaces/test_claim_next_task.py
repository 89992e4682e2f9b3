"""claim_next_task: the best task that is free, another one for each caller."""

from typing import Any

import pytest

from spaces.models import Entry
from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, MakeSpace, events, join, lapse


def claimed(agent: Agent, space: str, **data: Any) -> str | None:
    """The title of the task that a call gives."""
    entry = agent.done("claim_next_task", space, **data)["entry"]
    return entry["title"] if entry else None


def test_it_gives_the_whole_task_and_makes_the_caller_its_holder(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    task = make_entry(atlas, space, kind="TASK", summary="s", tags=["a"])
    answer = editor.done("claim_next_task", space, lease_seconds=60)
    assert list(answer) == ["entry"]
    read = editor.done("get_space_entry", task["id"])
    del read["evidence"]
    assert answer["entry"] == read
    assert (read["version"], read["body"]) == (2, "Body")
    assert (read["task"]["state"], read["task"]["assignee"]) == ("claimed", editor.handle)
    assert events(space)[-1] == ("claim_next_task", task["id"], 2)


def test_where_nothing_is_free_it_gives_null_and_changes_nothing(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    make_entry(atlas, space)
    before = events(space)
    assert atlas.done("claim_next_task", space) == {"entry": None}
    assert atlas.done("claim_next_task", space, operation_key="k") == {"entry": None}
    assert events(space) == before


def test_the_highest_priority_goes_first_then_the_oldest(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    for title, priority in (("c", 1), ("e", 0), ("a", 3), ("d", 1), ("b", 2)):
        make_entry(atlas, space, kind="TASK", title=title, priority=priority, pinned=title == "e")
    first = atlas.done("list_space_entries", space, priority=0)["items"][0]["id"]
    atlas.done("update_space_entry", first, expected_version=1, title="e", body="Changed last")
    assert [claimed(atlas, space) for _ in range(6)] == ["a", "b", "c", "d", "e", None]


def test_each_call_gives_another_task_and_one_agent_may_hold_them_all(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    titles = [make_entry(atlas, space, kind="TASK", title=f"{number}")["title"] for number in range(6)]
    assert [claimed(agent, space) for agent in (atlas, editor, editor) * 2] == titles


def test_only_tasks_that_are_open_and_wait_for_nothing_are_free(
    atlas: Agent, boreas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    space = make_space(atlas, visibility="public")
    join(atlas, space, boreas, "editor")

    def task(title: str, **more: Any) -> str:
        id: str = make_entry(atlas, space, kind="TASK", title=title, **more)["id"]
        return id

    for kind in ("NOTE", "DECISION", "KNOWLEDGE"):
        make_entry(atlas, space, kind=kind, summary="s", priority=3)
    held, blocked, done, lapsed, archived, hidden = map(
        task, ("held", "blocked", "done", "lapsed", "archived", "hidden")
    )
    for id in (held, blocked, done, lapsed):
        atlas.done("claim_task", id, expected_version=1)
    atlas.done("update_task", blocked, expected_version=2, state="blocked")
    atlas.done("update_task", done, expected_version=2, state="done")
    lapse(lapsed)
    atlas.done("archive_space_entry", archived, expected_version=1, archived=True)
    Entry.objects.filter(ref=hidden).update(hidden_at="2026-01-01T00:00:00Z")
    task("after-done", depends_on=[done])
    task("waits", depends_on=[done, held], priority=3)
    task("waits-for-lapsed", depends_on=[lapsed], priority=3)
    make_entry(atlas, make_space(atlas), kind="TASK", title="elsewhere")
    assert [claimed(boreas, space) for _ in range(3)] == ["lapsed", "after-done", None]


def test_a_task_becomes_free_when_the_last_it_waits_for_has_ended(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    first = make_entry(atlas, space, kind="TASK", title="first")["id"]
    make_entry(atlas, space, kind="TASK", title="second", depends_on=[first], priority=3)
    assert [claimed(atlas, space), claimed(atlas, space)] == ["first", None]
    atlas.done("update_task", first, expected_version=2, state="cancelled")
    assert claimed(atlas, space) == "second"


def test_a_tag_narrows_it_down(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    make_entry(atlas, space, kind="TASK", title="other", priority=3, tags=["ops-team"])
    make_entry(atlas, space, kind="TASK", title="this", tags=["db", "ops"])
    assert [claimed(atlas, space, tag="ops"), claimed(atlas, space, tag="ops"), claimed(atlas, space)] == [
        "this",
        None,
        "other",
    ]


def test_the_repeat_with_an_operation_key_claims_nothing_more(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    tasks = [make_entry(atlas, space, kind="TASK")["id"] for _ in range(2)]
    first = atlas.done("claim_next_task", space, operation_key="k")
    assert first["replayed"] is False
    assert "operation" not in first["entry"]
    assert first["operation"]["resource"] == {"type": "entry", "id": tasks[0]}
    for left in (1, 0):  # also when nothing is free any more
        again = atlas.done("claim_next_task", space, operation_key="k")
        assert again == {"operation": first["operation"], "replayed": True}
        assert len(atlas.done("list_space_entries", space, state="open")["items"]) == left
        claimed(atlas, space)
    atlas.refused("operation_key_conflict", "claim_next_task", space, operation_key="k", tag="a")


def test_a_key_that_found_nothing_is_still_free(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    assert atlas.done("claim_next_task", space, operation_key="k") == {"entry": None}
    make_entry(atlas, space, kind="TASK", title="new")
    assert atlas.done("claim_next_task", space, operation_key="k")["entry"]["title"] == "new"


def test_editors_and_owners_may_and_nobody_else(
    atlas: Agent, editor: Agent, reader: Agent, boreas: Agent, space: str, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    make_entry(atlas, space, kind="TASK", title="t")
    reader.refused("forbidden", "claim_next_task", space)
    boreas.refused("not_found", "claim_next_task", space)
    boreas.refused("forbidden", "claim_next_task", make_space(atlas, visibility="public"))
    assert claimed(editor, space) == "t"


@pytest.mark.parametrize("arguments", [{"lease_seconds": 0}, {"lease_seconds": 86_401}, {"tag": "A"}, {"kind": "TASK"}])
def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent, space: str, arguments: Object) -> None:
    error = atlas.refused("invalid_arguments", "claim_next_task", space, **arguments)
    assert [detail["path"] for detail in error["details"]] == [*arguments]
