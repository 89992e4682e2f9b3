"""The HTTP side of one request to the endpoint: may it come in at all, and how its answer is dressed."""

import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from agentboard import rate
from agentboard.contract.body import PARAMETERS_MAX
from agentboard.contract.errors import Refusal
from agentboard.door import foreign_host
from agentboard.environment import origin_of
from agentboard.identity.caller import Caller
from mcp_bridge import credentials, tools
from mcp_bridge.address import LOOPBACK, is_own, own_origin
from mcp_bridge.doctor import calls, watch
from mcp_bridge.doctor.models import Step
from mcp_bridge.doctor.peer import Peer
from mcp_bridge.doctor.reasons import Reason
from mcp_bridge.fault import Fault, refused
from mcp_bridge.request import Headers

JSON, EVENT_STREAM = "application/json", "text/event-stream"
ALLOWED = "POST, OPTIONS"
_PREFLIGHT_SECONDS = 86_400  # that a browser may remember
_ASKED_HEADERS = (  # beside those that need no permission
    "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id, "
    "x-request-id"
)
_SHOWN_HEADERS = "mcp-session-id, www-authenticate, retry-after, x-request-id"


class Exchange:
    """One HTTP request. Its checks raise Fault; `headers_of` dresses whatever is answered."""

    def __init__(self, scope: Mapping[str, object], name: str) -> None:
        self.started = time.perf_counter()
        self.name = name
        self.verb = str(scope["method"])
        self.headers = Headers(scope["headers"])  # type: ignore[arg-type]
        self.query = bytes(scope["query_string"])  # type: ignore[call-overload]
        client = scope.get("client")
        self.address = str(client[0]) if isinstance(client, (tuple, list)) and client else "unknown"
        self.origin = self.headers.get("origin")
        self.scheme = str(scope.get("scheme", "http"))
        self.caller: Caller | None = None

    @property
    def own_origin(self) -> str:
        """The origin that the client reached this server by."""
        return own_origin(self.scheme, self.headers.get("host") or "")

    def peer(self) -> Peer:
        """Who is at the other end, for the doctor."""
        return Peer.at(self.address, self.headers.get("user-agent") or "")

    def admit(self) -> None:
        """Host, Origin and verb, in this order: who is refused here learns nothing of credentials."""
        if not _known_host(self.headers.get("host") or ""):
            watch.stopped(Step.DISCOVERY, Reason.HOST_UNKNOWN, self.peer())
            raise refused(foreign_host())
        if self.origin is not None and not origin_allowed(self.origin):
            watch.stopped(Step.DISCOVERY, Reason.ORIGIN_REFUSED, self.peer())
            raise refused(
                Refusal(
                    "forbidden",
                    "Pages of this origin may not call this server.",
                    next_action="Its operator can allow the origin with AGENTBOARD_ORIGINS.",
                )
            )
        if self.verb != "POST":
            raise refused(
                Refusal("method_not_allowed", "This endpoint takes POST only.", next_action="Send POST."),
                {"Allow": ALLOWED},
            )

    def identify(self) -> Caller:
        """The caller. A failed credential costs its address one call of its budget."""
        header = self.headers.get("authorization") or ""
        try:
            self.caller = credentials.caller_of(header)
        except Refusal as refusal:
            _spend(self.address)
            calls.refused(header, self.peer(), "")
            challenge = credentials.challenge(self.own_origin, refusal, bool(header))
            raise refused(refusal, {"WWW-Authenticate": challenge}) from None
        return self.caller

    def check_types(self) -> None:
        """JSON must come in, and something that is answered here must be allowed to go out."""
        if media_type(self.headers.get("content-type") or "") != JSON:
            raise refused(Refusal("unsupported_media_type", "The body's Content-Type is not application/json."))
        if not (self.takes_json or self.takes_stream):
            raise refused(
                Refusal(
                    "not_acceptable",
                    "The Accept header admits neither application/json nor text/event-stream.",
                    next_action=f"Send Accept: {JSON}, {EVENT_STREAM}.",
                )
            )

    def toolsets(self) -> frozenset[str]:
        """The toolsets that the URL's query asks for; all where it asks for none. Nothing else in it is looked at."""
        if not self.query:
            return tools.chosen(())
        try:
            asked = parse_qs(self.query.decode(), errors="strict", max_num_fields=PARAMETERS_MAX).get("toolsets", [])
        except ValueError:  # and UnicodeDecodeError, which is one
            raise refused(Refusal("invalid_arguments", "The query string cannot be read.")) from None
        return tools.chosen(name for text in asked for name in text.split(",") if name)

    @property
    def takes_json(self) -> bool:
        """Whether the answer may be one JSON object."""
        return bool(accepted(self.headers.get("accept") or "") & {JSON, "application/*", "*/*"})

    @property
    def takes_stream(self) -> bool:
        """Whether the answer may be an event stream."""
        return bool(accepted(self.headers.get("accept") or "") & {EVENT_STREAM, "text/*", "*/*"})

    def headers_of(self, more: Mapping[str, str] | None = None) -> list[tuple[bytes, bytes]]:
        """The headers that every answer has, and further ones."""
        found = {"X-Request-Id": self.name, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        if self.origin is not None and origin_allowed(self.origin):
            found |= {
                "Access-Control-Allow-Origin": self.origin,
                "Access-Control-Expose-Headers": _SHOWN_HEADERS,
                "Vary": "Origin",
            }
        return encoded({**found, **(more or {})})

    def preflight(self) -> list[tuple[bytes, bytes]]:
        """The headers of the answer to OPTIONS; without permission for an origin that is not allowed."""
        if self.origin is None or not origin_allowed(self.origin):
            return self.headers_of({"Allow": ALLOWED})
        permission = {
            "Access-Control-Allow-Methods": "POST, GET, DELETE",
            "Access-Control-Allow-Headers": _ASKED_HEADERS,
            "Access-Control-Max-Age": str(_PREFLIGHT_SECONDS),
        }
        return self.headers_of({"Allow": ALLOWED, **permission})


def encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI sends them."""
    return [(name.lower().encode("ascii"), value.encode("latin-1", "replace")) for name, value in headers.items()]


def _spend(address: str) -> None:
    try:
        rate.spend_address(address)
    except Refusal as spent:
        raise refused(spent) from None


@lru_cache(maxsize=256)
def _known_host(host: str) -> bool:
    """Whether ALLOWED_HOSTS has the host (DNS rebinding)."""
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


@lru_cache(maxsize=256)
def origin_allowed(origin: str) -> bool:
    """Whether pages of this origin may call: our own, the ones that settings name, and those of this very machine.

    A page needs a credential that its person gave it; the check keeps a stranger's page away from a loopback server.
    """
    known = origin_of(origin)
    if known is None:
        return False
    return is_own(known) or known in settings.ORIGINS or urlsplit(known).hostname in LOOPBACK


def media_type(header: str) -> str:
    """The media type of a Content-Type, without its parameters."""
    return header.partition(";")[0].strip().lower()


@lru_cache(maxsize=256)
def accepted(header: str) -> frozenset[str]:
    """The media ranges of an Accept header that are not excluded with q=0; an empty header admits all."""
    if not header.strip():
        return frozenset({"*/*"})
    return frozenset(_admitted(header.split(",")))


def _admitted(ranges: Iterable[str]) -> Iterable[str]:
    for each in ranges:
        kind, *parameters = (part.strip().lower() for part in each.split(";"))
        if not any(part.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for part in parameters):
            yield kind


__all__ = ["EVENT_STREAM", "JSON", "Exchange", "Fault", "accepted", "encoded", "media_type", "origin_allowed"]
