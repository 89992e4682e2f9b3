"""The endpoint /mcp as an ASGI application: streamable HTTP without sessions, for any number of workers.

The loop reads the body; one thread does all of an ordinary request, as at the REST door; the loop sends. What waits or
listens does so on the loop, without a thread or a connection, and looks again in a thread when something has come.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from agentboard import rate
from agentboard.catalog import CATALOG
from agentboard.contract.errors import Refusal
from agentboard.contract.method import Wait
from agentboard.door import EARLY_SECONDS, LOOK_SECONDS, Gone, heard_of, read, refusal_of
from agentboard.ledger import notices
from agentboard.logs import request_id, write_call
from agentboard.request_name import request_name
from agentboard.threads import Threads
from mcp_bridge import credentials, request
from mcp_bridge.doctor import calls
from mcp_bridge.doctor.reasons import Reason
from mcp_bridge.exchange import EVENT_STREAM, JSON, Exchange, encoded
from mcp_bridge.fault import INVALID_PARAMS, REFUSED, RESOURCE_NOT_FOUND, UNSUPPORTED_VERSION, Fault, refused
from mcp_bridge.listening import Watch, notification
from mcp_bridge.request import Object, Request
from mcp_bridge.surface import Surface
from mcp_bridge.tools import OPTIONS, Waiting
from mcp_bridge.versions import SUBSCRIPTION

LISTEN = "subscriptions/listen"
KEEP_ALIVE_SECONDS = 15  # between signs of life on a silent stream; proxies give up after 30 or 60
CHECK_SECONDS = 60  # between looks at the credential of a listener to whom nothing happens
KEEP_ALIVE = b":\r\n\r\n"  # a comment (WHATWG HTML, section 9.2.5)
PROGRESS_SECONDS = 5

logger = logging.getLogger(__name__)


@dataclass
class Reply:
    """A whole answer, ready to be sent; `wait` says that it may be held back until there is more to say."""

    status: int
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: Wait | None = None
    asked: Request | None = None


@dataclass
class Listener:
    """A request whose answer is a stream of change notices."""

    asked: Request
    watch: Watch
    streams: tuple[str, ...]
    sent_at: float = field(default_factory=time.monotonic)


class Endpoint:
    """The ASGI application for /mcp."""

    def __init__(self, threads: Threads, surface: Surface | None = None) -> None:
        self._threads, self._surface = threads, surface or Surface()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope["headers"]).get(b"x-request-id", b"")
        exchange = Exchange(scope, request_name(given.decode("latin-1")))
        if exchange.verb == "OPTIONS":
            await _send(send, 204, exchange.preflight(), b"")
            return
        try:
            body: bytes | Refusal = await read(receive)
        except Gone:
            return
        except Refusal as refusal:
            body = refusal
        found = await self._in_a_thread(exchange, body)
        try:
            await self._deliver(exchange, body, found, receive, send)
        except Gone:
            return

    async def _in_a_thread(
        self, exchange: Exchange, body: bytes | Refusal, asked: Request | None = None
    ) -> Reply | Listener:
        """The answer; where no thread is free, one that says so."""
        try:
            return await self._threads.run(self.answer, exchange, body)
        except Refusal as refusal:
            return self._refused(exchange, asked, refused(refusal))

    async def _deliver(
        self, exchange: Exchange, body: bytes | Refusal, found: Reply | Listener, receive: Any, send: Any
    ) -> None:
        if isinstance(found, Listener):
            await self._listen(exchange, found, receive, send)
            return
        if found.wait is not None:
            await self._hold(exchange, body, found, receive, send)
            return
        await _reply(exchange, found, send)

    # In a thread

    def answer(self, exchange: Exchange, body: bytes | Refusal) -> Reply | Listener:
        """The answer to one request, logged."""
        request_id.set(exchange.name)
        asked: Request | None = None
        try:
            asked = self._admitted(exchange, body)
            found: Reply | Listener = self._answered(exchange, asked) if asked is not None else Reply(202)
        except Fault as fault:
            if fault.code == UNSUPPORTED_VERSION and exchange.caller is not None:
                calls.held_up(exchange.caller, Reason.PROTOCOL_UNSUPPORTED, exchange.peer(), "")
            found = self._refused(exchange, asked, fault)
        except Exception as error:
            found = self._refused(exchange, asked, self._fault(exchange, asked, error))
        self._log(exchange, asked, found)
        request_id.set("-")
        return found

    def _admitted(self, exchange: Exchange, body: bytes | Refusal) -> Request | None:
        """The request, by a caller who may come in; None for a message that wants no answer."""
        exchange.admit()
        caller = exchange.identify()
        exchange.check_types()
        if isinstance(body, Refusal):
            raise refused(body)
        asked = request.read(body, exchange.headers)
        if asked is None:
            return None
        asked.caller = credentials.through(caller, asked.client)
        calls.first_call(asked.caller, exchange.peer, asked.client)
        return asked

    def _answered(self, exchange: Exchange, asked: Request) -> Reply | Listener:
        asked.toolsets = exchange.toolsets()
        if asked.method != "tools/call":
            rate.spend(asked.caller)  # a tool's call does so itself, once its scope has been looked at
        if asked.modern and asked.method == LISTEN:
            return self._listener(exchange, asked)
        found = self._surface.answer(asked)
        result, wait = (found.result, found.wait) if isinstance(found, Waiting) else (found, None)
        message = _message(asked, result)
        if exchange.takes_stream and (asked.told or not exchange.takes_json):
            content = b"".join(map(_event, (*asked.told, message)))
            return Reply(200, content, {"Content-Type": EVENT_STREAM}, wait, asked)
        return Reply(200, _json(message), {"Content-Type": JSON}, wait, asked)

    def _listener(self, exchange: Exchange, asked: Request) -> Listener:
        if not exchange.takes_stream:
            raise refused(Refusal("not_acceptable", f"{LISTEN} is answered by {EVENT_STREAM} only."))
        watch = self._surface.watch(asked)
        streams = watch.streams()
        watch.news()
        return Listener(asked, watch, streams)

    def _fault(self, exchange: Exchange, asked: Request | None, error: Exception) -> Fault:
        """Any other exception as the fault that the client is told."""
        refusal = refusal_of(error)
        if refusal.code == "insufficient_scope" and asked is not None and asked.caller.credential == "token":
            needed = str(refusal.more["scope"])
            calls.held_up(asked.caller, Reason.SCOPE_MISSING, exchange.peer(), asked.client)
            challenge = credentials.step_up(exchange.own_origin, asked.caller, needed)
            return refused(refusal, {"WWW-Authenticate": challenge})
        if refusal.code == "not_found" and asked is not None:
            code = INVALID_PARAMS if asked.modern else RESOURCE_NOT_FOUND
            return Fault(code, refusal.message, refusal=refusal)
        if refusal.code in ("invalid_arguments", "cursor_expired"):
            return Fault(INVALID_PARAMS, refusal.message, refusal=refusal)
        if refusal.code == "insufficient_scope":
            return Fault(REFUSED, refusal.message, refusal=refusal)
        return refused(refusal)

    def _refused(self, exchange: Exchange, asked: Request | None, fault: Fault) -> Reply:
        identifier = asked.id if asked is not None else fault.id
        status = 200 if fault.protocol and asked is not None and not asked.modern else fault.status
        message = {"jsonrpc": "2.0", "id": identifier, "error": fault.as_json()}
        if status == 200 and not exchange.takes_json:  # with any other status clients take JSON as well
            return Reply(200, _event(message), {"Content-Type": EVENT_STREAM, **fault.headers})
        return Reply(status, _json(message), {"Content-Type": JSON, **fault.headers})

    def _look(self, exchange: Exchange, listener: Listener) -> list[Object]:
        """What is new to a listener, whose credential is looked at first. Raises Fault where it may listen no more."""
        request_id.set(exchange.name)
        try:
            listener.asked.caller = exchange.identify()
            listener.streams = listener.watch.streams()
            return listener.watch.news()
        except Fault:
            raise
        except Exception as error:
            raise self._fault(exchange, listener.asked, error) from None
        finally:
            request_id.set("-")

    # On the loop

    async def _hold(self, exchange: Exchange, body: bytes | Refusal, found: Reply, receive: Any, send: Any) -> None:
        """Send the answer once there is something in it, or what it is when the time is over.

        A client that asked to be told of progress hears on the way that the call is alive.
        """
        assert found.asked is not None
        token = found.asked.progress_token
        if token is None or not exchange.takes_stream:
            await _reply(exchange, await self._patient(exchange, body, found, receive), send)
            return
        await _begin_stream(exchange, send)
        async with _alive(send, token, found.wait.seconds if found.wait else 0):
            reply = await self._patient(exchange, body, found, receive)
        content = reply.content if reply.headers.get("Content-Type") == EVENT_STREAM else _event_of(reply.content)
        await send({"type": "http.response.body", "body": content})

    async def _patient(self, exchange: Exchange, body: bytes | Refusal, found: Reply, receive: Any) -> Reply:
        wait, reply = found.wait, found
        assert wait is not None
        end, pause = time.monotonic() + wait.seconds, float(LOOK_SECONDS)
        with notices.waiting(wait.streams) as waiter, heard_of(receive, waiter.hear) as gone:
            while True:
                looked = await self._in_a_thread(exchange, body, found.asked)
                assert isinstance(looked, Reply)
                reply, left = looked, end - time.monotonic()
                if reply.wait is None or left <= 0:
                    return reply
                heard = await waiter.wait(min(left, pause))
                if gone.is_set():
                    raise Gone
                pause = EARLY_SECONDS if heard else min(2 * pause, LOOK_SECONDS)

    async def _listen(self, exchange: Exchange, listener: Listener, receive: Any, send: Any) -> None:
        """Acknowledge, then tell of changes until the client hangs up or its credential ends."""
        await _begin_stream(exchange, send)
        marked = {SUBSCRIPTION: listener.asked.id}
        honoured = notification(
            "notifications/subscriptions/acknowledged", _meta=marked, notifications=listener.watch.honoured
        )
        await _send_events(send, [honoured])
        try:
            while True:
                with notices.waiting(listener.streams) as waiter, heard_of(receive, waiter.hear) as gone:
                    await self._tell(exchange, listener, waiter, gone, send)
        except (Fault, Refusal) as error:  # a Refusal: no thread is free
            fault = error if isinstance(error, Fault) else refused(error)
            content = _event_of(self._refused(exchange, listener.asked, fault).content)
            await send({"type": "http.response.body", "body": content})

    async def _tell(
        self, exchange: Exchange, listener: Listener, waiter: notices.Waiter, gone: asyncio.Event, send: Any
    ) -> None:
        """Tell of changes, those too that came before it waited, as long as the streams to wait on stay the same."""
        streams, early = listener.streams, 0.0
        while True:
            news = await self._threads.run(self._look, exchange, listener)
            if news:
                await _send_events(send, [_marked(each, listener.asked.id) for each in news])
                listener.sent_at = time.monotonic()
            if listener.streams != streams:
                return
            early = min(2 * early or EARLY_SECONDS, LOOK_SECONDS) if listener.watch.held_back else 0.0
            await _quiet(listener, waiter, early or CHECK_SECONDS, send)
            if gone.is_set():
                raise Gone

    def _knows(self, asked: Request) -> bool:
        return asked.method == LISTEN or self._surface.knows(asked)

    def _log(self, exchange: Exchange, asked: Request | None, found: Reply | Listener) -> None:
        """One line for each request: the method and the agent by their names; never an argument, a key or a text."""
        name = asked.params.get("name") if asked is not None and asked.method == "tools/call" else None
        fields = {
            "method": name if isinstance(name, str) and name in CATALOG else None,
            "mcp": asked.method if asked is not None and self._knows(asked) else None,
            "agent": exchange.caller.handle if exchange.caller is not None else None,
            "verb": exchange.verb,
            "status": found.status if isinstance(found, Reply) else 200,
            "ms": round((time.perf_counter() - exchange.started) * 1000, 1),
        }
        write_call(logger, fields)


async def _quiet(listener: Listener, waiter: notices.Waiter, seconds: float, send: Any) -> None:
    """Come back at a notice or after so many seconds; meanwhile give signs of life where nothing else is sent."""
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        if now >= listener.sent_at + KEEP_ALIVE_SECONDS:
            await send({"type": "http.response.body", "body": KEEP_ALIVE, "more_body": True})
            listener.sent_at = now
        if await waiter.wait(min(end, listener.sent_at + KEEP_ALIVE_SECONDS) - now):
            return


@asynccontextmanager
async def _alive(send: Any, token: Any, seconds: int) -> AsyncIterator[None]:
    """Meanwhile, tell each few seconds how long the call has waited."""

    async def report() -> None:
        for waited in range(0, seconds, PROGRESS_SECONDS):
            told = {"progressToken": token, "progress": waited, "total": seconds, "message": "Waiting for an event."}
            await _send_events(send, [notification("notifications/progress", **told)])
            await asyncio.sleep(PROGRESS_SECONDS)

    task = asyncio.get_running_loop().create_task(report())
    try:
        yield
    finally:
        task.cancel()


def _marked(told: Object, identifier: str | int) -> Object:
    """The notification, naming the subscription that it belongs to."""
    params = told["params"]
    return {**told, "params": {**params, "_meta": {**params.get("_meta", {}), SUBSCRIPTION: identifier}}}


def _message(asked: Request, result: Object) -> Object:
    return {"jsonrpc": "2.0", "id": asked.id, "result": result}


def _json(message: Object) -> bytes:
    try:
        return orjson.dumps(message, option=OPTIONS)
    except orjson.JSONEncodeError:  # a fault repeats a name with a lone surrogate, which only an escape can tell
        return json.dumps(message).encode()


def _event(message: Object) -> bytes:
    return _event_of(_json(message))


def _event_of(content: bytes) -> bytes:
    """One event of an event stream (WHATWG HTML, section 9.2); JSON has no line breaks outside strings."""
    return b"event: message\r\ndata: " + content + b"\r\n\r\n"


async def _reply(exchange: Exchange, reply: Reply, send: Any) -> None:
    await _send(send, reply.status, exchange.headers_of(reply.headers), reply.content)


async def _send(send: Any, status: int, headers: list[tuple[bytes, bytes]], content: bytes) -> None:
    length = [] if status == 204 else encoded({"Content-Length": str(len(content))})
    await send({"type": "http.response.start", "status": status, "headers": headers + length})
    await send({"type": "http.response.body", "body": content})


async def _begin_stream(exchange: Exchange, send: Any) -> None:
    headers = exchange.headers_of({"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no"})
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _send_events(send: Any, messages: list[Object]) -> None:
    if messages:
        content = b"".join(map(_event, messages))
        await send({"type": "http.response.body", "body": content, "more_body": True})
