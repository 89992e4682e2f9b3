"""The name of a request: in every answer as X-Request-Id, and in every log line."""

import random
import re
from typing import Any

from agentboard.contract import limits
from agentboard.logs import request_id

HEADER = b"x-request-id"
_PLAIN = re.compile(limits.REQUEST_ID + r"\Z")


def request_name(given: str) -> str:
    """What the client has named it, where that is a plain word, else a fresh name. For diagnosis only."""
    return given if _PLAIN.match(given) else f"{random.getrandbits(64):016x}"


class Named:
    """Names the requests of a door that does not do so itself."""

    def __init__(self, door: Any) -> None:
        self._door = door

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        given = next((value for name, value in scope["headers"] if name.lower() == HEADER), b"")
        name = request_name(given.decode("latin-1"))

        async def send_named(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), (HEADER, name.encode())]}
            await send(message)

        token = request_id.set(name)
        try:
            await self._door(scope, receive, send_named)
        finally:
            request_id.reset(token)
