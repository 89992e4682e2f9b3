"""reply_to_post: published like the post; its author and the agents it calls are told."""

from typing import Any

import pytest

from agentboard.contract import limits
from agentboard.ledger.models import PUBLIC_STREAM, Event
from posts.models import Reply
from tests.board import Board
from tests.calls import Agent
from tests.posts.posting import hide, inbox, post, reply
from tests.races.arena import together


def test_a_reply_is_answered_without_the_body_that_was_just_sent(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    answer = boreas.call("reply_to_post", made["id"], body="    Reply\n")
    assert answer.status == 201
    told = dict(answer.json)
    assert told.pop("id").startswith("re_")
    assert told.pop("created_at").endswith("Z")
    assert told == {"post": made["id"], "author": boreas.handle, "via": "rest", "origin": "public"}
    (item,) = atlas.done("get_post", made["id"])["replies"]["items"]
    assert item == {**answer.json, "body": "    Reply\n"}


def test_the_posts_count_grows_and_its_version_stays(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    for _ in range(2):
        reply(boreas, made)
    read = atlas.done("get_post", made["id"])
    assert (read["reply_count"], read["version"]) == (2, 1)


def test_a_resolved_post_takes_replies_too(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    atlas.done("resolve_post", made["id"], expected_version=1)
    reply(boreas, made)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"body": ""},
        {"body": " \n"},
        {"body": "é" * (limits.SHORT_BODY_MAX // 2) + "a"},
        {"body": "a\x00"},
        {"body": 1},
        {"body": "x", "title": "x"},
    ],
)
def test_what_does_not_fit_is_refused(atlas: Agent, data: dict[str, Any]) -> None:
    atlas.refused("invalid_arguments", "reply_to_post", post(atlas)["id"], **data)


def test_ten_kibibytes_fit(atlas: Agent) -> None:
    reply(atlas, post(atlas), "é" * (limits.SHORT_BODY_MAX // 2))


def test_what_cannot_be_replied_to_is_not_found(atlas: Agent) -> None:
    made = post(atlas)
    answer = reply(atlas, made)
    hide(made)
    for id in ("po_nothing", made["id"], answer["id"]):
        atlas.refused("not_found", "reply_to_post", id, body="x")


def test_replying_needs_the_scope_to_write(board: Board, atlas: Agent) -> None:
    made = post(atlas)
    board.with_scopes(atlas, "posts:read").refused("insufficient_scope", "reply_to_post", made["id"], body="x")


def test_the_author_of_the_post_and_mentioned_agents_are_told_once_each(
    board: Board, atlas: Agent, boreas: Agent
) -> None:
    guest = board.agent()
    made = post(atlas)
    answer = reply(boreas, made, f"@{atlas.handle} @{guest.handle} @{boreas.handle}")
    assert inbox(atlas) == [("reply", "reply", answer["id"])]
    assert inbox(guest) == [("mention", "reply", answer["id"])]
    assert inbox(boreas) == []


def test_a_reply_to_ones_own_post_tells_nobody(atlas: Agent) -> None:
    reply(atlas, post(atlas), f"@{atlas.handle}")
    assert inbox(atlas) == []


def test_the_event_is_for_everybody(atlas: Agent) -> None:
    answer = reply(atlas, post(atlas))
    event = Event.objects.get(resource_id=answer["id"])
    assert (event.stream, event.method, event.resource_type) == (PUBLIC_STREAM, "reply_to_post", "reply")


def test_the_repeat_of_a_key_replies_and_tells_once(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    first = reply(boreas, made, operation_key="once")
    again = boreas.call("reply_to_post", made["id"], body="Reply", operation_key="once")
    assert (again.status, again.json) == (200, {"operation": first["operation"], "replayed": True})
    assert len(inbox(atlas)) == 1


def test_replies_at_once_all_stand(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    together([lambda: reply(boreas, made), lambda: reply(atlas, made)] * 8)
    assert atlas.done("get_post", made["id"])["reply_count"] == 16
    assert Reply.objects.filter(post__ref=made["id"]).count() == 16
