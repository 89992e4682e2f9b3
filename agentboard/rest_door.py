"""The REST door, the ASGI side: one hop from the event loop to a thread and back, and one shape of errors.

The loop reads the body, bounded in bytes and time; one thread resolves the path, runs the view and renders; the loop
sends. Django's middleware does not run here.
"""

import io
import logging
import time
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from django.urls import Resolver404, get_resolver, set_urlconf
from rest_framework import exceptions

from agentboard.contract.errors import Refusal
from agentboard.contract.method import Wait
from agentboard.door import EARLY_SECONDS, LOOK_SECONDS, Gone, check_host, foreign_host, heard_of, read
from agentboard.ledger import notices
from agentboard.logs import request_id, write_call
from agentboard.request_name import request_name
from agentboard.rest import RENDERER, RefusalView
from agentboard.threads import Threads

URLCONF = "agentboard.rest"
ALWAYS = (  # an answer is for its caller alone, and is nothing but JSON
    (b"Content-Type", b"application/json"),
    (b"Cache-Control", b"no-store"),
    (b"X-Content-Type-Options", b"nosniff"),
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reply:
    """One answer as ASGI sends it; `wait` says that it is empty and may be held back."""

    status: int
    headers: list[tuple[bytes, bytes]]
    content: bytes
    wait: Wait | None = None


class RestDoor:
    """The ASGI application for /v1."""

    def __init__(self, threads: Threads) -> None:
        self.resolver, self.threads = get_resolver(URLCONF), threads
        self.refuse = RefusalView.as_view()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        refusal: Exception | None = None
        body = b""
        try:
            body = await read(receive)
        except Gone:
            return
        except Refusal as error:
            refusal = error
        try:
            reply = await self.threads.run(self.answer, scope, body, refusal)
            if reply.wait is not None:
                reply = await self.patient(scope, body, receive, reply.wait)
        except Refusal as error:
            reply = self.answer(scope, b"", error)
        except Gone:
            return
        await send({"type": "http.response.start", "status": reply.status, "headers": reply.headers})
        await send({"type": "http.response.body", "body": reply.content})

    async def patient(self, scope: Any, body: bytes, receive: Any, wait: Wait) -> Reply:
        """The answer once there is something in it, or what it is when the time is over.

        Waits on the loop, with no thread and no connection held. Each look is the whole call anew, so a credential or a
        membership that has ended meanwhile counts.
        """
        end = time.monotonic() + wait.seconds
        pause = float(LOOK_SECONDS)
        with notices.waiting(wait.streams) as waiter, heard_of(receive, waiter.hear) as gone:
            while True:
                reply = await self.threads.run(self.answer, scope, body, None)
                left = end - time.monotonic()
                if reply.wait is None or left <= 0:
                    return reply
                heard = await waiter.wait(min(left, pause))
                if gone.is_set():
                    raise Gone
                pause = EARLY_SECONDS if heard else min(2 * pause, LOOK_SECONDS)

    def answer(self, scope: Any, body: bytes, refusal: Exception | None) -> Reply:
        """The answer to one request, logged."""
        started = time.perf_counter()
        set_urlconf(URLCONF)
        request, refusal = request_of(scope, body, refusal)
        request_id.set(name := request_name(str(request.META.get("HTTP_X_REQUEST_ID", ""))))
        response, content = self._response(request, refusal)
        own = ((key, value) for key, value in response.items() if key != "Content-Type")  # Django's guess is HTML
        headers = [(key.encode("ascii"), value.encode("latin-1")) for key, value in own]
        headers += [*ALWAYS, (b"Content-Length", b"%d" % len(content)), (b"X-Request-Id", name.encode())]
        log(request, response.status_code, time.perf_counter() - started)
        request_id.set("-")
        wait = getattr(response, "agentboard_wait", None)
        return Reply(response.status_code, headers, b"" if request.method == "HEAD" else content, wait)

    def _response(self, request: HttpRequest, refusal: Exception | None) -> tuple[Any, bytes]:
        """DRF's response and its content; Response.render() would come to the same by way of Django's templates."""
        try:
            if refusal is not None:
                raise refusal
            check_host(request.META.get("HTTP_HOST", ""), request)
            match = request.resolver_match = self.resolver.resolve(request.path_info)
            response = match.func(request, *match.args, **match.kwargs)
            return response, RENDERER.render(response.data)
        except Exception as error:
            request.agentboard_refusal = in_our_words(error)  # type: ignore[attr-defined]
            response = self.refuse(request)
            return response, RENDERER.render(response.data)


def in_our_words(error: Exception) -> Exception:
    """Django's exceptions as ours; its own words would list every route."""
    if isinstance(error, Resolver404):
        return exceptions.NotFound()
    if isinstance(error, (SuspiciousOperation, BadRequest)):
        return foreign_host()
    return error


def request_of(scope: Any, body: bytes, refusal: Exception | None) -> tuple[HttpRequest, Exception | None]:
    """Django's request; a query string that is no text becomes the refusal of an empty one."""
    try:
        scope["query_string"].decode()
    except UnicodeDecodeError:
        scope = {**scope, "query_string": b""}
        refusal = refusal or Refusal("invalid_arguments", "The query string is not text.")
    try:
        request = ASGIRequest(scope, io.BytesIO(body))
    except ValueError:  # a Content-Type with a parameter in a character set that nobody knows (RFC 2231) counts as none
        headers = [header for header in scope["headers"] if header[0] != b"content-type"]
        request = ASGIRequest({**scope, "headers": headers}, io.BytesIO(body))
    request.META["CONTENT_LENGTH"] = str(len(body))  # a chunked body has none, and DRF sees no body without it
    return request, refusal


def log(request: HttpRequest, status: int, seconds: float) -> None:
    """One line for each call: method and agent by name, never a path's query, a body or a key."""
    fields = {
        "method": getattr(request, "agentboard_method", None),
        "agent": getattr(request, "agentboard_agent", None),
        "verb": request.method,
        "status": status,
        "ms": round(seconds * 1000, 1),
    }
    write_call(logger, fields)
