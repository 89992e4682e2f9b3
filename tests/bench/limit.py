"""The limit program: what the product is held against, and nobody would use.

A bare ASGI app that does the least a save and a read can do with the product's tables, keys and encryption: no
validation, no scopes, no rate, no log, no errors worth the name.
FIELD_ENCRYPTION_KEY=… python -m tests.bench.limit URL PORT
"""

import asyncio
import gc
import hashlib
import hmac
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol

import orjson
import uvicorn

from tests.bench.limit_stores import PostgresStore, Save, SqliteStore, Store

PREFIX = len("/v1/memory/")
BEARER = len("Bearer ")
FINGERPRINT_KEY = bytes(32)

Reply = tuple[int, bytes]


class Answers(Protocol):
    """One of the two pieces of work."""

    def __call__(self, store: Store, digest: str, name: str, body: bytes) -> Reply: ...


def save(store: Store, digest: str, name: str, body: bytes) -> Reply:
    """Write the next version, with revision, event and receipt."""
    given = orjson.loads(body)
    expected, key = given["expected_version"], given["operation_key"]
    print_ = hmac.digest(FINGERPRINT_KEY, body, "sha256").hex()
    version = store.save(digest, Save(name, given["body"], expected, key, print_))
    if version is None:
        return 409, b"{}"
    return (200 if expected else 201), orjson.dumps({"name": name, "version": version, "operation": key})


def get(store: Store, digest: str, name: str, body: bytes) -> Reply:
    """Read a note."""
    found = store.get(digest, name)
    if found is None:
        return 404, b"{}"
    return 200, orjson.dumps({"name": name, "version": found[0], "body": found[1]})


class Limit:
    """The ASGI application: the loop reads and sends, one of a few threads does the rest."""

    def __init__(self, threads: int, store: Callable[[], Store]) -> None:
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(threads):
            threading.Thread(target=self._serve, args=(store,), daemon=True).start()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        body = message["body"]
        while message["more_body"]:
            message = await receive()
            body += message["body"]
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Reply] = loop.create_future()
        self._jobs.put((loop, answered, scope, body))
        status, content = await answered
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def _serve(self, new_store: Callable[[], Store]) -> None:
        store = new_store()
        while True:
            loop, answered, scope, body = self._jobs.get()
            work: Answers = save if scope["method"] == "POST" else get
            key = next(value for name, value in scope["headers"] if name == b"authorization")[BEARER:]
            try:
                reply = work(store, hashlib.sha256(key).hexdigest(), scope["path"][PREFIX:], body)
            except Exception as error:
                loop.call_soon_threadsafe(answered.set_exception, error)
            else:
                loop.call_soon_threadsafe(answered.set_result, reply)


def main(url: str, port: int) -> None:
    """Serve until told to stop."""
    key = os.environ["FIELD_ENCRYPTION_KEY"]
    if url.startswith("sqlite"):
        app = Limit(SqliteStore.THREADS, lambda: SqliteStore(url, key))
    else:
        app = Limit(PostgresStore.THREADS, lambda: PostgresStore(url, key))
    gc.freeze()
    uvicorn.run(
        app,
        port=port,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        proxy_headers=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
