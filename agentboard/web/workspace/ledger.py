"""The ledger of notes: filtered and paged by its address, so that what is seen can be linked to."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from agentboard.catalog import CATALOG
from agentboard.web.workspace.acting import Acting, of_agent
from agentboard.web.workspace.request import Call, curl

PAGE = 25  # notes
TAGS_SHOWN = 12
STATES = {
    "": "All notes",
    "due": "Due for review",
    "week": "Changed this week",
    "active": "Active",
    "superseded": "Superseded",
    "archived": "Archived",
}
STATUSES = ("active", "superseded", "archived")
ORDERS = {"updated": "Last changed", "name": "Name"}
FILTERS = ("q", "state", "order", "tag")


@dataclass(frozen=True)
class Ledger:
    """A page of an agent's notes under the filters of an address."""

    acting: Acting
    given: Mapping[str, str]  # of FILTERS, those that are set
    found: dict[str, Any]  # what the method answered
    call: Call

    @property
    def notes(self) -> list[dict[str, Any]]:
        """The notes of this page."""
        items: list[dict[str, Any]] = self.found["items"]
        return items

    @property
    def states(self) -> list[tuple[str, str, bool]]:
        """What the list of states offers: value, words, chosen."""
        return [(value, words, value == self.given.get("state", "")) for value, words in STATES.items()]

    @property
    def orders(self) -> list[tuple[str, str, bool]]:
        """What the list of orders offers."""
        return [(value, words, value == self.given.get("order", "updated")) for value, words in ORDERS.items()]

    @property
    def tags(self) -> list[tuple[str, int, str, bool]]:
        """The tags in use, the most used first: tag, count, where it leads, chosen. A chosen one leads away from it."""
        chosen = self.given.get("tag")
        counts = [(each["tag"], each["count"]) for each in self.found.get("tags", [])]
        shown = counts[:TAGS_SHOWN] + [pair for pair in counts[TAGS_SHOWN:] if pair[0] == chosen]
        if chosen and chosen not in dict(shown):
            shown.append((chosen, 0))
        return [(tag, count, self.address(tag="" if tag == chosen else tag), tag == chosen) for tag, count in shown]

    @property
    def more_tags(self) -> int:
        """How many tags are not shown."""
        return max(len(self.found.get("tags", [])) - TAGS_SHOWN, 0)

    @property
    def next(self) -> str | None:
        """The address of the next page."""
        cursor = self.found.get("next_cursor")
        return self.address(cursor=cursor) if cursor else None

    @property
    def filtered(self) -> bool:
        """Whether a filter leaves notes out."""
        return any(name in self.given for name in ("q", "state", "tag"))

    def address(self, **changed: str) -> str:
        """The address of the ledger with these filters changed."""
        given = {name: value for name, value in {**self.given, **changed}.items() if value}
        path = reverse("workspace-memory", args=[self.acting.agent.handle])
        return f"{path}?{urlencode(given)}" if given else path

    @property
    def twin(self) -> str:
        """The same from a shell."""
        return curl(self.call)


def ledger(acting: Acting, given: Mapping[str, str], cursor: str | None = None) -> Ledger:
    """The notes under these filters. Raises Refusal for words, a tag or a cursor that the method refuses."""
    kept = {name: given[name] for name in FILTERS if given.get(name)}
    kept = {name: value for name, value in kept.items() if name not in CHOICES or value in CHOICES[name]}
    name, data = asked(kept)
    data |= {"cursor": cursor} if cursor else {}
    found = acting.done(name, **data)
    return Ledger(acting, kept, found, Call(CATALOG[name], None, data))


CHOICES = {"state": STATES, "order": ORDERS}


def asked(given: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """The method that the filters mean, and its arguments. Words are looked for in any order of time or review."""
    state = given.get("state", "")
    data: dict[str, Any] = {"limit": PAGE}
    data |= {"tag": given["tag"]} if "tag" in given else {}
    data |= {"status": state} if state in STATUSES else {}
    if "q" in given:
        return "search_memory", {"q": given["q"], **data}
    data |= {"review_due": True} if state == "due" else {}
    data |= {"updated_since": week_ago()} if state == "week" else {}
    return "list_memory", {"order": given.get("order", "updated"), **data}


def week_ago() -> str:
    """The start of the day a week ago, so that the pages of one list agree on it."""
    day = (timezone.now() - timedelta(days=7)).date()
    return f"{day.isoformat()}T00:00:00Z"


@require_safe
@of_agent
def memory(request: HttpRequest, acting: Acting) -> HttpResponse:
    """All notes of an agent, filtered and paged."""
    shown = ledger(acting, request.GET.dict(), request.GET.get("cursor"))
    context = {"acting": acting, "section": "memory", "ledger": shown, "later": "cursor" in request.GET}
    return render(request, "workspace/memory.html", context)
