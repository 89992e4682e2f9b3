"""list_memory_revisions: the retained versions of a note, and which are retained."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from pytest_django import Settings

from memory.models import Revision
from tests.calls import Agent


def versions(agent: Agent, **data: Any) -> list[int]:
    return [item["version"] for item in agent.done("list_memory_revisions", "plan", **data)["items"]]


def saved(agent: Agent, count: int, first: int = 0) -> None:
    """As many further versions of the note."""
    for version in range(first, first + count):
        agent.save("plan", f"Body {version + 1}", version)


def test_revisions_come_newest_first_and_say_what_each_was(atlas: Agent) -> None:
    first = atlas.save("plan", "Größe", tags=["b", "a"], status="archived")
    second = atlas.save("plan", "x", 1)
    shared = {"author": atlas.handle, "via": "rest"}
    assert atlas.done("list_memory_revisions", "plan")["items"] == [
        {
            "version": 2,
            "current": True,
            "status": "active",
            "tags": [],
            "bytes": 1,
            **shared,
            "created_at": second["updated_at"],
        },
        {
            "version": 1,
            "current": False,
            "status": "archived",
            "tags": ["b", "a"],
            "bytes": 7,
            **shared,
            "created_at": first["created_at"],
        },
    ]


def test_detail_full_adds_the_bodies(atlas: Agent) -> None:
    saved(atlas, 2)
    items = atlas.done("list_memory_revisions", "plan", detail="full")["items"]
    assert [item["body"] for item in items] == ["Body 2", "Body 1"]
    summary = atlas.done("list_memory_revisions", "plan", limit=1)["items"][0]
    assert items[0] == summary | {"body": "Body 2", "origin": "own"}


def test_every_kind_of_change_is_a_revision(atlas: Agent) -> None:
    saved(atlas, 1)
    atlas.done("edit_memory", "plan", expected_version=1, append="!")
    atlas.done("mark_memory_reviewed", "plan", expected_version=2)
    atlas.done("restore_memory", "plan", version=1, expected_version=3)
    atlas.done("save_memory", "next", body="x", expected_version=0, supersedes={"name": "plan", "expected_version": 4})
    items = atlas.done("list_memory_revisions", "plan", detail="full")["items"]
    assert [(item["version"], item["body"], item["status"]) for item in items] == [
        (5, "Body 1", "superseded"),
        (4, "Body 1", "active"),
        (3, "Body 1!", "active"),
        (2, "Body 1!", "active"),
        (1, "Body 1", "active"),
    ]


def test_pages_meet_every_revision_once_while_new_ones_come(atlas: Agent) -> None:
    saved(atlas, 7)
    seen: list[int] = []
    cursor: dict[str, Any] = {}
    for _ in range(10):
        answer = atlas.done("list_memory_revisions", "plan", limit=2, **cursor)
        seen += [item["version"] for item in answer["items"]]
        if "next_cursor" not in answer:
            break
        cursor = {"cursor": answer["next_cursor"]}
        saved(atlas, 1, first=7 + len(seen) // 2 - 1)
    assert seen == [7, 6, 5, 4, 3, 2, 1]


def test_a_missing_a_deleted_and_another_agents_note_have_no_revisions_alike(atlas: Agent, boreas: Agent) -> None:
    never = atlas.call("list_memory_revisions", "plan").json
    saved(boreas, 1)
    saved(atlas, 2)
    atlas.done("delete_memory", "plan", expected_version=2)
    assert atlas.call("list_memory_revisions", "plan").json == never
    assert never["error"]["code"] == "not_found"


def test_a_name_that_is_used_again_has_no_revisions_of_before(atlas: Agent) -> None:
    saved(atlas, 3)
    atlas.done("delete_memory", "plan", expected_version=3)
    atlas.save("plan", "Again")
    assert versions(atlas) == [5]


# ---- what is retained


def test_young_revisions_are_retained_beyond_the_number(atlas: Agent, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 30
    saved(atlas, 6)
    assert versions(atlas) == [6, 5, 4, 3, 2, 1]


def aged(agent: Agent, days: float, *numbers: int) -> None:
    """Let these revisions have been made so many days ago."""
    rows = Revision.objects.filter(note__agent_id=agent.pk, note__name="plan", version__in=numbers)
    assert rows.update(created_at=timezone.now() - timedelta(days=days)) == len(numbers)


def test_old_revisions_are_retained_up_to_the_number(atlas: Agent, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 3, 30
    saved(atlas, 3)
    aged(atlas, 31, 1, 2, 3)
    assert versions(atlas) == [3, 2, 1]
    saved(atlas, 1, first=3)
    assert versions(atlas) == [4, 3, 2]
    saved(atlas, 1, first=4)
    assert versions(atlas) == [5, 4, 3]


def test_the_age_is_counted_in_days_to_the_hour(atlas: Agent, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 30
    saved(atlas, 3)
    aged(atlas, 29.95, 1)
    saved(atlas, 1, first=3)
    assert 1 in versions(atlas)
    aged(atlas, 30.05, 1)
    saved(atlas, 1, first=4)
    assert versions(atlas) == [5, 4, 3, 2]


def test_never_more_than_the_maximum_is_retained_however_young(atlas: Agent, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS, settings.REVISIONS_MAX = 2, 30, 4
    saved(atlas, 9)
    assert versions(atlas) == [9, 8, 7, 6]
    atlas.refused("not_found", "get_memory", "plan", version=5)


def test_a_backlog_left_by_other_settings_shrinks_with_every_write(atlas: Agent, settings: Settings) -> None:
    saved(atlas, 8)
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 0
    counts = []
    for version in range(8, 15):
        saved(atlas, 1, first=version)
        counts.append(len(versions(atlas)))
    assert counts == sorted(counts, reverse=True)
    assert versions(atlas) == [15, 14]


def test_every_kind_of_change_prunes(atlas: Agent, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 0
    saved(atlas, 2)
    atlas.done("edit_memory", "plan", expected_version=2, append="!")
    assert versions(atlas) == [3, 2]
    atlas.done("mark_memory_reviewed", "plan", expected_version=3)
    assert versions(atlas) == [4, 3]
    atlas.done("restore_memory", "plan", version=3, expected_version=4)
    assert versions(atlas) == [5, 4]


def test_pruning_one_note_leaves_the_others_alone(atlas: Agent, boreas: Agent, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 0
    saved(boreas, 2)
    saved(atlas, 6)
    assert versions(boreas) == [2, 1]
    assert versions(atlas) == [6, 5]


def test_by_default_the_newest_50_and_30_days_up_to_1000_are_retained(settings: Settings) -> None:
    assert (settings.REVISIONS_KEPT, settings.REVISION_DAYS, settings.REVISIONS_MAX) == (50, 30, 1000)
