"""The methods as tools: what is listed to whom and in how many bytes, and what a call answers."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import orjson
import pytest

from agentboard import rate
from agentboard.catalog import CATALOG
from agentboard.contract.document import annotations, arguments_schema, output_schema
from agentboard.identity.caller import Caller
from agentboard.identity.scopes import ALL_SCOPES
from mcp_bridge import tools, versions
from mcp_bridge.request import Headers, Request
from tests.board import Board
from tests.calls import Agent, Mcp, Object, Reply, refusal
from tests.contract.test_catalog import CLIENT_PREFIX, DIALECTS, UNRESOLVED, UNSUPPORTED_AT_ROOT
from tests.mcp_bridge.speaking import INVALID_PARAMS, REFUSED, Client, done, failed, fault

pytestmark = pytest.mark.no_database  # the list comes from the catalog; what calls do on each is in test_same_answer.py

ALL_BYTES_MAX, MEMORY_BYTES_MAX = 48_000, 16_000  # each session of an agent pays for them
ALWAYS = {"get_help", "whoami", "resume"}
TOOLSETS = ("memory", "coordination", "posts")
SCOPE_SETS = [set(chosen) for size in range(7) for chosen in itertools.combinations(ALL_SCOPES, size)]
TOOLSET_CHOICES = [",".join(chosen) for size in range(4) for chosen in itertools.combinations(TOOLSETS, size)]


def listed(client: Client, toolsets: str = "") -> list[Object]:
    found = client.result("tools/list", path=f"/mcp?toolsets={toolsets}" if toolsets else "/mcp")
    assert "nextCursor" not in found
    tools: list[Object] = found["tools"]
    return tools


def names(tools: list[Object]) -> list[str]:
    return [tool["name"] for tool in tools]


def of_group(*groups: str) -> set[str]:
    return {name for name, method in CATALOG.items() if method.group in groups} | ALWAYS


@pytest.fixture
def tool_list(client: Client) -> list[Object]:
    return listed(client)


# What is listed, and to whom


def test_all_tools_are_listed_in_the_order_of_the_catalog_each_time(client: Client, tool_list: list[Object]) -> None:
    assert names(tool_list) == [*CATALOG]
    assert listed(client) == tool_list


def test_the_list_is_the_callers_own_and_may_be_kept_a_while(atlas: Agent) -> None:
    found = Client(atlas.key, modern=True).result("tools/list")
    assert found["cacheScope"] == "private"
    assert found["ttlMs"] > 0


def test_a_cursor_changes_nothing_since_there_is_one_page(client: Client, tool_list: list[Object]) -> None:
    assert client.result("tools/list", {"cursor": "x"})["tools"] == tool_list


@pytest.mark.parametrize("toolsets", TOOLSET_CHOICES)
def test_for_every_set_of_scopes_the_list_has_what_they_open_and_nothing_else(toolsets: str) -> None:
    for scopes in SCOPE_SETS:
        request = Request(1, "tools/list", {}, Headers([]), versions.LEGACY[-1])
        request.caller = Caller(1, "atlas", 1, frozenset(scopes), "mcp", "key", 1)
        request.toolsets = tools.chosen(name for name in toolsets.split(",") if name)
        found = orjson.loads(orjson.dumps(tools.list_tools(request)))["tools"]
        groups = {*(toolsets.split(",") if toolsets else TOOLSETS)}
        groups |= {"board"} if "coordination" in groups else set()
        assert names(found) == [
            name
            for name, method in CATALOG.items()
            if (method.scope is None or method.scope in scopes) and name in of_group(*groups)
        ]


def test_a_key_sees_what_it_may_call(board: Board, atlas: Agent, modern: bool) -> None:
    client = Client(board.with_scopes(atlas, "memory:read", "posts:read").key, modern)
    opened = (None, "memory:read", "posts:read")
    assert names(listed(client)) == [name for name, method in CATALOG.items() if method.scope in opened]


@pytest.mark.parametrize(
    ("toolsets", "groups"),
    [
        ("memory", ("memory",)),
        ("posts", ("posts",)),
        ("coordination", ("coordination", "board")),
        ("memory,posts", ("memory", "posts")),
        ("posts,memory,posts,", ("memory", "posts")),
        ("memory&toolsets=posts", ("memory", "posts")),
        ("memory%2Cposts&x=1", ("memory", "posts")),
        ("", (*TOOLSETS, "board")),
        (",", (*TOOLSETS, "board")),
        ("memory,coordination,posts", (*TOOLSETS, "board")),
    ],
)
def test_toolsets_in_the_url_narrow_the_list(client: Client, toolsets: str, groups: tuple[str, ...]) -> None:
    assert set(names(listed(client, toolsets))) == of_group(*groups)


def test_an_unknown_toolset_is_told_with_those_that_there_are(client: Client) -> None:
    for method in ("tools/list", "ping" if not client.modern else "server/discover"):
        reply = client.ask(method, path="/mcp?toolsets=memory,memories")
        message = fault(reply, 400, INVALID_PARAMS, "invalid_arguments")["message"]
        assert all(word in message for word in ("memories", *TOOLSETS))


def test_a_tool_that_the_url_leaves_out_cannot_be_called_there(client: Client) -> None:
    for name in ("list_posts", "list_spaces", "inbox"):
        reply = client.ask("tools/call", {"name": name}, path="/mcp?toolsets=memory")
        assert "toolsets" in fault(reply, client.status_of(400), INVALID_PARAMS, "invalid_arguments")["message"]
        assert not client.tool(name)["isError"]
    for name in sorted(ALWAYS):
        assert done(client.result("tools/call", {"name": name}, path="/mcp?toolsets=memory"))


# In how many bytes


def test_all_tools_and_those_for_memory_cost_an_agent_no_more_than_they_may(client: Client) -> None:
    assert len(orjson.dumps(listed(client))) < ALL_BYTES_MAX
    assert len(orjson.dumps(listed(client, "memory"))) < MEMORY_BYTES_MAX


# What every client can digest (B37)


def inner(schema: Any, at: str = "$") -> Iterator[tuple[str, Object]]:
    """The schema and all inside it, with their paths."""
    assert isinstance(schema, dict), at
    yield at, schema
    for name, value in schema.get("properties", {}).items():
        yield from inner(value, f"{at}.{name}")
    if "items" in schema:
        yield from inner(schema["items"], f"{at}[]")


def test_each_tool_has_what_clients_look_for(tool_list: list[Object]) -> None:
    for tool in tool_list:
        method = CATALOG[tool["name"]]
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", tool["name"])
        assert len(CLIENT_PREFIX + tool["name"]) <= 63
        assert tool["title"].strip()
        assert 0 < len(tool["description"]) < 1024
        assert tool["annotations"] == annotations(method)
        assert tool["annotations"].keys() == {"readOnlyHint", "destructiveHint", "openWorldHint"}
        schemes = [{"type": "oauth2", "scopes": [method.scope] if method.scope else []}]
        assert tool["securitySchemes"] == tool["_meta"]["securitySchemes"] == schemes
        assert tool["outputSchema"] == {"type": "object"}


def test_the_schemas_keep_to_what_every_client_understands(tool_list: list[Object]) -> None:
    for tool in tool_list:
        root = tool["inputSchema"]
        assert root["type"] == "object"
        assert not UNSUPPORTED_AT_ROOT & root.keys()
        for dialect in DIALECTS:
            jsonschema_rs.meta.validate({"$schema": dialect, **root})
        for at, schema in inner(root, tool["name"]):
            assert not UNRESOLVED & schema.keys(), at
            assert isinstance(schema["type"], str), at
            assert schema.get("format", "date-time") == "date-time", at
            assert "(?" not in schema.get("pattern", ""), at
            assert {*schema.get("required", ())} <= schema.get("properties", {}).keys(), at
            assert schema.get("additionalProperties", False) is False, at
            assert (schema["type"] == "array") == ("items" in schema), at
            assert schema.get("description", "words").strip(), at


def test_the_schemas_are_the_contracts_but_for_words_and_examples(tool_list: list[Object]) -> None:
    for tool in tool_list:
        assert wordless(tool["inputSchema"]) == wordless(arguments_schema(CATALOG[tool["name"]])), tool["name"]


def wordless(schema: Object) -> Object:
    """A schema without descriptions and examples; properties of these names stay."""
    found = {name: value for name, value in schema.items() if name not in ("description", "example")}
    if "properties" in found:
        found["properties"] = {name: wordless(value) for name, value in found["properties"].items()}
    if "items" in found:
        found["items"] = wordless(found["items"])
    return found


# What a call answers


def test_each_answer_has_the_shape_that_its_method_declares(atlas: Agent, board: Board, modern: bool) -> None:
    """`done` holds each against the catalog's answer, and the text against the structured content."""
    agent = Agent(Mcp(modern=modern), atlas.key, atlas.handle, atlas.pk)
    other = Agent(Mcp(modern=modern), board.agent().key)
    space = agent.done("create_space", request_id="r", name="atelier", title="Atelier")["id"]
    agent.save("plan", tags=["a-tag"], summary="In short", use_when="Always")
    agent.save("plan", "More", 1, operation_key="k")
    task = agent.done("create_space_entry", space, kind="TASK", title="T", body="B")["id"]
    note = agent.done("create_space_entry", space, kind="NOTE", title="T", body="B")["id"]
    knowledge = agent.done("create_space_entry", space, kind="KNOWLEDGE", title="T", body="B", summary="S")["id"]
    post = agent.done("create_post", type="QUESTION", title="T", body="B")["id"]
    reply = other.done("reply_to_post", post, body="B")["id"]
    claimed = agent.done("claim_next_task", space)["entry"]
    for name, id, data in (
        ("list_memory", None, {"detail": "full"}),
        ("search_memory", None, {"q": "more"}),
        ("list_memory_revisions", "plan", {}),
        ("compare_memory", "plan", {}),
        ("edit_memory", "plan", {"expected_version": 2, "append": "!"}),
        ("mark_memory_reviewed", "plan", {"expected_version": 3}),
        ("restore_memory", "plan", {"version": 1, "expected_version": 4}),
        ("delete_memory", "plan", {"expected_version": 5}),
        ("list_spaces", None, {}),
        ("get_space", space, {}),
        ("list_space_entries", space, {}),
        ("get_space_entry", task, {}),
        ("update_task", task, {"expected_version": claimed["version"], "progress": 50}),
        ("add_evidence", task, {"body": "Seen"}),
        ("update_space_entry", note, {"expected_version": 1, "title": "New", "body": "New"}),
        ("list_entry_revisions", note, {}),
        ("publish_knowledge", knowledge, {"expected_version": 1, "body": "New", "summary": "New"}),
        ("get_post", post, {}),
        ("resolve_post", post, {"expected_version": 1, "accepted_reply": reply}),
        ("list_posts", None, {"q": "T"}),
        ("topics", None, {}),
        ("inbox", None, {}),
        ("list_events", None, {}),
        ("whoami", None, {}),
        ("resume", None, {}),
        ("get_help", None, {}),
        ("get_help", "save_memory", {}),
    ):
        answer = agent.done(name, id, **data)
        jsonschema_rs.validate(output_schema(CATALOG[name]), answer)


