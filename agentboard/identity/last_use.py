"""When each key or connection was used last, written in one statement a minute instead of one write a call."""

import logging
import threading
import time
from datetime import datetime

from django.db import Error, connection, transaction
from django.db.models import Model
from django.utils import timezone

from agentboard.identity.models import AgentKey

FLUSH_SECONDS = 60
WAITING_MAX = 5_000  # rows; flushed early then: a statement of SQLite takes 32 766 parameters, two a row

logger = logging.getLogger(__name__)


class LastUse:
    """The uses of one model's rows that are not written yet; the model has `last_used_at`.

    Threads share one; each flush is by whichever calls first after a minute.
    """

    def __init__(self, model: type[Model] = AgentKey) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._waiting: dict[int, datetime] = {}
        self._due = 0.0  # by time.monotonic; the very first use is written at once

    def note(self, row_id: int, at: datetime | None = None) -> None:
        """The row was used now, or at `at`. Never raises for a database that does not take the flush."""
        with self._lock:
            self._keep(row_id, at or timezone.now())
            if time.monotonic() < self._due and len(self._waiting) < WAITING_MAX:
                return
            self._due = time.monotonic() + FLUSH_SECONDS
        self.flush()

    def flush(self) -> None:
        """Write what waits. What the database does not take is logged and waits for the next flush."""
        with self._lock:
            uses, self._waiting = self._waiting, {}
        if not uses:
            return
        try:
            _write(self._model, uses)
        except Error:
            name = self._model._meta.verbose_name_plural
            logger.exception("The last use of %d %s was not written; the next flush tries again.", len(uses), name)
            with self._lock:
                for row_id, at in uses.items():
                    self._keep(row_id, at)

    def _keep(self, row_id: int, at: datetime) -> None:
        known = self._waiting.get(row_id)
        if known is None or known < at:
            self._waiting[row_id] = at


def _write(model: type[Model], uses: dict[int, datetime]) -> None:
    """One UPDATE that moves last_used_at forward only: another worker may have written a later one."""
    quote, meta = connection.ops.quote_name, model._meta
    column = meta.get_field("last_used_at").column  # type: ignore[union-attr]  # a field of its own, no relation
    table, row, used = quote(meta.db_table), quote("id"), quote(str(column))
    rows = sorted(uses.items())  # one order in all workers, so two flushes do not wait for each other in a circle
    parameters = [value for row_id, at in rows for value in (row_id, connection.ops.adapt_datetimefield_value(at))]
    statement = (
        f"UPDATE {table} SET {used} = new.column2 FROM (VALUES {', '.join(['(%s, %s)'] * len(rows))}) AS new "
        f"WHERE {table}.{row} = new.column1 AND ({table}.{used} IS NULL OR {table}.{used} < new.column2)"
    )
    with transaction.atomic(), connection.cursor() as cursor:  # its own savepoint inside a caller's transaction
        cursor.execute(statement, parameters)


_uses = LastUse()
note_use = _uses.note
flush_last_used = _uses.flush
