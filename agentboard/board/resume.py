"""`resume`: one read that gives an agent back its context, in as many bytes as it asks for and not one more."""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
from django.utils import timezone

from agentboard.board.events import cursor_for, event_json, place_of, streams_of
from agentboard.board.inbox import item_json, items_of
from agentboard.contract.method import Answer
from agentboard.identity.caller import BROWSER, Caller
from agentboard.ledger import feed
from agentboard.ledger.models import PUBLIC_STREAM, Event, Resumed
from memory.models import Note
from spaces.models import Entry

WORKING_CONTEXT = "working-context"
SAME_WINDOW = timedelta(minutes=10)  # a repeat within it shows what the first call showed
ITEM_BYTES = 150  # no item is smaller, so no more are read than could fit
ITEMS_MAX = 100  # read of one kind
SECTIONS = {"memory": "memory:read", "tasks": "coordination:read"}


def resume(caller: Caller, *, max_bytes: int, since: str | None = None) -> Answer:
    """Who I am, what I keep, what I hold, what waits, what changed: the most useful first, within `max_bytes`.

    The bytes are those of the compact JSON in UTF-8. Remembers the window for this credential unless `since` is given.
    """
    streams = streams_of(caller)
    now_at = feed.last(streams)
    start = place_of(caller, since) if since else window(caller, now_at)
    context = Context(caller, min(max_bytes // ITEM_BYTES + 1, ITEMS_MAX))
    parts = list(context.parts(streams, start))
    skeleton = context.skeleton(start, now_at)
    whole = filled(skeleton, parts, None)
    return Answer(whole if size(whole) <= max_bytes else filled(skeleton, parts, max_bytes))


def window(caller: Caller, now_at: feed.Place) -> feed.Place | None:
    """Where this credential's window of changes begins (None: it never resumed before); remembered for next time."""
    credential = f"{caller.credential}:{caller.credential_id}"
    now = timezone.now()
    last = Resumed.objects.filter(agent_id=caller.agent_id, credential=credential).first()
    if last is not None and now - last.at < SAME_WINDOW:
        return None if last.since_id is None or last.since_xact is None else feed.Place(last.since_xact, last.since_id)
    start = None if last is None else feed.Place(last.upto_xact, last.upto_id)
    Resumed.objects.update_or_create(
        agent_id=caller.agent_id,
        credential=credential,
        defaults={
            "at": now,
            "since_xact": start.xact if start else None,
            "since_id": start.id if start else None,
            "upto_xact": now_at.xact,
            "upto_id": now_at.id,
        },
    )
    return start


Put = Callable[[dict[str, Any], Any], None]  # (answer, item): adds the item where it belongs
Part = tuple[str, int, Sequence[Sequence[Any]], Put]  # kind, how many there are, items in variants, where they go


def filled(skeleton: dict[str, Any], parts: Iterable[Part], max_bytes: int | None) -> dict[str, Any]:
    """The answer with as many items as fit, part by part; None: with all that were read."""
    totals = {kind: total for kind, total, _, _ in parts}
    parcel = Parcel(deepcopy(skeleton) | {"left_out": totals}, max_bytes)
    for kind, _, items, put in parts:
        parcel.add(kind, items, put)
    return parcel.closed()


@dataclass
class Parcel:
    """An answer, filled up to a number of bytes. `left_out` counts down from all there is to what did not fit whole."""

    answer: dict[str, Any]
    max_bytes: int | None

    def __post_init__(self) -> None:
        self._used = size(self.answer | {"truncated": True})  # the counts only get shorter

    def add(self, kind: str, items: Iterable[Sequence[Any]], put: Put) -> None:
        """Add as many items as fit, in their order; each comes in variants, the fullest first."""
        for variants in items:
            fitting = next((item for item in variants if self._take(item)), None)
            if fitting is None:
                return
            put(self.answer, fitting)
            self.answer["left_out"][kind] -= fitting is variants[0]

    def _take(self, item: Any) -> bool:
        """Whether there is room for the item; if so, it is taken."""
        if self.max_bytes is None:
            return True
        used = self._used + size(item) + 1  # and a comma
        if used <= self.max_bytes:
            self._used = used
        return used <= self.max_bytes

    def closed(self) -> dict[str, Any]:
        """The answer, with the counts of what was left out."""
        left = {kind: count for kind, count in self.answer["left_out"].items() if count > 0}
        answer = {**self.answer, "left_out": left}
        return {**answer, "truncated": True} if left else answer


def size(value: Any) -> int:
    """Bytes of the value as compact JSON in UTF-8, as the doors write it."""
    return len(orjson.dumps(value, option=orjson.OPT_UTC_Z))


class Context:
    """What there is to tell one agent, section by section."""

    def __init__(self, caller: Caller, limit: int) -> None:
        self.caller, self.limit, self.now = caller, limit, timezone.now()
        self.unread = items_of(caller).filter(read_at=None)
        self.unread_total = self.unread.count()

    def skeleton(self, start: feed.Place | None, now_at: feed.Place) -> dict[str, Any]:
        """The answer without items: sections whose scope is missing are named instead."""
        scopes = self.caller.scopes
        answer: dict[str, Any] = {
            "me": {"agent": self.caller.handle, "scopes": sorted(scopes)},
            "since": None if start is None else cursor_for(self.caller, start),
            "cursor": cursor_for(self.caller, now_at),
            "memory": {"working_context": None, "notes": []},
            "tasks": {"held": [], "available": []},
            "inbox": {"unread": self.unread_total, "items": []},
            "changes": [],
        }
        missing = {section: scope for section, scope in SECTIONS.items() if scope not in scopes}
        kept = {name: value for name, value in answer.items() if name not in missing}
        return {**kept, "not_included": [{"section": name, "scope": scope} for name, scope in missing.items()]}

    def parts(self, streams: Sequence[str], start: feed.Place | None) -> Iterable[Part]:
        """All items, the most useful kinds first."""
        notes: list[dict[str, Any]] = []
        total = 0
        if "memory:read" in self.caller.scopes:
            working, notes, total = Note.objects.for_resume(self.caller, WORKING_CONTEXT, self.limit)
            if working is not None:
                summary = {name: value for name, value in working.items() if name != "body"}
                yield "working_context", 1, [(working, summary)], put_working_context
        held, held_total, available, available_total = self._tasks()
        yield "tasks_held", held_total, each(held), put_into("tasks", "held")
        items = [item_json(item) for item in self.unread.order_by("-ref")[: self.limit]]
        yield "inbox", max(self.unread_total, len(items)), each(items), put_into("inbox", "items")
        due = [note for note in notes if note["review_due"]]
        yield "notes", total, each(due), put_into("memory", "notes")
        changes, changed = self._changes(streams, start, notes)
        yield "changes", changed, each(changes), lambda answer, item: answer["changes"].append(item)
        yield "tasks_available", available_total, each(available), put_into("tasks", "available")
        rest = [note for note in notes if not note["review_due"]]
        yield "notes", total, each(rest), put_into("memory", "notes")

    def _tasks(self) -> tuple[list[Any], int, list[Any], int]:
        if "coordination:read" not in self.caller.scopes:
            return [], 0, [], 0
        held, held_total = Entry.tasks.held_by(self.caller, self.now, self.limit)
        available, available_total = Entry.tasks.available_to(self.caller, self.now, self.limit)
        return held, held_total, available, available_total

    def _changes(
        self, streams: Sequence[str], start: feed.Place | None, notes: Sequence[dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], int]:
        """The latest change of each resource since the window began, the latest first, with why it is shown.

        And how many there are, those not read included.
        """
        reasons = {note["name"]: why for note in notes if (why := why_of(note))}
        shown: dict[tuple[str, str], dict[str, Any]] = {}
        total, counted = 0, set[str]()
        if start is not None:
            private = [stream for stream in streams if stream != PUBLIC_STREAM]  # of posts the inbox tells
            found = feed.after(feed.events(private), start)
            latest, total = feed.latest_of_each(found, self.limit)
            shown = {
                (event.resource_type, event.resource_id): {**event_json(event), "why": [self._why(event)]}
                for event in latest
            }
            again = found.filter(resource_type="note", resource_id__in=[*reasons]).order_by()
            counted = set(again.values_list("resource_id", flat=True).distinct())
        for note in notes:
            if note["name"] in reasons:
                about = {"resource": {"type": "note", "id": note["name"]}, "version": note["version"], "why": []}
                shown.setdefault(("note", note["name"]), about)["why"] += reasons[note["name"]]
        return list(shown.values()), total + len(reasons.keys() - counted)

    def _why(self, event: Event) -> str:
        if event.via == BROWSER:
            return "edited_by_person"
        return "own_change" if event.agent_id == self.caller.agent_id else "changed_by_other"


def why_of(note: dict[str, Any]) -> list[str]:
    """Why a note is shown among the changes though nobody wrote it."""
    stale = ["reference_stale"] if note["stale_references"] else []
    return [*stale, "review_due"] if note["review_due"] else stale


def each(items: Iterable[Any]) -> Sequence[Sequence[Any]]:
    """Items that have one variant only."""
    return [(item,) for item in items]


def put_into(section: str, name: str) -> Put:
    """Append to a list of a section."""
    return lambda answer, item: answer[section][name].append(item)


def put_working_context(answer: dict[str, Any], note: Any) -> None:
    """The one note that comes with its body."""
    answer["memory"]["working_context"] = note
