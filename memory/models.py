"""Notes and their revisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone

from agentboard.contract import limits
from agentboard.contract.errors import Refusal, invalid
from agentboard.contract.fields import moment
from agentboard.contract.method import Answer
from agentboard.contract.page import page, position
from agentboard.encryption.field import EncryptedText
from agentboard.identity.caller import Caller
from agentboard.identity.models import Agent
from agentboard.ledger.change import Change
from agentboard.ledger.fields import ByteOrdered, Slugs
from agentboard.ledger.models import own_stream
from agentboard.ledger.tag_counts import counted
from agentboard.ledger.text import cut, unified
from agentboard.ledger.versioned import VersionedWrite, Written
from agentboard.search.current import Source
from agentboard.search.index import Document
from agentboard.search.words import PHRASES_MAX, Query, snippet
from agentboard.statements import Parameter, Row, Statement
from memory import search
from memory.content import (
    TEXTS,
    Content,
    Reference,
    Shown,
    State,
    changed,
    edited,
    opened,
    origin,
    retired,
    sealing_place,
)

RESOURCE = "note"
CREATES_AT_ONCE = 64  # notes of one agent in the making that another's count may not see yet: threads × workers
CHAIN_MAX = 1_000  # notes followed along superseded_by
_COLUMNS = (
    "name",
    "version",
    "status",
    "tags",
    "memory_references",
    "superseded_by",
    "review_after",
    "bytes",
    "via",
    "created_at",
    "updated_at",
    "summary",
    "use_when",
)
_REVISION_COLUMNS = tuple(
    {"name": "note__name", "created_at": "note__created_at", "updated_at": "created_at"}.get(c, c) for c in _COLUMNS
)


class Standing(NamedTuple):
    """Where a name stands: its row, erased or not, and who changed it last."""

    id: int
    version: int
    deleted_at: datetime | None
    status: str
    via: str
    updated_at: datetime


class NoteManager(models.Manager["Note"]):
    """The methods on notes. Writes take the Change that frames them, reads the Caller; both raise Refusal."""

    # Writes

    def save_memory(
        self,
        change: Change,
        *,
        name: str,
        body: str,
        expected_version: int,
        status: str,
        summary: str | None = None,
        use_when: str | None = None,
        tags: Sequence[str] = (),
        memory_references: Sequence[Reference] = (),
        review_after: str | None = None,
        superseded_by: str | None = None,
        supersedes: dict[str, Any] | None = None,
    ) -> Answer:
        """Write the next version of `name`, all of it; 0 creates. Answers the note without its body."""
        due = moment(review_after) if review_after else None
        content = Content(body, status, summary, use_when, tags, memory_references, due, superseded_by)
        if supersedes is not None:
            return self._supersede(change, name, content, expected_version, supersedes)
        states = {}
        if memory_references or superseded_by:
            self._hold(change, name, expected_version)
            states = self._check_links(change.caller, name, content)
        if expected_version:
            written = self._replace(change, name, expected_version, content)
        else:
            written = self._create(change, name, content)
        return self._written(change, name, content, written, states, created=expected_version == 0)

    def edit_memory(
        self,
        change: Change,
        *,
        name: str,
        expected_version: int,
        edits: Sequence[dict[str, str]] = (),
        append: str | None = None,
    ) -> Answer:
        """Change parts of the body; all else stays. Answers the note without its body."""
        if not edits and append is None:
            raise invalid("edits", "is missing, and so is append: give at least one of them")
        content = self._read(change, name, expected_version)
        return self._next(change, name, expected_version, replace(content, body=edited(content.body, edits, append)))

    def mark_memory_reviewed(
        self, change: Change, *, name: str, expected_version: int, review_after: str | None = None
    ) -> Answer:
        """A new version with the same content and another review date (none: cleared)."""
        content = self._read(change, name, expected_version)
        due = moment(review_after) if review_after else None
        return self._next(change, name, expected_version, replace(content, review_after=due))

    def restore_memory(self, change: Change, *, name: str, version: int, expected_version: int) -> Answer:
        """Write what `version` held as the next version. Answers the note with its body."""
        self._hold(change, name, expected_version)
        content = self._revision(change.caller, name, version).content
        states = self._check_links(change.caller, name, content)
        written = self._replace(change, name, expected_version, content)
        return self._written(change, name, content, written, states, body=True)

    def delete_memory(self, change: Change, *, name: str, expected_version: int) -> Answer:
        """Erase the note and every revision of it; the row stays, as the keeper of its version number."""
        change.begin()
        version = expected_version + 1
        found = self.filter(agent_id=change.caller.agent_id, name=name, version=expected_version, deleted_at=None)
        if not found.update(
            **dict.fromkeys(TEXTS),
            tags=[],
            memory_references=[],
            superseded_by=None,
            review_after=None,
            bytes=0,
            via=change.caller.via,
            version=version,
            updated_at=change.now,
            deleted_at=change.now,
        ):
            raise self._refused(change.caller, name, expected_version)
        Revision.objects.filter(note__agent_id=change.caller.agent_id, note__name=name).delete()
        change.record(RESOURCE, name, version)
        gone = {"name": name, "version": version, "deleted": True, "deleted_at": change.now}
        return Answer(change.answered(gone, RESOURCE, name, version))

    def _supersede(
        self, change: Change, name: str, content: Content, expected_version: int, supersedes: dict[str, Any]
    ) -> Answer:
        """Create the note and retire the one that `supersedes` names, or do neither."""
        old, old_version = supersedes["name"], supersedes["expected_version"]
        refuse_odd_supersede(name, content, expected_version, old)
        self._hold(change, name, 0)
        self._check_links(change.caller, name, content)
        standing = self._hold(change, old, old_version)
        if standing is not None and standing.status == "superseded":
            raise Refusal("state_conflict", f"{old} was superseded already, at version {standing.version}.")
        change.superseded = {"name": old, "version": old_version + 1}
        was = retired(self._revision(change.caller, old, old_version).content, name)
        written = self._create(change, name, content)
        retiring = self._update(change, old, old_version, was, receipt=False)
        if retiring is None:  # a save without links waits for nobody, see Change.alone: one came in between
            raise self._refused(change.caller, old, old_version)
        states = self._states(change.caller.agent_id, content.memory_references)
        answer = self._written(change, name, content, written, states, created=True)
        told = {"name": old, "version": retiring.version, "status": was.status, "superseded_by": name}
        return replace(answer, content={**answer.content, "superseded": told})

    def _create(self, change: Change, name: str, content: Content) -> Written:
        """The first version under a name, or the next one under a name whose note was deleted.

        First by a single statement that leaves room for others doing the same unseen; if that finds the name known or
        the quota near, again with the agent's other writes held back.
        """
        key, quota = {"agent": change.caller.agent_id, "name": name}, settings.NOTES_PER_AGENT
        row = content.row(change.caller.agent_id, name, 1, change.caller.via)
        if written := WRITE.create(change, key, row, room=quota - CREATES_AT_ONCE):
            return written
        change.alone()
        standing = self._standing(change.caller, name)
        if standing is None:
            written = WRITE.create(change, key, row, room=quota)
        elif standing.deleted_at is None:
            raise self._refused(change.caller, name, 0, standing)
        elif self.filter(agent_id=change.caller.agent_id, deleted_at=None).count() < quota:
            row = content.row(change.caller.agent_id, name, standing.version + 1, change.caller.via)
            written = WRITE.revive(change, key, standing.version, row)
        if written is None:
            raise Refusal(
                "quota_exceeded", f"This agent keeps {quota} notes, which is its quota; {name} would be one more."
            )
        return written

    def _update(
        self, change: Change, name: str, expected: int, content: Content, *, receipt: bool = True
    ) -> Written | None:
        caller = change.caller
        row = content.row(caller.agent_id, name, expected + 1, caller.via)
        return WRITE.update(change, {"agent": caller.agent_id, "name": name}, expected, row, receipt=receipt)

    def _replace(self, change: Change, name: str, expected: int, content: Content) -> Written:
        written = self._update(change, name, expected, content)
        if written is None:
            raise self._refused(change.caller, name, expected)
        return written

    def _next(self, change: Change, name: str, expected: int, content: Content) -> Answer:
        written = self._replace(change, name, expected, content)
        states = self._states(change.caller.agent_id, content.memory_references)
        return self._written(change, name, content, written, states)

    def _written(
        self,
        change: Change,
        name: str,
        content: Content,
        written: Written,
        states: dict[tuple[str, int], State],
        *,
        created: bool = False,
        body: bool = False,
    ) -> Answer:
        via, now = change.caller.via, change.now
        shown = Shown(name, written.version, content, content.bytes, via, written.created_at, now, states)
        shape = shown.as_json(change.caller.handle, now, body=body)
        return Answer(change.answered(shape, RESOURCE, name, written.version), created)

    # What a write rests on

    def _standing(self, caller: Caller, name: str) -> Standing | None:
        row = _STANDING.row(agent=caller.agent_id, name=name)
        return None if row is None else Standing(*row)

    def _hold(self, change: Change, name: str, expected: int) -> Standing | None:
        """The row at `expected`, held until the change has ended (None or an erased row for 0)."""
        change.alone()
        standing = self._standing(change.caller, name)
        living = standing is not None and standing.deleted_at is None
        if (standing.version if standing and living else 0) != expected:
            raise self._refused(change.caller, name, expected, standing)
        return standing

    def _read(self, change: Change, name: str, expected: int) -> Content:
        """The content at `expected`, for a write in the same transaction."""
        change.begin()
        row = _NOTE.row(agent=change.caller.agent_id, name=name)
        if row is None or row[1] != expected:
            raise self._refused(change.caller, name, expected)
        return shown(row, change.caller.agent_id).content

    def _refused(self, caller: Caller, name: str, expected: int, standing: Standing | None = None) -> Refusal:
        """Why a write of `name` at `expected` found nothing to change: where the name stood then, or stands now.

        A name that was seen living stays the reason, though it may have been deleted since.
        """
        standing = standing or self._standing(caller, name)
        if standing is None or standing.deleted_at is not None:
            return missing(name)
        found = (
            f"{name} exists already" if expected == 0 else f"{name} is not at version {expected}"
        ) + f": it is at version {standing.version}."
        told: dict[str, Any] = {
            "resource": {"type": RESOURCE, "id": name},
            "current_version": standing.version,
            "changed_by": caller.handle,
            "changed_via": standing.via,
            "changed_at": standing.updated_at,
        }
        return Refusal("version_conflict", found, **told, **self._difference(caller, name, expected, standing.version))

    def _difference(self, caller: Caller, name: str, expected: int, current: int) -> dict[str, Any]:
        """The `diff` of a version_conflict, where the version that was named is retained."""
        bodies = {0: ""} if expected == 0 else {}
        rows = Revision.objects.filter(note__agent_id=caller.agent_id, note__name=name, version__in=(expected, current))
        bodies |= {
            row[1]: shown(row, caller.agent_id).content.body for row in rows.values_list(*_REVISION_COLUMNS, "body")
        }
        if expected not in bodies or current not in bodies:
            return {}
        diff, truncated = cut(unified(bodies[expected], bodies[current], (expected, current)))
        return {"diff": diff, "truncated": True} if truncated else {"diff": diff}

    def _check_links(self, caller: Caller, name: str, content: Content) -> dict[tuple[str, int], State]:
        """The states of the references, all of them current or retained. Raises for one that leads nowhere or back."""
        states = self._states(caller.agent_id, content.memory_references)
        for number, reference in enumerate(content.memory_references):
            if reference["name"] == name:
                raise invalid(f"memory_references.{number}.name", "is the note itself; references name other notes")
            if states[reference["name"], reference["version"]].state not in ("current", "historical"):
                raise Refusal(
                    "reference_unavailable",
                    f"memory_references.{number}: {reference['name']} has no version {reference['version']} "
                    "that is current or retained.",
                )
        if content.superseded_by:
            self._check_chain(caller, name, content.superseded_by)
        return states

    def _check_chain(self, caller: Caller, name: str, successor: str) -> None:
        at: str | None = successor
        for _ in range(CHAIN_MAX):
            if at == name:
                raise Refusal("state_conflict", f"superseded_by: the chain from {successor} leads back to {name}.")
            row = self.filter(agent_id=caller.agent_id, name=at, deleted_at=None).values_list("superseded_by").first()
            if row is None and at == successor:
                raise Refusal("reference_unavailable", f"superseded_by: there is no note {successor}.")
            if row is None or row[0] is None:
                return
            (at,) = row
        raise Refusal("state_conflict", f"superseded_by: the chain from {successor} is longer than {CHAIN_MAX} notes.")

    def _states(self, agent_id: int, references: Iterable[Reference]) -> dict[tuple[str, int], State]:
        """How each referenced version stands now. Two queries at most, whatever their number."""
        wanted = {(reference["name"], reference["version"]) for reference in references}
        if not wanted:
            return {}
        rows = self.filter(agent_id=agent_id, deleted_at=None, name__in={name for name, _ in wanted})
        notes = {row[0]: row[1:] for row in rows.values_list("name", "id", "version", "status", "review_after")}
        past = {(notes[name][0], version) for name, version in wanted if name in notes and version < notes[name][1]}
        retained = set()
        if past:
            ids, versions = zip(*past, strict=True)
            kept = Revision.objects.filter(note_id__in=set(ids), version__in=set(versions))
            retained = past & set(kept.values_list("note_id", "version"))
        now = timezone.now()
        return {(name, version): state(notes.get(name), version, retained, now) for name, version in wanted}

    # Reads

    def get_memory(self, caller: Caller, *, name: str, detail: str, version: int | None = None) -> Answer:
        """The note, or what a retained revision of it held."""
        if version is None:
            row = _NOTE.row(agent=caller.agent_id, name=name)
            if row is None:
                raise missing(name)
            note = shown(row, caller.agent_id)
        else:
            note = self._revision(caller, name, version)
        if note.content.memory_references:
            note = replace(note, states=self._states(caller.agent_id, note.content.memory_references))
        return Answer(note.as_json(caller.handle, timezone.now(), body=detail == "full"))

    def list_memory(
        self,
        caller: Caller,
        *,
        limit: int,
        detail: str,
        order: str,
        status: str | None = None,
        tag: str | None = None,
        review_due: bool | None = None,
        updated_since: str | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """Notes by name, or the latest changed first. The first page also counts all tags of the agent."""
        binding = (caller.agent_id, "list_memory", order, status, tag, review_due, updated_since, detail)
        after = position(cursor, binding)
        notes = self.filter(agent_id=caller.agent_id, deleted_at=None)
        notes = notes.filter(status=status) if status else notes
        notes = notes.filter(tags__has=tag) if tag else notes
        notes = notes.filter(updated_at__gte=moment(updated_since)) if updated_since else notes
        if review_due is not None:
            due = Q(review_after__lte=timezone.now())
            notes = notes.filter(due) if review_due else notes.exclude(due & Q(review_after__isnull=False))
        notes = in_order(notes, order, after)
        rows = self._rows(caller, notes[: limit + 1], detail, keys=("id",))
        place = (lambda row: [row[1].name]) if order == "name" else (lambda row: [stamp(row[1].updated_at), row[0]])
        now = timezone.now()

        def shape(row: tuple[int, Shown]) -> dict[str, Any]:
            return row[1].as_json(caller.handle, now, body=detail == "full")

        answer = page(rows, limit, shape, place, binding)
        return Answer(answer if cursor else answer | self._tag_counts(caller.agent_id))

    def search_memory(
        self,
        caller: Caller,
        *,
        q: str,
        limit: int,
        detail: str,
        status: str | None = None,
        tag: str | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """Notes that hold all the words, the best first, each with a snippet."""
        binding = (caller.agent_id, "search_memory", q, status, tag, detail)
        after = position(cursor, binding)
        query = Query.parse(q)
        if len(query.phrases) > PHRASES_MAX:
            raise invalid("q", f"has {len(query.phrases)} words; at most {PHRASES_MAX} are allowed")
        where = search.Where(query, status, tag, None if after is None else (after[0], after[1]))
        hits = search.hits(where, limit + 1, self._source(caller.agent_id))
        found = self.filter(agent_id=caller.agent_id, deleted_at=None, pk__in=[hit.id for hit in hits[:limit]])
        notes = dict(self._rows(caller, found, "full", keys=("id",)))
        now = timezone.now()

        def shape(hit: search.Hit) -> dict[str, Any]:
            note = notes[hit.id]
            shown_in = snippet(query, note.content.body, limits.SNIPPET_MAX)
            return note.as_json(caller.handle, now, body=detail == "full") | {"snippet": shown_in}

        answer = page(hits, limit, lambda hit: hit, lambda hit: [hit.score, hit.name], binding)
        answer["items"] = [shape(hit) for hit in answer["items"] if hit.id in notes]
        return Answer(answer)

    def list_memory_revisions(
        self, caller: Caller, *, name: str, limit: int, detail: str, cursor: str | None = None
    ) -> Answer:
        """The retained revisions, newest first."""
        binding = (caller.agent_id, "list_memory_revisions", name, detail)
        after = position(cursor, binding)
        standing = self._standing(caller, name)
        if standing is None or standing.deleted_at is not None:
            raise missing(name)
        revisions = Revision.objects.filter(note_id=standing.id).order_by("-version")
        revisions = revisions.filter(version__lt=after[0]) if after else revisions
        columns = (*_REVISION_COLUMNS, "body") if detail == "full" else _REVISION_COLUMNS
        rows = [shown(row, caller.agent_id) for row in revisions.values_list(*columns)[: limit + 1]]

        def shape(revision: Shown) -> dict[str, Any]:
            summary = {
                "version": revision.version,
                "current": revision.version == standing.version,
                "status": revision.content.status,
                "tags": list(revision.content.tags),
                "bytes": revision.bytes,
                "author": caller.handle,
                "via": revision.via,
                "created_at": revision.updated_at,
            }
            text = {"origin": origin(revision.via), "body": revision.content.body}
            return summary | text if detail == "full" else summary

        return Answer(page(rows, limit, shape, lambda revision: [revision.version], binding))

    def compare_memory(
        self, caller: Caller, *, name: str, from_version: int | None = None, to_version: int | None = None
    ) -> Answer:
        """What changed between two retained versions: a unified diff of the body, and the metadata that differ."""
        standing = self._standing(caller, name)
        if standing is None or standing.deleted_at is not None:
            raise missing(name)
        to = standing.version if to_version is None else to_version
        start = to - 1 if from_version is None else from_version
        after = self._revision(caller, name, to).content
        before = self._revision(caller, name, start).content if start else Content("")
        diff = unified(before.body, after.body, (start, to))
        return Answer({"name": name, "from": start, "to": to, "diff": diff, "changed": changed(before, after)})

    def for_resume(
        self, caller: Caller, working: str, limit: int
    ) -> tuple[dict[str, Any] | None, list[dict[str, Any]], int]:
        """For resume: the note named `working`, whole; up to `limit` other active ones without bodies; their number.

        Those due for review come first, then the latest changed.
        """
        now = timezone.now()
        notes = self.filter(agent_id=caller.agent_id, deleted_at=None, status="active")
        first = self._rows(caller, notes.filter(name=working), "full", keys=("id",))
        others = notes.exclude(name=working)
        due = models.Case(models.When(review_after__lte=now, then=0), default=1)
        rows = self._rows(caller, others.order_by(due, "-updated_at", "-id")[:limit], "summary", keys=("id",))
        told = [note.as_json(caller.handle, now, body=False) for _, note in rows]
        whole = first[0][1].as_json(caller.handle, now, body=True) if first else None
        return whole, told, others.count()

    def use_of(self, caller: Caller) -> dict[str, Any]:
        """What the agent keeps: how many notes, their bytes, and how many are due for review, since when."""
        due = Q(review_after__lte=timezone.now())
        found = self.filter(agent_id=caller.agent_id, deleted_at=None).aggregate(
            notes=models.Count("pk"),
            note_bytes=models.Sum("bytes", default=0),
            notes_due=models.Count("pk", filter=due),
            due_since=models.Min("review_after", filter=due),
        )
        return found

    def _revision(self, caller: Caller, name: str, version: int) -> Shown:
        row = _REVISION.row(agent=caller.agent_id, name=name, version=version)
        if row is not None:
            return shown(row, caller.agent_id)
        if (standing := self._standing(caller, name)) is None or standing.deleted_at is not None:
            raise missing(name)
        raise Refusal(
            "not_found",
            f"{name} has no retained version {version}; it is at version {standing.version}.",
            next_action="List its revisions and use a version from there.",
        )

    def _rows(
        self, caller: Caller, notes: QuerySet[Note], detail: str, *, keys: tuple[str, ...]
    ) -> list[tuple[int, Shown]]:
        """Ids and notes with the states of their references. The body is read only where detail is full."""
        columns = (*_COLUMNS, "body") if detail == "full" else _COLUMNS
        rows = [(row[-1], shown(row[:-1], caller.agent_id)) for row in notes.values_list(*columns, *keys)]
        references = [reference for _, note in rows for reference in note.content.memory_references]
        states = self._states(caller.agent_id, references)
        return [(pk, replace(note, states=states)) for pk, note in rows]

    def _tag_counts(self, agent_id: int) -> dict[str, Any]:
        tags = self.filter(agent_id=agent_id, deleted_at=None).values_list("tags", flat=True)
        return counted(own_stream(agent_id), RESOURCE, tags.iterator)

    def _source(self, agent_id: int) -> Source:
        """What the search index of the agent's notes reads from, opening one note after the other."""
        notes = self.filter(agent_id=agent_id)

        def documents(names: Sequence[str] | None) -> Iterator[Document]:
            living = notes.filter(deleted_at=None)
            living = living if names is None else living.filter(name__in=names)
            for *row, pk in living.values_list(*_COLUMNS, "body", "id").iterator(chunk_size=200):
                note = shown(tuple(row), agent_id)
                text = note.content
                words = (text.summary or "", text.use_when or "", text.body)
                yield Document(pk, note.version, note.name, text.status, tuple(text.tags), *words)

        def erased(names: Sequence[str]) -> list[int]:
            return list(notes.filter(name__in=names).exclude(deleted_at=None).values_list("id", flat=True))

        return Source(own_stream(agent_id), RESOURCE, documents, erased)


