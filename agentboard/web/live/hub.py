"""The open pages of one process: one look for all of them at each change, and one at their rights every few seconds.

Whatever number of pages is open, none of them holds a thread or a connection, or asks the database by itself.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from weakref import WeakSet

from django.db import DatabaseError

from agentboard.contract.errors import Refusal
from agentboard.door import EARLY_SECONDS
from agentboard.ledger import notices
from agentboard.ledger.feed import Place
from agentboard.threads import Threads
from agentboard.web.live.look import Checked, Found, check_all, look, streams_of
from agentboard.web.live.message import FAULT
from agentboard.web.live.watch import Watch

CHECK_SECONDS = 2.0  # until a page of somebody who is out, or may see it no longer, is closed at the latest
TOGETHER_SECONDS = 0.05  # in which changes gather that are told together
CHECKED_AT_ONCE = 250  # pages, so that no check holds a thread for long

logger = logging.getLogger(__name__)
_hubs: "WeakSet[Hub]" = WeakSet()


def open_pages() -> int:
    """How many pages of this process are told of changes now."""
    return sum(hub.size for hub in _hubs)


class Hub:
    """Tells open pages of changes, and closes those whose people or rights have gone."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._watches: set[Watch] = set()
        self._task: asyncio.Task[None] | None = None
        self._wake: Callable[[], None] = lambda: None
        self._place: Place | None = None
        _hubs.add(self)
        self._early = 0.0  # seconds until the next look for what could not be read in order yet

    @property
    def size(self) -> int:
        """How many open pages it tells."""
        return len(self._watches)

    def join(self, watch: Watch) -> None:
        """Tell this page from now on, beginning with what it has missed."""
        self._watches.add(watch)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        else:
            self._wake()

    def leave(self, watch: Watch) -> None:
        """Tell this page nothing more."""
        self._watches.discard(watch)
        if not self._watches and self._task is not None and not self._task.done():
            self._wake()

    async def _run(self) -> None:
        """Until no page is open. A fault of ours closes all pages: they come back, and this begins anew."""
        try:
            await self._attend()
        except Exception:
            logger.exception("open pages could not be told of changes")
            for watch in self._watches:
                watch.end(FAULT)

    async def _attend(self) -> None:
        self._place, due = None, time.monotonic() + CHECK_SECONDS
        while watches := [*self._watches]:
            with notices.waiting(streams_of(watches)) as waiter:
                self._wake = waiter.hear
                pause = await self._look(watches)
                if time.monotonic() >= due:
                    await self._check(watches)
                    due = time.monotonic() + CHECK_SECONDS
                await waiter.wait(min(pause, due - time.monotonic()))
                await asyncio.sleep(TOGETHER_SECONDS)

    async def _look(self, watches: list[Watch]) -> float:
        """Tell what is new; the seconds until the next look, unless something is heard before."""
        try:
            found = await self._threads.run(look, watches, self._place)
        except (Refusal, DatabaseError):
            return CHECK_SECONDS  # the calls themselves say that it does not serve
        self._place = found.place
        _apply(found.checked)
        _tell(watches, found)
        self._early = min(2 * self._early or EARLY_SECONDS, CHECK_SECONDS) if found.early else 0.0
        return 0.0 if found.more else self._early or CHECK_SECONDS

    async def _check(self, watches: list[Watch]) -> None:
        for start in range(0, len(watches), CHECKED_AT_ONCE):
            part = watches[start : start + CHECKED_AT_ONCE]
            try:
                checked, inboxes = await self._threads.run(check_all, part)
            except (Refusal, DatabaseError):
                return
            _apply(checked)
            for watch in _open(part):
                if told := watch.waiting(inboxes):
                    watch.tell(told, None)


def _apply(checked: Checked) -> None:
    for watch, code in checked.ended.items():
        watch.end(code)
    for watch, (visitor, sights) in checked.renewed.items():
        watch.visitor, watch.sights = visitor, sights


def _tell(watches: Iterable[Watch], found: Found) -> None:
    for watch in _open(watches):
        told = found.told.get(watch, [])
        if watch.joining:
            told = told + watch.waiting(found.inboxes)
            watch.joined(found.top)
            watch.tell(told, found.place)
        elif told:
            watch.tell(told, found.place)


def _open(watches: Iterable[Watch]) -> list[Watch]:
    return [watch for watch in watches if not watch.over.done()]
