"""Full-text indexes in memory, one for an agent's notes or a space: nothing of their text reaches a disk in clear."""

import json
import sqlite3
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, NamedTuple

from agentboard.search import words

BATCH_BYTES = 500_000  # of notes indexed by one statement: about 180 notes of 2 KiB, some 20 ms
PAGE_BYTES = 4096
EMPTY_BYTES = 70_000  # an index without notes beside its pages, measured: connection, schema, statements
ENTRY_BYTES = 300  # a held note without its texts: two tuples, a place in the dict, numbers

# Contentless, since the lines are held beside it: FTS5 keeps the inverted index only. Its ascii tokenizer takes every
# character beyond ASCII for a part of a word, so its tokens are exactly those of a line (it cuts one at 32 KiB).
SCHEMA = f"""
PRAGMA temp_store = MEMORY;
PRAGMA page_size = {PAGE_BYTES};
CREATE VIRTUAL TABLE line USING fts5(
    name, tags, summary, use_when, body, content='', columnsize=0, tokenize='ascii'
);
"""
# Rows go in and hits come out as one JSON value: sqlite3 gives up the interpreter lock at every step, and wins it back
# only after up to 5 ms for each busy thread. Beside three of those, 1 000 notes took 25 to 50 s with steps for each
# note, and take about 1 s so.
INSERT = """
INSERT INTO line(rowid, name, tags, summary, use_when, body)
SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM json_each(?)
"""
# FTS5's delete command; for a contentless table it must be told exactly what was inserted.
DELETE = """
INSERT INTO line(line, rowid, name, tags, summary, use_when, body)
SELECT 'delete', value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM json_each(?)
"""
FIND = "SELECT json_group_array(rowid) FROM line WHERE line MATCH ?"


