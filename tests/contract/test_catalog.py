"""Every method in every place drawn from the catalog, and its schemas within what MCP clients can digest (B37)."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from agentboard.catalog import CATALOG, GROUPS
from agentboard.contract.document import arguments_schema, contract, example_arguments, output_schema, paths
from agentboard.contract.method import Method
from agentboard.identity.scopes import ALL_SCOPES
from tests.doors.board import Board

pytestmark = pytest.mark.no_database

DIALECTS = ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#")
CLIENT_PREFIX = "mcp__agentboard__"  # what a client may put before a tool's name; with it 64 characters are allowed
UNSUPPORTED_AT_ROOT = {"oneOf", "anyOf", "allOf", "not", "if", "enum", "const"}
UNRESOLVED = {"$ref", "$defs", "$id", "$anchor", "$dynamicRef", "definitions"}

every_method = pytest.mark.parametrize("method", CATALOG.values(), ids=CATALOG)


def inner_schemas(schema: dict[str, Any], at: str = "$") -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema and all inside it, with their paths. `additionalProperties: false` is the one boolean allowed."""
    yield at, schema
    for name, inner in schema.get("properties", {}).items():
        yield from inner_schemas(inner, f"{at}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from inner_schemas(schema[keyword], f"{at}[{keyword}]")


def example_paths(method: Method) -> list[str]:
    """The method's paths with its example id."""
    example = method.id.schema["example"] if method.id else ""
    return [f"/v1/{path.replace('{id}', example)}" for path in paths(method)]


# In every place, and nothing else there


def test_help_lists_the_catalog_in_its_order(board: Board) -> None:
    items: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = board.get(f"/v1/help?limit=3{cursor}", key=None).json
        items += page["items"]
        if "next_cursor" not in page:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert [item["name"] for item in items] == [*CATALOG]
    assert [item["scope"] for item in items] == [method.scope for method in CATALOG.values()]


@every_method
def test_help_serves_the_whole_contract(board: Board, method: Method) -> None:
    reply = board.get(f"/v1/help/{method.name}", key=None)
    assert (reply.status, reply.json) == (200, contract(method))


def test_each_path_takes_the_verbs_of_its_methods_and_no_others(board: Board) -> None:
    verbs: dict[str, set[str]] = {}
    for method in CATALOG.values():
        for path in example_paths(method):
            verbs.setdefault(path, set()).update([method.verb] + ["HEAD"] * method.reads)
    for path, due in verbs.items():
        reply = board.ask("OPTIONS", path)
        reply.refused(405, "method_not_allowed")
        assert set(reply.headers["allow"].split(", ")) == due, path


@every_method
def test_each_request_of_the_contract_reaches_its_method(board: Board, method: Method) -> None:
    for request in contract(method)["rest"]["requests"]:
        before = len(board.lines())
        board.ask(request["method"], request["path"], b"", key="boreas")
        assert [line["method"] for line in board.lines()[before:]] == [method.name]


def test_openapi_has_the_operations_of_the_catalog_and_no_others(board: Board) -> None:
    document = board.get("/v1/openapi.json", key=None).json
    found = {
        (verb, path): operation["externalDocs"]["url"]
        for path, operations in document["paths"].items()
        for verb, operation in operations.items()
    }
    assert found == {
        (method.verb.lower(), f"/v1/{path}"): f"{board.url}/docs/method/{method.name}"
        for method in CATALOG.values()
        for path in paths(method)
    }


def test_the_documents_link_to_a_page_of_each_method_and_to_no_other(board: Board) -> None:
    page = board.get("/docs", key=None).body.decode().partition('id="methods"')[2]
    assert re.findall(r'href="/docs/method/([^"]+)"', page) == [*CATALOG]


@every_method
def test_each_method_has_its_page(board: Board, method: Method) -> None:
    reply = board.get(f"/docs/method/{method.name}", key=None)
    assert reply.status == 200
    assert f"<h1><code>{method.name}</code></h1>" in reply.body.decode()


# One declaration, of one piece


def test_each_method_stands_under_its_name_and_in_a_known_group() -> None:
    assert all(method.name == name for name, method in CATALOG.items())
    assert {method.group for method in CATALOG.values()} == GROUPS.keys()
    groups = [method.group for method in CATALOG.values()]
    assert groups == sorted(groups, key=[*GROUPS].index), "a page shows each group once"


@every_method
def test_the_declaration_agrees_with_itself(method: Method) -> None:
    assert (method.verb, method.reads) in (("GET", True), ("POST", False))
    assert method.scope is None or method.scope in ALL_SCOPES
    assert method.scope is None or method.scope.endswith(":read" if method.reads else ":write")
    assert method.effects.read_only.value == method.reads
    assert not (method.reads and method.effects.destructive.value)
    assert ("{id}" in method.path) == (method.id is not None)
    assert not (method.reads and (method.keyed or method.creates))
    assert {*method.required} <= method.arguments.keys()
    assert method.id_name not in method.arguments


@every_method
def test_each_argument_is_one_that_the_work_takes_and_each_that_it_takes_is_an_argument(method: Method) -> None:
    _, *parameters = inspect.signature(method.run).parameters.values()
    named = {each.name: each.default is each.empty for each in parameters if each.kind is not each.VAR_KEYWORD}
    given = method.arguments.keys() - {"operation_key"} | ({method.id_name} if method.id else set())
    if len(named) == len(parameters):
        assert named.keys() == given
    else:  # the rest comes as **keywords: `from` is no name for a parameter
        assert named.keys() <= given
    always = {name for name, field in method.arguments.items() if "default" in field.schema} | {*method.required}
    always |= {method.id_name} if method.id and method.id_required else set()
    assert {name for name, needed in named.items() if needed} <= always


@every_method
def test_words_are_there_and_not_too_many(method: Method) -> None:
    hints = (method.effects.read_only, method.effects.destructive, method.effects.open_world)
    assert all(text.strip() for text in (method.title, method.description, *(hint.why for hint in hints)))
    assert len(method.description) < 1024
    for at, schema in inner_schemas(arguments_schema(method)):
        assert schema.get("description", "words").strip(), at
        assert len(schema.get("description", "")) < 1024, at


# Examples


@every_method
def test_the_examples_fit_their_own_schemas(method: Method) -> None:
    document = contract(method)
    jsonschema_rs.Draft202012Validator(document["mcp"]["arguments_schema"], validate_formats=True).validate(
        document["mcp"]["example_arguments"]
    )
    assert document["mcp"]["example_call"]["params"]["arguments"] == example_arguments(method)
    for request in document["rest"]["requests"]:
        example = request.get("example_body", request.get("example_query", {}))
        schema = request.get("body_schema", request.get("query_parameters_schema", {}))
        jsonschema_rs.Draft202012Validator(schema, validate_formats=True).validate(example)
    if method.id_required or not method.required:
        method.check(method.id.schema["example"] if method.id else None, method.example)  # raises where it does not fit


@every_method
def test_each_single_example_and_default_fits_its_schema(method: Method) -> None:
    for at, schema in inner_schemas(arguments_schema(method)):
        for word in ("example", "default"):
            if word in schema:
                assert jsonschema_rs.is_valid(schema, schema[word]), f"{at} {word}"


# What clients of MCP can digest


@every_method
def test_the_tool_has_a_name_that_every_client_takes(method: Method) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", method.name)
    assert len(CLIENT_PREFIX + method.name) <= 63


@every_method
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_schemas_are_valid_in_both_dialects(method: Method, dialect: str) -> None:
    for schema in (arguments_schema(method), method.data_schema, output_schema(method)):
        jsonschema_rs.meta.validate({"$schema": dialect, **schema})


@every_method
def test_the_schemas_keep_to_what_every_client_understands(method: Method) -> None:
    for root in (arguments_schema(method), method.data_schema, output_schema(method)):
        assert root["type"] == "object"
        assert not UNSUPPORTED_AT_ROOT & root.keys()
        for at, schema in inner_schemas(root):
            assert not UNRESOLVED & schema.keys(), at
            assert isinstance(schema["type"], str), at
            assert schema.get("format", "date-time") == "date-time", at
            assert "(?" not in schema.get("pattern", ""), at
            assert re.compile(schema.get("pattern", "")), at
            assert {*schema.get("required", ())} <= schema.get("properties", {}).keys(), at
            assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", name) for name in schema.get("properties", {})), at


@every_method
def test_the_arguments_are_closed_and_their_lists_are_bounded(method: Method) -> None:
    for at, schema in inner_schemas(arguments_schema(method)):
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False, at
        if schema["type"] == "array":
            assert isinstance(schema["items"], dict), at
            assert 0 < schema["maxItems"] <= 100, at  # an error object is made for each item of a list of this length
