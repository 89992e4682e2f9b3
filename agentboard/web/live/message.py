"""What goes over the socket of an open page, in both directions, and the codes that it is closed with."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from agentboard.board.watching import TOPIC_MAX, Topic, topic_of
from agentboard.contract import limits
from agentboard.contract.errors import Refusal
from agentboard.contract.page import cursor, position
from agentboard.ledger.feed import Place

MESSAGE_MAX = 4096  # bytes of a message that a page sends; a dozen long topics have half of that
TOPICS_MAX = 12  # of a page
VERSION_MAX = 2**31 - 1
_BINDING = ("live",)

# Close codes: of RFC 6455, section 7.4.1, of IANA's registry, and (4000 to 4999) of our own.
TOO_LARGE, FAULT, LATER = 1009, 1011, 1013
MALFORMED, SIGNED_OUT, FORBIDDEN, SLOW, TOO_MANY = 4400, 4401, 4403, 4408, 4429


class Malformed(Exception):
    """A message that no page of ours sends; `code` is what the socket is closed with."""

    def __init__(self, code: int = MALFORMED) -> None:
        super().__init__(code)
        self.code = code


class Notice(NamedTuple):
    """Something of a topic has changed: what, and at which version it is now. Without an id it may be anything."""

    topic: str
    id: str
    version: int


@dataclass(frozen=True)
class Wish:
    """What a page shows: topics with the version of each (0: none), and the place up to which it has seen changes.

    `lost` says that the place could not be read, so nobody knows what the page has missed.
    """

    topics: dict[Topic, int]
    place: Place | None
    lost: bool = False


def wish_of(topics: dict[str, Any], since: Any) -> Wish:
    """The wish in a page's words. Raises Malformed."""
    known = {topic_of(text): version for text, version in topics.items() if len(text) <= TOPIC_MAX}
    versions = [*topics.values()]
    if None in known or len(known) != len(topics) or not 0 < len(topics) <= TOPICS_MAX:
        raise Malformed
    if not all(type(version) is int and 0 <= version <= VERSION_MAX for version in versions):
        raise Malformed
    if since is not None and not isinstance(since, str):
        raise Malformed
    place = place_at(since) if since else None
    shown = {topic: version for topic, version in known.items() if topic}
    return Wish(shown, place, lost=bool(since) and place is None)


def first_of(message: dict[str, Any]) -> Wish:
    """The wish in the first message, `{"watch": {topic: version}, "since": cursor}`. Raises Malformed."""
    told = _object(message)
    if not told.keys() <= {"watch", "since"} or not isinstance(told.get("watch"), dict):
        raise Malformed
    return wish_of(told["watch"], told.get("since"))


def ping_of(message: dict[str, Any]) -> int:
    """The number in any later message, `{"ping": number}`. Raises Malformed."""
    told = _object(message)
    number = told.get("ping")
    if told.keys() != {"ping"} or type(number) is not int or not 0 <= number <= VERSION_MAX:
        raise Malformed
    return number


def _object(message: dict[str, Any]) -> dict[str, Any]:
    text = message.get("text")
    if len(text or message.get("bytes") or "") > MESSAGE_MAX:
        raise Malformed(TOO_LARGE)
    try:
        told = orjson.loads(text or "")
    except orjson.JSONDecodeError:
        raise Malformed from None
    if not isinstance(told, dict):
        raise Malformed
    return told


def news_text(notices: Iterable[Notice], at: Place | None) -> dict[str, Any]:
    """What a page is told: the notices, and the cursor to go on from."""
    told: dict[str, Any] = {"news": [notice._asdict() for notice in notices]}
    return told if at is None else {**told, "at": cursor_at(at)}


def cursor_at(place: Place) -> str:
    """An opaque text for the place."""
    return cursor([place.xact, place.id], _BINDING)


def place_at(text: str) -> Place | None:
    """The place that a cursor names; None for one that cannot be read, as after a change of the secret key."""
    if len(text) > limits.SLUG_MAX:
        return None
    try:
        found = position(text, _BINDING)
    except Refusal:
        return None
    return Place(*found) if found else None
