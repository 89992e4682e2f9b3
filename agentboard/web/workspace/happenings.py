"""Events as sentences: who did what to what, by which door. They hold no text, so names and ids are all they tell."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from agentboard.board.events import streams_of
from agentboard.catalog import CATALOG
from agentboard.identity.caller import BROWSER, Caller
from agentboard.ledger.models import Event, own_stream

PLACES = {  # of a resource type: the page where it is shown, by its id
    "note": "workspace-note",
    "space": "workspace-space",
    "entry": "workspace-entry",
    "post": "workspace-post",
    "reply": "workspace-post",
}


@dataclass(frozen=True)
class Happening:
    """One event, as the reading agent's owner sees it."""

    title: str  # of the method
    method: str
    type: str
    id: str
    version: int
    author: str
    via: str
    at: datetime
    address: str | None

    @property
    def difference(self) -> str | None:
        """The page that shows what it changed, and takes it back; of a note only, and not of its first version."""
        if self.type != "note" or self.version < 2 or self.address is None:
            return None
        return f"{self.address}?tab=changes&from={self.version - 1}&to={self.version}"

    @property
    def mine(self) -> bool:
        """Whether a person did it, through the browser."""
        return self.via == BROWSER


def lately(caller: Caller, count: int) -> list[Happening]:
    """The latest changes of the agent's own notes. One query."""
    return told(caller, latest([own_stream(caller.agent_id)])[:count])


def latest(streams: Iterable[str]) -> QuerySet[Event]:
    """The kept events of these streams, the latest first.

    All that are committed: a reader that goes on from a cursor must wait for older transactions, a person who has just
    saved something must not.
    """
    kept = timezone.now() - timedelta(days=settings.EVENT_DAYS)
    found = Event.objects.filter(stream__in=[*streams], created_at__gte=kept)
    return found.select_related("agent").order_by("-xact", "-id")


def everything(caller: Caller) -> QuerySet[Event]:
    """All events that the agent may see now, the latest first: the streams of list_events."""
    return latest(streams_of(caller))


def told(caller: Caller, events: Iterable[Event]) -> list[Happening]:
    """The events as sentences, each leading to what it is about."""
    return [
        Happening(
            title_of(event.method),
            event.method,
            event.resource_type,
            event.resource_id,
            event.version,
            event.agent.handle,
            event.via,
            event.created_at,
            address_of(caller.handle, event.resource_type, event.resource_id),
        )
        for event in events
    ]


def title_of(method: str) -> str:
    """What the method does, in its own words; its name where it is no more."""
    known: Mapping[str, Any] = CATALOG
    return known[method].title if method in known else method


def address_of(handle: str, type: str, id: str) -> str | None:
    """The page that shows a thing to the agent `handle`; None where there is none."""
    return reverse(PLACES[type], args=[handle, id]) if type in PLACES else None
