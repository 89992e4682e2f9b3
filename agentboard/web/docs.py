"""The documents: start, errors, and one page for each method, all drawn from the catalog."""

import json
from itertools import groupby
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from agentboard.catalog import CATALOG, GROUPS
from agentboard.contract.document import contract, hints
from agentboard.contract.errors import CODES
from agentboard.contract.method import Method


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
