"""get_space: a space with its members, and how often its entries use each tag."""

from typing import Any

from spaces.models import Entry
from tests.board import Board
from tests.calls import Agent, Reply
from tests.spaces.conftest import MakeEntry, MakeSpace, join, like, members

VARYING = {"x-request-id", "date", "ratelimit"}


def told(reply: Reply, id: str) -> tuple[int, bytes, dict[str, str]]:
    """All of the reply but the id it was asked about."""
    headers = {name: value for name, value in reply.headers.items() if name not in VARYING}
    return reply.status, reply.raw.replace(id.encode(), b"<id>"), headers


def tags(agent: Agent, space: str) -> dict[str, int]:
    return {row["tag"]: row["count"] for row in agent.done("get_space", space)["tags"]}


def test_members_come_in_the_order_they_came_with_role_and_state(
    atlas: Agent, editor: Agent, reader: Agent, boreas: Agent, space: str
) -> None:
    atlas.done("set_space_member", space, agent=boreas.handle, role="owner")
    for agent, role in ((atlas, "owner"), (editor, "editor"), (reader, "reader")):
        read = agent.done("get_space", space)
        assert read["role"] == role
        assert list(members(read).items()) == [
            (atlas.handle, ("owner", "active")),
            (editor.handle, ("editor", "active")),
            (reader.handle, ("reader", "active")),
            (boreas.handle, ("owner", "invited")),
        ]


def test_a_private_space_answers_an_outsider_and_an_invited_agent_as_one_that_is_not_there(
    atlas: Agent, boreas: Agent, board: Board, space: str
) -> None:
    invited = board.agent()
    atlas.done("set_space_member", space, agent=invited.handle, role="owner")
    for agent in (boreas, invited):
        replies = [(agent.call("get_space", id), id) for id in (space, like(space))]
        assert told(*replies[0]) == told(*replies[1])
        assert replies[0][0].code == "not_found"


def test_so_does_one_that_the_agent_was_taken_out_of(atlas: Agent, reader: Agent, space: str) -> None:
    atlas.done("remove_space_member", space, agent=reader.handle)
    assert told(reader.call("get_space", space), space) == told(reader.call("get_space", like(space)), like(space))


def test_an_outsider_reads_a_public_space_but_not_who_was_invited(
    atlas: Agent, boreas: Agent, board: Board, make_space: MakeSpace
) -> None:
    public = make_space(atlas, visibility="public", description="For all")
    invited = board.agent()
    atlas.done("set_space_member", public, agent=invited.handle, role="editor")
    for agent in (boreas, invited):
        read = agent.done("get_space", public)
        assert read["role"] is None
        assert read["description"] == "For all"
        assert members(read) == {atlas.handle: ("owner", "active")}


def test_no_method_reads_a_space_by_its_name_or_by_anothers_id(atlas: Agent, space: str) -> None:
    name = atlas.done("get_space", space)["name"]
    for id in (name, space.upper(), f"{space} ", f"{space}%", "sp_", "en_" + space[3:]):
        atlas.refused("not_found", "get_space", id)


# ---- tags


def test_tags_are_counted_the_most_used_first_and_follow_every_write(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    assert atlas.done("get_space", space)["tags"] == []
    entry = make_entry(atlas, space, tags=["b", "a"])
    make_entry(atlas, space, tags=["b"], kind="TASK")
    assert atlas.done("get_space", space)["tags"] == [{"tag": "b", "count": 2}, {"tag": "a", "count": 1}]
    atlas.done("update_space_entry", entry["id"], expected_version=1, title="x", body="x", tags=["c"])
    assert tags(atlas, space) == {"b": 1, "c": 1}
    atlas.done("restore_space_entry", entry["id"], version=1, expected_version=2)
    assert tags(atlas, space) == {"b": 2, "a": 1}


def test_tags_of_hidden_entries_and_of_other_spaces_are_not_counted(
    atlas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    public, other = make_space(atlas, visibility="public"), make_space(atlas)
    hidden: dict[str, Any] = make_entry(atlas, public, tags=["hidden"])
    Entry.objects.filter(ref=hidden["id"]).update(hidden_at=hidden["created_at"])
    make_entry(atlas, public, tags=["shown"])
    make_entry(atlas, other, tags=["elsewhere"])
    assert tags(atlas, public) == {"shown": 1}


def test_more_tags_than_an_answer_holds_are_cut_and_it_says_so(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    for number in range(20):
        make_entry(atlas, space, tags=[f"t{number}-{inner}" for inner in range(10)])
    assert "truncated" not in atlas.done("get_space", space)
    make_entry(atlas, space, tags=["one-more"])
    read = atlas.done("get_space", space)
    assert read["truncated"] is True
    assert len(read["tags"]) == 200


def test_a_member_of_one_space_is_nobody_in_another(
    atlas: Agent, boreas: Agent, make_space: MakeSpace, space: str
) -> None:
    join(atlas, space, boreas, "owner")
    boreas.refused("not_found", "get_space", make_space(atlas))


def test_reading_needs_its_scope(atlas: Agent, board: Board, space: str) -> None:
    board.with_scopes(atlas, "coordination:write").refused("insufficient_scope", "get_space", space)
