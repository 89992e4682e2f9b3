"""A client on `mcp` 2.x that uses all the rest: resources, prompts, completion, change notices, a question back."""

import asyncio
import json
from typing import Any

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import ElicitResult, PromptReference, ResourceTemplateReference
from story import KEY, NOTE, URL

NOTE_URI = f"agentboard://memory/{NOTE}"
SECONDS = 20


class Asked:
    """What the server asks the person, who says yes."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.questions.append(params.message)
        return ElicitResult(action="accept", content={"yes": True})


async def save(board: Client, body: str, version: int) -> None:
    await board.call_tool("save_memory", {"id": NOTE, "data": {"body": body, "expected_version": version}})


async def heard(board: Client) -> list[str]:
    """What a listener hears while the note is changed."""
    async with board.listen(resource_subscriptions=[NOTE_URI], resources_list_changed=True) as changes:
        await save(board, "The second text", 1)
        events = [await asyncio.wait_for(anext(changes), SECONDS) for _ in range(2)]
        return sorted(type(event).__name__ for event in events)


async def seen(board: Client) -> dict[str, Any]:
    """What the client reads of the board."""
    template = ResourceTemplateReference(uri="agentboard://memory/{name}")
    agent = PromptReference(name="hand_over")
    read = await board.read_resource(NOTE_URI)
    handover = await board.get_prompt("hand_over", {"agent": "heron"})
    return {
        "resources": [str(each.uri) for each in (await board.list_resources()).resources],
        "templates": [each.uri_template for each in (await board.list_resource_templates()).resource_templates],
        "read": [each.text for each in read.contents],
        "prompts": [each.name for each in (await board.list_prompts()).prompts],
        "handover": [message.content.type for message in handover.messages],
        "completed": (await board.complete(template, {"name": "name", "value": NOTE[:4]})).completion.values,
        "nobody": (await board.complete(agent, {"name": "agent", "value": ""})).completion.values,
    }


async def main() -> None:
    asked = Asked()
    async with (
        create_mcp_http_client({"Authorization": f"Bearer {KEY}"}) as client,
        Client(streamable_http_client(URL, http_client=client), elicitation_callback=asked) as board,
    ):
        await save(board, "The first text", 0)
        told = {"heard": await heard(board), **await seen(board)}
        deleted = await board.call_tool("delete_memory", {"id": NOTE, "data": {"expected_version": 2}})
        print(json.dumps({**told, "asked": asked.questions, "deleted": not deleted.is_error}))


asyncio.run(main())