def test_every_refusal_fits_the_output_schema_too(client: Client) -> None:
    for id, data, code in (
        ("plan", {"expected_version": 7, "body": "x"}, "not_found"),
        ("Plan", {"expected_version": 0, "body": "x"}, "invalid_arguments"),
    ):
        found = client.tool("save_memory", id, **data)
        failed(found, code)
        jsonschema_rs.validate(output_schema(CATALOG["save_memory"]), found["structuredContent"])


def test_a_call_through_either_door_is_the_same_operation(atlas: Agent, modern: bool) -> None:
    """B17, B19: the receipt of a write at REST answers its repeat here."""
    through = Agent(Mcp(modern=modern), atlas.key)
    assert atlas.save("plan", operation_key="k")["replayed"] is False
    assert through.save("plan", operation_key="k")["replayed"] is True
    through.refused("operation_key_conflict", "save_memory", "plan", body="x", expected_version=0, operation_key="k")


# null for what may be left out (B33)


def call(client: Client, name: str, arguments: Any) -> Object:
    return client.result("tools/call", {"name": name, "arguments": arguments})


def test_null_is_the_same_as_leaving_out(client: Client) -> None:
    optional = [name for name in CATALOG["save_memory"].arguments if name not in ("body", "expected_version")]
    nulls = dict.fromkeys(optional)
    for number in range(2):
        data = {"body": "Text", "expected_version": 0, **nulls}
        saved = done(call(client, "save_memory", {"id": f"n-{number}", "data": data}))
        assert (saved["version"], saved["summary"], saved["tags"]) == (1, None, [])
        assert "operation" not in saved
    told = failed(client.tool("save_memory", "n-2", body=None, expected_version=0), "invalid_arguments")
    assert [detail["path"] for detail in told["details"]] == ["body"]


