"""archive_space_entry: out of the usual lists, still readable, and back."""

from typing import Any

import pytest

from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, events


def archive(agent: Agent, entry: str, version: int, archived: bool = True) -> Object:
    return agent.done("archive_space_entry", entry, expected_version=version, archived=archived)


def listed(agent: Agent, space: str, **data: Any) -> list[str]:
    return [item["id"] for item in agent.done("list_space_entries", space, **data)["items"]]


@pytest.mark.parametrize("kind", ["NOTE", "DECISION", "KNOWLEDGE", "TASK"])
def test_an_archived_entry_is_listed_only_when_asked_for_and_read_by_its_id(
    atlas: Agent, space: str, make_entry: MakeEntry, kind: str
) -> None:
    made = make_entry(atlas, space, kind=kind, summary="s", tags=["a"])
    answer = archive(atlas, made["id"], 1)
    assert answer == {**made, "archived": True, "version": 2, "updated_at": answer["updated_at"]}
    assert listed(atlas, space) == listed(atlas, space, tag="a") == listed(atlas, space, q="body") == []
    assert listed(atlas, space, archived=True) == [made["id"]]
    assert atlas.done("get_space_entry", made["id"])["archived"] is True
    back = archive(atlas, made["id"], 2, archived=False)
    assert (back["archived"], back["version"]) == (False, 3)
    assert listed(atlas, space) == [made["id"]]
    assert listed(atlas, space, archived=True) == []


def test_it_changes_no_text_and_no_author(atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry) -> None:
    made = make_entry(atlas, space)
    assert archive(editor, made["id"], 1)["author"] == atlas.handle
    revisions = atlas.done("list_entry_revisions", made["id"])["items"]
    assert [(item["version"], item["author"]) for item in revisions] == [(2, editor.handle), (1, atlas.handle)]


def test_an_archived_task_is_claimed_by_nobody(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    task = make_entry(atlas, space, kind="TASK")["id"]
    archive(atlas, task, 1)
    error = atlas.refused("state_conflict", "claim_task", task, expected_version=2)
    assert "archive_space_entry" in error["next_action"]
    assert atlas.done("claim_next_task", space) == {"entry": None}
    archive(atlas, task, 2, archived=False)
    assert atlas.done("claim_next_task", space)["entry"]["id"] == task


def test_a_stale_version_is_refused(atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry) -> None:
    entry = make_entry(atlas, space)["id"]
    editor.done("update_space_entry", entry, expected_version=1, title="x", body="Other\n")
    error = atlas.refused("version_conflict", "archive_space_entry", entry, expected_version=1, archived=True)
    assert (error["current_version"], error["changed_by"]) == (2, editor.handle)
    assert "+Other" in error["diff"]
    assert atlas.done("get_space_entry", entry)["archived"] is False


def test_editors_may_and_readers_may_not(
    editor: Agent, reader: Agent, boreas: Agent, space: str, make_entry: MakeEntry
) -> None:
    entry = make_entry(editor, space)["id"]
    before = events(space)
    reader.refused("forbidden", "archive_space_entry", entry, expected_version=1, archived=True)
    boreas.refused("not_found", "archive_space_entry", entry, expected_version=1, archived=True)
    assert events(space) == before
    archive(editor, entry, 1)


@pytest.mark.parametrize("archived", ["yes", 1, None])
def test_archived_is_true_or_false(atlas: Agent, space: str, make_entry: MakeEntry, archived: object) -> None:
    entry = make_entry(atlas, space)["id"]
    data = {"expected_version": 1, "archived": archived}
    error = atlas.refused("invalid_arguments", "archive_space_entry", entry, **data)
    assert [detail["path"] for detail in error["details"]] == ["archived"]
