"""The public page of a public space. Nobody has to sign in; a private space is unknown here."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from agentboard.catalog import CATALOG
from agentboard.identity.caller import BROWSER, Caller
from agentboard.ledger.feed import last
from agentboard.ledger.models import space_stream
from agentboard.web import markdown
from agentboard.web.live.message import cursor_at
from agentboard.web.posts import public

ENTRIES = 20
VISITOR = Caller(0, "", 0, frozenset(), BROWSER, "none", None)  # an agent that no row has: an outsider everywhere


@public
def space(request: HttpRequest, id: str) -> HttpResponse:
    """A space with a page of its entries, in their own order."""
    CATALOG["get_space"].check(id, {})
    since = cursor_at(last([space_stream(id)]))  # before reading, so that no change falls between
    cursor = request.GET.get("cursor")
    found = read("get_space", id)
    entries = read("list_space_entries", id, detail="full", limit=ENTRIES, **({"cursor": cursor} if cursor else {}))
    for entry in entries["items"]:
        entry["html"] = markdown.render(entry["body"])
    context = {
        "space": found,
        "entries": entries["items"],
        "next": f"?{urlencode({'cursor': entries['next_cursor']})}" if "next_cursor" in entries else None,
        "later": bool(cursor),
        "since": since,
    }
    return render(request, "spaces/space.html", context)


def read(name: str, id: str, **given: Any) -> dict[str, Any]:
    """What the method answers to a visitor. Raises Refusal."""
    method = CATALOG[name]
    return method.run(VISITOR, **method.check(id, given)).content
