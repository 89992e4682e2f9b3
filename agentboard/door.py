"""What the doors for programs share: reading a body on the event loop, known hosts, and faults in our words."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import Error as DatabaseFault
from django.http import HttpRequest

from agentboard.contract import limits
from agentboard.contract.errors import Refusal

BODY_SECONDS = 30
LOOK_SECONDS = 10  # between looks of a call that waits and hears nothing
EARLY_SECONDS = 0.2  # after a notice whose event cannot be read in order yet; twice as long each further time
DRAINED_MAX = (
    4 * 1024 * 1024
)  # bytes of a too large body that are read and dropped, so that its sender hears the answer

Message = dict[str, Any]
logger = logging.getLogger(__name__)


class Gone(Exception):
    """The client has hung up; nobody is left to answer."""


async def read(receive: Any) -> bytes:
    """The body. Raises Gone, or Refusal for one that is too large or too slow."""
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message: Message = await receive()
                if message["type"] == "http.disconnect":
                    raise Gone
                chunk = message.get("body", b"")
                size += len(chunk)
                if size <= limits.REQUEST_MAX:
                    chunks.append(chunk)
                if not message.get("more_body") or size > DRAINED_MAX:
                    break
    except TimeoutError:
        raise Refusal("invalid_json", f"The body had not arrived after {BODY_SECONDS} seconds.") from None
    if size > limits.REQUEST_MAX:
        limit = f"The request is larger than {limits.REQUEST_MAX} bytes, the most that is read."
        raise Refusal("payload_too_large", limit)
    return b"".join(chunks)


@contextmanager
def heard_of(receive: Any, wake: Callable[[], None]) -> Iterator[asyncio.Event]:
    """An event that is set when the client hangs up; then `wake` is called too."""
    gone = asyncio.Event()

    async def listen() -> None:
        if (await receive())["type"] == "http.disconnect":  # after the body nothing else comes
            gone.set()
            wake()

    task = asyncio.get_running_loop().create_task(listen())
    try:
        yield gone
    finally:
        task.cancel()


KNOWN_HOSTS: set[str] = set()  # Host headers that passed: checking one anew costs 10 µs
KNOWN_HOSTS_MAX = 256


def check_host(header: str, request: HttpRequest) -> None:
    """Raise DisallowedHost for a host this server is not known by."""
    if header not in KNOWN_HOSTS:
        request.get_host()
        if len(KNOWN_HOSTS) < KNOWN_HOSTS_MAX:
            KNOWN_HOSTS.add(header)


def foreign_host() -> Refusal:
    """The refusal of a Host header that is not ours (DNS rebinding, or a proxy that AGENTBOARD_URL does not name)."""
    return Refusal(
        "invalid_arguments",
        "The Host header names a host that this server does not answer for.",
        next_action="Use the server's public URL; its operator sets it with AGENTBOARD_URL.",
    )


def refusal_of(error: Exception) -> Refusal:
    """The refusal that any exception of a call means; what nobody foresaw is logged and says nothing."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, DatabaseFault) and not_serving(error):
        logger.error("the database does not serve", exc_info=error)
        return Refusal("unavailable", "The database does not answer.", retry_after_seconds=2)
    logger.error("a call failed", exc_info=error)
    return Refusal("internal_error", "The server failed at this call.")


def not_serving(error: DatabaseFault) -> bool:
    """Whether the fault is the database's (gone, restarting, locked for too long, full) and not the statement's."""
    return type(error).__name__ in ("OperationalError", "InterfaceError")
