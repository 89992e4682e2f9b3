"""How many calls this process has answered in the last hour, by door and HTTP status. Nothing is kept on disk."""

import threading
import time
from collections import Counter
from datetime import UTC, datetime

MINUTES = 60


class Tally:
    """Counts by the minute, and forgets what is more than MINUTES ago."""

    def __init__(self) -> None:
        self.since = datetime.now(UTC)
        self._minutes: dict[int, Counter[tuple[str, int]]] = {}
        self._lock = threading.Lock()

    def count(self, door: str, status: int) -> None:
        """One more call that ended with this HTTP status. From any thread."""
        minute = _minute()
        with self._lock:
            if minute not in self._minutes:
                self._minutes = {each: calls for each, calls in self._minutes.items() if minute - each <= MINUTES}
                self._minutes[minute] = Counter()
            self._minutes[minute][door, status] += 1

    def last(self, minutes: int) -> Counter[tuple[str, int]]:
        """The calls of the last full minutes, at most MINUTES, by door and status."""
        now, found = _minute(), Counter[tuple[str, int]]()
        with self._lock:
            for minute, calls in self._minutes.items():
                if 1 <= now - minute <= minutes:
                    found += calls
        return found


def _minute() -> int:
    return int(time.monotonic() // 60)


CALLS = Tally()
