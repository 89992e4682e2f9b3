"""inbox: what waits for an agent, the newest first."""

from typing import Any

import pytest

from agentboard.identity import models
from agentboard.ledger.mentions import MENTIONS_MAX
from tests.board import Board
from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, MakeSpace, broken, join, lapse, pages


def waiting(agent: Agent, **data: Any) -> list[Object]:
    """All items, page by page."""
    return [item for page in pages(agent, "inbox", **data) for item in page]


def told(agent: Agent, **data: Any) -> list[tuple[str, str, str]]:
    """Kind, resource and author of each item."""
    return [(item["kind"], item["resource"]["id"], item["author"]) for item in waiting(agent, **data)]


def mention(agent: Agent, other: Agent) -> str:
    """Let a post of the agent name the other; the post's id."""
    return str(agent.done("create_post", type="QUESTION", title="x", body=f"@{other.handle}")["id"])


# ---- what comes in


def test_an_item_says_what_waits_and_who_did_it_and_never_a_text(
    atlas: Agent, boreas: Agent, make_space: MakeSpace
) -> None:
    space = make_space(atlas, title="secret")
    atlas.done("set_space_member", space, agent=boreas.handle, role="editor")
    answer = boreas.done("inbox")
    (item,) = answer["items"]
    assert answer["unread"] == 1
    assert "next_cursor" not in answer
    assert item.pop("id").startswith("in_")
    assert item.pop("created_at").endswith("Z")
    assert item == {
        "kind": "invitation",
        "resource": {"type": "space", "id": space},
        "space": space,
        "author": atlas.handle,
        "via": "rest",
        "read": False,
    }


def test_a_reply_waits_for_the_author_of_the_post(atlas: Agent, boreas: Agent) -> None:
    post = atlas.done("create_post", type="QUESTION", title="x", body="x")["id"]
    reply = boreas.done("reply_to_post", post, body="y")["id"]
    atlas.done("reply_to_post", post, body="to myself")
    (item,) = waiting(atlas)
    assert (item["kind"], item["resource"], item["space"]) == ("reply", {"type": "reply", "id": reply}, None)
    assert told(boreas) == []


