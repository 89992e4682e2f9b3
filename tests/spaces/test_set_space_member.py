"""set_space_member: an owner gives roles; another person's agent is asked first."""

import pytest

from agentboard.identity import models
from tests.board import Board
from tests.calls import Agent, Object
from tests.spaces.conftest import MakeSpace, events, inbox, join, members


def refused(agent: Agent, code: str, space: str, /, **data: object) -> Object:
    """The error of a call that must be refused and change nothing."""
    before = events(space)
    error = agent.refused(code, "set_space_member", space, **data)
    assert events(space) == before
    return error


@pytest.mark.parametrize("role", ["owner", "editor", "reader"])
def test_an_agent_of_the_same_person_joins_at_once(atlas: Agent, board: Board, space: str, role: str) -> None:
    sibling = board.agent(owner=board.people[0])
    answer = atlas.done("set_space_member", space, agent=sibling.handle, role=role)
    assert members(answer)[sibling.handle] == (role, "active")
    assert answer["role"] == "owner"
    assert sibling.done("get_space", space)["role"] == role
    assert inbox(sibling) == []


@pytest.mark.parametrize("role", ["owner", "editor", "reader"])
def test_another_persons_agent_is_invited_and_hears_of_it(atlas: Agent, boreas: Agent, space: str, role: str) -> None:
    answer = atlas.done("set_space_member", space, agent=boreas.handle, role=role)
    assert members(answer)[boreas.handle] == (role, "invited")
    assert inbox(boreas) == [("invitation", space, atlas.handle)]
    assert inbox(atlas) == []


def test_until_it_joins_nothing_of_the_space_reaches_it_but_the_invitation(
    atlas: Agent, boreas: Agent, space: str
) -> None:
    atlas.done("set_space_member", space, agent=boreas.handle, role="owner")
    entry = atlas.done("create_space_entry", space, kind="TASK", title="x", body=f"For @{boreas.handle}")["id"]
    boreas.refused("not_found", "get_space", space)
    boreas.refused("not_found", "list_space_entries", space)
    boreas.refused("not_found", "get_space_entry", entry)
    boreas.refused("not_found", "create_space_entry", space, kind="NOTE", title="x", body="x")
    boreas.refused("not_found", "claim_next_task", space)
    boreas.refused("not_found", "update_space", space, expected_version=2, title="x")
    boreas.refused("not_found", "remove_space_member", space, agent=boreas.handle)
    assert boreas.done("list_spaces")["items"] == []
    assert inbox(boreas) == [("invitation", space, atlas.handle)]


def test_every_change_of_members_is_a_version_of_the_space(atlas: Agent, boreas: Agent, space: str) -> None:
    versions = [
        atlas.done("set_space_member", space, agent=boreas.handle, role="reader")["version"],
        boreas.done("respond_to_invitation", space, accept=True)["version"],
        atlas.done("set_space_member", space, agent=boreas.handle, role="editor")["version"],
        atlas.done("remove_space_member", space, agent=boreas.handle)["version"],
    ]
    assert versions == [2, 3, 4, 5]
    assert atlas.done("get_space", space)["version"] == 5
    assert [version for _, _, version in events(space)] == [1, 2, 3, 4, 5]


def test_a_members_role_changes_at_once_and_it_is_not_asked_again(atlas: Agent, reader: Agent, space: str) -> None:
    before = inbox(reader)
    reader.refused("forbidden", "create_space_entry", space, kind="NOTE", title="x", body="x")
    answer = atlas.done("set_space_member", space, agent=reader.handle, role="editor")
    assert members(answer)[reader.handle] == ("editor", "active")
    reader.done("create_space_entry", space, kind="NOTE", title="x", body="x")
    atlas.done("set_space_member", space, agent=reader.handle, role="reader")
    reader.refused("forbidden", "create_space_entry", space, kind="NOTE", title="x", body="x")
    assert inbox(reader) == before


def test_the_role_of_an_invitation_can_be_changed_and_stays_an_invitation(
    atlas: Agent, boreas: Agent, space: str
) -> None:
    atlas.done("set_space_member", space, agent=boreas.handle, role="owner")
    answer = atlas.done("set_space_member", space, agent=boreas.handle, role="reader")
    assert members(answer)[boreas.handle] == ("reader", "invited")
    assert inbox(boreas) == [("invitation", space, atlas.handle)]
    assert boreas.done("respond_to_invitation", space, accept=True)["role"] == "reader"


# ---- owners


def test_the_last_owner_cannot_be_demoted(atlas: Agent, editor: Agent, space: str) -> None:
    for role in ("editor", "reader"):
        error = refused(atlas, "state_conflict", space, agent=atlas.handle, role=role)
        assert "last owner" in error["message"]
    atlas.done("set_space_member", space, agent=atlas.handle, role="owner")
    join(atlas, space, editor, "owner")
    answer = atlas.done("set_space_member", space, agent=atlas.handle, role="reader")
    assert (answer["role"], members(answer)[atlas.handle]) == ("reader", ("reader", "active"))
    refused(atlas, "forbidden", space, agent=editor.handle, role="reader")
    refused(editor, "state_conflict", space, agent=editor.handle, role="editor")


def test_one_who_is_invited_to_be_an_owner_is_none_yet(atlas: Agent, boreas: Agent, space: str) -> None:
    atlas.done("set_space_member", space, agent=boreas.handle, role="owner")
    refused(atlas, "state_conflict", space, agent=atlas.handle, role="editor")
    boreas.done("respond_to_invitation", space, accept=True)
    atlas.done("set_space_member", space, agent=atlas.handle, role="editor")


def test_only_an_owner_may(atlas: Agent, editor: Agent, reader: Agent, boreas: Agent, space: str) -> None:
    for agent in (editor, reader):
        for target in (boreas, agent):
            refused(agent, "forbidden", space, agent=target.handle, role="owner")
    refused(boreas, "not_found", space, agent=boreas.handle, role="owner")


def test_an_outsider_cannot_make_itself_a_member_of_a_public_space(
    atlas: Agent, boreas: Agent, make_space: MakeSpace
) -> None:
    public = make_space(atlas, visibility="public")
    refused(boreas, "forbidden", public, agent=boreas.handle, role="reader")


# ---- whom


def test_an_agent_that_does_not_exist_or_is_deactivated_is_not_found(atlas: Agent, board: Board, space: str) -> None:
    asleep, orphan, sibling = board.agent(), board.agent(), board.agent(owner=board.people[0])
    models.Agent.objects.filter(pk__in=(asleep.pk, sibling.pk)).update(active=False)
    models.Person.objects.filter(agents=orphan.pk).update(is_active=False)
    told = set()
    for handle in ("nobody-of-that-name", asleep.handle, orphan.handle, sibling.handle):
        error = refused(atlas, "not_found", space, agent=handle, role="reader")
        told.add(error["message"].replace(handle, "…"))
    assert len(told) == 1


MISFITS: list[tuple[Object, str]] = [
    ({"agent": "Not A Handle"}, "agent"),
    ({"agent": "@atlas"}, "agent"),
    ({"agent": None}, "agent"),
    ({"role": "admin"}, "role"),
    ({"role": "Owner"}, "role"),
    ({"role": None}, "role"),
    ({"expected_version": 1}, "expected_version"),
]


def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent, boreas: Agent, space: str) -> None:
    for arguments, path in MISFITS:
        data = {"agent": boreas.handle, "role": "reader", **arguments}
        error = refused(atlas, "invalid_arguments", space, **data)
        assert [detail["path"] for detail in error["details"]] == [path]
