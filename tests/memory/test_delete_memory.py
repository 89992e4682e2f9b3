"""delete_memory: body and revisions gone for good, the name free, its version numbers used up."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memory.models import Note, Revision
from tests.board import Board
from tests.calls import Agent


def test_a_deletion_answers_the_version_it_is_and_when(atlas: Agent) -> None:
    atlas.save("plan")
    atlas.save("plan", "Two", 1)
    reply = atlas.call("delete_memory", "plan", expected_version=2)
    assert reply.status == 200
    assert reply.json.pop("deleted_at") <= datetime.now(UTC).isoformat()
    assert reply.json == {"name": "plan", "version": 3, "deleted": True}


def test_a_deleted_note_is_found_nowhere(atlas: Agent) -> None:
    atlas.save("plan", "alpha", tags=["t"])
    assert len(atlas.done("search_memory", q="alpha")["items"]) == 1
    atlas.done("delete_memory", "plan", expected_version=1)
    for method in ("get_memory", "list_memory_revisions", "compare_memory"):
        atlas.refused("not_found", method, "plan")
    atlas.refused("not_found", "get_memory", "plan", version=1)
    assert atlas.done("list_memory") == {"items": [], "tags": []}
    assert atlas.done("search_memory", q="alpha")["items"] == []


def test_nothing_of_its_text_or_metadata_stays_stored(atlas: Agent) -> None:
    atlas.save("base")
    references = [{"name": "base", "version": 1}]
    more: dict[str, Any] = {"summary": "s", "use_when": "u", "tags": ["t"], "review_after": "2030-01-01T00:00:00Z"}
    atlas.save("plan", "x", memory_references=references, superseded_by="base", **more)
    atlas.save("plan", "y", 1)
    atlas.done("delete_memory", "plan", expected_version=2)
    row = Note.objects.filter(agent_id=atlas.pk, name="plan").values().get()
    assert [row[name] for name in ("body", "summary", "use_when", "superseded_by", "review_after")] == [None] * 5
    assert (row["tags"], row["memory_references"], row["bytes"]) == ([], [], 0)
    assert not Revision.objects.filter(note_id=row["id"]).exists()


@pytest.mark.parametrize("version", [1, 3, 99])
def test_a_deletion_from_another_version_is_version_conflict(atlas: Agent, version: int) -> None:
    atlas.save("plan")
    atlas.save("plan", "Two", 1)
    error = atlas.refused("version_conflict", "delete_memory", "plan", expected_version=version)
    assert error["current_version"] == 2
    assert atlas.note("plan")["body"] == "Two"


def test_a_missing_note_cannot_be_deleted_nor_a_deleted_one_again(atlas: Agent) -> None:
    never = atlas.call("delete_memory", "plan", expected_version=1).json
    assert never["error"]["code"] == "not_found"
    atlas.save("plan")
    atlas.done("delete_memory", "plan", expected_version=1)
    for version in (1, 2, 3):
        assert atlas.call("delete_memory", "plan", expected_version=version).json == never


def test_version_numbers_go_on_through_any_number_of_deletions(atlas: Agent) -> None:
    versions = []
    for _ in range(3):
        saved = atlas.save("plan")
        gone = atlas.done("delete_memory", "plan", expected_version=saved["version"])
        versions += [saved["version"], gone["version"]]
    assert versions == [1, 2, 3, 4, 5, 6]


def test_every_write_on_a_deleted_note_is_not_found(atlas: Agent) -> None:
    atlas.save("plan")
    atlas.done("delete_memory", "plan", expected_version=1)
    for version in (1, 2):
        atlas.refused("not_found", "save_memory", "plan", expected_version=version, body="x")
        atlas.refused("not_found", "edit_memory", "plan", expected_version=version, append="x")
        atlas.refused("not_found", "mark_memory_reviewed", "plan", expected_version=version)
        atlas.refused("not_found", "restore_memory", "plan", expected_version=version, version=1)


def test_a_deletion_takes_nothing_of_other_notes_or_agents(atlas: Agent, boreas: Agent, board: Board) -> None:
    for agent in (atlas, boreas):
        for name in ("plan", "plan-2"):
            agent.save(name)
            agent.save(name, "Two", 1)
    atlas.done("delete_memory", "plan", expected_version=2)
    assert [item["name"] for item in atlas.done("list_memory")["items"]] == ["plan-2"]
    assert len(atlas.done("list_memory_revisions", "plan-2")["items"]) == 2
    assert len(boreas.done("list_memory_revisions", "plan")["items"]) == 2


def test_version_0_is_refused(atlas: Agent) -> None:
    error = atlas.refused("invalid_arguments", "delete_memory", "plan", expected_version=0)
    assert "expected_version must be at least 1; 0 is not" in error["message"]


def test_a_deletion_needs_the_scope_to_write(atlas: Agent, board: Board) -> None:
    atlas.save("plan")
    board.with_scopes(atlas, "memory:read").refused("insufficient_scope", "delete_memory", "plan", expected_version=1)
