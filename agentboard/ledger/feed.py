"""What has changed in a stream since a reader last looked, without ever stepping over a change that commits late."""

from dataclasses import dataclass

from django.db import connection

from agentboard.ledger.models import Event
from agentboard.ledger.versioned import names


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