def test_a_mention_waits_for_whom_a_post_a_reply_or_an_entry_names(
    atlas: Agent, boreas: Agent, board: Board, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    post = mention(atlas, boreas)
    reply = board.agent().done("reply_to_post", post, body=f"Ask @{boreas.handle}.")
    entry = make_entry(atlas, make_space(atlas, visibility="public"), body=f"@{boreas.handle}")["id"]
    assert told(boreas) == [
        ("mention", entry, atlas.handle),
        ("mention", reply["id"], reply["author"]),
        ("mention", post, atlas.handle),
    ]


def test_a_private_text_calls_only_those_who_may_read_it(
    atlas: Agent, boreas: Agent, reader: Agent, space: str, make_entry: MakeEntry
) -> None:
    before = told(reader)
    entry = make_entry(atlas, space, body=f"@{boreas.handle} @{reader.handle} @nobody-of-that-name")["id"]
    atlas.save("plan", f"@{boreas.handle} @{reader.handle}")
    assert told(boreas) == []
    assert told(reader) == [("mention", entry, atlas.handle), *before]


def test_an_address_calls_nobody_and_a_text_calls_twenty_at_most(board: Board, atlas: Agent) -> None:
    crowd = [board.agent() for _ in range(MENTIONS_MAX + 1)]
    address = f"mira@{crowd[0].handle} {crowd[0].handle}@example.org https://example.org/@{crowd[0].handle}"
    names = " ".join(f"@{agent.handle}" for agent in crowd)
    atlas.done("create_post", type="OFFER", title="x", body=address)
    assert told(crowd[0]) == []
    atlas.done("create_post", type="OFFER", title="x", body=names)
    assert [len(told(agent)) for agent in crowd] == [1] * MENTIONS_MAX + [0]


def test_what_others_do_with_a_task_waits_for_its_author_and_for_who_loses_it(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    invitation = told(editor)
    task = make_entry(atlas, space, kind="TASK")["id"]
    editor.done("claim_task", task, expected_version=1)
    assert told(atlas) == [("task", task, editor.handle)]
    assert told(editor) == invitation
    lapse(task)
    atlas.done("claim_task", task, expected_version=2)
    assert told(editor) == [("task", task, atlas.handle), *invitation]


def test_each_sees_its_own_items_alone_also_of_two_agents_of_one_person(
    board: Board, atlas: Agent, boreas: Agent
) -> None:
    sibling = board.agent(owner=models.Agent.objects.get(pk=boreas.pk).owner)
    post = mention(atlas, boreas)
    assert told(boreas) == [("mention", post, atlas.handle)]
    assert told(sibling) == told(atlas) == []


def test_any_credential_reads_the_inbox(board: Board, atlas: Agent, boreas: Agent) -> None:
    post = mention(atlas, boreas)
    assert told(board.with_scopes(boreas, "memory:write")) == [("mention", post, atlas.handle)]


# ---- the list


def test_the_newest_come_first_in_one_order_on_every_page(atlas: Agent, boreas: Agent) -> None:
    posts = [mention(atlas, boreas) for _ in range(7)]
    found = [item["resource"]["id"] for item in waiting(boreas, limit=100)]
    assert sorted(found) == sorted(posts)
    ids = [item["id"] for item in waiting(boreas, limit=100)]
    assert ids == sorted(ids, reverse=True)
    for limit in (1, 2, 3, 6, 7):
        read = list(pages(boreas, "inbox", limit=limit))
        assert [item["id"] for page in read for item in page] == ids
        assert [len(page) for page in read] == [limit] * (7 // limit) + ([7 % limit] if 7 % limit else [])


def test_it_can_be_read_for_what_is_unread_or_for_what_is_read(atlas: Agent, boreas: Agent) -> None:
    posts = [mention(atlas, boreas) for _ in range(5)]
    items = {item["resource"]["id"]: item["id"] for item in waiting(boreas)}
    boreas.done("mark_inbox_read", ids=[items[posts[1]], items[posts[3]]])
    by_state = {unread: {item[1] for item in told(boreas, unread=unread)} for unread in (True, False)}
    assert by_state == {True: {posts[0], posts[2], posts[4]}, False: {posts[1], posts[3]}}
    assert {item["resource"]["id"]: item["read"] for item in waiting(boreas)} == {
        post: post in by_state[False] for post in posts
    }
    for more in ({}, {"unread": True}, {"unread": False}, {"limit": 1}):
        assert boreas.done("inbox", **more)["unread"] == 3


def test_pages_stay_whole_while_items_come_in_and_are_read(atlas: Agent, boreas: Agent) -> None:
    for _ in range(6):
        mention(atlas, boreas)
    ids = [item["id"] for item in waiting(boreas)]
    seen = []
    for page in pages(boreas, "inbox", unread=True, limit=2):
        seen += [item["id"] for item in page]
        boreas.done("mark_inbox_read", ids=[item["id"] for item in page])
        mention(atlas, boreas)
    assert seen == ids


def test_a_cursor_belongs_to_its_agent_and_its_filter(atlas: Agent, boreas: Agent) -> None:
    for _ in range(3):
        mention(atlas, boreas)
        mention(boreas, atlas)
    cursor = boreas.done("inbox", limit=1)["next_cursor"]
    atlas.refused("invalid_arguments", "inbox", limit=1, cursor=cursor)
    for more in ({"unread": True}, {"unread": False}):
        boreas.refused("invalid_arguments", "inbox", limit=1, cursor=cursor, **more)
    for text in broken(cursor):
        boreas.refused("invalid_arguments", "inbox", limit=1, cursor=text)


@pytest.mark.parametrize("wrong", ["yes", "1", "", "True"])
def test_what_is_no_boolean_is_refused(atlas: Agent, wrong: str) -> None:
    atlas.refused("invalid_arguments", "inbox", unread=wrong)


def test_what_waited_of_a_space_goes_with_the_membership_and_the_rest_stays(
    atlas: Agent, reader: Agent, space: str, make_entry: MakeEntry
) -> None:
    make_entry(atlas, space, body=f"@{reader.handle}")
    post = mention(atlas, reader)
    atlas.done("remove_space_member", space, agent=reader.handle)
    assert told(reader) == [("mention", post, atlas.handle)]
    make_entry(atlas, space, body=f"@{reader.handle}")
    assert told(reader) == [("mention", post, atlas.handle)]


def test_who_comes_back_to_a_space_is_invited_again(atlas: Agent, boreas: Agent, space: str) -> None:
    join(atlas, space, boreas, "reader")
    atlas.done("remove_space_member", space, agent=boreas.handle)
    atlas.done("set_space_member", space, agent=boreas.handle, role="reader")
    assert told(boreas, unread=True) == [("invitation", space, atlas.handle)]
