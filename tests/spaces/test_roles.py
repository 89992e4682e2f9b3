"""Who may call what: every method of coordination, for every role, in private and in public spaces."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from agentboard.catalog import CATALOG
from spaces.models import Entry
from tests.board import Board
from tests.calls import Agent
from tests.spaces.conftest import Crew, MakeSpace, events, join, like

OK, FORBIDDEN, NOT_FOUND = "ok", "forbidden", "not_found"
ROLES = ("owner", "editor", "reader", "invited", "outsider")
OUTSIDE = ("invited", "outsider")  # who has not joined; nothing of a private space reaches them
_numbers = count(1)


@dataclass(frozen=True)
class Stage:
    """A space, its owner who prepares everything, and an agent of the same person for others to act upon."""

    space: str
    chief: Agent
    crew: Crew
    other: Agent

    def entry(self, kind: str = "NOTE", **more: Any) -> str:
        """A new entry at version 1."""
        about = {"title": "T", "body": "B", "summary": "S", **more}
        return str(self.chief.done("create_space_entry", self.space, kind=kind, **about)["id"])

    def version(self) -> int:
        return int(self.chief.done("get_space", self.space)["version"])


Prepared = tuple[str | None, dict[str, Any]]  # id and arguments of a call that works for whoever may make it
Prepare = Callable[[Stage, Agent], Prepared]
Rights = Callable[[str, str], str]  # role, visibility → outcome


# ---- rights


def anybody(role: str, visibility: str) -> str:
    """Concerns no space that exists."""
    return OK


def read(role: str, visibility: str) -> str:
    """For members, and for everybody where the space is public."""
    return OK if role not in OUTSIDE or visibility == "public" else NOT_FOUND


def only(*roles: str) -> Rights:
    """For these roles. Others that may read are told that they may not, and the rest knows of nothing."""

    def rights(role: str, visibility: str) -> str:
        if role in roles:
            return OK
        return FORBIDDEN if read(role, visibility) == OK else NOT_FOUND

    return rights


def invited(role: str, visibility: str) -> str:
    """For whoever was invited; for all others there is no invitation."""
    return OK if role == "invited" else NOT_FOUND


editors, owners, members = only("owner", "editor"), only("owner"), only("owner", "editor", "reader")


# ---- calls that work


def new_space(stage: Stage, caller: Agent) -> Prepared:
    number = next(_numbers)
    return None, {"request_id": f"roles-{number}", "name": f"roles-{number}", "title": "T"}


def on_space(**data: Any) -> Prepare:
    """A call on the space."""
    return lambda stage, caller: (stage.space, data)


def on_entry(kind: str = "NOTE", **data: Any) -> Prepare:
    """A call on a new entry."""
    return lambda stage, caller: (stage.entry(kind), data)


def change_of_space(stage: Stage, caller: Agent) -> Prepared:
    return stage.space, {"expected_version": stage.version(), "title": "New"}


def other_as_member(stage: Stage, caller: Agent) -> Prepared:
    return stage.space, {"agent": stage.other.handle, "role": "reader"}


def itself_as_owner(stage: Stage, caller: Agent) -> Prepared:
    return stage.space, {"agent": caller.handle, "role": "owner"}


def taking_other_out(stage: Stage, caller: Agent) -> Prepared:
    stage.chief.done("set_space_member", stage.space, agent=stage.other.handle, role="editor")
    return stage.space, {"agent": stage.other.handle}


def leaving(stage: Stage, caller: Agent) -> Prepared:
    return stage.space, {"agent": caller.handle}


def next_task(stage: Stage, caller: Agent) -> Prepared:
    stage.entry("TASK")
    return stage.space, {}


def held_by_caller(**data: Any) -> Prepare:
    """A call on a task at version 2 that the caller holds, also one that may no longer, or never could, hold it."""

    def prepare(stage: Stage, caller: Agent) -> Prepared:
        task = stage.entry("TASK")
        stage.chief.done("claim_task", task, expected_version=1)
        Entry.objects.filter(ref=task).update(assignee_id=caller.pk)
        return task, {"expected_version": 2, **data}

    return prepare


def held_by_another(**data: Any) -> Prepare:
    """A call on a task at version 2 that somebody else holds."""

    def prepare(stage: Stage, caller: Agent) -> Prepared:
        task = stage.entry("TASK")
        stage.chief.done("claim_task", task, expected_version=1)
        return task, {"expected_version": 2, **data}

    return prepare


TEXT = {"title": "T", "body": "B"}
TABLE: dict[str, list[tuple[Rights, Prepare]]] = {
    "create_space": [(anybody, new_space)],
    "list_spaces": [(anybody, lambda stage, caller: (None, {}))],
    "get_space": [(read, on_space())],
    "update_space": [(owners, change_of_space)],
    "set_space_member": [(owners, other_as_member), (owners, itself_as_owner)],
    "respond_to_invitation": [(invited, on_space(accept=True)), (invited, on_space(accept=False))],
    "remove_space_member": [(owners, taking_other_out), (members, leaving)],
    "create_space_entry": [
        (editors, on_space(kind=kind, summary="S", **TEXT)) for kind in ("NOTE", "TASK", "KNOWLEDGE")
    ],
    "get_space_entry": [(read, on_entry()), (read, on_entry("TASK", version=1))],
    "list_space_entries": [(read, on_space()), (read, on_space(q="words"))],
    "update_space_entry": [(editors, on_entry(expected_version=1, **TEXT))],
    "archive_space_entry": [(editors, on_entry(expected_version=1, archived=True))],
    "list_entry_revisions": [(read, on_entry())],
    "restore_space_entry": [(editors, on_entry(expected_version=1, version=1))],
    "publish_knowledge": [(editors, on_entry("KNOWLEDGE", expected_version=1, body="B", summary="S"))],
    "add_evidence": [(editors, on_entry(body="B"))],
    "claim_next_task": [(editors, next_task)],
    "claim_task": [(editors, on_entry("TASK", expected_version=1))],
    "update_task": [
        (editors, held_by_caller(state="blocked")),
        (owners, held_by_another(state="blocked")),
        (owners, on_entry("TASK", expected_version=1, state="cancelled")),
    ],
    "release_task": [(editors, held_by_caller()), (owners, held_by_another())],
}
COORDINATION = [method.name for method in CATALOG.values() if method.group == "coordination"]


@pytest.fixture
def set_stage(board: Board, make_space: MakeSpace, make_crew: Callable[[Agent, str], Crew]) -> Callable[[str], Stage]:
    """Sets up a space of this visibility."""

    def build(visibility: str) -> Stage:
        chief = board.agent()
        other = board.agent(owner=board.people[-1])
        space = make_space(chief, visibility=visibility)
        owner = board.agent()
        join(chief, space, owner, "owner")
        crew = make_crew(chief, space)
        return Stage(space, chief, Crew(owner, crew.editor, crew.reader, crew.invited, crew.outsider), other)

    return build


def test_the_table_holds_every_method_of_coordination_and_no_other() -> None:
    assert [*TABLE] == [name for name in TABLE if name in COORDINATION]
    assert set(TABLE) == set(COORDINATION)


@pytest.mark.parametrize("visibility", ["private", "public"])
@pytest.mark.parametrize("name", COORDINATION)
def test_each_role_may_do_what_it_may_and_nothing_else(
    set_stage: Callable[[str], Stage], name: str, visibility: str
) -> None:
    stage = set_stage(visibility)
    for number, (rights, prepare) in enumerate(TABLE[name]):
        if number and name == "respond_to_invitation":
            stage = set_stage(visibility)
        for role in ROLES:
            agent: Agent = getattr(stage.crew, role)
            id, data = prepare(stage, agent)
            before = events(stage.space)
            reply = agent.call(name, id, **data)
            assert (reply.code or OK) == rights(role, visibility), (name, number, role, visibility, reply.raw)
            if reply.code:
                assert events(stage.space) == before
            if reply.code == NOT_FOUND and id:
                as_missing = agent.call(name, like(id), **data)
                assert reply.raw.replace(id.encode(), b"") == as_missing.raw.replace(like(id).encode(), b"")


@pytest.mark.parametrize("name", [name for name in COORDINATION if not CATALOG[name].reads])
def test_no_role_makes_up_for_a_missing_scope(board: Board, set_stage: Callable[[str], Stage], name: str) -> None:
    stage = set_stage("private")
    id, data = TABLE[name][0][1](stage, stage.chief)
    before = events(stage.space)
    limited = board.with_scopes(stage.chief, "coordination:read", "memory:write", "posts:write")
    limited.refused("insufficient_scope", name, id, **data)
    assert events(stage.space) == before
