"""update_space: an owner changes what is given; the rest stays."""

from typing import Any

import pytest

from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, MakeSpace, events, join


def update(agent: Agent, space: str, version: int = 1, **data: Any) -> Object:
    return agent.done("update_space", space, expected_version=version, **data)


def refused(agent: Agent, code: str, space: str, version: int = 1, **data: Any) -> Object:
    """The error of an update that must be refused and change nothing."""
    before = events(space)
    error = agent.refused(code, "update_space", space, expected_version=version, **data)
    assert events(space) == before
    return error


@pytest.mark.parametrize(
    "change",
    [
        {"title": " New "},
        {"description": "New\n"},
        {"description": ""},
        {"visibility": "private"},
        {"archived": True},
        {"title": "New", "description": "Both", "archived": True},
    ],
)
def test_what_is_given_changes_and_the_rest_stays(atlas: Agent, make_space: MakeSpace, change: Object) -> None:
    space = make_space(atlas, description="Old", visibility="public")
    before = atlas.done("get_space", space)
    assert update(atlas, space, **change)["version"] == 2
    after = atlas.done("get_space", space)
    assert after["updated_at"] > before["updated_at"]
    assert after == {**before, **change, "version": 2, "updated_at": after["updated_at"]}
    assert events(space)[1:] == [("update_space", space, 2)]


def test_a_null_changes_nothing(atlas: Agent, make_space: MakeSpace) -> None:
    space = make_space(atlas, description="Old")
    assert update(atlas, space, title="New", description=None)["description"] == "Old"


@pytest.mark.parametrize("given", [{}, {"title": None, "archived": None}, {"operation_key": "k"}])
def test_at_least_one_thing_must_be_given(atlas: Agent, space: str, given: Object) -> None:
    refused(atlas, "invalid_arguments", space, **given)


def test_that_is_said_before_anything_about_versions(atlas: Agent, space: str) -> None:
    refused(atlas, "invalid_arguments", space, 7)


def test_only_an_owner_may(atlas: Agent, editor: Agent, reader: Agent, space: str) -> None:
    version = atlas.done("get_space", space)["version"]
    for agent in (editor, reader):
        error = refused(agent, "forbidden", space, version, title="Mine")
        assert "owner" in error["message"]
    join(atlas, space, editor, "owner")
    assert update(editor, space, version + 1, title="Mine")["title"] == "Mine"


# ---- visibility


