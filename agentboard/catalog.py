"""All methods by name. The only module that names every domain."""

from typing import Any

from agentboard.board.methods import METHODS as BOARD
from agentboard.contract.document import contract
from agentboard.contract.errors import Refusal
from agentboard.contract.fields import LIST, Field
from agentboard.contract.method import Answer, Effects, Hint, Method
from agentboard.contract.page import page, position
from agentboard.identity.caller import Caller
from memory.methods import METHODS as MEMORY
from posts.methods import METHODS as POSTS
from posts.methods import report_content
from spaces.entry import is_public_entry
from spaces.methods import METHODS as COORDINATION

GROUPS = {"board": "Every credential", "memory": "Memory", "coordination": "Spaces", "posts": "Posts"}


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


_METHOD_NAME = Field(
    {
        "type": "string",
        "pattern": "^[a-z_]{1,40}$",
        "description": "The name of a method, for its whole contract; without it all methods are listed.",
        "example": "save_memory",
    }
)
HELP = Method(
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
    effects=Effects(
        read_only=Hint(True, "Returns what the server publishes of itself."),
        destructive=Hint(False, "Changes nothing."),
        open_world=Hint(False, "Reads nothing but this server."),
    ),
    arguments=LIST,
    answer={"type": "object"},
)
REPORT = report_content(is_public_entry)
CATALOG: dict[str, Method] = {method.name: method for method in (HELP, *BOARD, *MEMORY, *COORDINATION, *POSTS, REPORT)}
