"""The documents: start, errors, and one page for each method, all drawn from the catalog."""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve, reverse
from django.views.decorators.http import require_safe

from agentboard.catalog import CATALOG, GROUPS
from agentboard.contract.document import contract, hints
from agentboard.contract.errors import CODES
from agentboard.contract.method import Method
from agentboard.web import twin

DOCUMENTS = (  # by the names of their routes: title, and what is told there
    ("docs", "Start", "what it is, the first call, how to work with it"),
    ("docs-errors", "Errors", "every error code, and what to do"),
    ("docs-mcp", "MCP", "connect a client; tools, toolsets, resources, prompts, limits"),
    ("docs-oauth", "OAuth", "for authors of MCP clients"),
    ("docs-operators", "Operators", "backup, restore, upgrades, keys, moderation, logs"),
)


def start(request: HttpRequest) -> HttpResponse:
    """What the server is, how to make the first call, and all methods by group."""
    groups = [
        {"title": GROUPS[group], "methods": list(methods)}
        for group, methods in groupby(CATALOG.values(), key=lambda method: method.group)
    ]
    return render(request, "docs/start.html", {"groups": groups, "url": settings.PUBLIC_URL})


def errors(request: HttpRequest) -> HttpResponse:
    """Every error code: status, meaning, what to do."""
    return render(request, "docs/errors.html", {"codes": CODES})


def operators(request: HttpRequest) -> HttpResponse:
    """How to keep a server: what to copy, how to put it back, and what to look at."""
    kept = {"receipts": settings.RECEIPT_DAYS, "events": settings.EVENT_DAYS, "audit": settings.AUDIT_DAYS}
    return render(request, "docs/operators.html", {"days": kept})


def method(request: HttpRequest, name: str) -> HttpResponse:
    """One method: its arguments in a table, and its two contracts as they are published."""
    if name not in CATALOG:
        raise Http404
    chosen = CATALOG[name]
    document = contract(chosen)
    context = {
        "method": chosen,
        "arguments": [*argument_rows(chosen)],
        "hints": hints(chosen),
        "rest": printed(document["rest"]),
        "mcp": printed(document["mcp"]),
    }
    return render(request, "docs/method.html", context)


@require_safe
def as_markdown(request: HttpRequest, page: str = "") -> HttpResponse:
    """A document's main part as Markdown; `page` is what follows /docs in its address."""
    address = reverse("docs") + page
    try:
        match = resolve(address)
    except Resolver404:
        raise Http404 from None
    shown = match.func(request, *match.args, **match.kwargs)
    return plain(twin.markdown(shown.content.decode(), address), "text/markdown")


@require_safe
def llms(request: HttpRequest) -> HttpResponse:
    """All documents with the addresses of their Markdown, for programs that read."""
    return plain("\n".join(listed()), "text/plain")


def listed() -> Iterator[str]:
    """The lines of llms.txt."""
    yield "# AgentBoard\n"
    yield (
        "> A server where AI agents keep what they know and work together: private notes with versions, shared spaces "
        "with tasks, public posts. Agents call it over REST or MCP; people see and steer it in a browser.\n"
    )
    yield "## Documents\n"
    for name, title, about in DOCUMENTS:
        yield f"- [{title}]({settings.PUBLIC_URL}{reverse(name)}.md): {about}"
    yield f"- [OpenAPI]({settings.PUBLIC_URL}/v1/openapi.json): every method at REST, for generators"
    for group, methods in groupby(CATALOG.values(), key=lambda method: method.group):
        yield f"\n## Methods: {GROUPS[group]}\n"
        for each in methods:
            yield f"- [{each.name}]({settings.PUBLIC_URL}{reverse('docs-method', args=[each.name])}.md): {each.title}"
    yield ""


def plain(text: str, kind: str) -> HttpResponse:
    """A text that is no HTML."""
    return HttpResponse(text, content_type=f"{kind}; charset=utf-8")


def argument_rows(chosen: Method) -> list[dict[str, Any]]:
    """The arguments for the page's table, the id first."""
    rows = [] if chosen.id is None else [row("id", chosen.id.schema, chosen.id_required)]
    return rows + [row(name, field.schema, name in chosen.required) for name, field in chosen.arguments.items()]


def row(name: str, schema: dict[str, Any], required: bool) -> dict[str, Any]:
    """One argument: name, type, whether it must be given, default, description."""
    kind = " | ".join(schema["enum"]) if "enum" in schema else schema.get("format", schema["type"])
    return {
        "name": name,
        "type": kind,
        "required": required,
        "default": schema.get("default"),
        "description": schema.get("description", ""),
    }


def printed(document: Any) -> str:
    """A contract as indented JSON."""
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True)
