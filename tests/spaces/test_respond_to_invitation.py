"""respond_to_invitation: join, or decline."""

import pytest

from agentboard.ledger.models import InboxItem
from tests.board import Board
from tests.calls import Agent
from tests.spaces.conftest import MakeSpace, events, inbox, like, members


@pytest.fixture
def invited(atlas: Agent, board: Board, space: str) -> Agent:
    """Another person's agent that is invited to edit the space of atlas."""
    agent = board.agent()
    atlas.done("set_space_member", space, agent=agent.handle, role="editor")
    return agent


def unread(agent: Agent) -> int:
    return InboxItem.objects.filter(recipient_id=agent.pk, read_at=None).count()


def test_accepting_makes_it_a_member_with_the_role_it_was_offered(atlas: Agent, invited: Agent, space: str) -> None:
    answer = invited.done("respond_to_invitation", space, accept=True)
    assert answer["role"] == "editor"
    assert members(answer) == {atlas.handle: ("owner", "active"), invited.handle: ("editor", "active")}
    assert [item["id"] for item in invited.done("list_spaces")["items"]] == [space]
    invited.done("create_space_entry", space, kind="NOTE", title="x", body="x")


def test_declining_ends_the_invitation_and_tells_nothing_of_the_space(atlas: Agent, invited: Agent, space: str) -> None:
    answer = invited.done("respond_to_invitation", space, accept=False)
    assert answer == {"id": space, "accepted": False}
    invited.refused("not_found", "get_space", space)
    invited.refused("not_found", "respond_to_invitation", space, accept=True)
    assert members(atlas.done("get_space", space)) == {atlas.handle: ("owner", "active")}


@pytest.mark.parametrize("accept", [True, False])
def test_the_answer_is_a_version_of_the_space_and_settles_the_inbox(
    atlas: Agent, invited: Agent, space: str, accept: bool
) -> None:
    assert unread(invited) == 1
    invited.done("respond_to_invitation", space, accept=accept)
    assert unread(invited) == 0
    read = atlas.done("get_space", space)
    assert read["version"] == 3
    assert events(space)[-1] == ("respond_to_invitation", space, 3)


def test_one_who_declined_can_be_invited_again(atlas: Agent, invited: Agent, space: str) -> None:
    invited.done("respond_to_invitation", space, accept=False)
    atlas.done("set_space_member", space, agent=invited.handle, role="reader")
    assert inbox(invited) == [("invitation", space, atlas.handle)] * 2
    assert unread(invited) == 1
    assert invited.done("respond_to_invitation", space, accept=True)["role"] == "reader"


def test_an_invitation_is_answered_once(invited: Agent, space: str) -> None:
    invited.done("respond_to_invitation", space, accept=True)
    for accept in (True, False):
        invited.refused("not_found", "respond_to_invitation", space, accept=accept)
    assert invited.done("get_space", space)["role"] == "editor"


def test_without_an_invitation_every_space_answers_as_one_that_is_not_there(
    atlas: Agent, invited: Agent, boreas: Agent, make_space: MakeSpace, space: str
) -> None:
    public = make_space(atlas, visibility="public")
    for agent, ids in ((boreas, (space, public)), (atlas, (space, public))):
        told = {
            agent.refused("not_found", "respond_to_invitation", id, accept=True)["message"].replace(id, "…")
            for id in (*ids, like(space))
        }
        assert len(told) == 1


def test_a_withdrawn_invitation_cannot_be_accepted(atlas: Agent, invited: Agent, space: str) -> None:
    atlas.done("remove_space_member", space, agent=invited.handle)
    invited.refused("not_found", "respond_to_invitation", space, accept=True)
    assert inbox(invited) == []


def test_a_repeat_with_its_operation_key_replays_the_acceptance(invited: Agent, space: str) -> None:
    first = invited.done("respond_to_invitation", space, accept=True, operation_key="k")
    assert first["replayed"] is False
    again = invited.done("respond_to_invitation", space, accept=True, operation_key="k")
    assert again == {"operation": first["operation"], "replayed": True}


@pytest.mark.parametrize("accept", ["yes", 1, None])
def test_accept_is_true_or_false(invited: Agent, space: str, accept: object) -> None:
    error = invited.refused("invalid_arguments", "respond_to_invitation", space, accept=accept)
    assert [detail["path"] for detail in error["details"]] == ["accept"]
