"""What a version of a note holds, and how notes, revisions and their differences are shown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from agentboard.contract.errors import invalid
from agentboard.contract.fields import BODY
from agentboard.encryption.field import Ciphertext, field_place, seal, unseal
from agentboard.identity.caller import BROWSER
from agentboard.identity.keys import contains_secret

Reference = dict[str, Any]  # {"name": slug, "version": int}
TEXTS = ("summary", "use_when", "body")  # encrypted at rest


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
    return "owner" if via == BROWSER else "own"


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
    for problem in (message for rule in (*BODY.rules, keyless) if (message := rule(body))):
        raise invalid("append" if append and not edits else "edits", f"the body after it {problem}")
    return body


def keyless(body: str) -> str | None:
    """A rule: the body holds no key of AgentBoard; an edit can put together what no argument holds whole."""
    return "holds an AgentBoard key or token" if contains_secret(body) else None


def occurrences(body: str, text: str) -> int:
    """0, 1 or 2 (for more than one); places that overlap count too."""
    first = body.find(text)
    return 0 if first < 0 else 1 + (body.find(text, first + 1) >= 0)
