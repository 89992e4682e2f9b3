"""A client on `mcp` 2.x; the third argument is its mode: auto or legacy."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata
from story import KEY, URL, Answer, Kept, Loopback, story, tell


@asynccontextmanager
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    """A client that shows the key, or gets itself a token."""
    if KEY is not None:
        async with create_mcp_http_client({"Authorization": f"Bearer {KEY}"}) as client:
            yield client
        return
    async with Loopback() as loopback:

        async def answered() -> AuthorizationCodeResult:
            return AuthorizationCodeResult(**await loopback.answer())

        about = OAuthClientMetadata(client_name="Current Python", redirect_uris=[loopback.redirect_uri])
        auth = OAuthClientProvider(URL, about, Kept(), loopback.ask, answered)
        async with create_mcp_http_client(auth=auth) as client:
            yield client


async def main(mode: str) -> None:
    async with http() as client, Client(streamable_http_client(URL, http_client=client), mode=mode) as board:

        async def call(name: str, arguments: dict[str, Any]) -> Answer:
            result = await board.call_tool(name, arguments)
            return {
                "is_error": result.is_error,
                "structured": result.structured_content,
                "text": result.content[0].text,
            }

        tools = [tool.name for tool in (await board.list_tools()).tools]
        tell(board.protocol_version, tools, await story(call))


asyncio.run(main(sys.argv[3]))
