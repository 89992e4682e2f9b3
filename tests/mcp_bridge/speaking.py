"""What a client of either era sends to the endpoint, each part of which a test may change, and what every answer is."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentboard.contract.errors import CODES
from tests.calls import MODERN, Data, Object, Reply, Request, in_process, modern

Headers = Mapping[str, str | None]
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
REFUSED, RESOURCE_NOT_FOUND, HEADER_MISMATCH, UNSUPPORTED_VERSION = -32000, -32002, -32020, -32022
ANSWERS = {"application/json", "text/event-stream"}
PREFIX = "io.modelcontextprotocol/"


@dataclass(frozen=True)
class Client:
    """An MCP client of one era with a key (`""`: none). `exchange` brings a request to the endpoint and back."""

    key: str
    modern: bool = False
    exchange: Callable[[Request], Reply] = in_process
    capabilities: Data = field(default_factory=dict)

    def message(self, method: str, params: Data | None = None, **more: Any) -> tuple[Object, dict[str, str]]:
        """A request as JSON, and the headers that go with it."""
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self.modern:
            params, headers = modern(method, params or {}, headers, self.capabilities)
            headers |= {name: coded(value) for name, value in headers.items() if name in ("mcp-name", "mcp-method")}
        sent = {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": dict(params)})}
        return {**sent, **more}, headers

    def post(self, body: bytes, headers: Headers, *, path: str = "/mcp", verb: str = "POST") -> Reply:
        """The reply to these bytes. Headers that are None are left out; the credential is added unless one is given."""
        credential = {"authorization": f"Bearer {self.key}"} if self.key else {}
        sent = {name: value for name, value in {**credential, **headers}.items() if value is not None}
        place, _, query = path.partition("?")
        return self.exchange(Request(verb, place, query, sent, body))

    def ask(
        self,
        method: str,
        params: Data | None = None,
        *,
        changes: Headers | None = None,
        path: str = "/mcp",
        **more: Any,
    ) -> Reply:
        """The reply to a request; `changes` of its headers, `more` members of the message."""
        message, headers = self.message(method, params, **more)
        return self.post(json.dumps(message).encode(), {**headers, **(changes or {})}, path=path)

    def result(self, method: str, params: Data | None = None, **more: Any) -> Object:
        """The result of a request that must have one."""
        return result(self.ask(method, params, **more), self.modern)

    def tool(self, name: str, id: str | None = None, /, **data: Any) -> Object:
        """The result of a tool's call, a refusal's too."""
        arguments: Object = {**({} if id is None else {"id": id}), **({"data": data} if data else {})}
        return self.result("tools/call", {"name": name, "arguments": arguments})

    def status_of(self, status: int) -> int:
        """The HTTP status of a protocol error: its own in the newest revision, 200 in the older ones."""
        return status if self.modern else 200


def coded(text: str) -> str:
    """The text as a header can carry it (2026-07-28, "Header Value Encoding")."""
    if text.isascii() and text.isprintable() and text.strip() == text:
        return text
    return f"=?base64?{base64.b64encode(text.encode(errors='replace')).decode()}?="


def answered(reply: Reply) -> None:
    """What holds for every answer that has a body."""
    assert reply.headers["content-type"] in ANSWERS, reply.raw[:500]
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-request-id"]
    assert "mcp-session-id" not in reply.headers
    assert "set-cookie" not in reply.headers
    assert reply.json["jsonrpc"] == "2.0"


def result(reply: Reply, modern: bool, id: Any = 1) -> Object:
    """The result in an answer, which is one as its era asks for."""
    answered(reply)
    assert reply.status == 200, reply.raw
    assert reply.json.keys() == {"jsonrpc", "id", "result"}, reply.raw
    assert same(reply.json["id"], id)
    found: Object = reply.json["result"]
    if modern:
        assert found["resultType"] in ("complete", "input_required")
        assert found["_meta"][f"{PREFIX}serverInfo"].keys() == {"name", "version"}
    else:
        assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & found.keys()
    return found


def fault(reply: Reply, status: int, rpc: int, code: str, id: Any = 1) -> Object:
    """The JSON-RPC error in an answer: with its HTTP status, its code, and in `data` our error object of this code."""
    answered(reply)
    assert reply.status == status, reply.raw
    assert reply.json.keys() == {"jsonrpc", "id", "error"}, reply.raw
    assert same(reply.json["id"], id), reply.raw
    error: Object = reply.json["error"]
    assert error.keys() == {"code", "message", "data"}
    assert (error["code"], error["data"]["error"]["code"]) == (rpc, code), error
    told = refused(error["data"])
    assert error["message"] == told["message"]
    return error


def refused(content: Object) -> Object:
    """Our error object, which has its one shape."""
    told: Object = content["error"]
    assert told["code"] in CODES
    assert told["help"] == f"/docs/errors#{told['code']}"
    assert told["message"].strip()
    assert told["next_action"].strip()
    assert not re.search("Traceback|Error:|site-packages", told["message"])
    return told


def failed(found: Object, code: str) -> Object:
    """The error object in the result of a tool that was refused with this code."""
    assert found["isError"] is True, found
    assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
    assert found["structuredContent"].keys() == {"error"}
    told = refused(found["structuredContent"])
    assert told["code"] == code, told
    return told


def done(found: Object) -> Object:
    """What a tool that was not refused has answered."""
    assert found["isError"] is False, found
    assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
    content: Object = found["structuredContent"]
    return content


def same(one: Any, other: Any) -> bool:
    """Whether two ids are the same, in kind too."""
    return type(one) is type(other) and one == other


def messages(raw: bytes) -> list[Object]:
    """The JSON-RPC messages of an event stream."""
    events = [event for event in raw.split(b"\r\n\r\n") if event and not event.startswith(b":")]
    assert all(event.startswith(b"event: message\r\ndata: ") for event in events), raw
    return [json.loads(event.partition(b"data: ")[2]) for event in events]


__all__ = ["MODERN", "Client", "answered", "done", "failed", "fault", "messages", "refused", "result", "same"]
