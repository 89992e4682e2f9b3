"""The same call gives the same object, through REST and through MCP in both of its eras."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any

import orjson
import pytest
from django.utils import timezone
from jsonschema_rs import Draft202012Validator
from pytest_django import DjangoDbBlocker, Settings

from agentboard import rate
from agentboard.catalog import CATALOG
from agentboard.contract.document import output_schema
from agentboard.contract.errors import CODES
from agentboard.contract.fields import Schema
from agentboard.contract.method import Method
from agentboard.identity.keys import digest
from agentboard.identity.models import AgentKey
from agentboard.identity.scopes import ALL_SCOPES
from agentboard.ledger.models import Event
from posts.models import Topic
from tests.board import CALLS, Board
from tests.calls import Agent, Door, Mcp, Object, Reply, Rest, refusal
from tests.events.reading import settled
from tests.mcp_bridge.scenes import LATER, REFUSALS, SCENES, Ground, Provoke, Stage
from tests.races.arena import together

DOORS: Mapping[str, Door] = {"rest": Rest(), "mcp": Mcp(), "mcp (tests)": Mcp(modern=True)}  # by the `via` they give
NEXT_DOOR = dict(zip(DOORS, [*DOORS][1:] + [*DOORS][:1], strict=True))
TRANSPORT = {  # codes about a request that never became a call, which each protocol words for itself
    "invalid_json": "REST reads one object, MCP a JSON-RPC message around it",
    "unauthenticated": "MCP also takes OAuth tokens, and challenges for them",
    "method_not_allowed": "an HTTP verb that a path of REST lacks; MCP has POST alone",
    "not_acceptable": "MCP may answer with an event stream too",
    "payload_too_large": "the bytes of the HTTP request",
    "unsupported_media_type": "a header of the HTTP request",
}
MOVING = {  # members that differ from call to call, whatever the door
    "resume": {"cursor", "since"},  # tell when they were given out
    "list_events": {"next_cursor"},  # tells until when there was nothing more
}
TOLD_BY_DOOR = {"whoami": {"via"}}
PUBLIC = ("get_post", "reply_to_post", "resolve_post")  # on what everybody may read
PAGES = 4  # read of each list
HUNDRED_SECONDS = timedelta(seconds=100)

READS = [name for name, method in CATALOG.items() if method.reads]
WRITES = [name for name in CATALOG if name not in READS]
KEYED = [name for name in WRITES if CATALOG[name].keyed or name == "create_space"]  # by its request_id
VERSIONED = [name for name in WRITES if "expected_version" in CATALOG[name].arguments]
ON_ONE = [name for name, method in CATALOG.items() if method.id is not None]
every_method = pytest.mark.parametrize("name", CATALOG)
pytestmark = pytest.mark.usefixtures("db")


# ---- agents


@pytest.fixture(scope="module")
def board(kept_database: None, made_people: list[int], django_db_blocker: DjangoDbBlocker) -> Iterator[Board]:
    """One board for the whole file, without limits on the rate of calls."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(rate, "AGENTS", rate.Buckets("agent", CALLS, CALLS, 1))
        patch.setattr(rate, "ADDRESSES", rate.Buckets("address", CALLS, CALLS, 1))
        yield Board(made_people)


def new_stage(board: Board) -> Stage:
    caller = board.agent()
    sibling = board.agent(owner=board.people[-1])
    home = caller.done("create_space", request_id="home", name="home", title="Home")["id"]
    return Stage(caller, sibling, board.agent(), home)


@pytest.fixture(scope="module")
def stage(board: Board) -> Iterator[Stage]:
    """Where one agent calls through all doors, on a board with two topics at least."""
    topic = Topic.objects.create(slug="same-answer", title="Über „alles“", description="")
    yield new_stage(board)
    topic.delete()


@pytest.fixture(scope="module")
def twins(board: Board) -> dict[str, Stage]:
    """A stage of its own for each door."""
    return {door: new_stage(board) for door in DOORS}


