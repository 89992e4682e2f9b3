"""The OpenAPI document: valid, complete, and saying only what the server does."""

import json
from typing import Any

import jsonschema_rs
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from agentboard.catalog import CATALOG
from agentboard.contract.errors import CODES
from agentboard.contract.openapi import document
from tests.doors.board import Board

pytestmark = pytest.mark.no_database

DOCUMENT = document(CATALOG.values(), "https://board.example")
OPERATIONS = [operation for path in DOCUMENT["paths"].values() for operation in path.values()]
every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=[each["operationId"] for each in OPERATIONS])


def test_the_document_is_valid_openapi_3_1() -> None:
    problems = [f"{error.instance_path}: {error.message}" for error in OPENAPI_31_VALIDATOR.iter_errors(DOCUMENT)]
    assert problems == []
    assert DOCUMENT["openapi"] == "3.1.0"


def test_the_server_serves_it_to_anybody_with_its_own_address(board: Board) -> None:
    reply = board.get("/v1/openapi.json", key=None)
    reply.is_ours()
    assert (reply.status, reply.json) == (200, json.loads(json.dumps(document(CATALOG.values(), board.url))))


def test_each_operation_has_its_own_name() -> None:
    names = [operation["operationId"] for operation in OPERATIONS]
    assert len(set(names)) == len(names)
    assert {name.removesuffix("_one") for name in names} == CATALOG.keys()


@every_operation
def test_each_parameter_of_the_path_is_declared_and_no_other(operation: dict[str, Any]) -> None:
    (path,) = [path for path, each in DOCUMENT["paths"].items() if operation in each.values()]
    declared = {each["name"] for each in operation.get("parameters", []) if each["in"] == "path"}
    assert declared == ({"id"} if "{id}" in path else set())
    assert all(each["required"] for each in operation.get("parameters", []) if each["in"] == "path")


@every_operation
def test_each_schema_is_valid_and_each_reference_leads_somewhere(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        jsonschema_rs.meta.validate(parameter["schema"])
    for media in operation.get("requestBody", {}).get("content", {}).values():
        jsonschema_rs.meta.validate(media["schema"])
        assert jsonschema_rs.is_valid(media["schema"], media["example"])
    for status, response in operation["responses"].items():
        if "$ref" in response:
            assert response["$ref"] == f"#/components/responses/{status}"
            assert status in DOCUMENT["components"]["responses"]
        else:
            jsonschema_rs.meta.validate(response["content"]["application/json"]["schema"])


@every_operation
def test_an_operation_names_the_credential_it_needs_and_what_it_may_answer(operation: dict[str, Any]) -> None:
    method = CATALOG[operation["operationId"].removesuffix("_one")]
    assert operation["security"] == ([] if method.public else [{"agent_key": []}])
    statuses = {int(status) for status in operation["responses"]}
    assert {200, 400, 404, 405, 406, 413, 429, 500, 503} <= statuses
    assert ({401, 403} <= statuses) == (not method.public)
    assert ({409, 415} <= statuses) == (not method.reads)
    assert (201 in statuses) == method.creates


def test_each_refused_status_is_described_with_its_codes() -> None:
    responses = DOCUMENT["components"]["responses"]
    assert responses.keys() == {str(code.status) for code in CODES.values()}
    for name, code in CODES.items():
        assert name in responses[str(code.status)]["description"]


def test_the_published_shape_of_errors_takes_the_errors_there_are(board: Board) -> None:
    shape = jsonschema_rs.Draft202012Validator(DOCUMENT["components"]["schemas"]["Error"])
    for reply in (board.get("/v1/me", key=None), board.get("/v1/memory?limit=0"), board.get("/v1/memory/none-such")):
        shape.validate(reply.json)
