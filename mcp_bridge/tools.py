"""The methods of the catalog as MCP tools."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from agentboard import rate
from agentboard.call import call
from agentboard.catalog import CATALOG
from agentboard.contract.errors import Refusal, invalid
from agentboard.contract.method import Answer, Method, Wait, named
from agentboard.contract.tool import tool
from agentboard.door import refusal_of
from mcp_bridge import confirmation
from mcp_bridge.fault import INVALID_PARAMS, Fault
from mcp_bridge.request import Object, Request

TOOLSETS = ("memory", "coordination", "posts")
ALWAYS = ("get_help", "whoami", "resume")
OPTIONS = orjson.OPT_UTC_Z  # times as at REST


@dataclass(frozen=True)
class Waiting:
    """A result that may be held back: the endpoint asks again when something comes, until the time is over."""

    result: Object
    wait: Wait


def toolset(method: Method) -> str | None:
    """The toolset that a method belongs to; None for those that every list has."""
    if method.name in ALWAYS:
        return None
    return method.group if method.group in TOOLSETS else "coordination"  # inbox and events are about other agents


def chosen(names: Iterable[str]) -> frozenset[str]:
    """The toolsets of these names, all for none. Raises Fault that names the ones there are."""
    wanted = frozenset(names)
    if unknown := sorted(wanted.difference(TOOLSETS)):
        known = ", ".join(TOOLSETS)
        raise Fault(INVALID_PARAMS, f"{named(unknown[0])} is not a toolset; there are {known}.", status=400)
    return wanted or frozenset(TOOLSETS)


def offered(method: Method, toolsets: frozenset[str]) -> bool:
    """Whether a client that asked for these toolsets may call the method."""
    return toolset(method) is None or toolset(method) in toolsets


def list_tools(request: Request) -> Object:
    """All tools that the credential's scopes allow, in the order of the catalog and on one page."""
    return {"tools": orjson.Fragment(_listed(request.caller.scopes, request.toolsets))}


@cache  # scopes and toolsets have 64 × 8 combinations at most
def _listed(scopes: frozenset[str], toolsets: frozenset[str]) -> bytes:
    allowed = (method for method in CATALOG.values() if method.scope is None or method.scope in scopes)
    return orjson.dumps([tool(method) for method in allowed if offered(method, toolsets)])


def call_tool(request: Request) -> Object | Waiting:
    """The result of a tool. A refusal is a result too, with isError; raises Fault for what is no call of a tool.

    An OAuth token without the scope is told by HTTP, so it may raise Refusal insufficient_scope.
    """
    method = _method(request.params.get("name"), request.toolsets)
    arguments = request.params.get("arguments")
    if not isinstance(arguments, (dict, type(None))):
        raise Fault(INVALID_PARAMS, "arguments must be an object.")
    try:
        return _called(request, method, arguments or {})
    except Fault:
        raise
    except Exception as error:
        refusal = refusal_of(error)
        if refusal.code == "insufficient_scope" and request.caller.credential == "token":
            raise refusal from None
        return result(refusal.as_json(), error=True)


def _method(name: Any, toolsets: frozenset[str]) -> Method:
    method = CATALOG.get(name) if isinstance(name, str) else None
    if method is None:
        shown = f" {named(name)}" if isinstance(name, str) else ""
        raise Fault(INVALID_PARAMS, f"Unknown tool{shown}: take a name from tools/list.")
    if not offered(method, toolsets):
        raise Fault(INVALID_PARAMS, f"Unknown tool {method.name}: the toolsets in the endpoint's URL leave it out.")
    return method


def _called(request: Request, method: Method, arguments: Object) -> Object | Waiting:
    asks = confirmation.must_ask(request, method)
    if asks and not _confirmed(request, method, arguments):
        rate.spend(request.caller)
        return confirmation.question(request, method, *split(method, arguments))
    answer = call(method, request.caller, lambda: split(method, arguments))
    found = result(answer.content)
    return Waiting(found, answer.wait) if answer.wait is not None else found


def _confirmed(request: Request, method: Method, arguments: Object) -> bool:
    """Whether the person has said yes to this very call. A call that would be refused anyway is not asked about."""
    if method.scope is not None and method.scope not in request.caller.scopes:
        return True
    resource, data = split(method, arguments)
    method.check(resource, data)
    return confirmation.answered(request, method, resource, data)


def split(method: Method, arguments: Mapping[str, Any]) -> tuple[str | None, Object]:
    """The id and `data` of a tool's arguments. Raises invalid_arguments, with the way out of the usual slips."""
    for name in arguments:
        if name not in ("id", "data"):
            raise _misplaced(method, name)
    data = arguments.get("data")
    if isinstance(data, str):
        raise _said(
            "data", "must be an object, not text", "Send data as a JSON object, not as a string that holds one."
        )
    if data is not None and not isinstance(data, dict):
        raise invalid("data", "must be an object")
    if data and "data" in data and "data" not in method.arguments:
        raise _said(
            "data.data", "is data inside data", "Send the fields of the inner data as data: it is wrapped twice."
        )
    resource = arguments.get("id")
    if resource is not None and not isinstance(resource, str):
        raise invalid("id", "must be text")
    return resource, data or {}


def _misplaced(method: Method, name: str) -> Refusal:
    if name in method.arguments:
        return _said(name, "belongs inside data", f'Send {{"data": {{"{name}": …}}}}, with id beside data.')
    return _said(
        named(name), f"is not an argument of {method.name}", "Send id and data only; get_help shows what data takes."
    )


def _said(path: str, message: str, next_action: str) -> Refusal:
    details = [{"path": path, "message": message}]
    return Refusal("invalid_arguments", f"{path} {message}.", next_action=next_action, details=details)


def result(content: Object, *, error: bool = False) -> Object:
    """A tool's result: the object as structured content and the same as text, written once."""
    written = orjson.dumps(content, option=OPTIONS)
    return {
        "content": [{"type": "text", "text": written.decode()}],
        "structuredContent": orjson.Fragment(written),
        "isError": error,
    }


def answer_of(method: Method, request: Request, resource: str | None, data: Object) -> Answer:
    """The answer of a method that another part of the protocol reads from: resources, prompts, completion."""
    return call(method, request.caller, lambda: (resource, data))