@pytest.fixture(scope="module")
def stranger(board: Board) -> Agent:
    """An agent that the caller shares nothing with."""
    return board.agent()


@pytest.fixture(scope="module")
def narrow(board: Board, stage: Stage) -> dict[str, Agent]:
    """The caller with a key for all scopes but one, by that one."""
    return {
        scope: board.with_scopes(stage.caller, *(other for other in ALL_SCOPES if other != scope))
        for scope in ALL_SCOPES
    }


# ---- calls


def ask(agent: Agent, door: str, name: str, id: str | None, data: Mapping[str, Any]) -> Reply:
    """The reply through this door, which fits the output schema and, unless refused, the answer that is declared."""
    reply = DOORS[door].send(agent.key, name, id, data)
    published = validators(name) if reply.code is None else validators(name)[:1]
    problems = [f"{e.instance_path}: {e.message}" for each in published for e in each.iter_errors(reply.json)]
    assert not problems, problems
    return reply


@cache
def validators(name: str) -> tuple[Draft202012Validator, ...]:
    schemas = (output_schema(CATALOG[name]), CATALOG[name].answer)
    return tuple(Draft202012Validator(schema, validate_formats=True) for schema in schemas)


def everywhere(agent: Agent, name: str, id: str | None, data: Mapping[str, Any]) -> dict[str, Reply]:
    """The same call through each door in turn."""
    return {door: ask(agent, door, name, id, data) for door in DOORS}


def written(reply: Reply) -> bytes:
    """The object as the door wrote it: the body at REST, the text of a tool's result at MCP."""
    message = json.loads(reply.raw)
    if "jsonrpc" not in message:
        return reply.raw
    assert "result" in message, f"not the result of a tool: {message}"
    result = message["result"]
    assert orjson.dumps(result["structuredContent"]) == result["content"][0]["text"].encode()
    return str(result["content"][0]["text"]).encode()


def same(name: str, replies: Mapping[str, Reply]) -> Object:
    """The object that all replies carry, byte for byte but for what is told by the door or moves with time."""
    left_out = MOVING.get(name, set()) | TOLD_BY_DOOR.get(name, set())
    kept = {door: reply.json for door, reply in replies.items()}
    for door, content in kept.items():
        assert content.keys() >= left_out or "error" in content, (door, content)
    if left_out:
        texts = {orjson.dumps({k: v for k, v in each.items() if k not in left_out}) for each in kept.values()}
    else:
        texts = {written(reply) for reply in replies.values()}
    assert len(texts) == 1, texts
    return kept["rest"]


def same_refusal(replies: Mapping[str, Reply], code: str) -> Object:
    """The error that all replies carry, byte for byte."""
    for reply in replies.values():
        refusal(reply, code)
    texts = {written(reply) for reply in replies.values()}
    assert len(texts) == 1, texts
    error: Object = next(iter(replies.values())).json["error"]
    return error


# ---- every code


def test_every_code_is_provoked_here_or_is_about_the_transport() -> None:
    assert set(REFUSALS) | set(TRANSPORT) == set(CODES)
    assert not set(REFUSALS) & set(TRANSPORT)


def test_every_method_has_scenes_and_nothing_else_has() -> None:
    assert set(SCENES) == set(CATALOG)
    assert all(SCENES.values())


@pytest.mark.parametrize(
    "provoke",
    [
        pytest.param(provoke, id=f"{code}-{n}")
        for code, provokes in REFUSALS.items()
        for n, provoke in enumerate(provokes)
    ],
)
def test_a_refusal_is_the_same_object_at_every_door(
    board: Board,
    stage: Stage,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    provoke: Provoke,
) -> None:
    label = str(request.node.callspec.id)
    with ExitStack() as stack:
        call = provoke(stage.labelled("refused", label), Ground(board, settings, monkeypatch, stack))
        replies = everywhere(*call)
    same_refusal(replies, label.rpartition("-")[0])


