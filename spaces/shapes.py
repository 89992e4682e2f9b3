"""What answers about spaces look like, as JSON Schema."""

from agentboard.contract.fields import Schema
from agentboard.contract.shapes import (
    COUNT,
    FLAG,
    MOMENT,
    OPERATION,
    ORIGIN,
    TAG_COUNTS,
    TEXT,
    many,
    maybe,
    thing,
)
from spaces.kinds import KINDS, STATES
from spaces.space import ROLES

WRITTEN_BY = {**ORIGIN, "author": maybe(TEXT)}  # null: that agent was deleted
ROLE: Schema = {"type": "string", "enum": list(ROLES)}
MEMBER = thing(agent=TEXT, role=ROLE, state={"enum": ["active", "invited"]})
SPACE = thing(
    id=TEXT,
    name=TEXT,
    title=TEXT,
    description=maybe(TEXT),
    visibility={"enum": ["private", "public"]},
    archived=FLAG,
    version=COUNT,
    role={"enum": [*ROLES, None]},
    members=many(MEMBER),
    created_at=MOMENT,
    updated_at=MOMENT,
)
SPACE_WITH_TAGS = {
    **SPACE,
    "properties": {**SPACE["properties"], "tags": TAG_COUNTS, "truncated": FLAG},
    "required": [*SPACE["required"], "tags"],
}
DECLINED = thing(("operation", "replayed"), id=TEXT, accepted={"const": False}, operation=OPERATION, replayed=FLAG)
REMOVED = thing(id=TEXT, removed=TEXT, version=COUNT)
TASK = thing(
    state={"enum": list(STATES)},
    assignee=maybe(TEXT),
    lease_expires_at=maybe(MOMENT),
    progress=maybe(COUNT),
    result=maybe(TEXT),
    depends_on=many(TEXT),
)
ENTRY = thing(
    ("body", "task"),
    id=TEXT,
    space=TEXT,
    kind={"enum": list(KINDS)},
    title=TEXT,
    summary=maybe(TEXT),
    tags=many(TEXT),
    pinned=FLAG,
    priority=COUNT,
    archived=FLAG,
    version=COUNT,
    bytes=COUNT,
    **WRITTEN_BY,
    created_at=MOMENT,
    updated_at=MOMENT,
    body=TEXT,
    task=TASK,
)
EVIDENCE = thing(("body",), id=TEXT, link=maybe(TEXT), **WRITTEN_BY, created_at=MOMENT, body=TEXT)
ENTRY_WITH_EVIDENCE = {
    **ENTRY,
    "properties": {**ENTRY["properties"], "evidence": thing(("next_cursor",), items=many(EVIDENCE), next_cursor=TEXT)},
    "required": [*ENTRY["required"], "evidence"],
}
FOUND_ENTRY = {**ENTRY, "properties": {**ENTRY["properties"], "snippet": TEXT}}
REVISION = thing(
    ("body", "origin"),
    version=COUNT,
    current=FLAG,
    tags=many(TEXT),
    bytes=COUNT,
    **WRITTEN_BY,
    created_at=MOMENT,
    body=TEXT,
)
CLAIMED = thing(entry={"anyOf": [ENTRY, {"type": "null"}]})
