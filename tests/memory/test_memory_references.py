"""memory_references: what a note rests on, how that stands, and why it is stale."""

from typing import Any

import pytest
from pytest_django import Settings

from tests.calls import Agent

PAST = "2020-01-01T00:00:00Z"


def resting(agent: Agent, *references: tuple[str, int], name: str = "plan") -> dict[str, Any]:
    """A new note on these references, as saving answers it."""
    return agent.save(name, memory_references=[{"name": n, "version": v} for n, v in references])


def told(agent: Agent, name: str = "plan") -> tuple[dict[str, str], dict[str, list[str]]]:
    """The references' states and the stale ones' reasons, by name; the same in every read."""
    note = agent.note(name)
    note.pop("body")
    listed = {item["name"]: item for item in agent.done("list_memory", limit=100)["items"]}
    found = {item["name"]: item for item in agent.done("search_memory", q=name)["items"]}
    found[name].pop("snippet")
    assert listed[name] == found[name] == note
    states = {r["name"]: r["state"] for r in note["memory_references"]}
    return states, {r["name"]: r["reasons"] for r in note["stale_references"]}


def refused(agent: Agent, code: str, references: Any) -> Any:
    """The error of a save with these references, which must leave nothing behind."""
    error = agent.refused(code, "save_memory", "plan", body="x", expected_version=0, memory_references=references)
    agent.refused("not_found", "get_memory", "plan")
    return error


def test_a_reference_to_the_current_version_is_current_and_not_stale(atlas: Agent) -> None:
    atlas.save("base")
    saved = resting(atlas, ("base", 1))
    assert saved["memory_references"] == [{"name": "base", "version": 1, "state": "current"}]
    assert saved["stale_references"] == []
    assert told(atlas) == ({"base": "current"}, {})


def test_a_reference_to_a_retained_version_may_be_saved_and_is_historical(atlas: Agent) -> None:
    atlas.save("base")
    atlas.save("base", "Two", 1)
    saved = resting(atlas, ("base", 1))
    assert saved["memory_references"][0]["state"] == "historical"
    assert saved["stale_references"] == [{"name": "base", "version": 1, "reasons": ["historical"]}]


def test_a_reference_becomes_historical_when_its_note_changes(atlas: Agent) -> None:
    atlas.save("base")
    resting(atlas, ("base", 1))
    atlas.done("mark_memory_reviewed", "base", expected_version=1)
    assert told(atlas) == ({"base": "historical"}, {"base": ["historical"]})


