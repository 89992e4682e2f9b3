"""The threads that do the calls' work: a fixed number, each with its own lasting database connections."""

import asyncio
import queue
import select
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import ThreadSensitiveContext
from django.core.handlers.asgi import ASGIHandler
from django.db import connections

from agentboard.contract.errors import Refusal

WAITING_MAX = 512  # calls that may wait for a thread before more are turned away
PAGE_THREADS = 4

P = ParamSpec("P")
R = TypeVar("R")
Job = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class Threads:
    """`count` threads fed through one queue: a hop costs a quarter of what a ThreadPoolExecutor takes for it."""

    def __init__(self, count: int, waiting: int = WAITING_MAX) -> None:
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._places = count + waiting
        for number in range(count):
            threading.Thread(target=self._serve, name=f"call-{number}", daemon=True).start()

    async def run(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What `work` returns or raises, in one of the threads. Raises `unavailable` when too many calls wait."""
        if not self._places:
            raise Refusal("unavailable", "Too many calls are waiting for this server.", retry_after_seconds=1)
        self._places -= 1
        try:
            loop = asyncio.get_running_loop()
            result: asyncio.Future[R] = loop.create_future()
            self._jobs.put((loop, result, lambda: work(*args, **kwargs)))
            return await result
        finally:
            self._places += 1

    def _serve(self) -> None:
        while True:
            loop, result, work = self._jobs.get()
            if not result.cancelled():
                settle(loop, result, work)
            del loop, result, work  # an idle thread keeps no request alive


def settle(loop: asyncio.AbstractEventLoop, result: "asyncio.Future[Any]", work: Callable[[], Any]) -> None:
    """Do the work and hand its outcome to whoever waits on the loop."""
    try:
        tidy_connections()
        value = work()
    except BaseException as error:
        loop.call_soon_threadsafe(fail, result, error)
    else:
        loop.call_soon_threadsafe(succeed, result, value)


def succeed(result: "asyncio.Future[Any]", value: Any) -> None:
    """Settle the future unless its reader has gone."""
    if not result.done():
        result.set_result(value)


def fail(result: "asyncio.Future[Any]", error: BaseException) -> None:
    """Settle the future unless its reader has gone."""
    if not result.done():
        result.set_exception(error)


def tidy_connections() -> None:
    """Drop connections that have ended, before they are used.

    Django's own check sees errors of the past; a look at the socket sees that PostgreSQL has hung up since: an idle
    connection has nothing to say unless it ended (0.8 µs, where a SELECT 1 costs a round trip).
    """
    for connection in connections.all(initialized_only=True):
        connection.close_if_unusable_or_obsolete()
        if connection.vendor == "postgresql" and connection.connection is not None:
            socket = select.poll()
            socket.register(connection.connection.fileno(), select.POLLIN)
            if socket.poll(0):
                connection.close()


class PagesHandler(ASGIHandler):
    """Django's own handler, each request borrowing one of a few lasting threads.

    As it comes, Django starts two threads a request and leaves their connections behind.
    """

    def __init__(self) -> None:
        super().__init__()
        self._free = [ThreadPoolExecutor(1, thread_name_prefix=f"page-{number}") for number in range(PAGE_THREADS)]
        self._places = asyncio.Semaphore(PAGE_THREADS)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with self._places:
            executor = self._free.pop()
            try:
                async with ThreadSensitiveContext(executor=executor):
                    await asyncio.get_running_loop().run_in_executor(executor, tidy_connections)
                    await self.handle(scope, receive, send)
            finally:
                self._free.append(executor)