class NoteContent(models.Model):
    """The columns that a note and its revisions share. The encrypted ones stand last: a list never reads that far."""

    version = models.PositiveIntegerField()
    status = models.CharField(max_length=20)
    tags = Slugs()
    memory_references = models.JSONField()  # [{"name", "version"}]
    superseded_by = models.CharField(max_length=limits.SLUG_MAX, null=True)
    review_after = models.DateTimeField(null=True)
    via = models.CharField(max_length=120)
    bytes = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        abstract = True


class Note(NoteContent):
    """A note as it stands. After deletion the row keeps the name and the version number, and nothing else."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="notes", db_index=False)
    name = ByteOrdered(max_length=limits.SLUG_MAX)
    updated_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)
    summary = EncryptedText(null=True)
    use_when = EncryptedText(null=True)
    body = EncryptedText(null=True)

    objects = NoteManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "name"], name="note_once")]
        indexes = [
            models.Index(fields=["agent", "updated_at"], name="note_by_update"),
            models.Index(fields=["agent"], condition=Q(deleted_at=None), name="note_living"),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"

    def sealing_place(self) -> str:
        """What the texts of this row are sealed for."""
        return sealing_place(self.agent_id, self.name, self.version)


class Revision(NoteContent):
    """What one version of a note held; written once, together with that version."""

    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    summary = EncryptedText(null=True)
    use_when = EncryptedText(null=True)
    body = EncryptedText(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["note", "version"], name="revision_once")]

    def __str__(self) -> str:
        return f"{self.note_id} v{self.version}"

    def sealing_place(self) -> str:
        """The same place as the note's at that version: the two rows share their tokens."""
        return sealing_place(self.note.agent_id, self.note.name, self.version)


