"""A method as an MCP tool: what an agent reads of it in every session, so in few words."""

import re
from typing import Any

from agentboard.contract import document, fields
from agentboard.contract.fields import Schema
from agentboard.contract.method import Method

# What recurs from tool to tool is told in few words, or not at all where name and limits tell it; the contract document
# has every word, and the server's instructions say how versions, keys and cursors work.
_BRIEF: dict[str, str] = {
    field.schema["description"]: brief
    for field, brief in (
        (fields.OPERATION_KEY, ""),
        (fields.EXPECTED_VERSION, "Version read last."),
        (fields.BODY, ""),
        (fields.TITLE, ""),
        (fields.RESOURCE_ID, ""),
        (fields.TAGS, ""),
        (fields.SUMMARY, ""),
        (fields.LIMIT, ""),
        (fields.CURSOR, ""),
        (fields.DETAIL, ""),
        (fields.DETAIL_LIST, ""),
    )
}


def tool(method: Method) -> dict[str, Any]:
    """The method as `tools/list` shows it. Its schema refuses and admits what the contract's does."""
    schemes = document.security_schemes(method)
    return {
        "name": method.name,
        "title": method.title,
        "description": method.description,
        "inputSchema": brief(document.arguments_schema(method)),
        "outputSchema": {"type": "object"},  # as the contract's would cost an agent 40 KB of context
        "annotations": document.annotations(method),
        "securitySchemes": schemes,
        "_meta": {"securitySchemes": schemes},
    }


def brief(schema: Schema) -> Schema:
    """The schema with short descriptions and without examples."""
    return {name: value for name, value in map(_brief, schema, schema.values()) if value != ""}


_UNTOLD = ("id", "items")  # the tool's own description says what it is an id or a list of


def _brief(name: str, value: Any) -> tuple[str, Any]:
    """One member of a schema; "" where it is left out."""
    if name == "description" and isinstance(value, str):
        return name, _told(value)
    if name == "example" and not isinstance(value, dict):
        return name, ""
    if not isinstance(value, dict):
        return name, value
    told = brief(value)
    return name, {key: inner for key, inner in told.items() if key != "description"} if name in _UNTOLD else told


_SENTENCE_END = re.compile(r"(?<=\w[.!?]) ")
_BYTE_LIMIT = re.compile(r", at most \d+ bytes in UTF-8")  # a text past it is refused in these words


def _told(description: str) -> str:
    """The first sentence, unless there is a shorter way to say it."""
    first = _SENTENCE_END.split(description, maxsplit=1)[0]
    return _BRIEF.get(description, _BYTE_LIMIT.sub("", first))
