"""A client on `fastmcp`."""

import asyncio
from typing import Any

from fastmcp import Client
from fastmcp.client.auth import OAuth
from story import KEY, URL, Answer, Loopback, story, tell


class Asking(OAuth):
    """OAuth that leaves the browser to the test."""

    async def redirect_handler(self, authorization_url: str) -> None:
        await Loopback().ask(authorization_url)


async def main() -> None:
    async with Client(URL, auth=KEY or Asking(client_name="Fast Python")) as board:

        async def call(name: str, arguments: dict[str, Any]) -> Answer:
            result = await board.call_tool_mcp(name, arguments)
            return {
                "is_error": result.is_error,
                "structured": result.structured_content,
                "text": result.content[0].text,
            }

        tools = [tool.name for tool in await board.list_tools()]
        tell(str(board.session.protocol_version), tools, await story(call))


asyncio.run(main())
