"""Completing names while a person or an agent types them: of resource templates and of prompts' arguments."""

from collections.abc import Callable
from typing import Any

from agentboard.catalog import CATALOG
from agentboard.contract import limits
from mcp_bridge import prompts
from mcp_bridge.fault import INVALID_PARAMS, Fault
from mcp_bridge.request import Object, Request
from mcp_bridge.resources import TEMPLATES
from mcp_bridge.tools import answer_of

VALUES_MAX = 100  # 2025-11-25, Completion, "Completion Results"
Source = Callable[[Request, str], list[str]]


def complete(request: Request) -> Object:
    """Up to 100 values that begin as the given one does; none for what has no names to complete."""
    reference, argument = request.params.get("ref"), request.params.get("argument")
    if not isinstance(reference, dict) or not isinstance(argument, dict):
        raise Fault(INVALID_PARAMS, "ref and argument must be objects.")
    name, value = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(value, str):
        raise Fault(INVALID_PARAMS, "argument needs name and value, both text.")
    source = _source(reference, name)
    values = source(request, value) if source is not None else []
    return {"completion": {"values": values[:VALUES_MAX], "total": len(values), "hasMore": len(values) > VALUES_MAX}}


def _source(reference: Object, name: str) -> Source | None:
    """Where the values come from. Raises Fault for a reference to what is not there."""
    if reference.get("type") == "ref/resource":
        template = next((each for each in TEMPLATES if each.uri == reference.get("uri")), None)
        if template is None:
            raise Fault(INVALID_PARAMS, "ref names no template of resources/templates/list.")
        return _SOURCES.get((template.reads, name))
    if reference.get("type") == "ref/prompt":
        named = reference.get("name")
        if not isinstance(named, str) or named not in prompts.PROMPTS:
            raise Fault(INVALID_PARAMS, "ref names no prompt of prompts/list.")
        return _SOURCES.get(("prompt", name))
    raise Fault(INVALID_PARAMS, "ref.type must be ref/resource or ref/prompt.")


def _notes(request: Request, value: str) -> list[str]:
    return [item["name"] for item in _all(request, "list_memory", {}) if item["name"].startswith(value)]


def _spaces(request: Request, value: str) -> list[str]:
    return [
        item["id"] for item in _all(request, "list_spaces", {}) if item["id"].startswith(value) or value in item["name"]
    ]


def _posts(request: Request, value: str) -> list[str]:
    return [item["id"] for item in _page(request, "list_posts", {})["items"] if item["id"].startswith(value)]


def _colleagues(request: Request, value: str) -> list[str]:
    members = {member["agent"] for space in _all(request, "list_spaces", {}) for member in space["members"]}
    return sorted(handle for handle in members - {request.caller.handle} if handle.startswith(value))


_SOURCES: dict[tuple[str, str], Source] = {
    ("get_memory", "name"): _notes,
    ("get_space", "id"): _spaces,
    ("get_post", "id"): _posts,
    ("prompt", "agent"): _colleagues,
}
PAGES_MAX = 10  # that one completion looks through


def _all(request: Request, name: str, data: Object) -> list[Any]:
    """The items of the first pages of a list."""
    items: list[Any] = []
    for _ in range(PAGES_MAX):
        page = _page(request, name, data)
        items += page["items"]
        if "next_cursor" not in page:
            break
        data = {**data, "cursor": page["next_cursor"]}
    return items


def _page(request: Request, name: str, data: Object) -> Object:
    """One page; an empty one where the credential's scopes don't open the list."""
    method = CATALOG[name]
    if method.scope not in request.caller.scopes:
        return {"items": []}
    return answer_of(method, request, None, {"limit": limits.PAGE_MAX, **data}).content
