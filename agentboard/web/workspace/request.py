"""A call of a method, written as each door takes it. No key stands in it: `$AGENT_KEY` is where yours goes."""

import json
import pprint
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings

from agentboard.contract.method import Method

KEY = "$AGENT_KEY"
NO_ID = "{id}"


@dataclass(frozen=True)
class Call:
    """A method with its arguments, as the form holds them."""

    method: Method
    id: str | None
    data: Mapping[str, Any]

    @property
    def path(self) -> str:
        """The path at REST; where the id is missing, its place."""
        path = self.method.path
        if self.id is None and not self.method.id_required:
            return "/v1/" + path.removesuffix("/{id}")
        return "/v1/" + path.replace("{id}", NO_ID if self.id is None else quote(self.id, safe=""))

    @property
    def target(self) -> str:
        """Path and query at REST."""
        return f"{self.path}?{query(self.data)}" if self.method.reads and self.data else self.path

    @property
    def body(self) -> str:
        """The JSON body at REST, or nothing."""
        return "" if self.method.reads else printed(self.data)


def rest(call: Call) -> str:
    """The HTTP request."""
    head = [f"{call.method.verb} {call.target}"]
    head += [] if call.method.public else [f"Authorization: Bearer {KEY}"]
    head += [] if call.method.reads else ["Content-Type: application/json", "", call.body]
    return "\n".join(head)


def mcp(call: Call) -> str:
    """The JSON-RPC message of tools/call."""
    arguments = ({"id": call.id} if call.id is not None else {}) | ({"data": dict(call.data)} if call.data else {})
    params = {"name": call.method.name, "arguments": arguments}
    return printed({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def curl(call: Call) -> str:
    """A command for a POSIX shell; the key comes from the environment."""
    parts = [f"curl {shlex.quote(settings.PUBLIC_URL + call.target)}"]
    parts += [] if call.method.public else [f'-H "Authorization: Bearer {KEY}"']
    if not call.method.reads:
        parts += ["-H 'Content-Type: application/json'", f"--data-raw {shlex.quote(call.body)}"]
    return " \\\n  ".join(parts)


def python(call: Call) -> str:
    """A program with the library requests; the key comes from the environment."""
    lines = ["import os", "", "import requests", "", f"answer = requests.{call.method.verb.lower()}("]
    lines += [f"    {settings.PUBLIC_URL + call.path!r},"]
    lines += [] if call.method.public else ["    headers={'Authorization': f\"Bearer {os.environ['AGENT_KEY']}\"},"]
    if call.method.reads:
        lines += [f"    params={literal(written(call.data))},"] if call.data else []
    else:
        lines += [f"    json={literal(call.data)},"]
    return "\n".join([*lines, "    timeout=30,  # seconds", ")", "print(answer.status_code, answer.json())"])


LANGUAGES: dict[str, Callable[[Call], str]] = {"REST": rest, "MCP": mcp, "curl": curl, "Python": python}


def printed(value: Any) -> str:
    """JSON for people."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def literal(value: Any) -> str:
    """The value as Python writes it, inside an indented call."""
    return pprint.pformat(dict(value), width=100, sort_dicts=False).replace("\n", "\n    ")


def written(data: Mapping[str, Any]) -> dict[str, str]:
    """The arguments as texts of a query: booleans and numbers as JSON writes them."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in data.items()}


def query(data: Mapping[str, Any]) -> str:
    """The arguments as a query string."""
    return urlencode(written(data))
