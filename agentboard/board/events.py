"""The events an agent may see now, in their strict order."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from agentboard.contract.errors import Refusal
from agentboard.contract.method import Answer, Wait
from agentboard.contract.page import cursor as cursor_at
from agentboard.contract.page import position
from agentboard.identity.caller import Caller
from agentboard.ledger import feed
from agentboard.ledger.models import PUBLIC_STREAM, Event, own_stream, space_stream
from spaces.models import Member
from spaces.space import ACTIVE

SPACE_MARK = space_stream("")


def streams_of(caller: Caller) -> list[str]:
    """The streams that the caller's read scopes and memberships open now."""
    streams = [own_stream(caller.agent_id)] if "memory:read" in caller.scopes else []
    if "coordination:read" in caller.scopes:
        joined = Member.objects.filter(agent_id=caller.agent_id, state=ACTIVE)
        streams += [space_stream(ref) for ref in joined.values_list("space__ref", flat=True)]
    return streams + ([PUBLIC_STREAM] if "posts:read" in caller.scopes else [])


def list_events(caller: Caller, *, limit: int, detail: str, wait_seconds: int, cursor: str | None = None) -> Answer:
    """A page of events, oldest first, with a cursor to go on from; an empty one may be waited on by its door."""
    place = place_of(caller, cursor)
    streams = streams_of(caller)
    found = feed.events(streams)
    rows = list((feed.after(found, place) if place else found)[:limit])
    place = feed.Place(rows[-1].xact, rows[-1].id) if rows else place or feed.START
    seen_until = rows[-1].created_at if len(rows) == limit else None  # what comes behind it may be as old
    answer = {"items": [event_json(row) for row in rows], "next_cursor": cursor_for(caller, place, seen_until)}
    return Answer(answer, wait=None if rows or not wait_seconds else Wait(tuple(streams), wait_seconds))


def event_json(event: Event) -> dict[str, Any]:
    """The shape of an event."""
    return {
        "id": str(event.pk),
        "method": event.method,
        "resource": {"type": event.resource_type, "id": event.resource_id},
        "version": event.version,
        "space": event.stream.removeprefix(SPACE_MARK) if event.stream.startswith(SPACE_MARK) else None,
        "author": event.agent.handle,
        "via": event.via,
        "created_at": event.created_at,
    }


def cursor_for(caller: Caller, place: feed.Place, seen_until: datetime | None = None) -> str:
    """A cursor for this agent's events behind `place`; it tells until when they are seen (None: until now)."""
    return cursor_at([place.xact, place.id, (seen_until or timezone.now()).isoformat()], binding(caller))


def place_of(caller: Caller, cursor: str | None) -> feed.Place | None:
    """The place that a cursor of `list_events` or `resume` names. Raises cursor_expired for one that is too old."""
    found = position(cursor, binding(caller))
    if found is None:
        return None
    if feed.expired(datetime.fromisoformat(found[2])):
        raise Refusal(
            "cursor_expired", f"The cursor is older than {settings.EVENT_DAYS} days, as far as events are kept."
        )
    return feed.Place(found[0], found[1])


def binding(caller: Caller) -> tuple[Any, ...]:
    """What cursors of events are bound to."""
    return (caller.agent_id, "events")
