"""What is answered to a request that is no call: JSON-RPC errors, each with the product's error object in its data."""

from collections.abc import Mapping
from typing import Any

from agentboard.contract.errors import Refusal

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
REFUSED = -32000  # of our own: the credential, the rate, the server's state
RESOURCE_NOT_FOUND = -32002  # the older revisions' code; the newest has INVALID_PARAMS for it
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022

_STATUS = {METHOD_NOT_FOUND: 404, INTERNAL: 500}
_NEXT = {
    PARSE_ERROR: "Send one JSON-RPC 2.0 message in UTF-8.",
    INVALID_REQUEST: "Send one JSON-RPC 2.0 message: jsonrpc, id, method and params.",
    INVALID_PARAMS: "Correct the params that the message names and send the request again.",
    METHOD_NOT_FOUND: "Use a method of the Model Context Protocol that this server advertises.",
    HEADER_MISMATCH: "Send the headers that the protocol asks for, with the values that the body has.",
    UNSUPPORTED_VERSION: "Use one of the versions in supported.",
}


class Fault(Exception):
    """A JSON-RPC error. `status` is the HTTP status; the older revisions answer 200 where `protocol` is true.

    `refusal` becomes the error object in `data`, beside the members that the protocol itself asks for (`more`). `id` is
    that of the request, where it could be read.
    """

    id: str | int | None = None

    def __init__(
        self,
        code: int,
        message: str,
        *,
        refusal: Refusal | None = None,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.more = code, message, more
        self.protocol = status is None
        self.status = status or _STATUS.get(code, 400)
        self.headers = dict(headers or {})
        self.refusal = refusal or Refusal(_OUR_CODES.get(code, "invalid_arguments"), message, **_told(code, message))

    def as_json(self) -> dict[str, Any]:
        """The `error` of the response."""
        return {"code": self.code, "message": self.message, "data": {**self.more, **self.refusal.as_json()}}


_OUR_CODES = {PARSE_ERROR: "invalid_json", METHOD_NOT_FOUND: "not_found", INTERNAL: "internal_error"}


def _told(code: int, message: str) -> dict[str, Any]:
    next_action = _NEXT.get(code)
    return {"next_action": next_action} if next_action else {}


def refused(refusal: Refusal, headers: Mapping[str, str] | None = None) -> Fault:
    """A refusal that concerns the transport, with its own HTTP status at every revision of the protocol."""
    headers = dict(headers or {})
    if wait := refusal.more.get("retry_after_seconds"):
        headers["Retry-After"] = str(wait)
    return Fault(
        _RPC_CODES.get(refusal.code, REFUSED), refusal.message, refusal=refusal, status=refusal.status, headers=headers
    )


_RPC_CODES = {
    "invalid_json": PARSE_ERROR,
    "payload_too_large": INVALID_REQUEST,
    "unsupported_media_type": INVALID_REQUEST,
    "not_acceptable": INVALID_REQUEST,
    "method_not_allowed": INVALID_REQUEST,
    "invalid_arguments": INVALID_PARAMS,
    "internal_error": INTERNAL,
}
