"""The doors as tests use them: one way to call a method and to read the answer, whichever door it goes through."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlencode, urlsplit

from jsonschema_rs import Draft202012Validator

from agentboard.catalog import CATALOG
from agentboard.contract.errors import CODES

Data = Mapping[str, Any]
Object = dict[str, Any]
SOCKET_SECONDS = 60


@dataclass(frozen=True)
class Reply:
    """What came back: the JSON object of a method's answer, or of its refusal."""

    status: int  # HTTP; what a door without statuses of its own would have said at REST
    json: Object
    headers: Mapping[str, str] = field(default_factory=dict)  # by lowercase name
    raw: bytes = b""

    @property
    def code(self) -> str | None:
        """The error code, or None for success."""
        error = self.json.get("error")
        return error["code"] if error else None


class Door(Protocol):
    """Where calls go in."""

    def send(self, key: str, name: str, id: str | None, data: Data) -> Reply:
        """Call the method `name` with this agent key."""
        ...


class Agent:
    """An agent that calls through a door; `data` are the call's arguments, however the door carries them."""

    def __init__(self, door: Door, key: str, handle: str = "", pk: int = 0) -> None:
        self.door, self.key, self.handle, self.pk = door, key, handle, pk

    def send(self, name: str, id: str | None = None, data: Data | None = None) -> Reply:
        """The reply, whatever it is."""
        return self.door.send(self.key, name, id, data or {})

    def call(self, name: str, id: str | None = None, /, **data: Any) -> Reply:
        """The reply, whatever it is."""
        return self.send(name, id, data)

    def done(self, name: str, id: str | None = None, /, **data: Any) -> Object:
        """The answer of a call that must succeed; it has the shape that the method declares."""
        reply = self.send(name, id, data)
        assert reply.status in (200, 201), reply.raw or reply.json
        problems = [f"{error.instance_path}: {error.message}" for error in _answers(name).iter_errors(reply.json)]
        assert not problems, problems
        return reply.json

    def refused(self, code: str, name: str, id: str | None = None, /, **data: Any) -> Object:
        """The error object of a call that must be refused with this code."""
        return refusal(self.send(name, id, data), code)

    def save(self, name: str, body: str = "Text", expected_version: int = 0, **more: Any) -> Object:
        """The answer of save_memory."""
        return self.done("save_memory", name, body=body, expected_version=expected_version, **more)

    def note(self, name: str, **data: Any) -> Object:
        """The answer of get_memory."""
        return self.done("get_memory", name, **data)


def refusal(reply: Reply, code: str) -> Object:
    """The error object of a reply with this code, which has the one shape of errors."""
    assert reply.code == code, reply.raw or reply.json
    assert reply.status == CODES[code].status
    assert list(reply.json) == ["error"]
    error: Object = reply.json["error"]
    assert error["help"] == f"/docs/errors#{code}"
    assert error["message"].strip()
    assert error["next_action"].strip()
    if code == "invalid_arguments":
        assert error["details"]
        assert all(set(detail) == {"path", "message"} for detail in error["details"])
    return error


@cache
def _answers(name: str) -> Draft202012Validator:
    return Draft202012Validator(CATALOG[name].answer, validate_formats=True)


# ---- REST


@dataclass(frozen=True)
class Request:
    """One HTTP request; the path is escaped."""

    verb: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Rest:
    """The REST door, in this process or over a socket."""

    def __init__(self, exchange: Callable[[Request], Reply] | None = None) -> None:
        self.exchange = exchange or in_process

    def send(self, key: str, name: str, id: str | None, data: Data) -> Reply:
        """The call as one HTTP request: `data` is the query of a read, the body of a write."""
        method = CATALOG[name]
        path = method.path.removesuffix("/{id}") if id is None else method.path.replace("{id}", quote(id, safe=""))
        headers = {"authorization": f"Bearer {key}"} if key else {}
        if method.reads:
            return self.exchange(Request(method.verb, f"/v1/{path}", query(data), headers))
        body = json.dumps(data).encode()
        headers["content-type"] = "application/json"
        return self.exchange(Request(method.verb, f"/v1/{path}", "", headers, body))


# ---- MCP


