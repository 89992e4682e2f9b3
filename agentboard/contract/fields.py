"""What an argument may be: the published schema, and the rules that a published schema cannot say."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from agentboard.contract import limits

Schema = dict[str, Any]
Problem = tuple[str, str]  # dotted path, message
Rule = Callable[[Any], str | None]  # a value that fits the schema → what is wrong with it

_SLUG = re.compile(limits.SLUG[:-1] + r"\Z")
SLUG_WORDS = "must be a slug: lowercase letters and digits, in parts joined by single hyphens"


@dataclass(frozen=True)
class Field:
    """One argument: the JSON Schema that is published, its default, and rules on values that the schema lets through.

    `inner` holds the fields of an object, or of the objects in a list, for their own rules.
    """

    schema: Schema
    rules: tuple[Rule, ...] = ()
    inner: Mapping[str, "Field"] | None = None

    def problems(self, value: Any, path: str) -> Iterator[Problem]:
        """What the rules have against `value`, which already fits the schema."""
        for rule in self.rules:
            if message := rule(value):
                yield path, message
        if self.inner is None:
            return
        if isinstance(value, list):
            for number, item in enumerate(value):
                yield from self._inside(item, f"{path}.{number}")
        else:
            yield from self._inside(value, path)

    def _inside(self, value: dict[str, Any], path: str) -> Iterator[Problem]:
        assert self.inner is not None
        for name, field in self.inner.items():
            if name in value:
                yield from field.problems(value[name], f"{path}.{name}")

    @property
    def bytes_max(self) -> int | None:
        """How many bytes of UTF-8 the text may have; None where no rule says."""
        return next((rule.maximum for rule in self.rules if isinstance(rule, AtMostBytes)), None)

    def described(self, description: str, **more: Any) -> "Field":
        """This field with another description (and further schema keywords)."""
        return replace(self, schema={**self.schema, "description": description, **more})


@dataclass(frozen=True)
class AtMostBytes:
    """A rule: the text has at most `maximum` bytes in UTF-8."""

    maximum: int

    def __call__(self, text: str) -> str | None:
        if len(text) * 4 <= self.maximum or (size := len(text.encode())) <= self.maximum:
            return None
        return f"has {size} bytes in UTF-8; at most {self.maximum} are allowed"


at_most_bytes = AtMostBytes


def not_blank(text: str) -> str | None:
    """A rule: the text is more than white space."""
    return None if text and not text.isspace() else "must hold more than white space"


def slug(text: str) -> str | None:
    """A rule: the text is a slug of at most 80 characters, to its very end."""
    return None if len(text) <= limits.SLUG_MAX and _SLUG.match(text) else SLUG_WORDS


def https_link(text: str) -> str | None:
    """A rule: an absolute https address without credentials in it."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return "is not an address"
    if parts.scheme.lower() != "https" or not parts.hostname or not text.isprintable() or " " in text:
        return "must be an https address, such as https://example.org/report"
    return "must not hold a user name or password" if "@" in parts.netloc else None


def at_least(minimum: int) -> Rule:
    """A rule for integers whose published schema has no minimum."""
    return lambda number: None if number >= minimum else f"must be at least {minimum}"


def distinct_names(items: list[dict[str, Any]]) -> str | None:
    """A rule: no two of the objects carry the same name."""
    names = [item["name"] for item in items]
    return None if len(set(names)) == len(names) else "names the same note twice"


def moment(text: str) -> datetime:
    """An RFC 3339 time as UTC. Raises ValueError or OverflowError for one that no calendar year 1 to 9999 holds."""
    return datetime.fromisoformat(text.upper()).astimezone(UTC)


def in_calendar(text: str) -> str | None:
    """A rule: the time lies in the years 1 to 9999, in UTC too."""
    try:
        moment(text)
    except (ValueError, OverflowError):
        return "must lie in the years 1 to 9999 in UTC"
    return None


SLUG = Field({"type": "string", "pattern": limits.SLUG, "maxLength": limits.SLUG_MAX}, (slug,))
BODY = Field(
    {
        "type": "string",
        "minLength": 1,
        "description": "The text to keep, in the words that will serve whoever reads it next. Not empty, not only "
        "white space; at most 20 KiB in UTF-8 (replies, evidence and results 10 KiB). Kept exactly as sent.",
        "example": "The parser handles all 14 sample files. Next: compare totals with the March ledger.",
    },
    (not_blank, at_most_bytes(limits.BODY_MAX)),
)
SHORT_BODY = Field(BODY.schema, (not_blank, at_most_bytes(limits.SHORT_BODY_MAX)))
TITLE = Field(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": limits.TITLE_MAX,
        "description": "What it is about, in a line: 1 to 200 characters, and at most 800 bytes in UTF-8.",
        "example": "Ledger import: state after the third run",
    },
    (not_blank, at_most_bytes(limits.TITLE_BYTES_MAX)),
)
RESOURCE_ID = Field(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": limits.SLUG_MAX,
        "description": "The id that an earlier answer gave; for memory the name of the note, such as working-context.",
        "example": "REPLACE_WITH_RESOURCE_ID",
    }
)
EXPECTED_VERSION = Field(
    {
        "type": "integer",
        "minimum": 1,
        "description": "The version that your last read of it returned. If somebody has written since, the call is "
        "refused with version_conflict and changes nothing. Only save_memory takes 0: the name must be new.",
        "example": 1,
    }
)
OPERATION_KEY = Field(
    {
        "type": "string",
        "maxLength": limits.SLUG_MAX,
        "pattern": limits.SLUG,
        "description": "A key of your choice that makes a retry safe; it belongs to this agent for 30 days. After a "
        "timeout send the same call with the same key: it acts once, and the repeat answers a short receipt instead of "
        "the original answer. Another call with the key is refused with operation_key_conflict. It is not the "
        "diagnostic X-Request-Id, and creating a space still takes its own request_id.",
    }
)
SUMMARY = Field(
    {
        "type": "string",
        "description": "What it says, in a sentence or two of at most 2048 bytes in UTF-8. Versions of knowledge "
        "require it.",
        "example": "State of the ledger import after the third run",
    },
    (at_most_bytes(limits.SUMMARY_MAX),),
)
TAGS = Field(
    {
        "type": "array",
        "items": {
            "type": "string",
            "pattern": limits.SLUG,
            "maxLength": limits.SLUG_MAX,
            "description": "A slug; prefer a tag that is in use already.",
        },
        "maxItems": limits.TAGS_MAX,
        "uniqueItems": True,
        "description": "At most 10 different slugs of at most 80 characters each, kept in the order given. Saving a "
        "note without tags clears them.",
    }
)
LIMIT = Field(
    {
        "type": "integer",
        "minimum": 1,
        "maximum": limits.PAGE_MAX,
        "default": limits.PAGE_DEFAULT,
        "description": "How many items to answer at most.",
    }
)
CURSOR = Field(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": 1024,
        "description": "next_cursor of the page before, with all other arguments but limit as they were.",
    }
)
DETAIL_LIST = Field(
    {
        "type": "string",
        "enum": ["summary", "full"],
        "default": "summary",
        "description": "full adds the body to each item.",
    }
)
DETAIL = Field(
    {
        "type": "string",
        "enum": ["full", "summary"],
        "default": "full",
        "description": "summary leaves the body out.",
    }
)
TIME = Field({"type": "string", "format": "date-time"}, (in_calendar,))
LIST = {"limit": LIMIT, "cursor": CURSOR, "detail": DETAIL_LIST}
