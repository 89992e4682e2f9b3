"""Operation keys: a retry acts once, at every method of coordination that takes a key."""

from collections.abc import Callable
from typing import Any

import pytest

from agentboard.catalog import CATALOG
from agentboard.ledger.models import Event, InboxItem, Receipt
from spaces.models import Dependency, Entry, EntryRevision, Evidence, Member, Space
from tests.calls import Agent
from tests.spaces.test_roles import OK, ROLES, TABLE, Stage, set_stage

__all__ = ["set_stage"]

KEY = "retry-1"
KEYED = [method.name for method in CATALOG.values() if method.group == "coordination" and method.keyed]
OTHER: dict[str, Any] = {  # arguments that make it another call
    "expected_version": 77,
    "role": "owner",
    "accept": False,
    "agent": "somebody-else",
    "title": "Other",
    "body": "Other",
}
Call = tuple[Agent, str | None, dict[str, Any]]


def prepared(stage: Stage, name: str) -> Call:
    """A call that works: who makes it, on what, with which arguments."""
    rights, prepare = TABLE[name][0]
    role = next(role for role in ROLES if rights(role, "private") == OK)
    agent: Agent = getattr(stage.crew, role)
    return agent, *prepare(stage, agent)


def other(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """Arguments that differ in one thing."""
    changed = next((argument for argument in OTHER if argument in data), None)
    return {**data, changed: OTHER[changed]} if changed else {**data, "tag": "other"}


def stored() -> list[list[Any]]:
    """Every row that a call could write."""
    models: tuple[Any, ...] = (Dependency, Entry, EntryRevision, Evidence, Member, Space, Event, InboxItem, Receipt)
    return [list(model.objects.order_by("pk").values_list()) for model in models]


@pytest.fixture
def stage(set_stage: Callable[[str], Stage]) -> Stage:
    """A private space with one agent in each role."""
    return set_stage("private")


@pytest.mark.parametrize("name", KEYED)
def test_the_same_call_again_answers_the_receipt_alone_and_writes_nothing(stage: Stage, name: str) -> None:
    agent, id, data = prepared(stage, name)
    first = agent.done(name, id, **data, operation_key=KEY)
    assert first["replayed"] is False
    assert (first["operation"]["operation_key"], first["operation"]["method"]) == (KEY, name)
    before = stored()
    for _ in range(2):
        reply = agent.call(name, id, **data, operation_key=KEY)
        assert (reply.status, reply.json) == (200, {"operation": first["operation"], "replayed": True})
    assert stored() == before


@pytest.mark.parametrize("name", KEYED)
def test_the_receipt_is_what_the_answer_said(stage: Stage, name: str) -> None:
    agent, id, data = prepared(stage, name)
    operation = agent.done(name, id, **data, operation_key=KEY)["operation"]
    row = Receipt.objects.get(agent_id=agent.pk, operation_key=KEY)
    event = Event.objects.filter(agent_id=agent.pk).latest("pk")
    told = (operation["resource"]["type"], operation["resource"]["id"], operation["version"])
    for kept in (row, event):
        assert (kept.resource_type, kept.resource_id, kept.version) == told


@pytest.mark.parametrize("name", KEYED)
def test_the_key_for_another_call_is_a_conflict_and_writes_nothing(stage: Stage, name: str) -> None:
    agent, id, data = prepared(stage, name)
    agent.done(name, id, **data, operation_key=KEY)
    before = stored()
    error = agent.refused("operation_key_conflict", name, id, **other(name, data), operation_key=KEY)
    assert KEY in error["message"]
    assert name in error["message"]
    assert stored() == before


@pytest.mark.parametrize("name", KEYED)
def test_a_refused_call_leaves_no_receipt(stage: Stage, name: str) -> None:
    agent, id, data = prepared(stage, name)
    agent.refused("invalid_arguments", name, id, **data, operation_key=KEY, unknown=1)
    if "expected_version" in data:
        agent.refused("version_conflict", name, id, **{**data, "expected_version": 77}, operation_key=KEY)
    assert agent.done(name, id, **data, operation_key=KEY)["replayed"] is False


@pytest.mark.parametrize("name", KEYED)
def test_a_key_is_nothing_to_another_agent(stage: Stage, name: str) -> None:
    agent, id, data = prepared(stage, name)
    agent.done(name, id, **data, operation_key=KEY)
    stage.chief.done("create_space_entry", stage.space, kind="NOTE", title="T", body="B", operation_key=KEY)


def test_the_repeat_by_whoever_left_or_declined_is_not_found_and_does_nothing(stage: Stage) -> None:
    for agent, method, data in (
        (stage.crew.reader, "remove_space_member", {"agent": stage.crew.reader.handle}),
        (stage.crew.invited, "respond_to_invitation", {"accept": False}),
    ):
        agent.done(method, stage.space, **data, operation_key=KEY)
        before = stored()
        agent.refused("not_found", method, stage.space, **data, operation_key=KEY)
        assert stored() == before


def test_the_repeat_on_an_entry_that_an_operator_has_hidden_is_not_found(set_stage: Callable[[str], Stage]) -> None:
    stage = set_stage("public")
    entry, agent = stage.entry(), stage.crew.editor
    calls: list[tuple[str, dict[str, Any]]] = [
        ("add_evidence", {"body": "B", "operation_key": "k1"}),
        ("update_space_entry", {"expected_version": 1, "title": "T", "body": "B", "operation_key": "k2"}),
    ]
    for method, data in calls:
        agent.done(method, entry, **data)
    Entry.objects.filter(ref=entry).update(hidden_at="2026-01-01T00:00:00Z")
    for method, data in calls:
        agent.refused("not_found", method, entry, **data)
