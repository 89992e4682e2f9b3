"""A client on `mcp` 1.x."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from story import KEY, URL, Answer, Kept, Loopback, story, tell

SECONDS = 30


@asynccontextmanager
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """A client that shows the key, or gets itself a token."""
    if KEY is not None:
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=SECONDS) as client:
            yield client
        return
    async with Loopback() as loopback:

        async def answered() -> tuple[str, str | None]:
            came = await loopback.answer()
            return came["code"], came.get("state")

        about = OAuthClientMetadata(client_name="Former Python", redirect_uris=[loopback.redirect_uri])
        auth = OAuthClientProvider(URL, about, Kept(), loopback.ask, answered)
        async with httpx.AsyncClient(auth=auth, timeout=SECONDS) as client:
            yield client


async def main() -> None:
    async with (
        http() as client,
        streamable_http_client(URL, http_client=client) as (read, write, _),
        ClientSession(read, write) as board,
    ):
        begun = await board.initialize()

        async def call(name: str, arguments: dict[str, Any]) -> Answer:
            result = await board.call_tool(name, arguments)
            return {
                "is_error": result.isError,
                "structured": result.structuredContent,
                "text": result.content[0].text,
            }

        tools = [tool.name for tool in (await board.list_tools()).tools]
        tell(str(begun.protocolVersion), tools, await story(call))


asyncio.run(main())