def test_a_reference_whose_version_was_pruned_is_version_not_found(atlas: Agent, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 0
    atlas.save("base")
    resting(atlas, ("base", 1))
    for version in (1, 2, 3):
        atlas.save("base", f"After {version}", version)
    assert told(atlas) == ({"base": "version_not_found"}, {"base": ["version_not_found"]})


def test_a_reference_to_a_deleted_note_is_unavailable(atlas: Agent) -> None:
    atlas.save("base")
    resting(atlas, ("base", 1))
    atlas.done("delete_memory", "base", expected_version=1)
    assert told(atlas) == ({"base": "unavailable"}, {"base": ["unavailable"]})


def test_a_reference_from_before_a_deletion_is_version_not_found_in_the_new_note(atlas: Agent) -> None:
    atlas.save("base")
    resting(atlas, ("base", 1))
    atlas.done("delete_memory", "base", expected_version=1)
    atlas.save("base", "Another thing")
    assert told(atlas) == ({"base": "version_not_found"}, {"base": ["version_not_found"]})


def test_a_superseded_or_overdue_reference_is_current_and_stale(atlas: Agent) -> None:
    atlas.save("old")
    atlas.save("due", review_after=PAST)
    atlas.save("both", review_after=PAST, status="superseded")
    atlas.save("later", review_after="2900-01-01T00:00:00Z")
    atlas.save("archived", status="archived")
    resting(atlas, ("old", 1), ("due", 1), ("both", 1), ("later", 1), ("archived", 1))
    atlas.save("new", supersedes={"name": "old", "expected_version": 1})
    states, reasons = told(atlas)
    assert states == {
        "old": "historical",
        "due": "current",
        "both": "current",
        "later": "current",
        "archived": "current",
    }
    assert reasons == {
        "old": ["historical", "superseded"],
        "due": ["review_due"],
        "both": ["superseded", "review_due"],
    }


def test_states_of_many_references_are_told_one_by_one_in_their_order(atlas: Agent) -> None:
    names = [f"base-{n}" for n in range(20)]
    for name in names:
        atlas.save(name)
    resting(atlas, *((name, 1) for name in reversed(names)))
    for name in names[::3]:
        atlas.save(name, "Changed", 1)
    note = atlas.note("plan")
    assert [r["name"] for r in note["memory_references"]] == names[::-1]
    assert [r["name"] for r in note["stale_references"]] == names[::3][::-1]


def test_two_notes_may_rest_on_different_versions_of_one(atlas: Agent) -> None:
    atlas.save("base")
    resting(atlas, ("base", 1), name="a")
    atlas.save("base", "Two", 1)
    resting(atlas, ("base", 2), name="b")
    items = {item["name"]: item for item in atlas.done("list_memory")["items"]}
    assert items["a"]["memory_references"][0]["state"] == "historical"
    assert items["b"]["memory_references"][0]["state"] == "current"


def test_twenty_one_references_are_refused(atlas: Agent) -> None:
    names = [f"base-{n}" for n in range(21)]
    for name in names:
        atlas.save(name)
    error = refused(atlas, "invalid_arguments", [{"name": name, "version": 1} for name in names])
    assert "memory_references has 21 items; at most 20 are allowed" in error["message"]


def test_one_note_named_twice_is_refused_whatever_the_versions(atlas: Agent) -> None:
    atlas.save("base")
    atlas.save("base", "Two", 1)
    error = refused(atlas, "invalid_arguments", [{"name": "base", "version": v} for v in (1, 2)])
    assert "memory_references names the same note twice" in error["message"]


def test_the_note_itself_is_refused(atlas: Agent) -> None:
    error = refused(atlas, "invalid_arguments", [{"name": "plan", "version": 1}])
    assert error["details"][0]["path"] == "memory_references.0.name"
    atlas.save("plan")
    references = [{"name": "plan", "version": 1}]
    atlas.refused(
        "invalid_arguments", "save_memory", "plan", body="x", expected_version=1, memory_references=references
    )


@pytest.mark.parametrize(("name", "version"), [("missing", 1), ("base", 2), ("gone", 1), ("foreign", 1)])
def test_a_reference_that_leads_nowhere_is_refused_and_named(
    atlas: Agent, boreas: Agent, name: str, version: int
) -> None:
    boreas.save("foreign")
    atlas.save("base")
    atlas.save("gone")
    atlas.done("delete_memory", "gone", expected_version=1)
    references = [{"name": "base", "version": 1}] if name != "base" else []
    error = refused(atlas, "reference_unavailable", [*references, {"name": name, "version": version}])
    assert f"{name} has no version {version}" in error["message"]


def test_a_pruned_version_cannot_be_referred_to(atlas: Agent, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 2, 0
    atlas.save("base")
    for version in (1, 2, 3):
        atlas.save("base", "More", version)
    refused(atlas, "reference_unavailable", [{"name": "base", "version": 1}])


def test_a_later_save_must_name_only_what_is_there(atlas: Agent) -> None:
    atlas.save("base")
    resting(atlas, ("base", 1))
    atlas.done("delete_memory", "base", expected_version=1)
    references = [{"name": "base", "version": 1}]
    arguments = {"body": "x", "expected_version": 1, "memory_references": references}
    atlas.refused("reference_unavailable", "save_memory", "plan", **arguments)
    assert atlas.note("plan")["version"] == 1


def test_names_in_a_text_are_not_looked_for(atlas: Agent) -> None:
    atlas.save("base")
    assert atlas.save("plan", "Rests on base v1, [[base]] and @base.")["memory_references"] == []


def test_notes_may_rest_on_each_other(atlas: Agent) -> None:
    atlas.save("a")
    resting(atlas, ("a", 1), name="b")
    atlas.done("save_memory", "a", body="x", expected_version=1, memory_references=[{"name": "b", "version": 1}])
    assert told(atlas, "a") == ({"b": "current"}, {})
