"""What has changed in a stream since a reader last looked, without ever stepping over a change that commits late."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from django.conf import settings
from django.db import connection
from django.db.models import Max, Model, Q, QuerySet, Subquery
from django.utils import timezone

from agentboard.ledger.models import Event, Horizon
from agentboard.ledger.versioned import names

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Position:
    """Where a reader stands: everything before it was seen.

    On PostgreSQL a transaction number below which nothing was running any more when the reader looked: what was still
    running then, and commits late with a smaller event id, has a number at or above it, so it is read the next time
    (and what was seen already may be read twice). On SQLite, whose one writer commits in order, an event id.
    """

    at: int


_HORIZON = "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)"


def here() -> Position:
    """The present position, for a reader that is about to read the whole state."""
    table, name = names(Event)
    sqlite = f"SELECT coalesce(max({name('id')}), 0) FROM {table}"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_HORIZON}" if connection.vendor == "postgresql" else sqlite)
        return Position(cursor.fetchone()[0])


def changed(stream: str, resource_type: str, since: Position) -> tuple[list[str], Position]:
    """The ids of the stream's resources with an event since `since`, and the position to ask from the next time."""
    table, name = names(Event)
    if connection.vendor == "postgresql":
        later, upto = f"{name('xact')} >= %s", _HORIZON
    else:
        later, upto = f"{name('xact')} = 0 AND {name('id')} > %s", f"max({name('id')})"
    statement = (
        f"SELECT {name('resource_id')}, {upto} FROM {table} WHERE {name('stream')} = %s AND {later} "
        f"AND {name('resource_type')} = %s GROUP BY {name('resource_id')}"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, (stream, since.at, resource_type))
        rows = cursor.fetchall()
    return [row[0] for row in rows], Position(max((row[1] for row in rows), default=since.at))


@dataclass(frozen=True, order=True)
class Place:
    """An event's place in the strict order of all events: by transaction, then by id."""

    xact: int
    id: int


START = Place(0, 0)


def events(streams: Collection[str]) -> QuerySet[Event]:
    """The kept events of the streams in their order, but none that a running transaction could still come before."""
    kept = timezone.now() - timedelta(days=settings.EVENT_DAYS)
    found = Event.objects.filter(stream__in=streams, created_at__gte=kept, xact__lt=Horizon())
    return found.select_related("agent").order_by("xact", "id")


def after(found: QuerySet[Event], place: Place) -> QuerySet[Event]:
    """Those behind `place`."""
    later = Q(xact__gt=place.xact) | Q(xact=place.xact, id__gt=place.id)
    return found.filter(later, xact__gte=place.xact)  # the second lets an index start there


def latest_of_each(found: QuerySet[Event], limit: int) -> tuple[list[Event], int]:
    """The latest event of each resource among these, the latest first and at most so many, and how many there are.

    The latest is the one written last: who changes a resource has waited for the change before.
    """
    each = found.order_by().values("resource_type", "resource_id").annotate(latest=Max("id"))
    ids = list(each.order_by("-latest").values_list("latest", flat=True)[:limit])
    events = Event.objects.filter(pk__in=ids).select_related("agent").order_by("-pk")
    return list(events), each.count()


def last(streams: Collection[str]) -> Place:
    """The place of the last event of the streams that can be read now."""
    return place_of(events(streams).order_by("-xact", "-id").values_list("xact", "id").first())


def top() -> Place:
    """The place of the last event of all that can be read now: whoever reads later has seen up to there."""
    return place_of(_latest().values_list("xact", "id").first())


def with_top(rows: QuerySet[Row]) -> QuerySet[Row]:
    """The rows, each with `top_xact` and `top_id`: the same place, for a reader that asks for something else anyway."""
    xact, id = (Subquery(_latest().values(column)[:1]) for column in ("xact", "id"))
    found: QuerySet[Row] = rows.annotate(top_xact=xact, top_id=id)
    return found


def _latest() -> QuerySet[Event]:
    return Event.objects.filter(xact__lt=Horizon()).order_by("-xact", "-id")


def place_of(row: tuple[int | None, int | None] | None) -> Place:
    """The place with these numbers; the start where there are none."""
    xact, id = row or (None, None)
    return START if xact is None or id is None else Place(xact, id)


def streams_since(since: Position) -> tuple[set[str], Position]:
    """The streams with an event since `since`, and the position to ask from the next time."""
    table, name = names(Event)
    if connection.vendor == "postgresql":
        later, upto = f"{name('xact')} >= %s", _HORIZON
    else:
        later, upto = f"{name('id')} > %s", f"max({name('id')})"
    statement = f"SELECT {name('stream')}, {upto} FROM {table} WHERE {later} GROUP BY {name('stream')}"
    with connection.cursor() as cursor:
        cursor.execute(statement, [since.at])
        rows = cursor.fetchall()
    return {row[0] for row in rows}, Position(max((row[1] for row in rows), default=since.at))


def expired(issued_at: datetime) -> bool:
    """Whether a cursor made at this time may have missed events that are kept no longer."""
    return issued_at < timezone.now() - timedelta(days=settings.EVENT_DAYS)