def test_arguments_may_be_null_or_missing_where_none_is_needed(client: Client) -> None:
    leaving_out: tuple[Object, ...] = (
        {},
        {"arguments": None},
        {"arguments": {}},
        {"arguments": {"data": None}},
        {"arguments": {"data": {}}},
    )
    for params in leaving_out:
        assert done(client.result("tools/call", {"name": "list_memory", **params}))["items"] == []
    assert done(call(client, "get_help", {"id": None}))["items"]
    told = failed(client.result("tools/call", {"name": "save_memory"}), "invalid_arguments")
    assert [detail["path"] for detail in told["details"]] == ["id", "body", "expected_version"]


# What the model can put right is told to the model (B35)


@pytest.mark.parametrize(
    ("arguments", "path", "way_out"),
    [
        ({"id": "plan", "data": '{"body":"x","expected_version":0}'}, "data", "as a JSON object, not as a string"),
        ({"id": "plan", "data": {"data": {"body": "x", "expected_version": 0}}}, "data.data", "wrapped twice"),
        ({"id": "plan", "body": "x", "expected_version": 0}, "body", '{"data": {"body": …}}'),
        ({"id": "plan", "data": {"body": "x"}, "expected_version": 0}, "expected_version", "id beside data"),
        ({"name": "plan", "data": {}}, "name", "id and data only"),
        ({"id": "plan", "data": {"body": "x", "expected_version": 0, "id": "plan"}}, "id", ""),
        ({"id": "plan", "data": {"body": "x", "expected_version": 0, "colour": "red"}}, "colour", ""),
        ({"id": "plan", "data": [1]}, "data", ""),
        ({"id": "plan", "data": 5}, "data", ""),
        ({"id": 5, "data": {"body": "x", "expected_version": 0}}, "id", ""),
        ({"id": ["plan"], "data": {}}, "id", ""),
        ({"data": {"body": "x", "expected_version": 0}}, "id", ""),
        ({"id": "plan", "data": {"expected_version": 0}}, "body", ""),
        ({"id": "plan", "data": {"body": "é" * 10_241, "expected_version": 0}}, "body", ""),
        ({"id": "plan", "data": {"body": "a\0b", "expected_version": 0}}, "body", ""),
        ({"id": "plan", "data": {"body": "x", "expected_version": True}}, "expected_version", ""),
        ({"id": "plan", "data": {"body": "x", "expected_version": "0"}}, "expected_version", ""),
        ({"id": "plan", "data": {"body": "x", "expected_version": 10**30}}, "expected_version", ""),
        ({"x" * 5_000: 1}, "xxxxxxxxxxxx…", ""),
    ],
)
def test_a_slip_in_the_arguments_is_told_with_the_way_out_and_nothing_is_written(
    client: Client, arguments: Object, path: str, way_out: str
) -> None:
    told = failed(call(client, "save_memory", arguments), "invalid_arguments")
    assert path in [detail["path"] for detail in told["details"]]
    assert way_out in told["next_action"]
    assert len(told["message"]) < 300
    failed(client.tool("get_memory", "plan"), "not_found")