@pytest.mark.parametrize("key", ["", "ab_short", "ab-no-key", "revoked"])
def test_a_credential_that_opens_nothing_is_refused_with_the_same_object_in_a_json_rpc_error(
    board: Board, stage: Stage, key: str
) -> None:
    if key == "revoked":
        key = board.with_scopes(stage.caller, "memory:read").key
        AgentKey.objects.filter(digest=digest(key)).update(revoked_at=timezone.now())
    replies = [door.send(key, "whoami", None, {}) for door in DOORS.values()]
    assert [reply.status for reply in replies] == [401, 401, 401]
    assert len({orjson.dumps(refusal(reply, "unauthenticated")) for reply in replies}) == 1


# ---- reads


@pytest.mark.parametrize("name", READS)
def test_a_read_answers_the_same_bytes_at_every_door_page_by_page(stage: Stage, name: str) -> None:
    given: set[str] = set()
    for number, scene in enumerate(SCENES[name]):
        id, data = scene(stage.labelled(name, number))
        for _ in range(PAGES):
            settled()
            given |= data.keys()
            replies = everywhere(stage.caller, name, id, data)
            assert same(name, replies).keys() & {"error"} == set(), replies["rest"].json
            if not (cursor := cursor_of(replies["mcp"].json)):
                break
            data = {**data, "cursor": cursor}
    assert given == set(CATALOG[name].arguments), "the scenes give every argument, the pages a cursor"


def cursor_of(answer: Object) -> str | None:
    """Of the next page, of the list or of what an item has below it; None after the last."""
    lists = [answer, answer.get("evidence", {}), answer.get("replies", {})]
    return next((each["next_cursor"] for each in lists if each.get("next_cursor") and each["items"]), None)


def test_whoami_tells_each_caller_the_door(stage: Stage) -> None:
    assert {door: reply.json["via"] for door, reply in everywhere(stage.caller, "whoami", None, {}).items()} == {
        door: door for door in DOORS
    }


# ---- writes


@pytest.mark.parametrize("name", WRITES)
def test_a_write_answers_its_twin_at_another_door_alike(twins: dict[str, Stage], name: str) -> None:
    given: set[str] = set()
    for number, scene in enumerate(SCENES[name]):
        told = {}
        for door, stage in twins.items():
            id, data = scene(stage.labelled(name, number))
            given |= data.keys()
            reply = ask(stage.caller, door, name, id, data)
            assert reply.code is None, reply.json
            told[door] = impersonal(stage, reply)
        assert told["mcp"] == told["rest"]
        assert told["mcp (tests)"] == told["rest"]
    assert given | {"operation_key"} >= set(CATALOG[name].arguments), "the scenes give every argument"


