"""supersedes and superseded_by: one note takes the place of another, in one step and never in a circle."""

from typing import Any

import pytest

from memory.models import Note
from tests.calls import Agent


def superseding(agent: Agent, old: str, version: int = 1, /, **more: Any) -> dict[str, Any]:
    """The arguments of a save that supersedes `old`."""
    return {"body": "New", "expected_version": 0, "supersedes": {"name": old, "expected_version": version}, **more}


def untouched(agent: Agent, version: int = 1) -> None:
    """Nothing came of superseding `old` by `new`."""
    agent.refused("not_found", "get_memory", "new")
    assert agent.note("old")["version"] == version


def test_the_new_note_is_created_and_the_old_one_retired_in_one_step(atlas: Agent) -> None:
    atlas.save("old", "Old", summary="s", tags=["t"], review_after="2030-01-01T00:00:00Z")
    reply = atlas.call("save_memory", "new", **superseding(atlas, "old"))
    assert (reply.status, reply.json["version"], reply.json["status"]) == (201, 1, "active")
    assert reply.json["superseded"] == {"name": "old", "version": 2, "status": "superseded", "superseded_by": "new"}
    old = atlas.note("old")
    assert (old["version"], old["status"], old["superseded_by"]) == (2, "superseded", "new")
    assert (old["body"], old["summary"], old["tags"]) == ("Old", "s", ["t"])
    assert old["review_after"] == "2030-01-01T00:00:00Z"
    assert atlas.note("old", version=1)["status"] == "active"
    assert atlas.note("new")["superseded_by"] is None


def test_an_archived_note_can_be_superseded(atlas: Agent) -> None:
    atlas.save("old", status="archived")
    atlas.done("save_memory", "new", **superseding(atlas, "old"))
    assert atlas.note("old")["status"] == "superseded"


def test_the_new_note_may_take_a_name_that_was_deleted(atlas: Agent) -> None:
    atlas.save("old")
    atlas.save("new")
    atlas.done("delete_memory", "new", expected_version=1)
    reply = atlas.call("save_memory", "new", **superseding(atlas, "old"))
    assert (reply.status, reply.json["version"]) == (201, 3)


def test_the_new_note_may_rest_on_the_old_one(atlas: Agent) -> None:
    atlas.save("old")
    references = [{"name": "old", "version": 1}]
    answer = atlas.done("save_memory", "new", **superseding(atlas, "old", memory_references=references))
    now = {"name": "old", "version": 1, "state": "historical"}
    assert atlas.note("new")["memory_references"] == [now]
    assert atlas.note("new")["stale_references"][0]["reasons"] == ["historical", "superseded"]
    assert answer["memory_references"][0]["name"] == "old"


def test_the_answer_tells_references_as_the_next_read_does(atlas: Agent) -> None:
    atlas.save("old")
    references = [{"name": "old", "version": 1}]
    answer = atlas.done("save_memory", "new", **superseding(atlas, "old", memory_references=references))
    note = atlas.note("new")
    assert answer["memory_references"] == note["memory_references"]
    assert answer["stale_references"] == note["stale_references"]


def test_a_missing_a_deleted_and_another_agents_target_are_not_found_alike(atlas: Agent, boreas: Agent) -> None:
    never = atlas.call("save_memory", "new", **superseding(atlas, "old")).json
    atlas.save("old")
    atlas.done("delete_memory", "old", expected_version=1)
    boreas.save("old")
    assert atlas.call("save_memory", "new", **superseding(atlas, "old")).json == never
    assert never["error"]["code"] == "not_found"
    assert "old" in never["error"]["message"]
    atlas.refused("not_found", "get_memory", "new")
    assert boreas.note("old")["status"] == "active"


def test_a_target_at_another_version_is_version_conflict_about_the_target(atlas: Agent) -> None:
    atlas.save("old")
    atlas.save("old", "Two", 1)
    error = atlas.refused("version_conflict", "save_memory", "new", **superseding(atlas, "old", 1))
    assert (error["resource"], error["current_version"]) == ({"type": "note", "id": "old"}, 2)
    untouched(atlas, 2)


def test_a_name_that_exists_is_version_conflict_about_the_new_note(atlas: Agent) -> None:
    atlas.save("old")
    atlas.save("new", "There")
    error = atlas.refused("version_conflict", "save_memory", "new", **superseding(atlas, "old"))
    assert error["resource"]["id"] == "new"
    assert (atlas.note("new")["body"], atlas.note("old")["version"]) == ("There", 1)


