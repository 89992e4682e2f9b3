"""Notices between processes: through Redis where there is one, else by a look at the event table each second."""

import asyncio
import logging
from collections.abc import Collection
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings
from django.db import DatabaseError, connection

from agentboard.ledger import feed, notices
from agentboard.threads import Threads

GROUP = "agentboard.notices"
LOOK_SECONDS = 1.0
logger = logging.getLogger(__name__)


def alone() -> bool:
    """Whether no other process can write to this database: then there is nothing to relay."""
    return settings.REDIS_URL is None and settings.WORKERS == 1 and connection.vendor == "sqlite"


class Relay:
    """Brings what other processes have published to this one's waiters."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._task: asyncio.Task[None] | None = None
        self._sending: set[asyncio.Task[Any]] = set()

    def start(self) -> None:
        """Begin, on the running loop."""
        if alone():
            return
        work = self._listen() if settings.REDIS_URL else self._look()
        self._task = asyncio.get_running_loop().create_task(work)

    def stop(self) -> None:
        """End."""
        if self._task is not None:
            self._task.cancel()

    async def _listen(self) -> None:
        layer: Any = get_channel_layer()
        loop = asyncio.get_running_loop()

        def forward(streams: Collection[str]) -> None:
            loop.call_soon_threadsafe(self._send, layer, sorted(streams))

        channel = await layer.new_channel()
        await layer.group_add(GROUP, channel)
        notices.carry(forward)
        while True:
            message = await layer.receive(channel)
            notices.hear(message["streams"])

    def _send(self, layer: Any, streams: list[str]) -> None:
        task = asyncio.get_running_loop().create_task(layer.group_send(GROUP, {"type": "notice", "streams": streams}))
        self._sending.add(task)
        task.add_done_callback(self._sent)

    def _sent(self, task: "asyncio.Task[Any]") -> None:
        self._sending.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.warning("a notice did not reach Redis", exc_info=task.exception())

    async def _look(self) -> None:
        position: feed.Position | None = None
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if not notices.awaited():
                position = None
                continue
            try:
                streams, position = await self._threads.run(since, position)
            except DatabaseError:
                continue  # the calls themselves say that it does not serve
            notices.hear(streams)


def since(position: feed.Position | None) -> tuple[set[str], feed.Position]:
    """The streams with an event since the position, and the next position.

    None yet: all that are awaited, since whoever waits may have looked before the position was taken.
    """
    if position is not None:
        return feed.streams_since(position)
    position = feed.here()
    return notices.awaited(), position