WRITE = VersionedWrite(
    head=Note,
    revision=Revision,
    resource_type=RESOURCE,
    key=("agent", "name"),
    fields=("status", "tags", "memory_references", "superseded_by", "review_after", "via", "bytes", *TEXTS),
    link="note",
    resource_id="name",
)


def _own(prefix: str = "") -> dict[str, Parameter]:
    return {
        f"{prefix}agent": Parameter("agent", models.BigIntegerField()),
        f"{prefix}name": Parameter("name", models.CharField()),
    }


_NOTE = Statement(lambda: Note.objects.filter(**_own(), deleted_at=None).values_list(*_COLUMNS, "body"))
_STANDING = Statement(lambda: Note.objects.filter(**_own()).values_list(*Standing._fields))
_REVISION = Statement(
    lambda: Revision.objects.filter(
        **_own("note__"), note__deleted_at=None, version=Parameter("version", models.IntegerField())
    ).values_list(*_REVISION_COLUMNS, "body")
)


def shown(row: Row, agent_id: int) -> Shown:
    """A row of the columns above, opened; without a body where the row ends before it."""
    name, version, status, tags, references, superseded_by, due, size, via, created_at, updated_at = row[:11]
    place = sealing_place(agent_id, name, version)
    texts = {text: opened(token, place, text) for text, token in zip(TEXTS, row[11:], strict=False)}
    content = Content(
        body=texts.get("body") or "",
        status=status,
        summary=texts["summary"],
        use_when=texts["use_when"],
        tags=tags,
        memory_references=references,
        review_after=due,
        superseded_by=superseded_by,
    )
    return Shown(name, version, content, size, via, created_at, updated_at)


