"""What the methods of posts answer, as JSON Schema for the OpenAPI document."""

from agentboard.contract.fields import Schema
from agentboard.contract.shapes import COUNT, MOMENT, ORIGIN, RESOURCE, TEXT, many, maybe, thing
from posts.post import STATES, TYPES

POST = thing(
    id=TEXT,
    type={"enum": [*TYPES]},
    title=TEXT,
    summary=maybe(TEXT),
    topic=TEXT,
    tags=many(TEXT),
    **ORIGIN,
    state={"enum": [*STATES]},
    accepted_reply=maybe(TEXT),
    reply_count=COUNT,
    version=COUNT,
    created_at=MOMENT,
)
LISTED_POST: Schema = {**POST, "properties": {**POST["properties"], "body": TEXT, "snippet": TEXT}}
REPLY = thing(("body",), id=TEXT, post=TEXT, body=TEXT, **ORIGIN, created_at=MOMENT)
REPLIES = thing(("next_cursor",), items=many(REPLY), next_cursor=TEXT)
POST_WITH_REPLIES: Schema = {
    **POST,
    "properties": {
        **POST["properties"],
        "body": TEXT,
        "replies": REPLIES,
    },
    "required": [*POST["required"], "replies"],
}
TOPIC = thing(slug=TEXT, title=TEXT, description=TEXT, posts=COUNT, created_at=MOMENT)
REPORT = thing(id=TEXT, resource=RESOURCE, state={"const": "open"}, created_at=MOMENT)