def test_arguments_of_a_tool_without_any_are_refused(client: Client) -> None:
    told = failed(client.tool("whoami", "x"), "invalid_arguments")
    assert told["details"][0]["path"] == "id"
    failed(call(client, "whoami", {"data": {"x": 1}}), "invalid_arguments")


@pytest.mark.parametrize("body", ["    code\n\ntext\n", "\ufeff\r\n\t", "\u2028😀é", "é" * 10_240])
def test_a_text_comes_back_exactly_as_it_was_sent(client: Client, body: str) -> None:
    """B03, B05."""
    saved = client.tool("save_memory", "plan", body=body, expected_version=0)
    if body.strip("\ufeff\r\n\t"):
        assert done(saved)["bytes"] == len(body.encode())
        assert done(client.tool("get_memory", "plan"))["body"] == body


def test_a_conflict_brings_what_is_needed_to_merge(client: Client) -> None:
    done(client.tool("save_memory", "plan", body="one\ntwo\n", expected_version=0))
    done(client.tool("save_memory", "plan", body="one\nthree\n", expected_version=1))
    told = failed(client.tool("save_memory", "plan", body="x", expected_version=1), "version_conflict")
    assert told["current_version"] == 2
    assert "-two\n+three" in told["diff"]


def test_an_unknown_tool_is_named_shortly(client: Client) -> None:
    for name, shown in (("nope", "nope"), ("n" * 5_000, "n" * 12 + "…")):
        reply = client.ask("tools/call", {"name": name})
        message = fault(reply, client.status_of(400), INVALID_PARAMS, "invalid_arguments")["message"]
        assert message == f"Unknown tool {shown}: take a name from tools/list."


