"""list_spaces: one's own spaces, or all public ones, the newest first."""

from typing import Any

import pytest

from tests.board import Board
from tests.calls import Agent
from tests.spaces.conftest import MakeEntry, MakeSpace, broken, join, pages


def ids(agent: Agent, **data: Any) -> list[str]:
    return [item["id"] for page in pages(agent, "list_spaces", **data) for item in page]


def test_an_agent_without_spaces_has_an_empty_list_and_no_cursor(atlas: Agent) -> None:
    assert atlas.done("list_spaces") == {"items": []}


def test_an_item_is_the_space_as_a_read_gives_it(atlas: Agent, space: str, reader: Agent) -> None:
    for agent, role in ((atlas, "owner"), (reader, "reader")):
        read = agent.done("get_space", space)
        assert read.pop("tags") == []
        assert read["role"] == role
        for detail in ("summary", "full"):
            assert agent.done("list_spaces", detail=detail) == {"items": [read]}


def test_mine_are_those_the_agent_has_joined(
    atlas: Agent, boreas: Agent, board: Board, make_space: MakeSpace, space: str
) -> None:
    sibling = board.agent(owner=board.people[0])
    joined = make_space(boreas)
    join(boreas, joined, atlas, "reader")
    invited = make_space(boreas, visibility="public")
    boreas.done("set_space_member", invited, agent=atlas.handle, role="owner")
    make_space(boreas)
    assert set(ids(atlas)) == set(ids(atlas, scope="mine")) == {space, joined}
    assert ids(sibling) == []
    boreas.done("remove_space_member", joined, agent=atlas.handle)
    assert ids(atlas) == [space]


def test_public_ones_are_listed_for_everybody_and_with_ones_role(
    atlas: Agent, boreas: Agent, make_space: MakeSpace, space: str
) -> None:
    public = make_space(atlas, visibility="public")
    roles = {
        agent.handle: {
            item["id"]: item["role"] for page in pages(agent, "list_spaces", scope="public") for item in page
        }
        for agent in (atlas, boreas)
    }
    assert roles[atlas.handle][public] == "owner"
    assert roles[boreas.handle][public] is None
    assert space not in roles[atlas.handle].keys() | roles[boreas.handle].keys()
    atlas.done("update_space", public, expected_version=1, visibility="private")
    assert public not in ids(atlas, scope="public")
    assert public in ids(atlas)


def test_outsiders_are_not_told_who_was_invited(
    atlas: Agent, boreas: Agent, board: Board, make_space: MakeSpace
) -> None:
    public = make_space(atlas, visibility="public")
    invited = board.agent()
    atlas.done("set_space_member", public, agent=invited.handle, role="reader")
    for agent, told in ((atlas, True), (boreas, False), (invited, False)):
        items = [item for page in pages(agent, "list_spaces", scope="public") for item in page if item["id"] == public]
        assert [member["agent"] for member in items[0]["members"]] == [atlas.handle, *[invited.handle] * told]


def test_the_newest_come_first_and_each_exactly_once(
    atlas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    made = [make_space(atlas) for _ in range(7)]
    seen: list[str] = []
    for number, page in enumerate(pages(atlas, "list_spaces", limit=2)):
        seen += [item["id"] for item in page]
        atlas.done("update_space", made[number], expected_version=1, title="Changed meanwhile")
        make_space(atlas)
    assert sorted(seen) == sorted(made)
    assert seen == sorted(made, reverse=True)


def test_archived_ones_are_listed_and_say_so(atlas: Agent, space: str) -> None:
    atlas.done("update_space", space, expected_version=1, archived=True)
    assert [item["archived"] for item in atlas.done("list_spaces")["items"]] == [True]


def test_a_cursor_of_another_query_or_agent_or_tampered_with_is_refused(
    atlas: Agent, boreas: Agent, make_space: MakeSpace
) -> None:
    for agent in (atlas, atlas, boreas, boreas):
        make_space(agent, visibility="public")
    cursor = atlas.done("list_spaces", limit=1)["next_cursor"]
    atlas.refused("invalid_arguments", "list_spaces", cursor=cursor, scope="public")
    atlas.refused("invalid_arguments", "list_spaces", cursor=cursor, detail="full")
    boreas.refused("invalid_arguments", "list_spaces", cursor=cursor)
    for text in broken(cursor):
        error = atlas.refused("invalid_arguments", "list_spaces", cursor=text)
        assert [detail["path"] for detail in error["details"]] == ["cursor"]
    assert len(atlas.done("list_spaces", cursor=cursor, scope="mine")["items"]) == 1


@pytest.mark.parametrize("arguments", [{"scope": "all"}, {"limit": 0}, {"limit": 101}, {"q": "x"}, {"detail": "body"}])
def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent, arguments: dict[str, object]) -> None:
    error = atlas.refused("invalid_arguments", "list_spaces", **arguments)
    assert [detail["path"] for detail in error["details"]] == [*arguments]


def test_listing_needs_its_scope(atlas: Agent, board: Board) -> None:
    board.with_scopes(atlas, "coordination:write").refused("insufficient_scope", "list_spaces")