def state(note: Row | None, version: int, retained: set[tuple[int, int]], now: datetime) -> State:
    """How a reference to `version` stands; `note` is (id, version, status, review_after) of a living note."""
    if note is None:
        return State("unavailable", ("unavailable",))
    pk, current, status, review_after = note
    reasons: tuple[str, ...] = ("superseded",) if status == "superseded" else ()
    reasons += ("review_due",) if review_after is not None and review_after <= now else ()
    if version == current:
        return State("current", reasons)
    found = "historical" if (pk, version) in retained else "version_not_found"
    return State(found, (found, *reasons))


def in_order(notes: QuerySet[Note], order: str, after: list[Any] | None) -> QuerySet[Note]:
    """Sorted for the list, from behind the cursor's position on."""
    if order == "name":
        notes = notes.order_by("name")
        return notes.filter(name__gt=after[0]) if after else notes
    notes = notes.order_by("-updated_at", "-id")
    if after is None:
        return notes
    at = datetime.fromisoformat(after[0])
    return notes.filter(updated_at__lte=at).exclude(updated_at=at, id__gte=after[1])


def stamp(at: datetime) -> str:
    """A time inside a cursor, to the microsecond."""
    return at.isoformat()


def missing(name: str) -> Refusal:
    """not_found for a note: the same for one that never was, one that was deleted, and another agent's."""
    return Refusal(
        "not_found", f"There is no note {name}.", next_action="List the notes, or save it with expected_version 0."
    )


def refuse_odd_supersede(name: str, content: Content, expected_version: int, old: str) -> None:
    """Raise invalid_arguments where `supersedes` does not go with the other arguments."""
    if expected_version != 0:
        raise invalid("expected_version", "must be 0 with supersedes, which creates a new note")
    if content.status != "active":
        raise invalid("status", "must be active with supersedes, which creates a new active note")
    if content.superseded_by:
        raise invalid("superseded_by", "does not go with supersedes: a new note has no successor")
    if old == name:
        raise invalid("supersedes.name", "is the note itself; it must be another note")
