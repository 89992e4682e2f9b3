"""The product's application with the fixtures on /mcp, where an agent's key is shown for who shows none."""

import asyncio
from typing import Any

from agentboard.asgi import application as product
from agentboard.asgi import threads
from agentboard.identity.models import Agent, AgentKey
from agentboard.identity.people import register_person
from mcp_bridge.endpoint import Endpoint
from tests.conformance.fixtures.surface import WithFixtures

AUTHORIZATION = b"authorization"


class Application:
    """The suites know nothing of credentials, so each request of theirs without one gets the key of one agent."""

    def __init__(self) -> None:
        self._endpoint = Endpoint(threads, WithFixtures())
        self._key = ""
        self._making = asyncio.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/mcp":
            await product(scope, receive, send)
            return
        if AUTHORIZATION not in dict(scope["headers"]):
            shown = (AUTHORIZATION, f"Bearer {await self._shown()}".encode())
            scope = {**scope, "headers": [*scope["headers"], shown]}
        await self._endpoint(scope, receive, send)

    async def _shown(self) -> str:
        async with self._making:
            self._key = self._key or await threads.run(_new_key)
        return self._key


def _new_key() -> str:
    agent = Agent.objects.register(register_person("conformance"), "conformance")
    return AgentKey.objects.issue(agent)[1]


application = Application()