def test_a_target_that_is_retired_already_is_state_conflict(atlas: Agent) -> None:
    atlas.save("old")
    atlas.done("save_memory", "first", **superseding(atlas, "old"))
    error = atlas.refused("state_conflict", "save_memory", "new", **superseding(atlas, "old", 2))
    assert "old" in error["message"]
    untouched(atlas, 2)
    assert atlas.note("old")["superseded_by"] == "first"


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"expected_version": 1}, "expected_version"),
        ({"status": "archived"}, "status"),
        ({"status": "superseded"}, "status"),
        ({"superseded_by": "old"}, "superseded_by"),
        ({"supersedes": {"name": "new", "expected_version": 1}}, "supersedes.name"),
        ({"supersedes": {"name": "old"}}, "supersedes.expected_version"),
        ({"supersedes": {"expected_version": 1}}, "supersedes.name"),
        ({"supersedes": {"name": "old", "expected_version": 0}}, "supersedes.expected_version"),
        ({"supersedes": "old"}, "supersedes"),
    ],
)
def test_what_does_not_go_with_supersedes_is_refused(atlas: Agent, more: dict[str, Any], path: str) -> None:
    atlas.save("old")
    error = atlas.refused("invalid_arguments", "save_memory", "new", **(superseding(atlas, "old") | more))
    assert [detail["path"] for detail in error["details"]] == [path]
    untouched(atlas)


def test_a_reference_that_is_missing_keeps_both_as_they_are(atlas: Agent) -> None:
    atlas.save("old")
    references = [{"name": "missing", "version": 1}]
    atlas.refused(
        "reference_unavailable", "save_memory", "new", **superseding(atlas, "old", memory_references=references)
    )
    untouched(atlas)


def test_a_quota_that_is_used_up_keeps_both_as_they_are(atlas: Agent, settings: Any) -> None:
    settings.NOTES_PER_AGENT = 1
    atlas.save("old")
    atlas.refused("quota_exceeded", "save_memory", "new", **superseding(atlas, "old"))
    untouched(atlas)


# ---- superseded_by


def test_a_save_may_name_its_successor_with_any_status(atlas: Agent) -> None:
    atlas.save("next")
    for number, status in enumerate(["active", "superseded", "archived"]):
        saved = atlas.save("plan", f"{number}", number, status=status, superseded_by="next")
        assert (saved["status"], saved["superseded_by"]) == (status, "next")


@pytest.mark.parametrize("successor", ["missing", "gone", "foreign"])
def test_an_unknown_successor_is_reference_unavailable(atlas: Agent, boreas: Agent, successor: str) -> None:
    boreas.save("foreign")
    atlas.save("gone")
    atlas.done("delete_memory", "gone", expected_version=1)
    arguments = {"body": "x", "expected_version": 0, "superseded_by": successor}
    error = atlas.refused("reference_unavailable", "save_memory", "plan", **arguments)
    assert successor in error["message"]
    atlas.refused("not_found", "get_memory", "plan")


def test_a_note_is_not_its_own_successor(atlas: Agent) -> None:
    atlas.save("plan")
    atlas.refused("state_conflict", "save_memory", "plan", body="x", expected_version=1, superseded_by="plan")


def test_a_chain_that_leads_back_is_state_conflict_however_long(atlas: Agent) -> None:
    names = [f"n{number}" for number in range(6)]
    atlas.save(names[0])
    for older, newer in zip(names[1:], names, strict=False):
        atlas.save(older, superseded_by=newer)
    error = atlas.refused(
        "state_conflict", "save_memory", names[0], body="x", expected_version=1, superseded_by=names[-1]
    )
    assert names[0] in error["message"]
    assert atlas.note(names[0])["superseded_by"] is None


def test_a_chain_that_a_deletion_has_cut_leads_nowhere(atlas: Agent) -> None:
    atlas.save("a")
    atlas.save("b", superseded_by="a")
    atlas.save("c", superseded_by="b")
    atlas.done("delete_memory", "b", expected_version=1)
    assert atlas.save("a", "x", 1, superseded_by="c")["superseded_by"] == "c"
    error = atlas.refused("state_conflict", "save_memory", "b", body="x", expected_version=0, superseded_by="a")
    assert "b" in error["message"]


def test_a_restore_cannot_close_a_circle(atlas: Agent) -> None:
    atlas.save("b")
    atlas.save("a", superseded_by="b")
    atlas.save("a", "Free", 1)
    atlas.save("b", "x", 1, superseded_by="a")
    atlas.refused("state_conflict", "restore_memory", "a", version=1, expected_version=2)
    assert atlas.note("a")["version"] == 2


def test_superseding_cannot_close_a_circle(atlas: Agent) -> None:
    atlas.save("a")
    atlas.save("b", superseded_by="a")
    atlas.done("delete_memory", "a", expected_version=1)
    atlas.done("save_memory", "a", **superseding(atlas, "b"))
    chain: list[str] = []
    at: str | None = "b"
    while at is not None and len(chain) < 5:
        chain.append(at)
        at = Note.objects.get(agent_id=atlas.pk, name=at).superseded_by
    assert chain == ["b", "a"]


def test_a_retired_note_can_still_be_saved_and_so_brought_back(atlas: Agent) -> None:
    atlas.save("old")
    atlas.done("save_memory", "new", **superseding(atlas, "old"))
    saved = atlas.save("old", "Back", 2)
    assert (saved["version"], saved["status"], saved["superseded_by"]) == (3, "active", None)
