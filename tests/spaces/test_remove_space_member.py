"""remove_space_member: an owner takes an agent out, or an agent leaves; from the next call on it is an outsider."""

import pytest

from agentboard.identity import models
from agentboard.ledger.models import InboxItem
from tests.board import Board
from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, MakeSpace, events, inbox, join, members


def refused(agent: Agent, code: str, space: str, target: Agent) -> Object:
    """The error of a removal that must be refused and change nothing."""
    before = events(space)
    error = agent.refused(code, "remove_space_member", space, agent=target.handle)
    assert events(space) == before
    return error


def test_an_owner_takes_any_member_out(atlas: Agent, editor: Agent, reader: Agent, space: str) -> None:
    join(atlas, space, reader, "owner")
    version = atlas.done("get_space", space)["version"]
    for number, agent in enumerate((editor, reader), start=1):
        answer = atlas.done("remove_space_member", space, agent=agent.handle)
        assert answer == {"id": space, "removed": agent.handle, "version": version + number}
    assert members(atlas.done("get_space", space)) == {atlas.handle: ("owner", "active")}


def test_every_method_is_out_at_the_very_next_call(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    task = make_entry(editor, space, kind="TASK")["id"]
    make_entry(editor, space)
    editor.done("claim_task", task, expected_version=1)
    cursor = editor.done("list_space_entries", space, limit=1)["next_cursor"]
    atlas.done("remove_space_member", space, agent=editor.handle)
    editor.refused("not_found", "get_space", space)
    editor.refused("not_found", "list_space_entries", space, limit=1, cursor=cursor)
    editor.refused("not_found", "get_space_entry", task)
    editor.refused("not_found", "update_task", task, expected_version=2, state="done")
    editor.refused("not_found", "release_task", task, expected_version=2)
    editor.refused("not_found", "create_space_entry", space, kind="NOTE", title="x", body="x")
    editor.refused("not_found", "remove_space_member", space, agent=editor.handle)
    assert editor.done("list_spaces")["items"] == []


def test_a_removed_members_receipts_answer_as_if_there_were_nothing(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    entry = {"kind": "NOTE", "title": "x", "body": "x", "operation_key": "k"}
    made = editor.done("create_space_entry", space, **entry)["id"]
    proof = {"body": "Seen", "operation_key": "p"}
    editor.done("add_evidence", made, **proof)
    atlas.done("remove_space_member", space, agent=editor.handle)
    editor.refused("not_found", "create_space_entry", space, **entry)
    editor.refused("not_found", "add_evidence", made, **proof)


def test_what_waited_for_it_from_this_space_is_gone_and_nothing_else(
    atlas: Agent, editor: Agent, space: str, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    other = make_space(atlas)
    join(atlas, other, editor, "editor")
    for at in (space, other):
        make_entry(atlas, at, body=f"See @{editor.handle}")
    atlas.done("remove_space_member", space, agent=editor.handle)
    left = InboxItem.objects.filter(recipient_id=editor.pk).values_list("space", "kind")
    assert sorted(left) == [(other, "invitation"), (other, "mention")]


def test_nothing_of_the_space_waits_for_it_afterwards(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    task = make_entry(editor, space, kind="TASK")["id"]
    held = make_entry(atlas, space, kind="TASK")["id"]
    editor.done("claim_task", held, expected_version=1)
    atlas.done("remove_space_member", space, agent=editor.handle)
    make_entry(atlas, space, body=f"See @{editor.handle}")
    atlas.done("claim_task", task, expected_version=1)
    atlas.done("release_task", held, expected_version=2)
    assert inbox(editor) == []


def test_what_it_wrote_stays_and_is_still_its_own(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    entry = make_entry(editor, space)["id"]
    atlas.done("remove_space_member", space, agent=editor.handle)
    assert atlas.done("get_space_entry", entry)["author"] == editor.handle


@pytest.mark.parametrize("role", ["reader", "editor", "owner"])
def test_a_member_of_any_role_may_leave(atlas: Agent, boreas: Agent, space: str, role: str) -> None:
    join(atlas, space, boreas, role)
    boreas.done("remove_space_member", space, agent=boreas.handle)
    boreas.refused("not_found", "get_space", space)


def test_an_owner_may_leave_while_another_stays(atlas: Agent, editor: Agent, space: str) -> None:
    refused(atlas, "state_conflict", space, atlas)
    join(atlas, space, editor, "owner")
    atlas.done("remove_space_member", space, agent=atlas.handle)
    error = refused(editor, "state_conflict", space, editor)
    assert "last owner" in error["message"]
    assert members(editor.done("get_space", space)) == {editor.handle: ("owner", "active")}


def test_one_who_is_invited_to_be_an_owner_does_not_count(atlas: Agent, boreas: Agent, space: str) -> None:
    atlas.done("set_space_member", space, agent=boreas.handle, role="owner")
    refused(atlas, "state_conflict", space, atlas)


def test_only_an_owner_takes_others_out(atlas: Agent, editor: Agent, reader: Agent, boreas: Agent, space: str) -> None:
    for agent, target in ((editor, reader), (editor, atlas), (reader, editor)):
        refused(agent, "forbidden", space, target)
    refused(boreas, "not_found", space, reader)


def test_an_invitation_can_be_withdrawn(atlas: Agent, boreas: Agent, space: str) -> None:
    atlas.done("set_space_member", space, agent=boreas.handle, role="editor")
    atlas.done("remove_space_member", space, agent=boreas.handle)
    assert inbox(boreas) == []
    assert members(atlas.done("get_space", space)) == {atlas.handle: ("owner", "active")}


def test_one_who_is_no_member_is_not_found_whether_or_not_it_exists(atlas: Agent, boreas: Agent, space: str) -> None:
    told = set()
    for handle in (boreas.handle, "nobody-of-that-name"):
        error = atlas.refused("not_found", "remove_space_member", space, agent=handle)
        told.add(error["message"].replace(handle, "…"))
    assert len(told) == 1


def test_a_deactivated_member_can_be_taken_out(atlas: Agent, editor: Agent, space: str) -> None:
    models.Agent.objects.filter(pk=editor.pk).update(active=False)
    atlas.done("remove_space_member", space, agent=editor.handle)
    assert members(atlas.done("get_space", space)) == {atlas.handle: ("owner", "active")}


def test_one_who_left_is_invited_again_as_a_stranger(atlas: Agent, editor: Agent, space: str) -> None:
    editor.done("remove_space_member", space, agent=editor.handle)
    answer = atlas.done("set_space_member", space, agent=editor.handle, role="reader")
    assert members(answer)[editor.handle] == ("reader", "invited")
    editor.refused("not_found", "get_space", space)


def test_an_outsider_cannot_leave_a_public_space(atlas: Agent, boreas: Agent, make_space: MakeSpace) -> None:
    refused(boreas, "forbidden", make_space(atlas, visibility="public"), boreas)


def test_removing_needs_its_scope(atlas: Agent, editor: Agent, board: Board, space: str) -> None:
    limited = board.with_scopes(editor, "coordination:read")
    refused(limited, "insufficient_scope", space, editor)
