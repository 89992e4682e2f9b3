"""Operation keys: a retry acts once, at every method that takes a key."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.apps import apps
from pytest_django import Settings

from agentboard.catalog import CATALOG
from agentboard.ledger.models import Event, Receipt
from memory.models import Note
from tests.board import Board
from tests.calls import Agent, posted

Case = tuple[str | None, dict[str, Any], dict[str, Any]]  # id, arguments that work, others that would have worked too


def new_note(agent: Agent) -> Case:
    return "plan", {"body": "x", "expected_version": 0}, {"body": "y", "expected_version": 0}


def old_note(**arguments: Any) -> Callable[[Agent], Case]:
    """A case about a note at version 2; the other arguments name another version."""

    def prepared(agent: Agent) -> Case:
        agent.save("plan")
        agent.save("plan", "Two", 1)
        return "plan", {"expected_version": 2, **arguments}, {"expected_version": 3, **arguments}

    return prepared


CASES: dict[str, Callable[[Agent], Case]] = {
    "save_memory": new_note,
    "edit_memory": old_note(append="!"),
    "restore_memory": old_note(version=1),
    "mark_memory_reviewed": old_note(review_after="2030-01-01T00:00:00Z"),
    "delete_memory": old_note(),
}
KEY = "retry-1"


def stored() -> list[list[Any]]:
    """Every row of the domains and the ledger."""
    found = [model for label in ("memory", "ledger") for model in apps.get_app_config(label).get_models()]
    return [list(model._default_manager.order_by("pk").values_list()) for model in found]


def refused(agent: Agent, code: str, name: str, id: str | None, **data: Any) -> Any:
    """The error of a call that must be refused and write nothing."""
    before = stored()
    error = agent.refused(code, name, id, **data)
    assert stored() == before
    return error


def test_every_method_of_memory_that_takes_a_key_has_a_case_here() -> None:
    assert set(CASES) == {method.name for method in CATALOG.values() if method.keyed and method.group == "memory"}


# ---- at every method


@pytest.mark.parametrize("name", CASES)
def test_with_a_key_the_answer_has_the_operation_and_is_no_replay(atlas: Agent, name: str) -> None:
    id, data, _ = CASES[name](atlas)
    answer = atlas.done(name, id, operation_key=KEY, **data)
    assert answer["replayed"] is False
    operation = answer["operation"]
    assert operation["version"] == answer["version"]
    moments = [datetime.fromisoformat(operation.pop(at)) for at in ("created_at", "expires_at")]
    assert moments[1] - moments[0] == timedelta(days=30)
    assert operation == {
        "operation_key": KEY,
        "method": name,
        "resource": {"type": "note", "id": "plan"},
        "version": answer["version"],
    }


@pytest.mark.parametrize("name", CASES)
def test_without_a_key_the_answer_has_neither(atlas: Agent, name: str) -> None:
    id, data, _ = CASES[name](atlas)
    answer = atlas.done(name, id, operation_key=None, **data)
    assert "operation" not in answer
    assert "replayed" not in answer
    assert not Receipt.objects.filter(agent_id=atlas.pk).exists()


@pytest.mark.parametrize("name", CASES)
def test_the_same_call_again_answers_the_receipt_alone_and_writes_nothing(atlas: Agent, name: str) -> None:
    id, data, _ = CASES[name](atlas)
    first = atlas.done(name, id, operation_key=KEY, **data)
    before = stored()
    for _ in range(2):
        reply = atlas.call(name, id, operation_key=KEY, **data)
        assert reply.status == 200
        assert reply.json == {"operation": first["operation"], "replayed": True}
    assert stored() == before


@pytest.mark.parametrize("name", CASES)
def test_the_key_with_other_arguments_is_a_conflict(atlas: Agent, name: str) -> None:
    id, data, other = CASES[name](atlas)
    atlas.done(name, id, operation_key=KEY, **data)
    error = refused(atlas, "operation_key_conflict", name, id, operation_key=KEY, **other)
    assert KEY in error["message"]
    assert name in error["message"]


@pytest.mark.parametrize("name", CASES)
def test_the_key_for_another_thing_is_a_conflict_also_where_the_call_would_fail(atlas: Agent, name: str) -> None:
    id, data, _ = CASES[name](atlas)
    atlas.done(name, id, operation_key=KEY, **data)
    refused(atlas, "operation_key_conflict", name, "missing", operation_key=KEY, **data)
    atlas.save("other")
    atlas.save("other", "Two", 1)
    refused(atlas, "operation_key_conflict", name, "other", operation_key=KEY, **data)


@pytest.mark.parametrize("name", CASES)
def test_the_key_at_another_method_is_a_conflict(atlas: Agent, name: str) -> None:
    id, data, _ = CASES[name](atlas)
    atlas.done(name, id, operation_key=KEY, **data)
    for other in CASES:
        if other == name:
            continue
        arguments = {"body": "x"} if other == "save_memory" else {}
        arguments |= {"append": "x"} if other == "edit_memory" else {}
        arguments |= {"version": 1} if other == "restore_memory" else {}  # type: ignore[dict-item]
        refused(atlas, "operation_key_conflict", other, id, operation_key=KEY, expected_version=9, **arguments)


@pytest.mark.parametrize("name", CASES)
def test_a_refused_call_leaves_no_receipt_so_the_corrected_one_may_take_the_key(atlas: Agent, name: str) -> None:
    id, data, _ = CASES[name](atlas)
    wrong = {**data, "expected_version": 7}
    refused(atlas, "not_found" if name == "save_memory" else "version_conflict", name, id, operation_key=KEY, **wrong)
    refused(atlas, "invalid_arguments", name, id, operation_key=KEY, **data, unknown=1)
    assert atlas.done(name, id, operation_key=KEY, **data)["replayed"] is False


@pytest.mark.parametrize("name", CASES)
def test_the_receipt_answers_also_when_the_note_has_moved_on_or_is_gone(atlas: Agent, name: str) -> None:
    id, data, _ = CASES[name](atlas)
    first = atlas.done(name, id, operation_key=KEY, **data)
    replay = {"operation": first["operation"], "replayed": True}
    version = 0 if name == "delete_memory" else first["version"]
    later = atlas.save("plan", "Moved on", version)["version"]
    assert atlas.done(name, id, operation_key=KEY, **data) == replay
    atlas.done("delete_memory", "plan", expected_version=later)
    assert atlas.done(name, id, operation_key=KEY, **data) == replay
    atlas.save("plan", "Again")
    assert atlas.done(name, id, operation_key=KEY, **data) == replay
    assert atlas.note("plan")["body"] == "Again"


@pytest.mark.parametrize("name", CASES)
def test_an_expired_key_is_free_for_anything(atlas: Agent, settings: Settings, name: str) -> None:
    id, data, _ = CASES[name](atlas)
    first = atlas.done(name, id, operation_key=KEY, **data)
    rows = Receipt.objects.filter(agent_id=atlas.pk)
    expired = datetime.fromisoformat(first["operation"]["created_at"]) - timedelta(days=settings.RECEIPT_DAYS)
    rows.update(created_at=expired)
    assert atlas.save("other", operation_key=KEY)["replayed"] is False
    assert [row.method for row in rows] == ["save_memory"]
    assert [row.resource_id for row in rows] == ["other"]


# ---- whose it is, and how long


def test_an_expired_key_acts_again_by_the_rules_of_now(atlas: Agent, settings: Settings) -> None:
    atlas.save("plan", operation_key=KEY)
    Receipt.objects.filter(agent_id=atlas.pk).update(created_at=datetime.fromisoformat("2020-01-01T00:00:00+00:00"))
    atlas.refused("version_conflict", "save_memory", "plan", body="Text", expected_version=0, operation_key=KEY)
    assert atlas.save("plan", "Text", 1, operation_key=KEY)["version"] == 2


def test_a_receipt_lasts_for_as_many_days_as_the_setting_says(atlas: Agent, settings: Settings) -> None:
    settings.RECEIPT_DAYS = 2
    operation = atlas.save("plan", operation_key=KEY)["operation"]
    made, ends = (datetime.fromisoformat(operation[at]) for at in ("created_at", "expires_at"))
    assert ends - made == timedelta(days=2)
    rows = Receipt.objects.filter(agent_id=atlas.pk)
    rows.update(created_at=made - timedelta(days=1, hours=23))
    assert atlas.save("plan", operation_key=KEY)["replayed"] is True
    rows.update(created_at=made - timedelta(days=2))
    atlas.refused("version_conflict", "save_memory", "plan", body="Text", expected_version=0, operation_key=KEY)


def test_a_key_is_nothing_to_another_agent_nor_to_a_sibling(atlas: Agent, boreas: Agent, board: Board) -> None:
    sibling = board.agent(owner=board.people[0])
    for agent in (atlas, boreas, sibling):
        assert agent.save("plan", f"{agent.handle}", operation_key=KEY)["replayed"] is False
    pks = [atlas.pk, boreas.pk, sibling.pk]
    assert Receipt.objects.filter(operation_key=KEY, agent_id__in=pks).count() == 3


def test_a_key_belongs_to_the_agent_whatever_credential_it_uses(atlas: Agent, board: Board) -> None:
    atlas.save("plan", operation_key=KEY)
    assert board.with_scopes(atlas, "memory:write").save("plan", operation_key=KEY)["replayed"] is True


def test_scope_and_arguments_are_looked_at_before_the_receipt(atlas: Agent, board: Board) -> None:
    atlas.save("plan", operation_key=KEY)
    reader = board.with_scopes(atlas, "memory:read")
    reader.refused("insufficient_scope", "save_memory", "plan", body="Text", expected_version=0, operation_key=KEY)
    atlas.refused("invalid_arguments", "save_memory", "plan", body=" ", expected_version=0, operation_key=KEY)


# ---- before versions, references and quota


def test_the_receipt_decides_before_the_quota(atlas: Agent, settings: Settings) -> None:
    settings.NOTES_PER_AGENT = 1
    atlas.save("plan", operation_key=KEY)
    assert atlas.save("plan", operation_key=KEY)["replayed"] is True
    refused(atlas, "operation_key_conflict", "save_memory", "b", body="x", expected_version=0, operation_key=KEY)


def test_the_receipt_decides_before_references(atlas: Agent) -> None:
    atlas.save("base")
    references = [{"name": "base", "version": 1}]
    more: dict[str, Any] = {"memory_references": references, "superseded_by": "base", "operation_key": KEY}
    atlas.save("plan", **more)
    atlas.done("delete_memory", "base", expected_version=1)
    assert atlas.save("plan", **more)["replayed"] is True


def test_a_superseding_save_is_replayed_for_both_its_writes(atlas: Agent) -> None:
    atlas.save("old")
    data = {"body": "New", "expected_version": 0, "supersedes": {"name": "old", "expected_version": 1}}
    first = atlas.done("save_memory", "new", operation_key=KEY, **data)
    assert first["operation"]["superseded"] == {"name": "old", "version": 2}
    assert first["operation"]["resource"] == {"type": "note", "id": "new"}
    before = stored()
    again = atlas.done("save_memory", "new", operation_key=KEY, **data)
    assert again == {"operation": first["operation"], "replayed": True}
    assert stored() == before
    atlas.done("delete_memory", "old", expected_version=2)
    assert atlas.done("save_memory", "new", operation_key=KEY, **data) == again
    other = {**data, "supersedes": {"name": "old", "expected_version": 2}}
    refused(atlas, "operation_key_conflict", "save_memory", "new", operation_key=KEY, **other)


def test_a_superseding_save_that_is_refused_leaves_no_receipt(atlas: Agent) -> None:
    atlas.save("old")
    data = {"body": "New", "expected_version": 0, "operation_key": KEY}
    refused(atlas, "version_conflict", "save_memory", "new", **data, supersedes={"name": "old", "expected_version": 2})
    refused(atlas, "not_found", "save_memory", "new", **data, supersedes={"name": "gone", "expected_version": 1})
    atlas.done("save_memory", "new", **data, supersedes={"name": "old", "expected_version": 1})


# ---- what is the same call


@pytest.mark.parametrize(
    "again",
    [
        '{"expected_version":0,"tags":["a"],"body":"x","operation_key":"retry-1"}',
        '{ "operation_key": "retry-1", "body": "\\u0078",\n "tags": ["a"], "expected_version": 0.0 }',
        '{"body":"x","expected_version":-0.0,"tags":["a"],"operation_key":"retry-1","status":"active"}',
        '{"body":"x","expected_version":0e5,"tags":["a"],"operation_key":"retry-1","summary":null,"supersedes":null}',
    ],
)
def test_order_nulls_defaults_and_ways_to_write_a_value_make_no_other_call(atlas: Agent, again: str) -> None:
    atlas.done("save_memory", "plan", body="x", expected_version=0, tags=["a"], operation_key=KEY)
    reply = posted(atlas, "/v1/memory/plan", again.encode())
    assert (reply.status, reply.json.get("replayed")) == (200, True), reply.raw


def test_the_order_inside_objects_makes_no_other_call_either(atlas: Agent) -> None:
    atlas.save("a")
    bodies = [
        b'{"body":"x","expected_version":0,"operation_key":"k","memory_references":[{"name":"a","version":1}]}',
        b'{"body":"x","expected_version":0,"operation_key":"k","memory_references":[{"version":1.0,"name":"a"}]}',
    ]
    assert [posted(atlas, "/v1/memory/plan", body).json["replayed"] for body in bodies] == [False, True]


@pytest.mark.parametrize(
    "other",
    [
        {"body": "x "},
        {"body": "X"},
        {"tags": ["b", "a"]},
        {"tags": ["a"]},
        {"summary": ""},
        {"status": "archived"},
        {"review_after": "2030-01-01T00:00:00Z"},
        {"expected_version": 1},
    ],
)
def test_every_other_difference_makes_another_call(atlas: Agent, other: dict[str, Any]) -> None:
    data = {"body": "x", "expected_version": 0, "tags": ["a", "b"], "operation_key": KEY}
    atlas.done("save_memory", "plan", **data)
    refused(atlas, "operation_key_conflict", "save_memory", "plan", **{**data, **other})


def test_the_request_id_for_diagnosis_makes_nothing_safe(atlas: Agent) -> None:
    replies = [atlas.call("save_memory", "plan", body="x", expected_version=0) for _ in range(2)]
    assert [reply.status for reply in replies] == [201, 409]
    assert all(reply.headers["x-request-id"] for reply in replies)


# ---- what is stored


def test_a_receipt_holds_no_text_and_no_plain_hash_of_one(atlas: Agent) -> None:
    atlas.save("plan", "The secret text", operation_key=KEY, summary="Another secret")
    row = Receipt.objects.filter(agent_id=atlas.pk).values().get()
    assert "secret" not in str(row)
    assert len(row["fingerprint"]) == 64
    assert Note.objects.get(agent_id=atlas.pk, name="plan").version == row["version"]


def test_a_key_makes_no_further_event(atlas: Agent) -> None:
    atlas.save("plan", operation_key=KEY)
    atlas.save("plan", operation_key=KEY)
    assert Event.objects.filter(agent_id=atlas.pk).count() == 1
