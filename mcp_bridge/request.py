"""One JSON-RPC request: read from bytes and headers, checked against the revision of the protocol that it speaks."""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentboard.contract.body import json_value
from agentboard.contract.errors import Refusal
from agentboard.identity.caller import Caller
from mcp_bridge import versions
from mcp_bridge.fault import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    Fault,
)

Object = dict[str, Any]
_VERSION, _METHOD, _NAME = "mcp-protocol-version", "mcp-method", "mcp-name"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}  # what Mcp-Name repeats
_ENCODED = re.compile(r"=\?base64\?([A-Za-z0-9+/=]*)\?=")
_SURROGATE = re.compile("[\ud800-\udfff]")
CLIENT_MAX = 60  # characters of a client's name that are kept


class Headers:
    """A request's headers by lowercase name, without the white space around their values (RFC 9110, section 5.5)."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, str] = {}
        self.repeated: set[str] = set()
        for name, value in raw:
            key, text = name.decode("latin-1").lower(), value.strip(b" \t").decode("latin-1")
            if key in self._values:
                self.repeated.add(key)
                text = f"{self._values[key]}, {text}"  # RFC 9110, section 5.3
            self._values[key] = text

    def get(self, name: str) -> str | None:
        """The value, or None."""
        return self._values.get(name)

    def decoded(self, name: str) -> str | None:
        """The value with the protocol's base64 form undone, or None where there is none or it is malformed."""
        value = self._values.get(name)
        coded = _ENCODED.fullmatch(value) if value is not None else None
        if coded is None:
            return value
        try:
            return base64.b64decode(coded[1], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None


@dataclass
class Request:
    """A request for which something is answered. `told` gathers notifications that go out before the answer."""

    id: str | int
    method: str
    params: Object
    headers: Headers
    version: str
    toolsets: frozenset[str] = frozenset()
    caller: Caller = field(init=False)
    told: list[Object] = field(default_factory=list)

    @property
    def modern(self) -> bool:
        """Whether it speaks a revision without a handshake."""
        return self.version in versions.MODERN

    @property
    def meta(self) -> Object:
        """`_meta` of the params; {} where it is missing."""
        return self.params.get("_meta") or {}

    @property
    def progress_token(self) -> str | int | None:
        """What notifications of progress are marked with; None where the client wants none."""
        token = self.meta.get("progressToken")
        return token if names_a_request(token) else None

    @property
    def capabilities(self) -> Object:
        """What the client can do, as far as the request says so."""
        return self.meta.get(versions.CAPABILITIES) or {} if self.modern else {}

    @property
    def client(self) -> str:
        """What the client calls itself; `""` where it doesn't."""
        info = self.meta.get(versions.CLIENT)
        name = info.get("name") if isinstance(info, dict) else None
        if not isinstance(name, str):
            name = (self.headers.get("user-agent") or "").partition("/")[0]
        return "".join(character for character in name if character.isprintable()).strip()[:CLIENT_MAX]


def read(body: bytes, headers: Headers) -> Request | None:
    """The request, or None for a message that wants no answer: a notification, or a client's response. Raises Fault."""
    message = _message(body)
    try:
        return _request(message, headers)
    except Fault as fault:
        identifier = message.get("id")
        fault.id = identifier if names_a_request(identifier) else None
        raise


def _request(message: Object, headers: Headers) -> Request | None:
    method, params, version = message.get("method"), message.get("params"), headers.get(_VERSION)
    if message.get("jsonrpc") != "2.0":
        raise _no_message("jsonrpc must be 2.0.")
    if "id" not in message:
        _check_notification(method, version)
        return None
    if method is None and ("result" in message or "error" in message):
        return None
    if not names_a_request(message["id"]):
        raise _no_message("id must be text or a whole number of at most 63 bits.")
    if not isinstance(method, str):
        raise _no_message("method must be text.")
    if not isinstance(params, (dict, type(None))):
        raise Fault(INVALID_PARAMS, "params must be an object.", status=400)
    request = Request(message["id"], method, params or {}, headers, version or versions.UNNAMED)
    _check(request, version)
    return request


def names_a_request(value: Any) -> bool:
    """Whether it is text or a whole number, such as any JSON reader of the client's can take back."""
    if isinstance(value, str):
        return _SURROGATE.search(value) is None
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _message(body: bytes) -> Object:
    try:
        message = json_value(body)
    except Refusal as refused:
        raise Fault(PARSE_ERROR, refused.message, refusal=refused, status=400) from None
    if not isinstance(message, dict):
        raise _no_message("The body must be one JSON-RPC 2.0 message; batches are not taken.")
    return message


def _no_message(problem: str) -> Fault:
    return Fault(INVALID_REQUEST, problem, status=400)


def _check_notification(method: Any, version: str | None) -> None:
    if not isinstance(method, str):
        raise _no_message("method must be text.")
    if version is not None and version not in (*versions.LEGACY, *versions.MODERN):
        raise _unsupported(version)


def _unsupported(version: Any) -> Fault:
    return Fault(
        UNSUPPORTED_VERSION,
        "This revision of the protocol is not spoken here.",
        supported=list(versions.MODERN),  # what server/discover says; the others begin with a handshake
        requested=version if isinstance(version, str) else None,
    )


def _check(request: Request, version: str | None) -> None:
    """Which era it is, and then all that the newest revision asks of a request (2026-07-28, "Server Validation")."""
    meta = request.params.get("_meta")
    if meta is not None and not isinstance(meta, dict):
        raise Fault(INVALID_PARAMS, "params._meta must be an object.")
    if versions.VERSION not in (meta or {}):
        if version is None or version in versions.LEGACY:
            return
        if version not in versions.MODERN:
            raise _unsupported(version)
    _check_meta(meta or {})
    request.version = request.meta[versions.VERSION]
    _check_headers(request, version)
    if request.version not in versions.MODERN:
        raise _unsupported(request.version)


def _check_meta(meta: Mapping[str, Any]) -> None:
    missing = [name for name in (versions.VERSION, versions.CAPABILITIES) if name not in meta]
    if missing:
        raise Fault(INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}.")
    if not isinstance(meta[versions.VERSION], str):
        raise Fault(INVALID_PARAMS, f"{versions.VERSION} must be text.")
    if not isinstance(meta[versions.CAPABILITIES], dict):
        raise Fault(INVALID_PARAMS, f"{versions.CAPABILITIES} must be an object.")


def _check_headers(request: Request, version: str | None) -> None:
    headers = request.headers
    for name in (_VERSION, _METHOD, _NAME):
        if name in headers.repeated:
            raise Fault(HEADER_MISMATCH, f"The header {name} came more than once.")
    if version != request.version:
        raise Fault(HEADER_MISMATCH, "MCP-Protocol-Version is missing or differs from the version in params._meta.")
    if headers.decoded(_METHOD) != request.method:
        raise Fault(HEADER_MISMATCH, "Mcp-Method is missing or differs from the method in the body.")
    named_by = _NAMED_BY.get(request.method)
    named = request.params.get(named_by) if named_by else None
    if isinstance(named, str) and headers.decoded(_NAME) != named:
        raise Fault(HEADER_MISMATCH, f"Mcp-Name is missing or differs from {named_by} in the body.")
