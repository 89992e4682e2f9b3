"""The websocket at /live as an ASGI application."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError

from agentboard import rate
from agentboard.board.watching import sights
from agentboard.contract.errors import Refusal
from agentboard.threads import Threads
from agentboard.web.live.hub import Hub
from agentboard.web.live.message import (
    FORBIDDEN,
    LATER,
    SIGNED_OUT,
    SLOW,
    TOO_MANY,
    Malformed,
    first_of,
    ping_of,
)
from agentboard.web.live.visitor import Visitor, headers_of, of_our_pages, visitor_of
from agentboard.web.live.watch import Watch

SOCKETS_MAX = 50  # of one person, or of one address that nobody has signed in from, at one worker
FIRST_SECONDS = 10  # until a page must have said what it shows
PINGS_PER_MINUTE, PINGS_BURST = 60, 30  # of one socket


class Gone(Exception):
    """The page has hung up."""


class Live:
    """Accepts the sockets of our own pages and keeps each open while its page and its rights last."""

    def __init__(self, threads: Threads) -> None:
        self._threads, self._hub = threads, Hub(threads)
        self._open: Counter[int | str] = Counter()  # sockets by person or address
        self._numbers = itertools.count()
        self._pings = rate.Buckets("socket", PINGS_PER_MINUTE, PINGS_BURST, 1)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if (await receive())["type"] != "websocket.connect":
            return
        headers = headers_of(scope)
        if not of_our_pages(scope["scheme"], headers):
            await _close(send, FORBIDDEN)  # before it opens: the handshake is answered with HTTP 403
            return
        try:
            await send({"type": "websocket.accept"})
            code = await self._served(scope, headers, receive, send)
            if code is not None:
                await _close(send, code)
        except (Gone, OSError):  # OSError: sending to one who has hung up (ASGI, "WebSocket", spec version 2.4)
            return

    async def _served(self, scope: Any, headers: Any, receive: Any, send: Any) -> int | None:
        """The code to close with. Raises Gone or OSError where nobody is left to hear it."""
        try:
            visitor = await self._threads.run(visitor_of, headers)
            with self._place(visitor, scope) as free:
                return await self._watched(visitor, receive, send) if free else TOO_MANY
        except Malformed as malformed:
            return malformed.code
        except TimeoutError:
            return SLOW
        except (Refusal, DatabaseError) as refusal:  # no thread is free, or no database there
            return TOO_MANY if isinstance(refusal, Refusal) and refusal.code == "rate_limited" else LATER

    @contextmanager
    def _place(self, visitor: Visitor, scope: Any) -> Iterator[bool]:
        """One of the sockets that its person or address may have; False where all are taken. Raises rate_limited."""
        key: int | str = visitor.person or str((scope.get("client") or ("unknown",))[0])
        if visitor.person is None:
            rate.spend_address(str(key))
        if self._open[key] >= SOCKETS_MAX:
            yield False
            return
        self._open[key] += 1
        try:
            yield True
        finally:
            self._open[key] -= 1
            self._open += Counter()  # forgets those at zero

    async def _watched(self, visitor: Visitor, receive: Any, send: Any) -> int | None:
        async with asyncio.timeout(FIRST_SECONDS):
            wish = first_of(await _message(receive))
        asked = [(visitor.person, topic) for topic in wish.topics]
        seen = await self._threads.run(sights, asked)
        if len(seen) < len(asked):
            return SIGNED_OUT if visitor.person is None else FORBIDDEN
        return await self._kept_open(Watch(visitor, wish, seen.values()), receive, send)

    async def _kept_open(self, watch: Watch, receive: Any, send: Any) -> int | None:
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(self._listen(watch, receive)), loop.create_task(watch.deliver(send))]
        self._hub.join(watch)
        try:
            done, _ = await asyncio.wait([watch.over, *tasks], return_when=asyncio.FIRST_COMPLETED)
            return next(each.result() for each in (watch.over, *tasks) if each in done)
        finally:
            self._hub.leave(watch)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self, watch: Watch, receive: Any) -> int:
        """Answer signs of life, until there are too many of them. Raises Gone or Malformed."""
        number = next(self._numbers)
        while True:
            pinged = ping_of(await _message(receive))
            try:
                self._pings.take(number)
            except Refusal:
                return TOO_MANY
            watch.pong(pinged)


async def _message(receive: Any) -> dict[str, Any]:
    message: dict[str, Any] = await receive()
    if message["type"] == "websocket.disconnect":
        raise Gone
    return message


async def _close(send: Any, code: int) -> None:
    await send({"type": "websocket.close", "code": code})
