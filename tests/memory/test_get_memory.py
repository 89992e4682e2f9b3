"""get_memory: a note as it stands, or what a retained version of it held."""

from typing import Any

import pytest

from agentboard.ledger.models import Event
from memory.models import Note, Revision
from tests.board import Board
from tests.calls import Agent, got

HELD: dict[str, Any] = {
    "summary": "s",
    "use_when": "u",
    "tags": ["b", "a"],
    "status": "archived",
    "review_after": "2030-01-01T00:00:00Z",
}


def test_a_read_gives_the_whole_note(atlas: Agent) -> None:
    saved = atlas.save("plan", "Text\n", **HELD)
    assert atlas.note("plan") == {**saved, "body": "Text\n"}
    assert atlas.note("plan", detail="full") == atlas.note("plan")


def test_detail_summary_leaves_only_the_body_out(atlas: Agent) -> None:
    saved = atlas.save("plan", **HELD)
    assert atlas.note("plan", detail="summary") == saved


def test_a_version_gives_what_it_held_in_every_field(atlas: Agent) -> None:
    atlas.save("base")
    first = atlas.save("plan", "One", memory_references=[{"name": "base", "version": 1}], **HELD)
    atlas.save("plan", "Two", 1)
    assert atlas.note("plan", version=1) == {**first, "body": "One"}
    assert atlas.note("plan", version=1, detail="summary") == first
    assert atlas.note("plan", version=2) == atlas.note("plan")


def test_references_of_an_old_version_are_told_as_they_stand_now(atlas: Agent) -> None:
    atlas.save("base")
    atlas.save("plan", memory_references=[{"name": "base", "version": 1}])
    atlas.save("plan", "Two", 1)
    atlas.save("base", "More", 1)
    assert atlas.note("plan", version=1)["memory_references"][0]["state"] == "historical"


def test_a_version_that_is_not_retained_is_not_found_and_the_current_one_is_named(atlas: Agent) -> None:
    atlas.save("plan")
    error = atlas.refused("not_found", "get_memory", "plan", version=2)
    assert "plan has no retained version 2; it is at version 1" in error["message"]


@pytest.mark.parametrize("version", [0, -1, 2**31, "x", "1.5", "true", ""])
def test_what_is_no_version_is_refused(atlas: Agent, version: Any) -> None:
    atlas.save("plan")
    error = atlas.refused("invalid_arguments", "get_memory", "plan", version=version)
    assert error["details"][0]["path"] == "version"


def test_a_missing_a_deleted_and_another_agents_note_are_not_found_alike(atlas: Agent, boreas: Agent) -> None:
    never = atlas.call("get_memory", "plan").json
    atlas.save("plan")
    atlas.done("delete_memory", "plan", expected_version=1)
    boreas.save("plan")
    assert atlas.call("get_memory", "plan").json == never
    assert never["error"]["code"] == "not_found"
    assert "plan" in never["error"]["message"]


def test_a_malformed_name_in_the_path_is_an_invalid_argument(atlas: Agent) -> None:
    error = atlas.refused("invalid_arguments", "get_memory", "Plan_1")
    assert error["details"][0]["path"] == "id"
    assert '"Plan_1"' in error["message"]


def test_an_unknown_or_repeated_query_parameter_is_refused(atlas: Agent) -> None:
    atlas.save("plan")
    assert got(atlas, "/v1/memory/plan", "versoin=1").code == "invalid_arguments"
    assert got(atlas, "/v1/memory/plan", "version=1&version=1").code == "invalid_arguments"
    assert got(atlas, "/v1/memory/plan", "data=%7B%7D").code == "invalid_arguments"
    assert got(atlas, "/v1/memory/plan", "version=1").code is None


def test_a_read_writes_nothing(atlas: Agent) -> None:
    atlas.save("plan")
    counts = [model.objects.count() for model in (Note, Revision, Event)]
    atlas.note("plan")
    atlas.note("plan", version=1)
    assert [model.objects.count() for model in (Note, Revision, Event)] == counts


def test_a_note_that_its_owner_wrote_says_so(atlas: Agent) -> None:
    atlas.save("plan")
    for rows in (Note.objects.filter(agent_id=atlas.pk), Revision.objects.filter(note__agent_id=atlas.pk)):
        rows.update(via="browser")
    note = atlas.note("plan")
    assert (note["author"], note["via"], note["origin"]) == (atlas.handle, "browser", "owner")
    assert atlas.note("plan", version=1)["origin"] == "owner"


def test_a_write_through_another_door_changes_via_but_not_the_author(atlas: Agent) -> None:
    atlas.save("plan")
    Note.objects.filter(agent_id=atlas.pk).update(via="mcp (Claude)")
    note = atlas.note("plan")
    assert (note["author"], note["via"], note["origin"]) == (atlas.handle, "mcp (Claude)", "own")
    assert atlas.save("plan", "More", 1)["via"] == "rest"


def test_a_read_needs_its_scope(atlas: Agent, board: Board) -> None:
    atlas.save("plan")
    board.with_scopes(atlas, "memory:write").refused("insufficient_scope", "get_memory", "plan")
    assert board.with_scopes(atlas, "memory:read").note("plan")["body"] == "Text"
