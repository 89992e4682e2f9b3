"""create_space: once for each request_id, the caller its owner."""

from typing import Any

import pytest

from agentboard.ledger.models import Receipt
from spaces.models import Space
from tests.board import Board
from tests.calls import Agent, Object
from tests.spaces.conftest import events

ABOUT = {"request_id": "r", "name": "ledger-team", "title": "Ledger"}


def create(agent: Agent, **data: Any) -> Object:
    return agent.done("create_space", **ABOUT | data)


def refused(agent: Agent, code: str, **data: Any) -> Object:
    """The error of a creation that must be refused and make nothing."""
    before = Space.objects.count()
    error = agent.refused(code, "create_space", **ABOUT | data)
    assert Space.objects.count() == before
    return error


def test_a_new_space_is_private_and_its_creator_owns_it(atlas: Agent) -> None:
    reply = atlas.call("create_space", **ABOUT)
    assert reply.status == 201
    made = reply.json
    assert made["id"].startswith("sp_")
    assert made["created_at"] == made["updated_at"]
    assert {name: made[name] for name in made if name not in ("id", "created_at", "updated_at", "operation")} == {
        "name": "ledger-team",
        "title": "Ledger",
        "description": None,
        "visibility": "private",
        "archived": False,
        "version": 1,
        "role": "owner",
        "members": [{"agent": atlas.handle, "role": "owner", "state": "active"}],
        "replayed": False,
    }
    assert events(made["id"]) == [("create_space", made["id"], 1)]


@pytest.mark.parametrize("visibility", ["private", "public"])
def test_it_keeps_what_it_was_given_exactly(atlas: Agent, visibility: str) -> None:
    texts = {"title": " Ledger <b>\n", "description": "  For the ledger.\n"}
    made = create(atlas, **texts, visibility=visibility)
    read = atlas.done("get_space", made["id"])
    assert {name: read[name] for name in (*texts, "visibility")} == {**texts, "visibility": visibility}


def test_the_answer_tells_of_the_operation_that_its_request_id_stands_for(atlas: Agent) -> None:
    made = create(atlas)
    assert made["operation"]["operation_key"] == "r"
    assert made["operation"]["method"] == "create_space"
    assert made["operation"]["resource"] == {"type": "space", "id": made["id"]}
    assert made["operation"]["version"] == 1


# ---- once


def test_the_same_call_again_answers_the_receipt_alone_and_makes_nothing(atlas: Agent) -> None:
    made = create(atlas)
    for again in (ABOUT, {**ABOUT, "visibility": "private"}, {**ABOUT, "description": None}):
        reply = atlas.call("create_space", **again)
        assert (reply.status, reply.json) == (200, {"operation": made["operation"], "replayed": True})
    assert Space.objects.filter(creator_id=atlas.pk).count() == 1


@pytest.mark.parametrize(
    "other",
    [{"name": "other"}, {"title": "Other"}, {"description": ""}, {"visibility": "public"}, {"title": "Ledger "}],
)
def test_the_request_id_with_anything_else_is_a_conflict(atlas: Agent, other: Object) -> None:
    create(atlas)
    error = refused(atlas, "operation_key_conflict", **other)
    assert "create_space" in error["message"]


def test_a_refused_creation_leaves_its_request_id_free(atlas: Agent) -> None:
    create(atlas)
    refused(atlas, "already_exists", request_id="r2")
    assert create(atlas, request_id="r2", name="other")["replayed"] is False


def test_a_request_id_and_an_equal_operation_key_never_meet(atlas: Agent) -> None:
    made = create(atlas, request_id="same")
    entry = {"kind": "NOTE", "title": "x", "body": "x", "operation_key": "same"}
    assert atlas.done("create_space_entry", made["id"], **entry)["replayed"] is False
    assert atlas.save("note", operation_key="other")["replayed"] is False
    assert create(atlas, request_id="other", name="other")["replayed"] is False
    assert create(atlas, request_id="same")["replayed"] is True
    assert atlas.done("create_space_entry", made["id"], **entry)["replayed"] is True
    assert Receipt.objects.filter(agent_id=atlas.pk).count() == 4


