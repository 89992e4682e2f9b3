"""A client on `mcp` 2.x that knows pipes only, and reaches the board through `mcp-remote`."""

import asyncio
import os
from typing import Any

from mcp import Client, StdioServerParameters
from story import KEY, URL, Answer, story, tell


def proxy() -> StdioServerParameters:
    """mcp-remote, with the key, or on its way through OAuth; it says on standard error where the person should go."""
    program = f"{os.environ['NODE_PATH']}/mcp-remote/dist/proxy.js"
    shown = ["--header", f"Authorization: Bearer {KEY}"] if KEY else []
    return StdioServerParameters(
        command=os.environ["NODE"], args=[program, URL, "--transport", "http-only", *shown], env=dict(os.environ)
    )


async def main() -> None:
    async with Client(proxy()) as board:

        async def call(name: str, arguments: dict[str, Any]) -> Answer:
            result = await board.call_tool(name, arguments)
            return {
                "is_error": result.is_error,
                "structured": result.structured_content,
                "text": result.content[0].text,
            }

        tools = [tool.name for tool in (await board.list_tools()).tools]
        tell(board.protocol_version, tools, await story(call))


asyncio.run(main())
