"""version_conflict: what the loser of a race is told, so that no second read is needed."""

from typing import Any

import pytest
from pytest_django import Settings

from agentboard.contract import limits
from memory.models import Note
from tests.calls import Agent
from tests.memory.patching import patched

WRITES: dict[str, dict[str, Any]] = {
    "save_memory": {"body": "x"},
    "edit_memory": {"append": "x"},
    "restore_memory": {"version": 1},
    "mark_memory_reviewed": {},
    "delete_memory": {},
}


def conflict(agent: Agent, version: int, method: str = "save_memory") -> Any:
    """The error of a write of `note` from this version."""
    return agent.refused("version_conflict", method, "note", expected_version=version, **WRITES[method])


@pytest.mark.parametrize("method", WRITES)
def test_every_write_tells_who_changed_what_and_when_and_how(atlas: Agent, method: str) -> None:
    atlas.save("note", "one\n")
    atlas.save("note", "two\n", 1)
    error = conflict(atlas, 1, method)
    assert error.pop("message") == "note is not at version 1: it is at version 2."
    del error["next_action"], error["help"]
    assert error == {
        "code": "version_conflict",
        "resource": {"type": "note", "id": "note"},
        "current_version": 2,
        "changed_by": atlas.handle,
        "changed_via": "rest",
        "changed_at": atlas.note("note")["updated_at"],
        "diff": "--- version 1\n+++ version 2\n@@ -1 +1 @@\n-one\n+two",
    }
    assert atlas.note("note")["version"] == 2


@pytest.mark.parametrize("method", WRITES)
def test_every_write_on_a_missing_note_is_not_found(atlas: Agent, method: str) -> None:
    error = atlas.refused("not_found", method, "note", expected_version=1, **WRITES[method])
    assert "note" in error["message"]


def test_the_way_of_the_last_change_is_told(atlas: Agent) -> None:
    atlas.save("note")
    Note.objects.filter(agent_id=atlas.pk).update(via="browser")
    assert conflict(atlas, 7)["changed_via"] == "browser"


def test_the_diff_spans_all_versions_in_between(atlas: Agent) -> None:
    bodies = ["one\n", "one\ntwo\n", "three\n", "one\nfour"]
    for version, body in enumerate(bodies):
        atlas.save("note", body, version)
    assert patched(bodies[0], conflict(atlas, 1)["diff"]) == bodies[3]
    assert patched(bodies[1], conflict(atlas, 2)["diff"]) == bodies[3]


def test_for_version_0_the_diff_is_the_whole_body(atlas: Agent) -> None:
    atlas.save("note", "one\ntwo")
    diff = conflict(atlas, 0)["diff"]
    assert patched("", diff) == "one\ntwo"


def test_a_change_of_metadata_alone_has_an_empty_diff(atlas: Agent) -> None:
    atlas.save("note")
    atlas.save("note", "Text", 1, tags=["a"])
    assert conflict(atlas, 1)["diff"] == ""


@pytest.mark.parametrize("version", [3, 99, 2**31 - 1])
def test_from_a_version_that_never_was_there_is_no_diff(atlas: Agent, version: int) -> None:
    atlas.save("note")
    atlas.save("note", "two", 1)
    error = conflict(atlas, version)
    assert "diff" not in error
    assert error["current_version"] == 2


def test_from_a_version_that_was_pruned_there_is_no_diff(atlas: Agent, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 0
    for version in range(4):
        atlas.save("note", f"{version}", version)
    assert "diff" not in conflict(atlas, 1)
    assert "diff" in conflict(atlas, 3)


@pytest.mark.parametrize("body", ["é" * 10_000, "line of a body\n" * 1_000, "\U0001f680" * 5_000, "中\n" * 5_000])
def test_a_long_diff_is_cut_at_8_kib_of_utf_8_and_says_so(atlas: Agent, body: str) -> None:
    atlas.save("note", "short")
    atlas.save("note", body, 1)
    error = conflict(atlas, 1)
    assert error["truncated"] is True
    assert len(error["diff"].encode()) <= limits.DIFF_MAX
    assert error["diff"].startswith("--- version 1\n+++ version 2\n@@ ")


def test_a_diff_of_just_8_kib_is_whole(atlas: Agent) -> None:
    atlas.save("note", "x\n")
    heading = len("--- version 1\n+++ version 2\n@@ -1 +1 @@\n-x\n+")
    atlas.save("note", "y" * (limits.DIFF_MAX - heading) + "\n", 1)
    error = conflict(atlas, 1)
    assert len(error["diff"]) == limits.DIFF_MAX
    assert "truncated" not in error
    atlas.save("note", "y" * (limits.DIFF_MAX - heading + 1) + "\n", 2)
    assert conflict(atlas, 1)["truncated"] is True


def test_after_merging_the_loser_writes_from_the_current_version(atlas: Agent) -> None:
    atlas.save("note", "1\n2\n3\n")
    atlas.save("note", "1\n2\n3\n4\n", 1)
    error = conflict(atlas, 1)
    mine = patched("1\n2\n3\n", error["diff"]).replace("1\n", "one\n")
    assert atlas.save("note", mine, error["current_version"])["version"] == 3
    assert atlas.note("note")["body"] == "one\n2\n3\n4\n"
