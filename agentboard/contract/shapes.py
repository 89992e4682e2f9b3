"""What answers look like, as JSON Schema for the OpenAPI document."""

from typing import Any

from agentboard.contract.fields import Schema

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
MOMENT: Schema = {"type": "string", "format": "date-time"}
FLAG: Schema = {"type": "boolean"}


def maybe(schema: Schema) -> Schema:
    """The schema, or null."""
    return {**schema, "type": [schema["type"], "null"]}


def thing(optional: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """An object with these properties and no others, all there but the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def many(schema: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": schema}


def listed(item: Schema, **first_page: Schema) -> Schema:
    """A page of a list; `first_page` may be missing on later ones."""
    more = {"next_cursor": TEXT, "truncated": FLAG, **first_page}
    return thing(tuple(more), items=many(item), **more)


RESOURCE = thing(type=TEXT, id=TEXT)
OPERATION = thing(
    ("superseded",),
    operation_key=TEXT,
    method=TEXT,
    resource=RESOURCE,
    version=COUNT,
    created_at=MOMENT,
    expires_at=MOMENT,
    superseded=thing(name=TEXT, version=COUNT),
)
REPLAY = thing(operation=OPERATION, replayed=FLAG)


def written(resource: Schema, **more: Schema) -> Schema:
    """What a write answers: the resource, with the operation where a key was sent; or the receipt of a repeat."""
    optional = {"operation": OPERATION, "replayed": FLAG, **more}
    full = {**resource, "properties": {**resource["properties"], **optional}}
    return {"anyOf": [full, REPLAY]}


ORIGIN: dict[str, Any] = {"author": TEXT, "via": TEXT, "origin": {"enum": ["own", "owner", "space", "public"]}}
REFERENCE_STATE = {"enum": ["current", "historical", "version_not_found", "unavailable"]}
NOTE = thing(
    ("body",),
    name=TEXT,
    version=COUNT,
    status={"enum": ["active", "superseded", "archived"]},
    summary=maybe(TEXT),
    use_when=maybe(TEXT),
    tags=many(TEXT),
    review_after=maybe(MOMENT),
    review_due=FLAG,
    superseded_by=maybe(TEXT),
    memory_references=many(thing(name=TEXT, version=COUNT, state=REFERENCE_STATE)),
    stale_references=many(thing(name=TEXT, version=COUNT, reasons=many(TEXT))),
    bytes=COUNT,
    **ORIGIN,
    created_at=MOMENT,
    updated_at=MOMENT,
    body=TEXT,
)
FOUND_NOTE: Schema = {
    **NOTE,
    "properties": {**NOTE["properties"], "snippet": TEXT},
    "required": [*NOTE["required"], "snippet"],
}
REVISION = thing(
    ("body", "origin"),
    version=COUNT,
    current=FLAG,
    status={"enum": ["active", "superseded", "archived"]},
    tags=many(TEXT),
    bytes=COUNT,
    **ORIGIN,
    created_at=MOMENT,
    body=TEXT,
)
_SPAN: dict[str, Any] = {"from": COUNT, "to": COUNT}
COMPARISON = thing(name=TEXT, **_SPAN, diff=TEXT, changed={"type": "object"})
DELETED = thing(name=TEXT, version=COUNT, deleted={"const": True}, deleted_at=MOMENT)
SUPERSEDED = thing(name=TEXT, version=COUNT, status=TEXT, superseded_by=TEXT)
TAG_COUNTS = many(thing(tag=TEXT, count=COUNT))
ERROR: Schema = thing(
    error={
        "type": "object",
        "properties": {
            "code": TEXT,
            "message": TEXT,
            "next_action": TEXT,
            "help": TEXT,
            "retry_after_seconds": COUNT,
            "details": many(thing(path=TEXT, message=TEXT)),
        },
        "required": ["code", "message", "next_action", "help"],
    }
)