def test_a_public_space_can_be_made_private_and_then_outsiders_do_not_know_of_it(
    atlas: Agent, boreas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    space = make_space(atlas, visibility="public")
    entry = make_entry(atlas, space)["id"]
    cursor_entries = [make_entry(atlas, space) for _ in range(2)]
    assert cursor_entries
    cursor = boreas.done("list_space_entries", space, limit=1)["next_cursor"]
    boreas.done("get_space_entry", entry)
    update(atlas, space, visibility="private")
    boreas.refused("not_found", "get_space", space)
    boreas.refused("not_found", "get_space_entry", entry)
    boreas.refused("not_found", "list_entry_revisions", entry)
    boreas.refused("not_found", "list_space_entries", space, limit=1, cursor=cursor)


def test_a_private_space_never_becomes_public(atlas: Agent, make_space: MakeSpace, space: str) -> None:
    refused(atlas, "state_conflict", space, visibility="public")
    refused(atlas, "state_conflict", space, visibility="public", title="And this")
    once_public = make_space(atlas, visibility="public")
    update(atlas, once_public, visibility="private")
    refused(atlas, "state_conflict", once_public, 2, visibility="public")


# ---- archived


def test_nothing_is_written_in_an_archived_space_and_all_of_it_is_read(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    note, task = make_entry(atlas, space)["id"], make_entry(atlas, space, kind="TASK")["id"]
    knowledge = make_entry(atlas, space, kind="KNOWLEDGE", summary="s")["id"]
    held = make_entry(atlas, space, kind="TASK")["id"]
    atlas.done("claim_task", held, expected_version=1)
    update(atlas, space, archived=True)
    before = events(space)
    text = {"title": "x", "body": "x"}
    for method, id, data in (
        ("create_space_entry", space, {"kind": "NOTE", **text}),
        ("update_space_entry", note, {"expected_version": 1, **text}),
        ("archive_space_entry", note, {"expected_version": 1, "archived": True}),
        ("restore_space_entry", note, {"expected_version": 1, "version": 1}),
        ("publish_knowledge", knowledge, {"expected_version": 1, "body": "x", "summary": "x"}),
        ("add_evidence", note, {"body": "x"}),
        ("claim_task", task, {"expected_version": 1}),
        ("claim_next_task", space, {}),
        ("update_task", held, {"expected_version": 2, "state": "done"}),
        ("release_task", held, {"expected_version": 2}),
    ):
        error = atlas.refused("state_conflict", method, id, **data)
        assert "archived" in error["message"], method
    assert events(space) == before
    assert atlas.done("get_space", space)["archived"] is True
    assert len(atlas.done("list_space_entries", space)["items"]) == 4
    atlas.done("get_space_entry", note)
    atlas.done("list_entry_revisions", note)


def test_an_owner_brings_it_back(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    update(atlas, space, archived=True)
    assert update(atlas, space, 2, archived=False)["archived"] is False
    make_entry(atlas, space)


# ---- versions


def test_a_stale_version_is_refused_with_who_changed_it_and_when(atlas: Agent, editor: Agent, space: str) -> None:
    join(atlas, space, editor, "owner")
    version = atlas.done("get_space", space)["version"]
    changed = update(editor, space, version, title="Theirs")
    error = refused(atlas, "version_conflict", space, version, title="Mine")
    assert f"at version {version + 1}" in error["message"]
    assert {name: error[name] for name in error if name not in ("message", "next_action", "help")} == {
        "code": "version_conflict",
        "resource": {"type": "space", "id": space},
        "current_version": version + 1,
        "changed_by": editor.handle,
        "changed_via": "rest",
        "changed_at": changed["updated_at"],
    }
    for wrong in (version + 2, 2**31 - 1):
        assert refused(atlas, "version_conflict", space, wrong, title="Mine")["current_version"] == version + 1


def test_a_change_of_members_is_a_version_too_so_a_stale_update_meets_it(
    atlas: Agent, boreas: Agent, space: str
) -> None:
    atlas.done("set_space_member", space, agent=boreas.handle, role="reader")
    assert refused(atlas, "version_conflict", space, title="Mine")["changed_by"] == atlas.handle
    boreas.done("respond_to_invitation", space, accept=True)
    assert refused(atlas, "version_conflict", space, 2, title="Mine")["changed_by"] == boreas.handle


# ---- arguments


MISFITS: list[tuple[Object, str]] = [
    ({"title": ""}, "title"),
    ({"title": " "}, "title"),
    ({"title": "x" * 201}, "title"),
    ({"description": "x" * 2049}, "description"),
    ({"visibility": "hidden"}, "visibility"),
    ({"archived": "yes"}, "archived"),
    ({"archived": 1}, "archived"),
    ({"name": "other"}, "name"),
    ({"expected_version": 0}, "expected_version"),
    ({"expected_version": True}, "expected_version"),
    ({"expected_version": None}, "expected_version"),
]


def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent, space: str) -> None:
    for arguments, path in MISFITS:
        before = events(space)
        data = {"expected_version": 1, "title": "x", **arguments}
        error = atlas.refused("invalid_arguments", "update_space", space, **data)
        assert [detail["path"] for detail in error["details"]] == [path]
        assert events(space) == before


def test_a_key_of_this_server_in_a_text_is_refused(atlas: Agent, space: str) -> None:
    refused(atlas, "invalid_arguments", space, description=f"Log in with {atlas.key}.")
