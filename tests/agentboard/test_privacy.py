"""Another agent's private thing answers exactly as a thing that does not exist, at every method that takes an id.

At both doors for programs; what else MCP clients may read by a URI is in tests/mcp_bridge/test_resources.py.
"""

from collections.abc import Callable
from typing import Any

import pytest

from agentboard.catalog import CATALOG
from agentboard.contract.method import Method
from tests.board import Board
from tests.calls import Agent, Door, Mcp, Reply, Rest

VARYING = {"x-request-id", "date", "ratelimit"}
OPEN = {"board", "posts"}  # groups whose things are for everybody
METHODS = [method for method in CATALOG.values() if method.id is not None and method.group not in OPEN]


DOORS: dict[str, Door] = {"rest": Rest(), "mcp": Mcp(modern=True)}


@pytest.fixture(params=DOORS)
def atlas(board: Board, request: pytest.FixtureRequest) -> Agent:
    """An agent that asks by each door in turn."""
    agent = board.agent()
    return Agent(DOORS[request.param], agent.key, agent.handle, agent.pk)


def notes(agent: Agent) -> tuple[str, str]:
    """The name of a note of three versions, and one like it that nobody uses."""
    for version in range(3):
        agent.save("plan-a", f"The ledger, part {version}", version, tags=["secret-tag"])
    return "plan-a", "plan-b"


def spaces(agent: Agent) -> tuple[str, str]:
    """The id of a private space, and one like it that is nobody's."""
    id = agent.done("create_space", request_id="r1", name="hidden", title="The ledger")["id"]
    return id, like(id)


def entries(agent: Agent) -> tuple[str, str]:
    """The id of a task in a private space, and one like it that is nobody's."""
    space, _ = spaces(agent)
    id = agent.done("create_space_entry", space, kind="TASK", title="The ledger", body="The ledger")["id"]
    return id, like(id)


def like(id: str) -> str:
    """An id as well formed as this one."""
    return id[:-1] + {"0": "1"}.get(id[-1], "0")


HIDDEN: dict[str, Callable[[Agent], tuple[str, str]]] = {  # by the first part of the path
    "memory": notes,
    "spaces": spaces,
    "space-entries": entries,
}


def hidden(agent: Agent, method: Method) -> tuple[str, str]:
    """The id of a thing that only this agent may know of, and one like it that is nobody's."""
    return HIDDEN[method.path.partition("/")[0]](agent)


def asked(agent: Agent, method: Method, id: str, /, **more: Any) -> Reply:
    """The reply to the method's own example, from version 3 unless told which, where it takes one."""
    given = {"expected_version": 3, **more}
    data = {**method.example, **{name: given[name] for name in given if name in method.arguments}}
    return agent.call(method.name, id, **data)


def told(reply: Reply, id: str) -> tuple[int, bytes, dict[str, str]]:
    """All of the reply that must not differ, with the id it was asked about taken out."""
    headers = {name: value for name, value in reply.headers.items() if name not in VARYING}
    return reply.status, reply.raw.replace(id.encode(), b"<id>"), headers


def same(agent: Agent, method: Method, ids: tuple[str, str], /, **more: Any) -> Reply:
    """The reply about the first id, which must be the one about the second but for the id itself."""
    replies = [asked(agent, method, id, **more) for id in ids]
    assert told(replies[0], ids[0]) == told(replies[1], ids[1])
    return replies[0]


def test_every_method_with_an_id_has_a_hidden_thing_here() -> None:
    assert {method.path.partition("/")[0] for method in METHODS} == set(HIDDEN)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_hidden_thing_answers_as_one_that_is_not_there(atlas: Agent, boreas: Agent, method: Method) -> None:
    ids = hidden(boreas, method)
    reply = same(atlas, method, ids)
    assert reply.code == "not_found"


@pytest.mark.parametrize("method", [m for m in METHODS if not m.reads], ids=lambda method: method.name)
def test_so_it_does_from_whatever_version_and_with_an_operation_key(
    atlas: Agent, boreas: Agent, method: Method
) -> None:
    ids = hidden(boreas, method)
    for version in (1, 2, 3, 4, 2**31 - 1):
        reply = same(atlas, method, ids, expected_version=version, agent=boreas.handle)
        assert reply.code == "not_found"
    for id in ids:
        assert asked(atlas, method, id, operation_key="key-1").code == "not_found"


@pytest.mark.parametrize("method", [m for m in METHODS if m.reads], ids=lambda method: method.name)
def test_so_it_does_with_every_argument_of_a_read(atlas: Agent, boreas: Agent, method: Method) -> None:
    ids = hidden(boreas, method)
    values: dict[str, Any] = {"version": 1, "from": 1, "to": 2, "limit": 1, "detail": "summary", "cursor": "AAAA"}
    for argument in method.arguments:
        if argument in values:
            same(atlas, method, ids, **{argument: values[argument]})


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_arguments_are_refused_alike_about_both(atlas: Agent, boreas: Agent, method: Method) -> None:
    ids = hidden(boreas, method)
    replies = [atlas.call(method.name, id, nonsense=1) for id in ids]
    assert told(replies[0], ids[0]) == told(replies[1], ids[1])
    assert replies[0].code == "invalid_arguments"


def test_a_hidden_note_cannot_be_referred_to_superseded_or_named_as_a_successor(atlas: Agent, boreas: Agent) -> None:
    ids = notes(boreas)
    links: list[Callable[[str], dict[str, Any]]] = [
        lambda id: {"memory_references": [{"name": id, "version": 3}]},
        lambda id: {"supersedes": {"name": id, "expected_version": 3}},
        lambda id: {"superseded_by": id},
    ]
    for link in links:
        replies = [atlas.call("save_memory", "mine", body="x", expected_version=0, **link(id)) for id in ids]
        assert told(replies[0], ids[0]) == told(replies[1], ids[1])
        assert replies[0].code in ("not_found", "reference_unavailable")


def test_nothing_of_a_hidden_note_is_in_any_list(atlas: Agent, boreas: Agent) -> None:
    notes(boreas)
    for reply in (
        atlas.call("list_memory", detail="full"),
        atlas.call("list_memory", tag="secret-tag"),
        atlas.call("search_memory", q="ledger"),
        atlas.call("whoami"),
    ):
        assert reply.code is None
        for trace in (b"plan-a", b"secret-tag", b"ledger", boreas.handle.encode()):
            assert trace not in reply.raw