def test_a_request_id_belongs_to_one_agent(atlas: Agent, boreas: Agent, board: Board) -> None:
    sibling = board.agent(owner=board.people[0])
    made = [create(agent) for agent in (atlas, boreas, sibling)]
    assert len({space["id"] for space in made}) == 3
    assert not any(space["replayed"] for space in made)


def test_the_repeat_is_answered_also_when_the_space_has_moved_on(atlas: Agent) -> None:
    made = create(atlas)
    atlas.done("update_space", made["id"], expected_version=1, title="Moved on")
    assert create(atlas) == {"operation": made["operation"], "replayed": True}


def test_the_repeat_is_not_found_once_its_maker_is_out(atlas: Agent, boreas: Agent) -> None:
    made = create(atlas)
    atlas.done("set_space_member", made["id"], agent=boreas.handle, role="owner")
    boreas.done("respond_to_invitation", made["id"], accept=True)
    boreas.done("remove_space_member", made["id"], agent=atlas.handle)
    refused(atlas, "not_found")


# ---- what it is called


def test_a_name_is_taken_for_its_creator_only(atlas: Agent, boreas: Agent, board: Board) -> None:
    create(atlas)
    assert "ledger-team" in refused(atlas, "already_exists", request_id="r2", title="Other")["message"]
    create(boreas)
    create(board.agent(owner=board.people[0]))


def test_request_ids_may_hold_letters_digits_and_four_marks_and_tell_case_apart(atlas: Agent) -> None:
    for number, request_id in enumerate(("A.b_c:d-9", "a.b_c:d-9", "x" * 80, "-")):
        assert create(atlas, request_id=request_id, name=f"n{number}")["replayed"] is False


MISFITS: list[tuple[Object, str]] = [
    ({"request_id": None}, "request_id"),
    ({"request_id": ""}, "request_id"),
    ({"request_id": "x" * 81}, "request_id"),
    ({"request_id": "a/b"}, "request_id"),
    ({"request_id": "ä"}, "request_id"),
    ({"request_id": "r\n"}, "request_id"),
    ({"request_id": 1}, "request_id"),
    ({"name": None}, "name"),
    ({"name": "Ledger"}, "name"),
    ({"name": "ledger-team\n"}, "name"),
    ({"name": "a" * 81}, "name"),
    ({"title": None}, "title"),
    ({"title": ""}, "title"),
    ({"title": " \n"}, "title"),
    ({"title": "x" * 201}, "title"),
    ({"title": "a\0b"}, "title"),
    ({"description": "é" * 1024 + "x"}, "description"),
    ({"visibility": "secret"}, "visibility"),
    ({"operation_key": "k"}, "operation_key"),
    ({"expected_version": 0}, "expected_version"),
]


def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent) -> None:
    for arguments, path in MISFITS:
        error = refused(atlas, "invalid_arguments", **arguments)
        assert {detail["path"] for detail in error["details"]} == {path}


def test_texts_may_be_as_long_as_their_limits(atlas: Agent) -> None:
    texts = {"title": "\U0001f680" * 200, "description": "é" * 1024}
    made = create(atlas, **texts, name="a" * 80)
    assert {name: made[name] for name in texts} == texts
    assert len(made["title"].encode()) == 800


@pytest.mark.parametrize("name", ["title", "description"])
def test_a_key_of_this_server_in_a_text_is_refused(atlas: Agent, name: str) -> None:
    error = refused(atlas, "invalid_arguments", **{name: f"use {atlas.key} for it"})
    assert error["details"][0]["path"] == name
    assert atlas.key not in str(error)


def test_it_needs_its_scope(atlas: Agent, board: Board) -> None:
    refused(board.with_scopes(atlas, "coordination:read", "memory:write"), "insufficient_scope")
