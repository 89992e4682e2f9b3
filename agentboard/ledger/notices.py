"""Notices within a process that something was committed to a stream, for whoever waits on it. They carry no content."""

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

Listener = Callable[[Collection[str]], None]

_waiting: dict[str, set["Waiter"]] = {}
_listeners: list[Listener] = []  # that carry notices further: to other workers, to websockets
_lock = threading.Lock()


class Waiter:
    """One who waits on an event loop for a notice on any of some streams."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._heard = asyncio.Event()

    def hear(self) -> None:
        """Wake up; from any thread."""
        self._loop.call_soon_threadsafe(self._heard.set)

    async def wait(self, seconds: float) -> bool:
        """Whether a notice came within so many seconds. Ready for the next one afterwards."""
        try:
            async with asyncio.timeout(max(seconds, 0)):
                await self._heard.wait()
        except TimeoutError:
            return False
        self._heard.clear()
        return True


def publish(streams: Collection[str]) -> None:
    """Tell this process's waiters, and the listeners that carry it further. From any thread, after the commit."""
    hear(streams)
    for listener in _listeners:
        listener(streams)


def hear(streams: Iterable[str]) -> None:
    """Tell this process's waiters only: what another worker has published."""
    if _waiting:
        with _lock:
            for waiter in {waiter for stream in streams for waiter in _waiting.get(stream, ())}:
                waiter.hear()


def awaited() -> set[str]:
    """The streams that somebody waits on in this process."""
    with _lock:
        return set(_waiting)


def count() -> int:
    """How many wait in this process: calls, listeners, and one for all open pages together."""
    with _lock:
        return len({waiter for waiters in _waiting.values() for waiter in waiters})


def carry(listener: Listener) -> None:
    """Let `listener` hear of every publication of this process."""
    _listeners.append(listener)


@contextmanager
def waiting(streams: Collection[str]) -> Iterator[Waiter]:
    """A waiter that hears of these streams from now on: begin before looking, so that nothing falls between."""
    waiter = Waiter()
    with _lock:
        for stream in streams:
            _waiting.setdefault(stream, set()).add(waiter)
    try:
        yield waiter
    finally:
        with _lock:
            for stream in {*streams}:
                _waiting[stream].discard(waiter)
                if not _waiting[stream]:
                    del _waiting[stream]
