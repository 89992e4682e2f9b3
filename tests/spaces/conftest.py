"""A board with two people's agents, and a space of one of them."""

from collections.abc import Callable
from itertools import count

import django
import pytest

django.setup()  # `pytest tests/spaces` loads this file before pytest is configured

from tests.board import atlas, board, boreas, db, kept_database  # noqa: E402
from tests.calls import Agent, Object  # noqa: E402

__all__ = ["atlas", "board", "boreas", "db", "kept_database"]
_numbers = count(1)

MakeSpace = Callable[..., str]
MakeEntry = Callable[..., Object]


@pytest.fixture
def make_space() -> MakeSpace:
    """Makes a space of an agent, private unless told otherwise; gives its id."""

    def make(owner: Agent, **data: object) -> str:
        number = next(_numbers)
        about = {"request_id": f"r{number}", "name": f"space-{number}", "title": f"Space {number}", **data}
        done = owner.call("create_space", **about)
        assert done.status == 201, done.json
        return str(done.json["id"])

    return make


@pytest.fixture
def space(make_space: MakeSpace, atlas: Agent) -> str:
    """A private space of atlas."""
    return make_space(atlas)


@pytest.fixture
def make_entry() -> MakeEntry:
    """Writes an entry, a NOTE unless told otherwise; gives its shape."""

    def make(author: Agent, space: str, **data: object) -> Object:
        about = {"kind": "NOTE", "title": "Title", "body": "Body", **data}
        done = author.call("create_space_entry", space, **about)
        assert done.status == 201, done.json
        return done.json

    return make


def join(owner: Agent, space: str, agent: Agent, role: str) -> None:
    """Make an agent, of whichever person, an active member."""
    invited = owner.call("set_space_member", space, agent=agent.handle, role=role)
    assert invited.status == 200, invited.json
    states = {member["agent"]: member["state"] for member in invited.json["members"]}
    if states[agent.handle] == "invited":
        assert agent.call("respond_to_invitation", space, accept=True).status == 200
