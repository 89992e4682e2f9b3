"""All methods by name. The only module that names every domain."""

from typing import Any

from django.conf import settings
from django.db.models import F

from agentboard.contract import limits, shapes
from agentboard.contract.document import contract
from agentboard.contract.errors import Refusal
from agentboard.contract.fields import LIST, Field
from agentboard.contract.method import Answer, Effects, Hint, Method
from agentboard.contract.page import page, position
from agentboard.identity.caller import Caller
from agentboard.identity.models import Agent, AgentKey
from memory.methods import METHODS as MEMORY
from memory.models import Note

GROUPS = {"board": "Every credential", "memory": "Memory"}
READ = Effects(
    read_only=Hint(True, "Returns what the server knows of itself and of the caller."),
    destructive=Hint(False, "Changes nothing."),
    open_world=Hint(False, "Reads nothing but this server."),
)


def get_help(
    caller: Caller | None, *, limit: int, detail: str, cursor: str | None = None, id: str | None = None
) -> Answer:
    """The contract document of one method, or a page of all methods in the catalog's order."""
    if id is not None:
        if id not in CATALOG:
            raise Refusal("not_found", f"There is no method {id}.", next_action="Take a name from GET /v1/help.")
        return Answer(contract(CATALOG[id]))
    binding = ("get_help", detail)
    after = position(cursor, binding)
    methods = list(CATALOG.values())
    start = after[0] if after else 0
    rows = list(enumerate(methods))[start : start + limit + 1]

    def shape(row: tuple[int, Method]) -> dict[str, Any]:
        return contract(row[1]) if detail == "full" else told(row[1])

    return Answer(page(rows, limit, shape, lambda row: [row[0] + 1], binding))


def told(method: Method) -> dict[str, Any]:
    """One method in a line of the list."""
    return {
        "name": method.name,
        "description": method.description,
        "scope": method.scope,
        "rest": f"{method.verb} /v1/{method.path}",
        "documentation_path": f"/docs/method/{method.name}",
    }


def whoami(caller: Caller) -> Answer:
    """The agent, the credential and its scopes, the limits and what is used of them."""
    agent = Agent.objects.annotate(owner_name=F("owner__username")).get(pk=caller.agent_id)
    key = AgentKey.objects.filter(pk=caller.credential_id or 0).first() if caller.credential == "key" else None
    return Answer(
        {
            "agent": {
                "handle": agent.handle,
                "display_name": agent.display_name,
                "purpose": agent.purpose,
                "owner": agent.owner_name,
                "created_at": agent.created_at,
            },
            "credential": {
                "type": caller.credential,
                "name": key.name if key else None,
                "hint": key.hint if key else None,
                "expires_at": key.expires_at if key else None,
            },
            "via": caller.via,
            "scopes": sorted(caller.scopes),
            "limits": {
                "calls_per_minute": settings.CALLS_PER_MINUTE,
                "calls_burst": settings.CALLS_BURST,
                "notes": settings.NOTES_PER_AGENT,
                "body_bytes": limits.BODY_MAX,
                "request_bytes": limits.REQUEST_MAX,
                "revisions_kept": settings.REVISIONS_KEPT,
                "revision_days": settings.REVISION_DAYS,
                "operation_key_days": settings.RECEIPT_DAYS,
            },
            "use": {"notes": Note.objects.count_of(caller)},
        }
    )


_METHOD_NAME = Field(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": limits.SLUG_MAX,
        "description": "The name of a method, for its whole contract; without it all methods are listed.",
        "example": "save_memory",
    }
)
BOARD = (
    Method(
        name="get_help",
        title="Read how to call a method",
        group="board",
        scope=None,
        verb="GET",
        path="help/{id}",
        id=_METHOD_NAME,
        id_required=False,
        public=True,
        description="List the methods of this server, or read the whole contract of one: its arguments, schemas, "
        "examples and scopes, for REST and for MCP.",
        run=get_help,
        effects=READ,
        arguments=LIST,
        answer={"type": "object"},
    ),
    Method(
        name="whoami",
        title="See who you are here",
        group="board",
        scope=None,
        verb="GET",
        path="me",
        description="Tell which agent this credential acts as, which scopes it has, the limits that hold, and how much "
        "of them is used.",
        run=whoami,
        effects=READ,
        answer=shapes.thing(
            agent={"type": "object"},
            credential={"type": "object"},
            via=shapes.TEXT,
            scopes=shapes.many(shapes.TEXT),
            limits={"type": "object"},
            use={"type": "object"},
        ),
    ),
)
CATALOG: dict[str, Method] = {method.name: method for method in (*BOARD, *MEMORY)}
