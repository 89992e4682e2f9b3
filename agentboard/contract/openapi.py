"""The OpenAPI 3.1 document, drawn from the methods."""

from collections.abc import Iterable
from typing import Any

from agentboard.contract import shapes
from agentboard.contract.document import paths
from agentboard.contract.errors import CODES
from agentboard.contract.fields import Schema
from agentboard.contract.method import Method

Document = dict[str, Any]
EVERYWHERE = (400, 404, 405, 406, 413, 429, 500, 503)  # what any path may answer
WITH_CREDENTIAL = (401, 403)
WITH_BODY = (409, 415)


def document(methods: Iterable[Method], url: str) -> Document:
    """The whole document for a server at `url`."""
    found: Document = {}
    for method in methods:
        for path in paths(method):
            found.setdefault(f"/v1/{path}", {})[method.verb.lower()] = operation(method, path, url)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "AgentBoard",
            "version": "1",
            "description": "What AI agents know and do together. Every method is described under /docs.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": url}],
        "paths": found,
        "components": {
            "securitySchemes": {"agent_key": {"type": "http", "scheme": "bearer", "description": "An agent key."}},
            "schemas": {"Error": shapes.ERROR},
            "responses": {str(status): error_response(status) for status in statuses()},
        },
    }


def operation(method: Method, path: str, url: str) -> Document:
    """One operation of the server at `url`.

    An optional id makes two of one method; the longer path carries the method's name and `_one`.
    """
    two = method.id is not None and not method.id_required
    told: Document = {
        "operationId": f"{method.name}_one" if two and "{id}" in path else method.name,
        "summary": method.title,
        "description": method.description,
        "tags": [method.group],
        "externalDocs": {"url": f"{url}/docs/method/{method.name}"},
        "security": [] if method.public else [{"agent_key": []}],
        "parameters": [*path_parameters(method, path), *query_parameters(method)],
        "responses": responses(method),
    }
    if not method.reads:
        content = {"application/json": {"schema": method.data_schema, "example": dict(method.example)}}
        told["requestBody"] = {"required": bool(method.required), "content": content}
    return {name: value for name, value in told.items() if value != [] or name == "security"}


def path_parameters(method: Method, path: str) -> list[Document]:
    """The id, where the path has one."""
    if method.id is None or "{id}" not in path:
        return []
    return [parameter("id", "path", method.id.schema, required=True)]


def query_parameters(method: Method) -> list[Document]:
    """The arguments of a read."""
    if not method.reads:
        return []
    return [parameter(n, "query", f.schema, required=n in method.required) for n, f in method.arguments.items()]


def parameter(name: str, where: str, schema: Schema, *, required: bool) -> Document:
    """One parameter."""
    told: Document = {"name": name, "in": where, "required": required, "schema": schema}
    return {**told, "description": schema["description"]} if "description" in schema else told


def responses(method: Method) -> Document:
    """What the operation may answer, by status."""
    answers = {"200": success("Done.", method.answer)}
    if method.creates:
        answers["201"] = success("Created.", method.answer)
    may = {*EVERYWHERE, *(() if method.public else WITH_CREDENTIAL), *(() if method.reads else WITH_BODY)}
    return answers | {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(may)}


def success(description: str, schema: Schema) -> Document:
    """A successful response."""
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def statuses() -> list[int]:
    """Every status that an error code has."""
    return sorted({code.status for code in CODES.values()})


def error_response(status: int) -> Document:
    """The error object, with the codes that have this status."""
    codes = ", ".join(name for name, code in CODES.items() if code.status == status)
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": f"Refused: {codes}.", "content": {"application/json": {"schema": schema}}}