_ID = re.compile(r"\b[a-z]{2}_[0-9a-z]{26}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_HANDLE = re.compile(r"\bagent-\d+\b")
_VIA = re.compile(rf'(?<=via":")(?:{"|".join(map(re.escape, DOORS))})(?=")')


def impersonal(stage: Stage, reply: Reply) -> str:
    """What the door wrote, with roles for handles, numbers for ids, and times as the seconds since the first of them.

    These are told in hundreds: what lies within a moment is at once, while a lease or a receipt lasts.
    """
    roles = {agent.handle: role for role, agent in vars(stage).items() if isinstance(agent, Agent)}
    ids: dict[str, str] = {}
    times: list[datetime] = []

    def numbered(found: re.Match[str]) -> str:
        return ids.setdefault(found[0], f"{found[0][:3]}{len(ids)}")

    def since_the_first(found: re.Match[str]) -> str:
        if found[0] == LATER:
            return LATER
        times.append(datetime.fromisoformat(found[0]))
        return f"after {round((times[-1] - times[0]) / HUNDRED_SECONDS)}00 seconds"

    text = _HANDLE.sub(lambda found: roles[found[0]], written(reply).decode())
    return _VIA.sub("here", _TIME.sub(since_the_first, _ID.sub(numbered, text)))


@pytest.mark.parametrize("door", DOORS)
def test_what_is_written_tells_through_which_door(stage: Stage, door: str) -> None:
    at = stage.labelled("via", [*DOORS].index(door))
    reply = ask(stage.caller, door, "save_memory", at.name(), {"body": "Text", "expected_version": 0})
    assert reply.json["via"] == door


# ---- operation keys


@pytest.mark.parametrize("name", KEYED)
def test_a_write_at_one_door_is_replayed_by_the_same_call_at_every_other(twins: dict[str, Stage], name: str) -> None:
    nulled: set[tuple[str, str]] = set()
    for number in range(len(SCENES[name])):
        for door in [*DOORS][number:] or DOORS:  # at every door for the first scene, at fewer for the others
            stage = twins[door]
            id, data = keyed(stage.labelled("again", name, number), name, number)
            first = ask(stage.caller, door, name, id, data)
            assert first.json.get("replayed") is False, first.json
            replies = everywhere(stage.caller, name, id, data)
            if out_of_sight(stage, first.json):
                same_refusal(replies, "not_found")
                continue
            receipt = {"operation": first.json["operation"], "replayed": True}
            assert same(name, replies) == receipt
            absent = {argument for argument in CATALOG[name].arguments if argument not in data}
            others = [{**data, argument: None} for argument in absent if (argument, door) not in nulled]
            nulled |= {(argument, door) for argument in absent}
            for other in (*others, *spellings(CATALOG[name], data)):  # over the twins, each at every door
                assert ask(stage.caller, NEXT_DOOR[door], name, id, other).json == receipt, other
    optional = set(CATALOG[name].arguments) - set(CATALOG[name].required) - {"operation_key"}
    assert {argument for argument, _ in nulled} == optional


def keyed(stage: Stage, name: str, number: int = 0) -> tuple[str | None, Object]:
    """Id and arguments of a scene, with an operation key where the method takes one."""
    id, data = SCENES[name][number](stage)
    return id, {**data, "operation_key": stage.name()} if CATALOG[name].keyed else {**data}


def out_of_sight(stage: Stage, answer: Object) -> bool:
    """Whether the caller has left the space, or declined to join, so that it may know no more of it."""
    return answer.get("removed") == stage.caller.handle or answer.get("accepted") is False


def spellings(method: Method, data: Object) -> Iterator[Object]:
    """Other ways to say the same: defaults, another order, 3.0 for 3."""
    yield {name: each.schema["default"] for name, each in method.arguments.items() if "default" in each.schema} | data
    backwards = dict(reversed(data.items()))
    yield {name: float(value) if type(value) is int else value for name, value in backwards.items()}


def test_a_claim_that_found_nothing_spends_no_key_at_any_door(stage: Stage) -> None:
    at = stage.labelled("nothing-to-claim")
    space, key = at.space(), at.name()
    assert same("", everywhere(stage.caller, "claim_next_task", space, {"operation_key": key})) == {"entry": None}


def happened(agent: Agent, name: str) -> int:
    """How many changes the agent made by this method."""
    return Event.objects.filter(agent_id=agent.pk, method=name).count()


@pytest.mark.parametrize("name", KEYED)
def test_of_ten_calls_at_rest_and_ten_at_mcp_with_one_key_one_acts(stage: Stage, name: str) -> None:
    stage = stage.labelled("at-once", name)
    id, data = keyed(stage, name)
    before = happened(stage.caller, name)
    doors = ["rest", "rest", "mcp", "mcp (tests)"] * 5
    replies = together([partial(ask, stage.caller, door, name, id, data) for door in doors])
    assert {reply.code for reply in replies} == {None}, [reply.json for reply in replies]
    assert sorted(reply.json["replayed"] for reply in replies) == [False] + [True] * 19
    assert len({orjson.dumps(reply.json["operation"]) for reply in replies}) == 1
    assert happened(stage.caller, name) == before + 1


@pytest.mark.parametrize("name", VERSIONED)
def test_of_eight_updates_at_rest_and_eight_at_mcp_of_one_version_one_wins(stage: Stage, name: str) -> None:
    stage = stage.labelled("versions", name)
    id, data = SCENES[name][0](stage)
    before = happened(stage.caller, name)
    doors = ["rest", "rest", "mcp", "mcp (tests)"] * 4
    replies = together([partial(ask, stage.caller, door, name, id, data) for door in doors])
    lost = [reply for reply in replies if reply.code]
    assert len(lost) == 15, [reply.json for reply in replies]
    for reply in lost:
        refusal(reply, "not_found" if name == "delete_memory" else "version_conflict")
    assert happened(stage.caller, name) == before + 1


# ---- arguments


def example(method: Method) -> tuple[str | None, Object]:
    """Id and arguments of the published example."""
    return (method.id.schema["example"] if method.id else None), dict(method.example)


def misfits(schema: Schema) -> Iterator[Any]:
    """Values that the schema refuses, each for another reason."""
    kind = schema["type"]
    yield {"string": 7, "integer": "seven", "boolean": "maybe", "array": "none", "object": "none"}[kind]
    yield from () if kind != "integer" else (2**31, True, "", 1.5)
    for keyword, value in schema.items():
        yield from _against.get(keyword, lambda value: ())(value)
    if kind == "array":
        yield from ([value] for value in misfits(schema["items"]))
        if schema.get("uniqueItems"):
            yield ["twice", "twice"]
    if kind == "object":
        yield from (
            {},
            {"surplus": 1},
            *({name: value} for name, each in schema["properties"].items() for value in misfits(each)),
        )


_against: Mapping[str, Callable[[Any], tuple[Any, ...]]] = {
    "enum": lambda values: ("no-such-word",),
    "minimum": lambda limit: (limit - 1,),
    "maximum": lambda limit: (limit + 1,),
    "minLength": lambda limit: ("",),
    "maxLength": lambda limit: ("x" * (limit + 1),),
    "pattern": lambda pattern: ("No slug!", "trailing-newline\n"),
    "format": lambda name: ("yesterday", "2026-02-30T00:00:00Z", "2026-11-30T18:50:00"),
    "maxItems": lambda limit: ([f"item-{n}" for n in range(limit + 1)],),
    "minItems": lambda limit: ([],),
}


def askable(method: Method, value: Any) -> list[str]:
    """The doors that can carry the value: the query of a read holds nothing but text, so a number there fits a text."""
    return [door for door in DOORS if door != "rest" or not method.reads or isinstance(value, str)]


@every_method
def test_an_argument_against_its_schema_is_refused_alike(stage: Stage, name: str) -> None:
    method = CATALOG[name]
    id, data = example(method)
    for argument, each in method.arguments.items():
        for value in misfits(each.schema):
            query = str(value) if type(value) is int and each.schema["type"] == "integer" else value
            spelled = {door: query if method.reads and door == "rest" else value for door in DOORS}
            replies = {
                door: ask(stage.caller, door, name, id, {**data, argument: spelled[door]})
                for door in askable(method, spelled["rest"])
            }
            error = same_refusal(replies, "invalid_arguments")
            assert {detail["path"].partition(".")[0] for detail in error["details"]} == {argument}, (value, error)


@every_method
def test_an_unknown_argument_is_refused_alike(stage: Stage, name: str) -> None:
    id, data = example(CATALOG[name])
    for surplus in ("surplus", "id", "Body", "x" * 50, "ü"):
        error = same_refusal(everywhere(stage.caller, name, id, {**data, surplus: "1"}), "invalid_arguments")
        assert [detail["message"].partition(";")[0] for detail in error["details"]] == [f"is not an argument of {name}"]


@every_method
def test_a_missing_or_null_argument_that_is_required_is_refused_alike(stage: Stage, name: str) -> None:
    method = CATALOG[name]
    id, data = example(method)
    for argument in method.required:
        without = {k: v for k, v in data.items() if k != argument}
        replies = everywhere(stage.caller, name, id, without)
        nulls = {door: ask(stage.caller, door, name, id, {**without, argument: None}) for door in askable(method, None)}
        error = same_refusal(
            {**replies, **{f"{door}, null": reply for door, reply in nulls.items()}}, "invalid_arguments"
        )
        assert error["details"] == [{"path": argument, "message": "is required"}]


@pytest.mark.parametrize("name", [*READS, "mark_inbox_read"])
def test_null_for_an_optional_argument_means_absent(stage: Stage, name: str) -> None:
    method = CATALOG[name]
    nulled: set[str] = set()
    for number, scene in enumerate(SCENES[name]):
        id, data = scene(stage.labelled("null", name, number))
        absent = set(method.arguments) - data.keys() - nulled
        ask(stage.caller, "rest", name, id, data)  # what an inbox item is marked as stays from then on
        settled()
        replies = everywhere(stage.caller, name, id, data)
        for argument in absent:
            for door in askable(method, None):
                replies[f"{door}, {argument} null"] = ask(stage.caller, door, name, id, {**data, argument: None})
        assert "error" not in same(name, replies)
        nulled |= absent
    assert nulled == set(method.arguments) - set(method.required)


@pytest.mark.parametrize("name", ON_ONE)
def test_an_id_that_cannot_be_one_is_refused_alike(stage: Stage, name: str) -> None:
    _, data = example(CATALOG[name])
    for id in ("x" * 81, "x" * 50_000, "ab_" + "x" * 100):
        error = same_refusal(everywhere(stage.caller, name, id, data), "invalid_arguments")
        assert {detail["path"] for detail in error["details"]} == {"id"}


# ---- whose it is


def on_existing(stage: Stage, name: str) -> tuple[str, Mapping[str, Any]]:
    """The id and arguments of a call on something of the caller's that exists."""
    for scene in SCENES[name]:
        id, data = scene(stage)
        if id is not None and data.get("expected_version") != 0:
            return id, data
    raise AssertionError(f"no scene of {name} is about something that exists")


@pytest.mark.parametrize("name", ON_ONE)
def test_an_unknown_id_is_not_found_alike(stage: Stage, name: str) -> None:
    id, data = on_existing(stage.labelled("unknown", name), name)
    error = same_refusal(everywhere(stage.caller, name, f"{id}z", data), "not_found")
    assert f"{id}z" in error["message"]


@pytest.mark.parametrize("name", [name for name in ON_ONE if CATALOG[name].group in ("memory", "coordination")])
def test_the_id_of_another_agents_thing_is_not_found_alike_as_if_it_did_not_exist(
    stranger: Agent, stage: Stage, name: str
) -> None:
    id, data = on_existing(stage.labelled("foreign", name), name)
    error = same_refusal(everywhere(stranger, name, id, data), "not_found")
    unknown = same_refusal(everywhere(stranger, name, f"{id}z", data), "not_found")
    assert orjson.dumps(error) == orjson.dumps(unknown).replace(f"{id}z".encode(), id.encode())


@pytest.mark.parametrize("name", PUBLIC)
def test_another_agent_meets_what_is_public_alike(stranger: Agent, stage: Stage, name: str) -> None:
    id, data = on_existing(stage.labelled("public", name), name)
    replies = everywhere(stranger, name, id, data)
    if name == "resolve_post":
        same_refusal(replies, "forbidden")
    elif name == "get_post":
        assert same(name, replies)["id"] == id
    else:
        assert len({impersonal(replace(stage, caller=stranger), reply) for reply in replies.values()}) == 1


def test_what_has_an_id_is_private_public_or_the_catalogs_own() -> None:
    others = {name for name in ON_ONE if CATALOG[name].group not in ("memory", "coordination")}
    assert others == {*PUBLIC, "get_help"}


@pytest.mark.parametrize("name", [name for name, method in CATALOG.items() if method.scope])
def test_a_missing_scope_is_refused_alike(narrow: dict[str, Agent], name: str) -> None:
    scope = CATALOG[name].scope
    assert scope is not None
    error = same_refusal(everywhere(narrow[scope], name, *example(CATALOG[name])), "insufficient_scope")
    assert error["scope"] == scope
