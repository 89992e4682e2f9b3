"""Deleting a note for good: clients that can put a question to their person are asked to, and bound to the answer."""

import string
from typing import Any

import pytest

from agentboard import rate
from agentboard.catalog import CATALOG
from mcp_bridge import confirmation
from tests.board import Board
from tests.calls import Agent, Object, over_socket
from tests.mcp_bridge.speaking import INVALID_PARAMS, Client, done, failed, fault
from tests.serving import Served

FORM: Object = {"elicitation": {"form": {}}}
YES: Object = {"confirm": {"action": "accept", "content": {"yes": True}}}


def able(key: str, capabilities: Object | None = None, **more: Any) -> Client:
    """A client of the newest revision that can ask its person."""
    return Client(key, modern=True, capabilities=FORM if capabilities is None else capabilities, **more)


@pytest.fixture
def client(atlas: Agent) -> Client:
    """One with two notes: plan at version 2, other at version 1."""
    atlas.save("plan")
    atlas.save("plan", "More", 1)
    atlas.save("other")
    return able(atlas.key)


def delete(id: str = "plan", version: Any = 2, **more: Any) -> Object:
    """The params of the call; `more` beside its arguments."""
    arguments = {"id": id, "data": {"expected_version": version}}
    return {"name": "delete_memory", "arguments": arguments, **more}


def asked(client: Client, params: Object | None = None) -> str:
    """The state of a question that the call must lead to."""
    found = client.result("tools/call", params or delete())
    assert found["resultType"] == "input_required", found
    state: str = found["requestState"]
    return state


def still_there(client: Client, *names: str) -> None:
    for name in names or ("plan", "other"):
        assert done(client.tool("get_memory", name))["name"] == name


# Who is asked what


def test_a_client_that_can_ask_is_asked_and_nothing_is_done_yet(client: Client) -> None:
    found = client.result("tools/call", delete())
    assert found.keys() == {"resultType", "inputRequests", "requestState", "_meta"}
    assert found["inputRequests"].keys() == {"confirm"}
    question = found["inputRequests"]["confirm"]
    assert (question["method"], question["params"]["mode"]) == ("elicitation/create", "form")
    assert "plan" in question["params"]["message"]
    wanted = question["params"]["requestedSchema"]
    assert (wanted["type"], wanted["required"]) == ("object", ["yes"])
    assert wanted["properties"]["yes"]["type"] == "boolean"
    still_there(client)


@pytest.mark.parametrize("capability", [{}, {"form": {}}, {"form": {}, "url": {}}])
def test_every_way_to_say_that_forms_can_be_shown_counts(client: Client, capability: Object) -> None:
    assert asked(able(client.key, {"elicitation": capability}))


@pytest.mark.parametrize(
    "capabilities", [{}, {"sampling": {}}, {"elicitation": {"url": {}}}, {"elicitation": None}, {"elicitation": True}]
)
def test_a_client_that_cannot_ask_just_acts(client: Client, capabilities: Object) -> None:
    done(able(client.key, capabilities).result("tools/call", delete()))
    failed(client.tool("get_memory", "plan"), "not_found")


def test_so_does_an_older_client_whatever_it_says_of_itself(client: Client) -> None:
    legacy = Client(client.key, capabilities=FORM)
    meta = {"io.modelcontextprotocol/clientCapabilities": FORM}
    done(legacy.result("tools/call", delete(_meta=meta)))


def test_no_other_method_asks(client: Client) -> None:
    assert [name for name, method in CATALOG.items() if method.confirm] == ["delete_memory"]
    assert done(client.tool("edit_memory", "plan", expected_version=2, append="!"))["version"] == 3


def test_what_would_be_refused_anyway_is_not_asked_about(client: Client, board: Board, atlas: Agent) -> None:
    for params in (delete("Plan"), delete(version=True), delete(version=None), {"name": "delete_memory"}):
        failed(client.result("tools/call", params), "invalid_arguments")
    reader = able(board.with_scopes(atlas, "memory:read").key)
    failed(reader.result("tools/call", delete()), "insufficient_scope")


def test_a_question_costs_a_call(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "AGENTS", rate.Buckets("agent", 1, 1, 1))
    state = asked(client)
    told = failed(client.result("tools/call", delete(requestState=state, inputResponses=YES)), "rate_limited")
    assert told["retry_after_seconds"] > 0


# What the person says


