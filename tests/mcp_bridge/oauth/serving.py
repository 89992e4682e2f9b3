"""A real server with the documents of fixtures.py and two people who are signed in."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.doors.board import UNLIMITED, empty_database
from tests.mcp_bridge.oauth.flow import JSON, Answer, Browser, Web, over_socket
from tests.serving import PROJECT, Served, served

SETTINGS = {"DJANGO_SETTINGS_MODULE": "tests.mcp_bridge.oauth.settings"}


class Site:
    """The server, and Mira's and Noor's browsers and agents' keys."""

    def __init__(self, server: Served, people: dict[str, dict[str, str]]) -> None:
        self.server, self._people = server, people
        self.web = over_socket(server.url)

    def browser(self, name: str = "mira") -> Browser:
        """A browser in which this person is signed in."""
        return Browser(self.web, {"sessionid": self._people[name]["session"]})

    def key(self, name: str = "mira") -> str:
        """A key of this person's agent."""
        return self._people[name]["key"]

    def lines(self) -> list[dict[str, Any]]:
        """The log so far."""
        return [json.loads(line) for line in self.server.err.splitlines()]


@contextmanager
def site(folder: Path, **variables: str) -> Iterator[Site]:
    """A server of its own, without limits unless `variables` say so."""
    with empty_database() as database:
        environment = {**UNLIMITED, **SETTINGS, **database, **variables}
        with served(folder, **environment) as server:
            made = subprocess.run(
                [sys.executable, "-m", "tests.mcp_bridge.oauth.people"],
                cwd=PROJECT,
                env={"AGENTBOARD_DATA": str(folder / "data"), **environment},
                check=True,
                stdout=subprocess.PIPE,
            )
            yield Site(server, json.loads(made.stdout))


def call(web: Web, token: str, tool: str = "whoami", path: str = "/mcp", **arguments: Any) -> Answer:
    """A tool's call at the endpoint, with this credential (`""` for none)."""
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {**JSON, "Accept": "application/json, text/event-stream"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return web.ask("POST", path, headers, json.dumps(sent).encode())


def content(answer: Answer) -> dict[str, Any]:
    """The structured content of a tool's result."""
    assert answer.status == 200, (answer.status, answer.body)
    found: dict[str, Any] = answer.json["result"]["structuredContent"]
    return found
