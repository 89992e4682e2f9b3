"""What every client written in Python does at the board, and where it waits for the person that lets it in."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

URL, NOTE = sys.argv[1:3] if len(sys.argv) > 2 else ("", "")
KEY = os.environ.get("AGENT_KEY")  # without one the client goes the way of OAuth

Answer = dict[str, Any]  # is_error, structured, text
Call = Callable[[str, dict[str, Any]], Awaitable[Answer]]


async def story(call: Call) -> dict[str, Answer]:
    """Save a note, replace it, be refused for an old version, restore the first text, and read it."""

    async def save(body: str, expected_version: int) -> Answer:
        return await call("save_memory", {"id": NOTE, "data": {"body": body, "expected_version": expected_version}})

    return {
        "saved": await save("The first text", 0),
        "replaced": await save("The second text", 1),
        "refused": await save("A text too late", 1),
        "restored": await call("restore_memory", {"id": NOTE, "data": {"version": 1, "expected_version": 2}}),
        "read": await call("get_memory", {"id": NOTE}),
    }


def tell(protocol: str, tools: list[str], answers: dict[str, Answer]) -> None:
    """Print what the test looks at."""
    print(json.dumps({"protocol": protocol, "tools": tools, **answers}))


class Loopback:
    """The address of this machine to which the person's browser comes back."""

    def __init__(self) -> None:
        self._came: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        self.redirect_uri = ""

    async def __aenter__(self) -> "Loopback":
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.redirect_uri = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/callback"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readline()).split()[1].decode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        self._came.put_nowait(dict(parse_qsl(urlsplit(target).query)))

    async def ask(self, url: str) -> None:
        """Send the person to `url`: the test reads it and plays the person."""
        print(url, file=sys.stderr, flush=True)

    async def answer(self) -> dict[str, str]:
        """What the browser brought back."""
        return await self._came.get()


class Kept:
    """A token storage that lasts as long as the program."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info
