"""resolve_post: its author says that a post is settled, by which reply, against the version it has read."""

from typing import Any

import pytest

from agentboard.identity.models import Agent as Row
from agentboard.ledger.models import PUBLIC_STREAM, Event
from tests.board import Board
from tests.calls import Agent
from tests.posts.posting import hide, post, reply
from tests.races.arena import together


def test_a_resolved_post_has_the_next_version_and_its_accepted_reply(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    answer = reply(boreas, made)
    resolved = atlas.done("resolve_post", made["id"], expected_version=1, accepted_reply=answer["id"])
    assert resolved == {
        **made,
        "state": "resolved",
        "accepted_reply": answer["id"],
        "reply_count": 1,
        "version": 2,
    }
    read = boreas.done("get_post", made["id"])
    assert {name: read[name] for name in resolved} == resolved


def test_a_post_can_be_resolved_without_a_reply(atlas: Agent) -> None:
    resolved = atlas.done("resolve_post", post(atlas)["id"], expected_version=1)
    assert (resolved["state"], resolved["accepted_reply"], resolved["version"]) == ("resolved", None, 2)


def test_only_its_author_resolves_it(board: Board, atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    error = boreas.refused("forbidden", "resolve_post", made["id"], expected_version=1)
    assert atlas.handle in error["message"]
    sibling = board.agent(owner=Row.objects.get(pk=atlas.pk).owner)
    sibling.refused("forbidden", "resolve_post", made["id"], expected_version=1)
    board.with_scopes(atlas, "posts:read").refused("insufficient_scope", "resolve_post", made["id"], expected_version=1)


def test_a_stale_version_is_a_conflict_that_tells_how_the_post_stands(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    answer = reply(boreas, made)
    atlas.done("resolve_post", made["id"], expected_version=1, accepted_reply=answer["id"])
    error = atlas.refused("version_conflict", "resolve_post", made["id"], expected_version=1)
    assert error.pop("changed_at").endswith("Z")
    told = {"resource": {"type": "post", "id": made["id"]}, "current_version": 2, "changed_by": atlas.handle}
    told |= {"changed_via": "rest", "state": "resolved", "accepted_reply": answer["id"]}
    assert {name: error[name] for name in told} == told
    atlas.refused("version_conflict", "resolve_post", made["id"], expected_version=3)


def test_accepting_what_is_accepted_already_is_a_state_conflict(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    answer = reply(boreas, made)
    accept = {"accepted_reply": answer["id"]}
    atlas.done("resolve_post", made["id"], expected_version=1, **accept)
    atlas.refused("state_conflict", "resolve_post", made["id"], expected_version=2, **accept)
    atlas.done("resolve_post", made["id"], expected_version=2)
    atlas.refused("state_conflict", "resolve_post", made["id"], expected_version=3)


def test_another_reply_can_be_accepted_later(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    first, second = reply(boreas, made), reply(boreas, made)
    atlas.done("resolve_post", made["id"], expected_version=1, accepted_reply=first["id"])
    again = atlas.done("resolve_post", made["id"], expected_version=2, accepted_reply=second["id"])
    assert (again["accepted_reply"], again["version"]) == (second["id"], 3)


def test_only_a_visible_reply_of_this_post_can_be_accepted(atlas: Agent, boreas: Agent) -> None:
    made, other = post(atlas), post(atlas)
    foreign, hidden = reply(boreas, other), reply(boreas, made)
    hide(hidden)
    for id in (foreign["id"], hidden["id"], "re_nothing", made["id"], "x"):
        error = atlas.refused(
            "reference_unavailable", "resolve_post", made["id"], expected_version=1, accepted_reply=id
        )
        assert id in error["message"]
    assert atlas.done("get_post", made["id"])["state"] == "open"


def test_an_accepted_reply_that_is_hidden_later_is_no_longer_named(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    answer = reply(boreas, made)
    atlas.done("resolve_post", made["id"], expected_version=1, accepted_reply=answer["id"])
    hide(answer)
    read = atlas.done("get_post", made["id"])
    assert (read["state"], read["accepted_reply"], read["replies"]["items"]) == ("resolved", None, [])
    error = atlas.refused("version_conflict", "resolve_post", made["id"], expected_version=1)
    assert error["accepted_reply"] is None
    assert atlas.done("resolve_post", made["id"], expected_version=2)["version"] == 3


@pytest.mark.parametrize("version", [0, -1, True, "1", 1.5, [1], 2**31, None])
def test_a_version_is_an_integer_from_one_on(atlas: Agent, version: Any) -> None:
    """B09"""
    made = post(atlas)
    atlas.refused("invalid_arguments", "resolve_post", made["id"], expected_version=version)
    assert atlas.done("resolve_post", made["id"], expected_version=1.0)["version"] == 2


def test_what_does_not_exist_or_is_hidden_is_not_found(atlas: Agent) -> None:
    made = post(atlas)
    hide(made)
    for id in (made["id"], "po_nothing"):
        atlas.refused("not_found", "resolve_post", id, expected_version=1)


def test_of_many_at_once_one_wins(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    answers = [reply(boreas, made)["id"] for _ in range(8)]
    works = [
        lambda answer=answer: atlas.call("resolve_post", made["id"], expected_version=1, accepted_reply=answer)
        for answer in answers
    ]
    replies = together(works)
    assert sorted(reply.code or "" for reply in replies) == ["", *["version_conflict"] * 7]
    winner = next(reply for reply in replies if reply.code is None)
    assert atlas.done("get_post", made["id"])["accepted_reply"] == winner.json["accepted_reply"]


def test_the_repeat_of_a_key_is_a_receipt_also_at_once(atlas: Agent) -> None:
    made = post(atlas)
    replies = together([lambda: atlas.call("resolve_post", made["id"], expected_version=1, operation_key="once")] * 8)
    assert [reply.status for reply in replies] == [200] * 8
    assert sorted(reply.json["replayed"] for reply in replies) == [False] + [True] * 7
    events = Event.objects.filter(resource_id=made["id"], method="resolve_post")
    assert [(event.stream, event.version) for event in events] == [(PUBLIC_STREAM, 2)]
