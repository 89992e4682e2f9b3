"""restore_memory: a retained version becomes the next one."""

from typing import Any

import pytest
from pytest_django import Settings

from tests.calls import Agent

HELD: dict[str, Any] = {
    "summary": "s",
    "use_when": "u",
    "tags": ["b", "a"],
    "status": "archived",
    "review_after": "2030-01-01T00:00:00Z",
}


def restored(agent: Agent, version: int = 1, expected_version: int = 2, **more: Any) -> dict[str, Any]:
    return agent.done("restore_memory", "plan", version=version, expected_version=expected_version, **more)


def refused(agent: Agent, code: str, version: int = 1, expected_version: int = 2) -> Any:
    """The error of a restore that must change nothing."""
    before = agent.call("get_memory", "plan").json
    error = agent.refused(code, "restore_memory", "plan", version=version, expected_version=expected_version)
    assert agent.call("get_memory", "plan").json == before
    return error


def test_body_and_metadata_of_the_version_become_the_next_version(atlas: Agent) -> None:
    atlas.save("base")
    atlas.save("next")
    references = [{"name": "base", "version": 1}]
    first = atlas.save("plan", "One\r\n ", memory_references=references, superseded_by="next", **HELD)
    atlas.save("plan", "Two", 1)
    reply = atlas.call("restore_memory", "plan", version=1, expected_version=2)
    assert reply.status == 200
    assert reply.json == atlas.note("plan")
    assert reply.json == {**first, "version": 3, "body": "One\r\n ", "updated_at": reply.json["updated_at"]}
    assert reply.json["updated_at"] > first["updated_at"]


def test_the_versions_before_stay_as_they_were(atlas: Agent) -> None:
    atlas.save("plan", "One")
    atlas.save("plan", "Two", 1)
    restored(atlas)
    bodies = [atlas.note("plan", version=version)["body"] for version in (1, 2, 3)]
    assert bodies == ["One", "Two", "One"]


def test_the_current_version_may_be_restored_too(atlas: Agent) -> None:
    atlas.save("plan", "One")
    assert (restored(atlas, 1, 1)["version"], atlas.note("plan")["body"]) == (2, "One")


def test_a_stale_restore_is_version_conflict(atlas: Agent) -> None:
    atlas.save("plan", "One")
    atlas.save("plan", "Two", 1)
    assert refused(atlas, "version_conflict", 1, 1)["current_version"] == 2


def test_a_version_that_is_not_retained_is_not_found(atlas: Agent, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 0
    for version in range(3):
        atlas.save("plan", "Text", version)
    error = refused(atlas, "not_found", 1, 3)
    assert "plan has no retained version 1" in error["message"]
    refused(atlas, "not_found", 4, 3)


def test_a_missing_note_is_not_found(atlas: Agent) -> None:
    refused(atlas, "not_found")


def test_a_deleted_version_cannot_be_restored_into_the_note_that_took_its_name(atlas: Agent) -> None:
    atlas.save("plan", "Secret")
    atlas.done("delete_memory", "plan", expected_version=1)
    atlas.save("plan", "Again")
    refused(atlas, "not_found", 1, 3)


def resting(agent: Agent) -> None:
    """Version 1 of the plan rests on base, version 2 does not."""
    agent.save("base")
    agent.save("plan", memory_references=[{"name": "base", "version": 1}])
    agent.save("plan", "Two", 1)


def test_a_restore_whose_reference_is_gone_is_refused_and_names_it(atlas: Agent) -> None:
    resting(atlas)
    atlas.done("delete_memory", "base", expected_version=1)
    error = refused(atlas, "reference_unavailable")
    assert "base has no version 1" in error["message"]


def test_a_restore_whose_referenced_version_was_pruned_is_refused(atlas: Agent, settings: Settings) -> None:
    resting(atlas)
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 1, 0
    for version in (1, 2):
        atlas.save("base", "More", version)
    settings.REVISIONS_KEPT = 50
    refused(atlas, "reference_unavailable")


def test_a_restore_whose_referenced_version_is_retained_goes_through(atlas: Agent) -> None:
    resting(atlas)
    atlas.save("base", "More", 1)
    answer = restored(atlas)
    assert answer["memory_references"] == [{"name": "base", "version": 1, "state": "historical"}]
    assert answer["stale_references"][0]["reasons"] == ["historical"]


def test_a_restore_whose_successor_is_gone_is_refused(atlas: Agent) -> None:
    atlas.save("next")
    atlas.save("plan", superseded_by="next")
    atlas.save("plan", "Two", 1)
    atlas.done("delete_memory", "next", expected_version=1)
    assert "next" in refused(atlas, "reference_unavailable")["message"]


def test_a_superseded_note_comes_back_by_restoring_what_it_was(atlas: Agent) -> None:
    atlas.save("plan", "Old")
    supersedes = {"name": "plan", "expected_version": 1}
    atlas.done("save_memory", "new", body="x", expected_version=0, supersedes=supersedes)
    answer = restored(atlas)
    assert (answer["version"], answer["status"], answer["superseded_by"]) == (3, "active", None)


@pytest.mark.parametrize("argument", ["version", "expected_version"])
@pytest.mark.parametrize("value", [0, -1, True, "1", 1.5, 2**31, None])
def test_what_is_no_version_is_refused(atlas: Agent, argument: str, value: Any) -> None:
    atlas.save("plan")
    arguments = {"version": 1, "expected_version": 1, argument: value}
    error = atlas.refused("invalid_arguments", "restore_memory", "plan", **arguments)
    assert [detail["path"] for detail in error["details"]] == [argument]