@dataclass(frozen=True, slots=True)
class Document:
    """A note as it is searched, in clear."""

    id: int
    version: int
    name: str
    status: str
    tags: tuple[str, ...]
    summary: str
    use_when: str
    body: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A note that matches; hits are ordered by score, the best first, then by name."""

    id: int
    name: str
    score: float


class TooLarge(Exception):
    """The index has given up its notes because they need more than its bound; scan instead."""


class _Lines(NamedTuple):
    """A note's five lines, in the order of `words.score` and of the table's columns."""

    name: str
    tags: str
    summary: str
    use_when: str
    body: str


class _Entry(NamedTuple):
    """What an index holds of a note."""

    id: int
    version: int
    name: str
    status: str
    tags: tuple[str, ...]
    lines: _Lines

    @property
    def bytes(self) -> int:
        return ENTRY_BYTES + sum(map(sys.getsizeof, self.lines))


def _entry(document: Document) -> _Entry:
    lines = _Lines(
        words.line(document.name),
        words.tags_line(document.tags),
        words.line(document.summary),
        words.line(document.use_when),
        words.line(document.body),
    )
    return _Entry(document.id, document.version, document.name, document.status, document.tags, lines)


def _batches(entries: Iterable[_Entry]) -> Iterator[list[_Entry]]:
    """The entries in lists of about `BATCH_BYTES`."""
    batch: list[_Entry] = []
    size = 0
    for entry in entries:
        batch.append(entry)
        size += entry.bytes
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


# ---- answers


def scan(
    documents: Iterable[Document],
    query: words.Query,
    *,
    status: str | None = None,
    tag: str | None = None,
    after: tuple[float, str] | None = None,
    limit: int,
) -> list[Hit]:
    """The answer of `TextIndex.search` without an index; holds `limit` hits and one document at a time."""
    entries = (_entry(document) for document in documents if _passes(document, status, tag))
    return _page((entry for entry in entries if query.matches(entry.lines)), query, after, limit)


def scan_ids(documents: Iterable[Document], query: words.Query) -> list[int]:
    """The answer of `TextIndex.ids` without an index."""
    return [entry.id for entry in map(_entry, documents) if query.matches(entry.lines)]


def _passes(note: Document | _Entry, status: str | None, tag: str | None) -> bool:
    return (status is None or note.status == status) and (tag is None or tag in note.tags)


def _page(matching: Iterable[_Entry], query: words.Query, after: tuple[float, str] | None, limit: int) -> list[Hit]:
    """The first `limit` hits behind `after`, which is the score and name of the last one on the page before."""
    places = ((-words.score(query, *entry.lines), entry.name, entry.id) for entry in matching)
    if after is not None:
        last = (-after[0], after[1])
        places = (place for place in places if place[:2] > last)
    return [Hit(note_id, name, -negative) for negative, name, note_id in nsmallest(limit, places)]


# ---- one index


class TextIndex:
    """The notes of one owner (an agent, a space) by their words. Safe to share between threads.

    Its owner keeps `position`, where it has read their changes up to (None: nothing yet), and holds
    `refreshing` while it reads changes and applies them: two threads that did so at once could put back a note the
    other has just removed. `bytes` is about what the index takes in memory. Once that passes its bound the index lets
    go of all notes, `too_large` is true and `search` raises `TooLarge`.
    """

    def __init__(self, bytes_max: int, grown: Callable[[], None] = lambda: None) -> None:
        self.position: Any = None
        self.refreshing = threading.Lock()
        self.used_at = time.monotonic()
        self.bytes = EMPTY_BYTES  # of memory, about
        self.too_large = False
        self._bytes_max = bytes_max
        self._grown = grown
        self._lock = threading.Lock()
        self._entries: dict[int, _Entry] = {}
        self._entries_bytes = 0
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._connection.executescript(SCHEMA)

    def __del__(self) -> None:
        self._connection.close()

    def put(self, documents: Iterable[Document]) -> None:
        """Insert or replace the documents by id; a version older than the one held changes nothing.

        Reads them in batches, each applied as a whole. Stops reading when the index has become too large.
        """
        batches = _batches(map(_entry, documents))
        while not self.too_large and (batch := next(batches, None)):
            with self._lock:
                self._replace(self._newer(batch))
            self._grown()

    def remove(self, ids: Iterable[int]) -> None:
        """Forget the notes with these ids; unknown ones are passed over."""
        with self._lock:
            held = [self._entries[note_id] for note_id in set(ids) if note_id in self._entries]
            for batch in _batches(held):
                self._forget(batch)

    def search(
        self,
        query: words.Query,
        *,
        status: str | None = None,
        tag: str | None = None,
        after: tuple[float, str] | None = None,
        limit: int,
    ) -> list[Hit]:
        """The first `limit` notes that match and have this status and tag, the best first, behind `after`.

        `after` is the score and name of the last hit on the page before. Raises `TooLarge`.
        """
        if not query.phrases:
            return []
        with self._lock:
            found = self._find(query)
        return _page((entry for entry in found if _passes(entry, status, tag)), query, after, limit)

    def ids(self, query: words.Query) -> list[int]:
        """The ids of all documents that match, in no order. Raises `TooLarge`."""
        if not query.phrases:
            return []
        with self._lock:
            return [entry.id for entry in self._find(query)]

    # The rest runs under the lock.

    def _find(self, query: words.Query) -> list[_Entry]:
        if self.too_large:
            raise TooLarge
        ids = json.loads(self._connection.execute(FIND, (_expression(query),)).fetchone()[0])
        return [self._entries[note_id] for note_id in ids]

    def _newer(self, batch: list[_Entry]) -> dict[int, _Entry]:
        """What of the batch changes the index, by id."""
        newer: dict[int, _Entry] = {}
        for entry in batch:
            held = newer.get(entry.id) or self._entries.get(entry.id)
            if held is None or (entry.version >= held.version and entry != held):
                newer[entry.id] = entry
        return newer

    def _replace(self, newer: dict[int, _Entry]) -> None:
        if self.too_large or not newer:
            return
        old = [self._entries[note_id] for note_id in newer if note_id in self._entries]
        with self._connection:
            self._write(DELETE, old)
            self._write(INSERT, newer.values())
        self._entries.update(newer)
        self._count(added=newer.values(), gone=old)

    def _forget(self, old: list[_Entry]) -> None:
        if self.too_large:
            return
        with self._connection:
            self._write(DELETE, old)
        for entry in old:
            del self._entries[entry.id]
        self._count(added=(), gone=old)

    def _write(self, statement: str, entries: Iterable[_Entry]) -> None:
        rows = [(entry.id, *entry.lines) for entry in entries]
        if rows:
            self._connection.execute(statement, (json.dumps(rows, ensure_ascii=False),))

    def _count(self, added: Iterable[_Entry], gone: Iterable[_Entry]) -> None:
        self._entries_bytes += sum(entry.bytes for entry in added) - sum(entry.bytes for entry in gone)
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        self.bytes = EMPTY_BYTES + self._entries_bytes + pages * PAGE_BYTES
        if self.bytes > self._bytes_max:
            self._give_up()

    def _give_up(self) -> None:
        self.too_large = True
        self.bytes = EMPTY_BYTES
        self._entries.clear()
        self._connection.close()


def _expression(query: words.Query) -> str:
    """The query for FTS5. Phrases hold letters, digits and single spaces only, so quoting them needs no escapes."""
    return " AND ".join(f'"{phrase}"' for phrase in query.phrases) + "*"


# ---- all indexes


class Indexes:
    """The indexes in use, within `bytes_max` altogether; the longest unused go first, idle ones after `idle_seconds`.

    An index that was let go still serves whoever holds it. Safe to share between threads.
    """

    def __init__(self, bytes_max: int, idle_seconds: float) -> None:
        self._bytes_max = bytes_max
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._by_owner: OrderedDict[Hashable, TextIndex] = OrderedDict()  # the longest unused first

    def get(self, owner: Hashable) -> TextIndex:
        """The owner's index, a new and empty one where there is none."""
        with self._lock:
            index = self._by_owner.get(owner)
            if index is None:
                index = self._by_owner[owner] = TextIndex(self._bytes_max, self.evict)
            index.used_at = time.monotonic()
            self._by_owner.move_to_end(owner)
        self.evict()
        return index

    def drop(self, owner: Hashable) -> None:
        """Let go of the owner's index if there is one."""
        with self._lock:
            self._by_owner.pop(owner, None)

    def evict(self) -> None:
        """Let go of idle indexes and of the longest unused ones beyond the bound.

        Runs at every `get` and as an index grows; a timer may call it too, to free memory while nobody searches.
        """
        with self._lock:
            idle_since = time.monotonic() - self._idle_seconds
            total = sum(index.bytes for index in self._by_owner.values())
            while self._by_owner:
                oldest = next(iter(self._by_owner.values()))
                if total <= self._bytes_max and oldest.used_at >= idle_since:
                    return
                total -= oldest.bytes
                self._by_owner.popitem(last=False)
