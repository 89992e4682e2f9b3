"""A board with two people's agents, and a space of one of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any

import django
import pytest

django.setup()  # `pytest tests/spaces` loads this file before pytest is configured

from django.utils import timezone  # noqa: E402

from agentboard.ledger.models import Event, InboxItem, space_stream  # noqa: E402
from spaces.models import Entry  # noqa: E402
from tests.board import Board, atlas, board, boreas, db, kept_database, made_people  # noqa: E402
from tests.calls import Agent, Object  # noqa: E402

__all__ = ["atlas", "board", "boreas", "db", "kept_database", "made_people"]
_numbers = count(1)

MakeSpace = Callable[..., str]
MakeEntry = Callable[..., Object]


@pytest.fixture
def make_space() -> MakeSpace:
    """Makes a space of an agent, private unless told otherwise; gives its id."""

    def make(owner: Agent, **data: object) -> str:
        number = next(_numbers)
        about = {"request_id": f"r{number}", "name": f"space-{number}", "title": f"Space {number}", **data}
        return str(owner.done("create_space", **about)["id"])

    return make


@pytest.fixture
def space(make_space: MakeSpace, atlas: Agent) -> str:
    """A private space of atlas."""
    return make_space(atlas)


@pytest.fixture
def make_entry() -> MakeEntry:
    """Writes an entry, a NOTE unless told otherwise; gives its shape."""

    def make(author: Agent, space: str, **data: object) -> Object:
        return author.done("create_space_entry", space, **{"kind": "NOTE", "title": "Title", "body": "Body", **data})

    return make


@pytest.fixture
def editor(board: Board, atlas: Agent, space: str) -> Agent:
    """Another person's agent that edits the space of atlas."""
    agent = board.agent()
    join(atlas, space, agent, "editor")
    return agent


@pytest.fixture
def reader(board: Board, atlas: Agent, space: str) -> Agent:
    """Another person's agent that reads the space of atlas."""
    agent = board.agent()
    join(atlas, space, agent, "reader")
    return agent


@dataclass(frozen=True)
class Crew:
    """One agent for each way to stand to a space, all of different people."""

    owner: Agent
    editor: Agent
    reader: Agent
    invited: Agent
    outsider: Agent


@pytest.fixture
def make_crew(board: Board) -> Callable[[Agent, str], Crew]:
    """Brings four more agents to a space of this agent."""

    def make(owner: Agent, space: str) -> Crew:
        crew = Crew(owner, *(board.agent() for _ in range(4)))
        join(owner, space, crew.editor, "editor")
        join(owner, space, crew.reader, "reader")
        owner.done("set_space_member", space, agent=crew.invited.handle, role="editor")
        return crew

    return make


def join(owner: Agent, space: str, agent: Agent, role: str) -> None:
    """Make an agent, of whichever person, an active member."""
    invited = owner.done("set_space_member", space, agent=agent.handle, role=role)
    states = {member["agent"]: member["state"] for member in invited["members"]}
    if states[agent.handle] == "invited":
        agent.done("respond_to_invitation", space, accept=True)


def members(space: Object) -> dict[str, tuple[str, str]]:
    """Role and state of each member by handle."""
    return {member["agent"]: (member["role"], member["state"]) for member in space["members"]}


def inbox(agent: Agent) -> list[tuple[str, str, str]]:
    """Kind, resource and author of what waits for the agent, the oldest first."""
    rows = InboxItem.objects.filter(recipient_id=agent.pk).order_by("pk")
    return [
        (kind, resource, author or "") for kind, resource, author in rows.values_list("kind", "resource_id", "author")
    ]


def events(space: str) -> list[tuple[str, str, int]]:
    """Method, resource and version of what happened in the space."""
    rows = Event.objects.filter(stream=space_stream(space)).order_by("pk")
    return list(rows.values_list("method", "resource_id", "version"))


def lapse(entry: str) -> None:
    """Let the lease of a task have run out."""
    Entry.objects.filter(ref=entry).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def pages(agent: Agent, method: str, id: str | None = None, **data: Any) -> Iterator[list[Object]]:
    """The items of each page in turn, each read when it is asked for."""
    answer = agent.done(method, id, **data)
    yield answer["items"]
    while "next_cursor" in answer:
        answer = agent.done(method, id, **data, cursor=answer["next_cursor"])
        yield answer["items"]


def like(id: str) -> str:
    """An id as well formed as this one, which is nobody's."""
    return id[:-1] + {"0": "1"}.get(id[-1], "0")


def broken(cursor: str) -> list[str]:
    """Texts that are almost this cursor."""
    other = {"A": "B"}.get(cursor[0], "A")
    return [
        cursor[:-1],
        cursor[1:],
        other + cursor[1:],
        cursor + "A",
        cursor + "=",
        cursor[:12],
        "x",
        "!",
        "é",
        cursor * 2,
    ]
