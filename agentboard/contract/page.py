"""Pages of a list: cursors that are opaque, signed, and bound to their query and caller."""

import base64
import hmac
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

import orjson
from django.conf import settings

from agentboard.contract.errors import Refusal, invalid

_MAC_BYTES = 12
Row = TypeVar("Row")


@cache
def _key() -> bytes:
    return hmac.digest(settings.SECRET_KEY.encode(), b"agentboard cursor", "sha256")


def _mac(payload: bytes, binding: Sequence[Any]) -> bytes:
    return hmac.digest(_key(), orjson.dumps([*binding]) + b"\n" + payload, "sha256")[:_MAC_BYTES]


def cursor(position: Sequence[Any], binding: Sequence[Any]) -> str:
    """An opaque text for `position` (JSON values) that opens only under the same `binding`: caller, method, filters."""
    payload = orjson.dumps([*position])
    return base64.urlsafe_b64encode(_mac(payload, binding) + payload).rstrip(b"=").decode()


def position(text: str | None, binding: Sequence[Any]) -> list[Any] | None:
    """What `cursor` was given, or None for no cursor. Raises invalid_arguments for any other text."""
    if text is None:
        return None
    raw = _decoded(text)
    mac, payload = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(payload, binding)):
        raise _refused()
    found: list[Any] = orjson.loads(payload)
    return found


def _decoded(text: str) -> bytes:
    """Canonical base64url only: Python's decoder would let trailing rubbish by."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise _refused() from None
    if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != text:
        raise _refused()
    return raw


def _refused() -> Refusal:
    return invalid("cursor", "is not a next_cursor of this very list: leave it out to start from the beginning")


def page(
    rows: Sequence[Row],
    limit: int,
    shape: Callable[[Row], Any],
    place: Callable[[Row], Sequence[Any]],
    binding: Sequence[Any],
) -> dict[str, Any]:
    """A list's answer from up to `limit` + 1 rows; the surplus row only tells that there is a next page."""
    kept = rows[:limit]
    answer: dict[str, Any] = {"items": [shape(row) for row in kept]}
    if len(rows) > limit:
        answer["next_cursor"] = cursor(place(kept[-1]), binding)
    return answer
