"""What a supervisor or a load balancer asks: is the process up (/healthz), can it work (/readyz)."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

ANSWER_SECONDS = 5

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Readiness:
    """Asks the database from one thread of its own, which keeps one connection, so that no call's thread is taken."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="readiness")
        self._schema_is_current = False  # once true it stays so: this process's migrations don't change

    async def reason(self) -> str | None:
        """Why this process can't work now, in plain words, or None; comes back within ANSWER_SECONDS."""
        asked = asyncio.get_running_loop().run_in_executor(self._thread, self._reason)
        try:
            return await asyncio.wait_for(asked, ANSWER_SECONDS)
        except TimeoutError:
            return f"the database has not answered for {ANSWER_SECONDS} seconds"

    def close(self) -> None:
        """Close the connection; the next question opens one again."""
        self._thread.submit(lambda: connection.close()).result()  # looked up there: each thread has its own

    def _reason(self) -> str | None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            self._schema_is_current = self._schema_is_current or not migrations_pending()
        except DatabaseError:
            connection.close()  # the next question connects anew
            return "the database does not answer"
        return None if self._schema_is_current else "the database lacks migrations of this version"


readiness = Readiness()


def migrations_pending() -> bool:
    """Whether the database lacks a migration that this code brings (about 0.1 s: it reads them all)."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


async def healthz(scope: Scope, receive: Receive, send: Send) -> None:
    """200 as soon as the process answers at all; asks nothing of the database."""
    await _answer(scope, send, 200, {"status": "ok"})


async def readyz(scope: Scope, receive: Receive, send: Send) -> None:
    """200 where the database answers and has every migration, else 503 with the reason."""
    reason = await readiness.reason() if scope["method"] in ("GET", "HEAD") else None
    if reason is None:
        await _answer(scope, send, 200, {"status": "ok"})
    else:
        await _answer(scope, send, 503, {"status": "unavailable", "reason": reason})


async def _answer(scope: Scope, send: Send, status: int, answer: dict[str, str]) -> None:
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    if scope["method"] not in ("GET", "HEAD"):
        status, answer = 405, {"status": "method not allowed"}
        headers.append((b"allow", b"GET, HEAD"))
    body = orjson.dumps(answer)
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
