"""`manage.py serve`: check what the server stands on, bring the database up to date, and answer until told to stop."""

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connections
from uvicorn.supervisors import Multiprocess

from agentboard import foundations
from agentboard.environment import reached_at, refused_in_one_sentence
from agentboard.identity import links

GRACE_SECONDS = 10  # for requests that are running when the server is told to stop
WEBSOCKET_BYTES_MAX = 4096  # a message; pages send short ones
WEBSOCKET_PING_SECONDS = 10  # between signs of life, and until one that is not answered ends the socket
POLL_SECONDS = 0.05


class Command(BaseCommand):
    help = "Run AgentBoard: migrate where needed, then answer on HOST and PORT with WORKERS processes."
    requires_system_checks: list[str] = []  # they are for developers; `manage.py check` runs them

    def handle(self, *args: Any, **options: Any) -> None:
        _on_stop(_leave)
        with refused_in_one_sentence():
            sockets = foundations.bound(settings.HOST, settings.PORT)
            foundations.check_redis(settings.REDIS_URL)
            foundations.prepare_database()
            foundations.check_keys()
            link = links.first_account_link()
            foundations.listen(sockets, settings.PORT)
        connections.close_all()
        if link is not None:
            print(f"First account (an operator): {settings.PUBLIC_URL}{link}", flush=True)
        with announced_when_ready():
            _serve(sockets)


def _serve(sockets: list[socket.socket]) -> None:
    """Answer on `sockets` until SIGTERM or SIGINT, in this process or in WORKERS others."""
    config = uvicorn.Config(
        ":".join(settings.ASGI_APPLICATION.rsplit(".", 1)),
        loop="uvloop",
        http="httptools",
        ws="websockets-sansio",
        ws_max_size=WEBSOCKET_BYTES_MAX,
        ws_ping_interval=WEBSOCKET_PING_SECONDS,
        ws_ping_timeout=WEBSOCKET_PING_SECONDS,
        lifespan="on",
        workers=settings.WORKERS,
        log_config=None,  # Django's LOGGING has it
        access_log=False,  # it would hold query strings
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    if settings.WORKERS > 1:
        Multiprocess(config, sockets).run()
        return
    server = uvicorn.Server(config)

    def stop(*_: object) -> None:
        server.should_exit = True

    _on_stop(stop)  # uvicorn raises a signal again when it has stopped, which must not end the process a second time
    server.run(sockets)


@contextmanager
def announced_when_ready() -> Iterator[None]:
    """Meanwhile, say once on standard output that the server answers, as soon as it does."""
    over = threading.Event()
    thread = threading.Thread(target=_announce, args=(over,), name="announcement", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _announce(over: threading.Event) -> None:
    while not over.wait(POLL_SECONDS):
        if _is_ready():
            print(f"AgentBoard ready at {settings.PUBLIC_URL}", flush=True)
            return


def _is_ready() -> bool:
    asked = HTTPConnection(reached_at(settings.HOST), settings.PORT, timeout=1)  # second
    try:
        asked.request("GET", "/readyz")
        return asked.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        asked.close()


def _on_stop(do: Any) -> None:
    signal.signal(signal.SIGTERM, do)
    signal.signal(signal.SIGINT, do)


def _leave(*_: object) -> None:
    """Before the server runs a signal ends the process at once; an open transaction rolls back on the way."""
    raise SystemExit(0)
