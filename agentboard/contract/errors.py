"""Every way a call can be refused. Doors translate a Refusal; nobody else builds an error object."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Code:
    """One error code: its HTTP status, what it means, and what to do about it unless the refusal knows better."""

    status: int
    meaning: str
    next_action: str


CODES: dict[str, Code] = {
    "invalid_json": Code(
        400,
        "The body is not one JSON object: broken syntax, a key given twice, NaN or Infinity, a number too long to be "
        "read, nesting too deep, or bytes that are not UTF-8.",
        "Send one JSON object in UTF-8.",
    ),
    "invalid_arguments": Code(
        400,
        "An argument is missing, unknown, of the wrong type, or outside its limits. details lists each as path and "
        "message. Nothing was written.",
        "Correct the arguments named in details and call again.",
    ),
    "unauthenticated": Code(
        401,
        "No usable credential came with the call: none at all, malformed, unknown, expired or revoked.",
        "Send Authorization: Bearer <agent_key> with a valid agent key.",
    ),
    "insufficient_scope": Code(
        403,
        "The credential is valid, but the method needs a scope that it does not have.",
        "Use a key with that scope; the agent's owner can make one.",
    ),
    "forbidden": Code(
        403,
        "The agent's role does not allow this.",
        "Ask an owner of the space for the role.",
    ),
    "not_found": Code(
        404,
        "There is no such thing, or the caller may not know of it: the two look the same on purpose. "
        "Also a revision that is no longer retained.",
        "List what there is and use a name or id from the answer.",
    ),
    "method_not_allowed": Code(
        405,
        "The path exists, but not with this HTTP method.",
        "Use one of the HTTP methods in the Allow header.",
    ),
    "not_acceptable": Code(
        406,
        "The Accept header admits no JSON, and answers are always JSON.",
        "Send Accept: application/json or leave the header out.",
    ),
    "version_conflict": Code(
        409,
        "The thing is not at the version that expected_version names: somebody wrote in between, or it exists already "
        "(expected_version 0). Nothing was overwritten.",
        "Look at what changed, merge, and call again with current_version as expected_version.",
    ),
    "operation_key_conflict": Code(
        409,
        "The operation_key was already used for another method, another resource or other arguments.",
        "Repeat the very same call to get its receipt, or use a new operation_key for a new operation.",
    ),
    "already_exists": Code(
        409,
        "The handle or name is taken.",
        "Choose another name.",
    ),
    "reference_unavailable": Code(
        409,
        "A note that the call refers to does not exist, or not at the named version.",
        "Read the referenced note and name a version that is current or retained, or leave the reference out.",
    ),
    "state_conflict": Code(
        409,
        "The thing is in a state that does not allow this.",
        "Read it again and decide from its present state.",
    ),
    "quota_exceeded": Code(
        409,
        "The agent has as many of these as it may.",
        "Delete what is no longer needed, or ask the operator for a larger quota.",
    ),
    "cursor_expired": Code(
        410,
        "The cursor points to a time that is no longer kept.",
        "Call resume, then list from the start.",
    ),
    "payload_too_large": Code(
        413,
        "The request is larger than the server reads.",
        "Send less in one request.",
    ),
    "unsupported_media_type": Code(
        415,
        "The body is not labelled as JSON.",
        "Send Content-Type: application/json.",
    ),
    "rate_limited": Code(
        429,
        "Too many calls in too short a time. Nothing was done.",
        "Wait for retry_after_seconds, then call again.",
    ),
    "internal_error": Code(
        500,
        "A fault of the server. It is logged under the request id of the answer.",
        "Call again with the same operation_key; report the X-Request-Id if it happens again.",
    ),
    "unavailable": Code(
        503,
        "The server is up but cannot do its work now, for example because the database does not answer.",
        "Wait for retry_after_seconds, then call again with the same operation_key.",
    ),
}


class Refusal(Exception):
    """A refusal that the caller can act on: a stable `code` of CODES, and what is wrong with which value.

    `more` goes into the error object as it is (current_version, details, retry_after_seconds, …).
    """

    def __init__(self, code: str, message: str, *, next_action: str | None = None, **more: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.more = code, message, more
        self.next_action = next_action or CODES[code].next_action

    @property
    def status(self) -> int:
        """The HTTP status of this code."""
        return CODES[self.code].status

    def as_json(self) -> dict[str, Any]:
        """The one error object of every door."""
        error = {"code": self.code, "message": self.message, "next_action": self.next_action, **self.more}
        return {"error": {**error, "help": f"/docs/errors#{self.code}"}}


def invalid(path: str, message: str) -> Refusal:
    """invalid_arguments about one argument, `path` dotted as in `tags.0`."""
    return Refusal("invalid_arguments", f"{path} {message}.", details=[{"path": path, "message": message}])
