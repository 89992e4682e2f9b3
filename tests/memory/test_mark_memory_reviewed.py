"""mark_memory_reviewed: still true, without sending the body."""

from typing import Any

import pytest

from tests.calls import Agent

PAST, FUTURE = "2020-01-01T00:00:00Z", "2900-01-01T00:00:00Z"


def reviewed(agent: Agent, version: int = 1, **more: Any) -> dict[str, Any]:
    return agent.done("mark_memory_reviewed", "plan", expected_version=version, **more)


def test_a_review_is_a_new_version_that_keeps_everything_but_the_date(atlas: Agent) -> None:
    atlas.save("base")
    more: dict[str, Any] = {"summary": "s", "use_when": "u", "tags": ["b", "a"], "status": "archived"}
    more |= {"superseded_by": "base", "memory_references": [{"name": "base", "version": 1}]}
    saved = atlas.save("plan", "Text\r\n", review_after=PAST, **more)
    answer = reviewed(atlas, review_after=FUTURE)
    assert answer == {
        **saved,
        "version": 2,
        "review_after": FUTURE,
        "review_due": False,
        "updated_at": answer["updated_at"],
    }
    assert answer["updated_at"] > saved["updated_at"]
    assert atlas.note("plan") == {**answer, "body": "Text\r\n"}
    assert atlas.note("plan", version=1)["review_after"] == PAST


@pytest.mark.parametrize("absent", [{}, {"review_after": None}])
def test_a_review_without_a_date_clears_it(atlas: Agent, absent: dict[str, Any]) -> None:
    atlas.save("plan", review_after=PAST)
    answer = reviewed(atlas, **absent)
    assert (answer["review_after"], answer["review_due"]) == (None, False)


def test_a_date_that_has_passed_leaves_the_note_due(atlas: Agent) -> None:
    atlas.save("plan")
    assert reviewed(atlas, review_after=PAST)["review_due"] is True


def test_a_reviewed_note_is_no_longer_listed_as_due(atlas: Agent) -> None:
    atlas.save("plan", review_after=PAST)
    reviewed(atlas, review_after=FUTURE)
    assert atlas.done("list_memory", review_due=True)["items"] == []


def test_a_stale_review_is_version_conflict_and_a_missing_note_not_found(atlas: Agent) -> None:
    atlas.refused("not_found", "mark_memory_reviewed", "plan", expected_version=1)
    atlas.save("plan")
    reviewed(atlas)
    error = atlas.refused("version_conflict", "mark_memory_reviewed", "plan", expected_version=1)
    assert error["current_version"] == 2


@pytest.mark.parametrize("time", ["2030-01-01", "2030-01-01T00:00:00", "soon", 1, ""])
def test_a_time_without_an_offset_is_refused(atlas: Agent, time: Any) -> None:
    atlas.save("plan")
    error = atlas.refused("invalid_arguments", "mark_memory_reviewed", "plan", expected_version=1, review_after=time)
    assert error["details"][0]["path"] == "review_after"


def test_a_body_is_not_taken(atlas: Agent) -> None:
    atlas.save("plan")
    error = atlas.refused("invalid_arguments", "mark_memory_reviewed", "plan", expected_version=1, body="x")
    assert error["details"][0]["path"] == "body"