# How much an agent may call


@pytest.fixture
def spent(client: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client whose agent has one call left."""
    monkeypatch.setattr(rate, "AGENTS", rate.Buckets("agent", 1, 1, 1))
    return client


def test_a_call_too_many_is_refused_in_the_tools_result(spent: Client) -> None:
    assert done(spent.tool("whoami"))
    told = failed(spent.tool("save_memory", "plan", body="x", expected_version=0), "rate_limited")
    assert 1 <= told["retry_after_seconds"] <= 60


def test_a_request_too_many_is_refused_by_http(spent: Client) -> None:
    assert spent.result("tools/list")
    for method in ("tools/list", "resources/list", "prompts/list", "nope", "subscriptions/listen"):
        reply = spent.ask(method, {"notifications": {}})
        told = fault(reply, 429, REFUSED, "rate_limited")["data"]["error"]
        assert reply.headers["retry-after"] == str(told["retry_after_seconds"])


def test_all_doors_spend_from_one_budget(spent: Client, atlas: Agent) -> None:
    atlas.done("whoami")
    failed(spent.tool("whoami"), "rate_limited")
    error: Reply = atlas.call("whoami")
    assert refusal(error, "rate_limited")


def test_a_call_without_its_scope_costs_nothing(spent: Client, board: Board, atlas: Agent) -> None:
    client = Client(board.with_scopes(atlas, "posts:read").key, spent.modern)
    failed(client.tool("list_memory"), "insufficient_scope")
    assert done(spent.tool("whoami"))
