"""What a version of a note holds, and how notes, revisions and their differences are shown."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from agentboard.contract import limits
from agentboard.contract.errors import invalid
from agentboard.contract.fields import BODY
from agentboard.encryption.field import Ciphertext, field_place, seal, unseal

Reference = dict[str, Any]  # {"name": slug, "version": int}
TEXTS = ("summary", "use_when", "body")  # encrypted at rest
DIFF_LINES_MAX = 2_000  # beyond, a differ's quadratic time would hold a thread for seconds
OWNER_VIA = "browser"  # the agent's owner wrote, acting as the agent


@dataclass(frozen=True)
class Content:
    """Everything that one version of a note says."""

    body: str
    status: str = "active"
    summary: str | None = None
    use_when: str | None = None
    tags: Sequence[str] = ()
    memory_references: Sequence[Reference] = ()
    review_after: datetime | None = None
    superseded_by: str | None = None

    @property
    def bytes(self) -> int:
        """Size of the body in UTF-8."""
        return len(self.body.encode())

    def row(self, agent_id: int, name: str, version: int, via: str) -> dict[str, Any]:
        """The columns for this content as `version` of the note: its texts sealed to that place."""
        place = sealing_place(agent_id, name, version)
        texts = {text: getattr(self, text) for text in TEXTS}
        return {
            "status": self.status,
            "tags": list(self.tags),
            "memory_references": list(self.memory_references),
            "superseded_by": self.superseded_by,
            "review_after": self.review_after,
            "bytes": self.bytes,
            "via": via,
            **{n: None if text is None else seal(text, field_place(place, n)) for n, text in texts.items()},
        }

    def metadata(self) -> dict[str, Any]:
        """All but the body, as JSON shows it."""
        return {
            "status": self.status,
            "summary": self.summary,
            "use_when": self.use_when,
            "tags": list(self.tags),
            "memory_references": list(self.memory_references),
            "superseded_by": self.superseded_by,
            "review_after": self.review_after,
        }


def sealing_place(agent_id: int, name: str, version: int) -> str:
    """Where a text belongs: ciphertext moved to another agent, note or version does not open."""
    return f"note:{agent_id}:{name}:{version}"


def opened(token: Ciphertext | None, place: str, text: str) -> str | None:
    """The text of a column, or None. Raises Unreadable for one that was sealed elsewhere."""
    return None if token is None else unseal(token, field_place(place, text))


@dataclass(frozen=True)
class State:
    """How a referenced version stands now: the state that is shown, and why it is stale (empty: it isn't)."""

    state: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shown:
    """A note as read: its row, opened. `body` None was not asked for."""

    name: str
    version: int
    content: Content
    bytes: int
    via: str
    created_at: datetime
    updated_at: datetime
    states: dict[tuple[str, int], State] = field(default_factory=dict)

    def as_json(self, author: str, now: datetime, *, body: bool) -> dict[str, Any]:
        """The note's shape."""
        content = self.content
        shape = {
            "name": self.name,
            "version": self.version,
            "status": content.status,
            "summary": content.summary,
            "use_when": content.use_when,
            "tags": list(content.tags),
            "review_after": content.review_after,
            "review_due": content.review_after is not None and content.review_after <= now,
            "superseded_by": content.superseded_by,
            "memory_references": [{**r, "state": self._state(r).state} for r in content.memory_references],
            "stale_references": list(self._stale()),
            "bytes": self.bytes,
            "author": author,
            "via": self.via,
            "origin": origin(self.via),
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }
        return {**shape, "body": content.body} if body else shape

    def _state(self, reference: Reference) -> State:
        return self.states[reference["name"], reference["version"]]

    def _stale(self) -> Iterator[dict[str, Any]]:
        for reference in self.content.memory_references:
            if reasons := self._state(reference).reasons:
                yield {**reference, "reasons": list(reasons)}


def origin(via: str) -> str:
    """Whose words they are for the reading agent: its own, or its owner's."""
    return "owner" if via == OWNER_VIA else "own"


def unified(before: str, after: str, versions: tuple[int, int]) -> str:
    """A unified diff of two bodies by line; empty where they are equal. Lines are split at line feeds only."""
    if before == after:
        return ""
    old, new = lines(before), lines(after)
    if len(old) + len(new) > DIFF_LINES_MAX:
        return "\n".join(coarse(old, new, versions))
    return "\n".join(difflib.unified_diff(old, new, *labels(versions), lineterm=""))


def lines(text: str) -> list[str]:
    """The lines of a body; an unfinished last line is marked as diff(1) marks it."""
    if not text:
        return []
    found = text.split("\n")
    return found[:-1] if not found[-1] else [*found[:-1], found[-1] + "\n\\ No newline at end of file"]


def labels(versions: tuple[int, int]) -> tuple[str, str]:
    """The file names of the diff."""
    return f"version {versions[0]}", f"version {versions[1]}"


def coarse(old: list[str], new: list[str], versions: tuple[int, int]) -> Iterator[str]:
    """A correct diff in linear time: the equal head and tail, and one hunk for all that lies between."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    gone, came = old[head : len(old) - tail], new[head : len(new) - tail]
    before, after = labels(versions)
    yield f"--- {before}"
    yield f"+++ {after}"
    yield f"@@ -{span(head, len(gone))} +{span(head, len(came))} @@"
    yield from (f"-{line}" for line in gone)
    yield from (f"+{line}" for line in came)


def span(start: int, count: int) -> str:
    """A hunk's range; an empty one names the line before it."""
    return f"{start + 1 if count else start},{count}"


def cut(text: str, maximum: int = limits.DIFF_MAX) -> tuple[str, bool]:
    """The text in at most `maximum` bytes of UTF-8, cut at a line where there is one, and whether it was cut."""
    raw = text.encode()
    if len(raw) <= maximum:
        return text, False
    kept = raw[:maximum].decode(errors="ignore")
    return kept[: kept.rfind("\n")] if "\n" in kept else kept, True


def changed(before: Content, after: Content) -> dict[str, dict[str, Any]]:
    """The metadata that differ: {field: {"from", "to"}}."""
    old, new = before.metadata(), after.metadata()
    return {name: {"from": old[name], "to": new[name]} for name in old if old[name] != new[name]}


def retired(content: Content, successor: str) -> Content:
    """The content of a note that `successor` supersedes."""
    return replace(content, status="superseded", superseded_by=successor)


def edited(body: str, edits: Sequence[dict[str, str]], append: str | None) -> str:
    """The body after the edits, in their order, and the appended text.

    Raises invalid_arguments where an `old` does not occur exactly once, or the result breaks the rules for a body.
    """
    for number, edit in enumerate(edits):
        count = occurrences(body, edit["old"])
        if count != 1:
            found = "does not occur" if count == 0 else "occurs more than once"
            raise invalid(
                f"edits.{number}.old", f"{found} in the body; it must occur exactly once, after the edits before it"
            )
        body = body.replace(edit["old"], edit["new"])
    body += append or ""
    for problem in (message for rule in BODY.rules if (message := rule(body))):
        raise invalid("append" if append and not edits else "edits", f"the body after it {problem}")
    return body


def occurrences(body: str, text: str) -> int:
    """0, 1 or 2 (for more than one); places that overlap count too."""
    first = body.find(text)
    return 0 if first < 0 else 1 + (body.find(text, first + 1) >= 0)