class Mcp:
    """The MCP door, in this process or over a socket; `modern` is the revision without a handshake."""

    def __init__(self, exchange: Callable[[Request], Reply] | None = None, *, modern: bool = False) -> None:
        self.exchange, self.modern = exchange or in_process, modern

    def send(self, key: str, name: str, id: str | None, data: Data) -> Reply:
        """The call as one `tools/call`; the reply's status is what REST would have answered to a refusal."""
        arguments: Object = {} if id is None else {"id": id}
        if data or CATALOG[name].required:
            arguments["data"] = dict(data)
        reply = self.ask(key, "tools/call", {"name": name, "arguments": arguments})
        if "result" not in reply.json:
            told = reply.json["error"]["data"]["error"]
            return Reply(CODES[told["code"]].status, {"error": told}, reply.headers, reply.raw)
        result = reply.json["result"]
        content = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == content
        assert result["isError"] == ("error" in content)
        status = CODES[content["error"]["code"]].status if result["isError"] else 200
        return Reply(status, content, reply.headers, reply.raw)

    def ask(self, key: str, method: str, params: Data, *, path: str = "/mcp", **headers: str) -> Reply:
        """The reply to one JSON-RPC request, as it is on the wire; headers by their names with _ for -."""
        wanted = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if key:
            wanted["authorization"] = f"Bearer {key}"
        if self.modern:
            params, wanted = modern(method, params, wanted)
        wanted |= {header.replace("_", "-"): value for header, value in headers.items()}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        place, _, query = path.partition("?")
        return self.exchange(Request("POST", place, query, wanted, body))


MODERN = "2026-07-28"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def modern(
    method: str, params: Data, headers: dict[str, str], capabilities: Data | None = None
) -> tuple[Object, dict[str, str]]:
    """Params and headers of a request in the newest revision of the protocol."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": dict(capabilities or {}),
        **params.get("_meta", {}),
    }
    wanted = {**headers, "mcp-protocol-version": MODERN, "mcp-method": method}
    if method in NAMED_BY and isinstance(params.get(NAMED_BY[method]), str):
        wanted["mcp-name"] = params[NAMED_BY[method]]
    return {**params, "_meta": meta}, wanted


def posted(agent: Agent, path: str, body: bytes) -> Reply:
    """The reply to bytes that the agent posts as JSON, whatever they are."""
    assert isinstance(agent.door, Rest)
    headers = {"authorization": f"Bearer {agent.key}", "content-type": "application/json"}
    return agent.door.exchange(Request("POST", path, "", headers, body))


def got(agent: Agent, path: str, query: str = "") -> Reply:
    """The reply to a GET of the agent, whatever the query string is."""
    assert isinstance(agent.door, Rest)
    return agent.door.exchange(Request("GET", path, query, {"authorization": f"Bearer {agent.key}"}))


def query(data: Data) -> str:
    """A query string; booleans and numbers as JSON writes them."""
    return urlencode({name: v if isinstance(v, str) else json.dumps(v) for name, v in data.items()})


def in_process(request: Request) -> Reply:
    """The reply of this process's own ASGI application."""
    return asyncio.run(_exchanged(request))


async def _exchanged(request: Request) -> Reply:
    from agentboard.asgi import application  # sets Django up, so after conftest.py has

    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await application(_scope(request), receive, send)
    return _reply(sent[0]["status"], sent[0]["headers"], b"".join(message["body"] for message in sent[1:]))


def in_this_thread(request: Request) -> Reply:
    """The reply of the REST door, made in the thread that asks and over its database connection."""
    from agentboard.asgi import threads
    from agentboard.rest_door import RestDoor

    answer = RestDoor(threads).answer(_scope(request), request.body, None)
    return _reply(answer.status, answer.headers, answer.content)


def _scope(request: Request) -> Object:
    headers = {"host": "127.0.0.1", **request.headers}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.verb,
        "scheme": "http",
        "path": unquote(request.path),
        "raw_path": request.path.encode(),
        "query_string": request.query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8000),
    }


def over_socket(url: str) -> Callable[[Request], Reply]:
    """The replies of a server, each over a connection of its own. Raises OSError or HTTPException where none comes."""
    place = urlsplit(url).netloc

    def exchange(request: Request) -> Reply:
        target = f"{request.path}?{request.query}" if request.query else request.path
        with closing(HTTPConnection(place, timeout=SOCKET_SECONDS)) as connection:
            connection.request(request.verb, target, request.body or None, dict(request.headers))
            response = connection.getresponse()
            headers = [(name.encode(), value.encode()) for name, value in response.getheaders()]
            return _reply(response.status, headers, response.read())

    return exchange


def _reply(status: int, headers: Iterable[tuple[bytes, bytes]], raw: bytes) -> Reply:
    found = {name.decode().lower(): value.decode() for name, value in headers}
    streamed = found.get("content-type") == "text/event-stream"
    told = raw.rpartition(b"data: ")[2] if streamed else raw  # of a stream its last event
    return Reply(status, json.loads(told) if told else {}, found, raw)
