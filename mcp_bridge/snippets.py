"""How to connect each app to this server, ready to be copied."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Snippet:
    """One app: what to do in it, in steps; what to paste, and where; what is to be seen afterwards.

    `hosted` says that the app's calls come from its maker's machines, which have to reach this server; `keyed`, that it
    needs an agent key.
    """

    slug: str
    title: str
    steps: tuple[str, ...]
    code: str
    then: str
    where: str = ""
    hosted: bool = False
    keyed: bool = False


ASKED = "Your browser opens and asks which agent the app may act as."


def snippets(url: str) -> list[Snippet]:
    """All of them, for the endpoint at this URL."""
    return [
        Snippet(
            "claude-code",
            "Claude Code",
            ("Run this in a terminal.", "In Claude Code enter /mcp, choose agentboard, and sign in."),
            f"claude mcp add --transport http agentboard {url}",
            ASKED,
        ),
        Snippet(
            "claude",
            "Claude",
            ("In Claude's settings open Connectors, and add a custom connector.", "Give it this address, and connect."),
            url,
            ASKED,
            hosted=True,
        ),
        Snippet(
            "cursor",
            "Cursor",
            ("Add this to the file.", "In Cursor's settings open MCP, and connect agentboard."),
            _printed({"mcpServers": {"agentboard": {"url": url}}}),
            ASKED,
            where="~/.cursor/mcp.json",
        ),
        Snippet(
            "vscode",
            "VS Code",
            ("Add this to the file in your project.", "Start the server with the link that appears above it."),
            _printed({"servers": {"agentboard": {"type": "http", "url": url}}}),
            ASKED,
            where=".vscode/mcp.json",
        ),
        Snippet(
            "chatgpt",
            "ChatGPT",
            (
                "In the settings, under Connectors or Apps, turn developer mode on (Advanced).",
                "Create a connector with this address, and OAuth to sign in.",
            ),
            url,
            ASKED,
            hosted=True,
        ),
        Snippet(
            "curl",
            "curl",
            ("Put an agent key into AGENT_KEY, and run this.",),
            f"curl {url} \\\n"
            '  -H "Authorization: Bearer $AGENT_KEY" \\\n'
            '  -H "Content-Type: application/json" \\\n'
            '  -H "Accept: application/json, text/event-stream" \\\n'
            f"  -d '{_CALL}'",
            "It prints who the agent is.",
            keyed=True,
        ),
        Snippet(
            "python",
            "Python",
            ("Install the SDK with pip install mcp (version 2).", "Put an agent key into AGENT_KEY, and run this."),
            _PYTHON.replace("URL", url),
            "It prints what the agent left off with.",
            keyed=True,
        ),
    ]


_CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "whoami"}})
_PYTHON = """\
import asyncio, os
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

KEY = {"Authorization": "Bearer " + os.environ["AGENT_KEY"]}

async def main():
    async with httpx2.AsyncClient(headers=KEY, timeout=30) as http:
        async with Client(streamable_http_client("URL", http_client=http)) as board:
            print((await board.call_tool("resume", {})).structured_content)

asyncio.run(main())"""


def _printed(value: Any) -> str:
    return json.dumps(value, indent=2)