def test_after_a_yes_the_note_is_gone_and_the_yes_is_used_up(client: Client) -> None:
    params = delete(requestState=asked(client), inputResponses=YES)
    done(client.result("tools/call", params))
    failed(client.tool("get_memory", "plan"), "not_found")
    failed(client.result("tools/call", params), "not_found")
    still_there(client, "other")


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept"},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": None},
        {"action": "accept", "content": {"yes": False}},
        {"action": "accept", "content": {"yes": "true"}},
        {"action": "accept", "content": {"yes": 1}},
        {"action": "accept", "content": [True]},
        {"action": "decline", "content": {"yes": True}},
        {"action": "ACCEPT", "content": {"yes": True}},
        {"action": [], "content": {"yes": True}},
        {},
    ],
)
def test_anything_but_a_yes_leaves_the_note_alone(client: Client, answer: Object) -> None:
    params = delete(requestState=asked(client), inputResponses={"confirm": answer})
    told = failed(client.result("tools/call", params), "forbidden")
    assert "did not confirm" in told["message"]
    still_there(client)


@pytest.mark.parametrize(
    "responses", [None, {}, [], "x", {"confirm": None}, {"confirm": True}, {"other": YES["confirm"]}]
)
def test_without_an_answer_the_question_is_put_again(client: Client, responses: Any) -> None:
    assert asked(client, delete(requestState=asked(client), inputResponses=responses))
    still_there(client)


def test_an_answer_to_no_question_is_none(client: Client) -> None:
    for params in (delete(inputResponses=YES), delete(inputResponses=YES, requestState=None)):
        assert asked(client, params)
    still_there(client)


# What the answer is bound to


def misplaced(client: Client, params: Object) -> None:
    """The state does not belong to the call, which therefore does nothing."""
    error = fault(client.ask("tools/call", params), 400, INVALID_PARAMS, "invalid_arguments")
    assert error["data"]["reason"] == "invalid_request_state"


def test_a_yes_to_one_call_is_none_to_another(client: Client) -> None:
    state = asked(client)
    for id, version in (("other", 1), ("plan", 1), ("plan", 3), ("other", 2)):
        misplaced(client, delete(id, version, requestState=state, inputResponses=YES))
    still_there(client)


def test_a_yes_to_one_agent_is_none_to_another_nor_to_its_other_credential(
    client: Client, board: Board, atlas: Agent, boreas: Agent
) -> None:
    boreas.save("plan")
    boreas.save("plan", "More", 1)
    params = delete(requestState=asked(client), inputResponses=YES)
    for agent in (boreas, board.with_scopes(atlas, "memory:read", "memory:write")):
        misplaced(able(agent.key), params)
        still_there(able(agent.key), "plan")


def test_a_state_that_differs_in_one_character_is_none(client: Client) -> None:
    state = asked(client)
    alphabet = string.ascii_letters + string.digits + "-_:"
    for place, character in enumerate(state):
        other = alphabet[(alphabet.index(character) + 1) % len(alphabet)]
        misplaced(client, delete(requestState=state[:place] + other + state[place + 1 :], inputResponses=YES))
    still_there(client)


@pytest.mark.parametrize("more", ["=", "A", ":", " ", "\n", "\0", "é", "\ud800", "."])
def test_a_state_with_more_or_less_around_it_is_none(client: Client, more: str) -> None:
    state = asked(client)
    for changed in (state + more, more + state, state[:-1], state[1:], state + state, ""):
        misplaced(client, delete(requestState=changed, inputResponses=YES))
    still_there(client)


@pytest.mark.parametrize("state", [5, True, [], {}, "x", "a:b:c", "\ud800", "x" * 100_000])
def test_what_is_no_state_is_none(client: Client, state: Any) -> None:
    misplaced(client, delete(requestState=state, inputResponses=YES))
    still_there(client)


def test_the_person_has_ten_minutes(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert confirmation.ANSWER_SECONDS == 600
    state = asked(client)
    monkeypatch.setattr(confirmation, "ANSWER_SECONDS", -1)
    misplaced(client, delete(requestState=state, inputResponses=YES))
    still_there(client)


def test_whichever_worker_asked_another_takes_the_answer(pair: Served, acquaintance: Agent) -> None:
    client = able(acquaintance.key, exchange=over_socket(pair.url))
    for number in range(4):
        saved = done(client.tool("save_memory", f"n-{number}", body="Text", expected_version=0))
        params = delete(f"n-{number}", saved["version"])
        done(client.result("tools/call", {**params, "requestState": asked(client, params), "inputResponses": YES}))
