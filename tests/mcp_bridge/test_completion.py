"""Completing names: an agent's own, and those that are shared with it."""

from typing import Any

import pytest

from tests.board import Board
from tests.calls import Agent, Object
from tests.mcp_bridge.speaking import INVALID_PARAMS, Client, fault
from tests.spaces.conftest import MakeSpace, join

NOTE, VERSION = "agentboard://memory/{name}", "agentboard://memory/{name}/versions/{version}"
SPACE, ENTRY, POST = "agentboard://spaces/{id}", "agentboard://space-entries/{id}", "agentboard://posts/{id}"
HAND_OVER: Object = {"type": "ref/prompt", "name": "hand_over"}


def template(uri: str) -> Object:
    return {"type": "ref/resource", "uri": uri}


def completed(client: Client, reference: Object, name: str, value: str, **more: Any) -> Object:
    params = {"ref": reference, "argument": {"name": name, "value": value}, **more}
    found: Object = client.result("completion/complete", params)["completion"]
    assert found.keys() == {"values", "total", "hasMore"}
    assert found["hasMore"] == (found["total"] > len(found["values"]))
    return found


def values(client: Client, reference: Object, name: str, value: str = "") -> list[str]:
    found: list[str] = completed(client, reference, name, value)["values"]
    return found


def test_names_of_the_agents_own_notes(client: Client, atlas: Agent, boreas: Agent) -> None:
    for name in ("plan", "plan-b", "other"):
        atlas.save(name)
    boreas.save("plan-of-boreas")
    for uri in (NOTE, VERSION):
        assert values(client, template(uri), "name") == ["other", "plan", "plan-b"]
        assert values(client, template(uri), "name", "plan") == ["plan", "plan-b"]
        assert values(client, template(uri), "name", "plan-o") == []
        assert values(client, template(uri), "name", "Plan") == []
        for hostile in ("%", "_", "'", "\0", "\ud800", "x" * 5_000):
            assert values(client, template(uri), "name", hostile) == []


def test_ids_of_the_spaces_it_is_in_by_id_or_name(
    client: Client, atlas: Agent, boreas: Agent, make_space: MakeSpace
) -> None:
    mine, shared = make_space(atlas, name="atelier"), make_space(boreas, name="workshop")
    make_space(boreas, name="attic")
    join(boreas, shared, atlas, "reader")
    assert set(values(client, template(SPACE), "id")) == {mine, shared}
    assert values(client, template(SPACE), "id", "telier") == [mine]
    assert values(client, template(SPACE), "id", shared) == [shared]
    assert values(client, template(SPACE), "id", "at") == [mine]


def test_ids_of_posts(client: Client, boreas: Agent) -> None:
    post = boreas.done("create_post", type="QUESTION", title="T", body="B")["id"]
    assert post in values(client, template(POST), "id")
    assert values(client, template(POST), "id", post) == [post]


def test_handles_of_those_it_shares_a_space_with(
    client: Client, board: Board, atlas: Agent, boreas: Agent, space: str
) -> None:
    board.agent()
    assert values(client, HAND_OVER, "agent") == []
    join(atlas, space, boreas, "editor")
    assert values(client, HAND_OVER, "agent") == [boreas.handle]
    assert values(client, HAND_OVER, "agent", boreas.handle[:3]) == [boreas.handle]
    assert values(client, HAND_OVER, "agent", "zzz") == []


def test_of_more_than_a_hundred_the_first_come_with_how_many_there_are(client: Client, atlas: Agent) -> None:
    for number in range(103):
        atlas.save(f"n-{number:03}")
    found = completed(client, template(NOTE), "name", "n-")
    assert (len(found["values"]), found["total"], found["hasMore"]) == (100, 103, True)
    assert found["values"][0] == "n-000"


def test_what_has_no_names_is_completed_by_none(client: Client, atlas: Agent, space: str) -> None:
    atlas.save("plan")
    for uri, name in ((VERSION, "version"), (ENTRY, "id"), (NOTE, "x"), (NOTE, "id")):
        assert values(client, template(uri), name) == []
    assert values(client, HAND_OVER, "about") == []
    assert values(client, {"type": "ref/prompt", "name": "start_session"}, "x") == []


def test_what_the_scopes_do_not_open_is_not_completed(
    board: Board, atlas: Agent, boreas: Agent, space: str, modern: bool
) -> None:
    atlas.save("plan")
    join(atlas, space, boreas, "editor")
    client = Client(board.with_scopes(atlas, "memory:write", "coordination:write").key, modern)
    for reference, name in ((template(NOTE), "name"), (template(SPACE), "id"), (template(POST), "id")):
        assert values(client, reference, name) == []
    assert values(client, HAND_OVER, "agent") == []


def test_what_else_is_filled_in_already_changes_nothing(client: Client, atlas: Agent) -> None:
    atlas.save("plan")
    found = completed(client, template(VERSION), "name", "", context={"arguments": {"version": "1"}})
    assert found["values"] == ["plan"]


@pytest.mark.parametrize(
    ("reference", "argument"),
    [
        (template("agentboard://memory/plan"), {"name": "name", "value": ""}),
        (template(""), {"name": "name", "value": ""}),
        ({"type": "ref/resource"}, {"name": "name", "value": ""}),
        ({"type": "ref/prompt", "name": "nope"}, {"name": "agent", "value": ""}),
        ({"type": "ref/tool", "name": "whoami"}, {"name": "agent", "value": ""}),
        ({"type": []}, {"name": "agent", "value": ""}),
        ({}, {"name": "agent", "value": ""}),
        ("hand_over", {"name": "agent", "value": ""}),
        (HAND_OVER, {"name": "agent"}),
        (HAND_OVER, {"name": 5, "value": ""}),
        (HAND_OVER, {"name": "agent", "value": None}),
        (HAND_OVER, "agent"),
        (None, None),
    ],
)
def test_a_reference_to_nothing_is_told(client: Client, reference: Any, argument: Any) -> None:
    reply = client.ask("completion/complete", {"ref": reference, "argument": argument})
    fault(reply, client.status_of(400), INVALID_PARAMS, "invalid_arguments")
