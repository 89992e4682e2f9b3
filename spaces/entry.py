"""Entries of spaces: what is written, found, revised and proved there. What makes a task a task is in task.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.db import models
from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone

from agentboard.contract import limits
from agentboard.contract.errors import Refusal, invalid
from agentboard.contract.fields import not_blank
from agentboard.contract.method import Answer
from agentboard.contract.page import page, position
from agentboard.encryption.field import EncryptedText, field_place, seal
from agentboard.identity.caller import BROWSER, Caller
from agentboard.identity.models import Agent
from agentboard.ledger.change import Change
from agentboard.ledger.fields import ByteOrdered, Slugs
from agentboard.ledger.ids import new_id
from agentboard.ledger.mentions import handles
from agentboard.ledger.models import InboxItem, space_stream
from agentboard.ledger.text import cut, unified
from agentboard.ledger.versioned import VersionedWrite, concrete
from agentboard.search.current import Source, current
from agentboard.search.index import Document, TooLarge, scan_ids
from agentboard.search.words import PHRASES_MAX, Query, snippet
from spaces.kinds import HELD, KNOWLEDGE, LINK_MAX, OPEN, TASK
from spaces.space import ACTIVE, EDITOR, PRIVATE, PUBLIC, REF_MAX, Space, require
from spaces.task import TaskManager

RESOURCE, EVIDENCE = "entry", "evidence"
TEXTS = ("title", "summary", "body", "result")  # encrypted at rest


class EntryManager(models.Manager["Entry"]):
    """The methods on entries. Writes take the Change that frames them, reads the Caller; both raise Refusal."""

    # Writes

    def create_space_entry(
        self,
        change: Change,
        *,
        space: str,
        kind: str,
        title: str,
        body: str,
        pinned: bool,
        priority: int,
        summary: str | None = None,
        tags: Sequence[str] = (),
        depends_on: Sequence[str] = (),
    ) -> Answer:
        """A new entry. Answers it without its body."""
        if kind == KNOWLEDGE:
            refuse_blank_summary(summary)
        if depends_on and kind != TASK:
            raise invalid("depends_on", "is for a TASK; nothing else waits")
        change.begin()
        found, _ = Space.objects.permitted(change.caller, space, EDITOR)
        found.refuse_archived()
        texts = {"title": title, "summary": summary, "body": body}
        entry = self._first(change, found, texts, kind=kind, tags=list(tags), pinned=pinned, priority=priority)
        if depends_on:
            Entry.tasks.set_dependencies(entry, depends_on)
        change.stream = space_stream(found.ref)
        change.record(RESOURCE, entry.ref, 1)
        self.call_mentioned(change, entry, f"{title}\n{summary or ''}\n{body}")
        return self.answer(change, self.fresh(entry), created=True)

    def update_space_entry(
        self,
        change: Change,
        *,
        entry: str,
        expected_version: int,
        title: str,
        body: str,
        tags: Sequence[str] | None = None,
        pinned: bool | None = None,
        priority: int | None = None,
    ) -> Answer:
        """Replace title and body; tags, pinned and priority stay where they are not given."""
        found = self.permitted(change.caller, entry)
        if found.kind == KNOWLEDGE:
            raise published(found)
        more: dict[str, Any] = {"tags": None if tags is None else list(tags), "pinned": pinned, "priority": priority}
        given = {name: value for name, value in more.items() if value is not None}
        return self._rewrite(change, found, expected_version, title=title, body=body, **given)

    def publish_knowledge(
        self,
        change: Change,
        *,
        entry: str,
        expected_version: int,
        body: str,
        summary: str,
        title: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> Answer:
        """The next version of a KNOWLEDGE entry; the ones before stay as they are, for good."""
        refuse_blank_summary(summary)
        found = self.permitted(change.caller, entry)
        if found.kind != KNOWLEDGE:
            raise Refusal(
                "state_conflict",
                f"{entry} is a {found.kind}; versions are published of KNOWLEDGE only.",
                next_action="Change it with update_space_entry.",
            )
        given: dict[str, Any] = {} if title is None else {"title": title}
        given |= {} if tags is None else {"tags": list(tags)}
        return self._rewrite(change, found, expected_version, body=body, summary=summary, **given)

    def restore_space_entry(self, change: Change, *, entry: str, version: int, expected_version: int) -> Answer:
        """Make what an earlier version said the next version; a task's state stays. Answers it with its body."""
        found = self.permitted(change.caller, entry)
        if found.kind == KNOWLEDGE:
            raise published(found)
        if found.version != expected_version:
            raise self.conflict(found, expected_version)
        past = self._revision(found, version)
        values = {name: getattr(past, name) for name in ("title", "summary", "body", "tags", "pinned", "priority")}
        return self._rewrite(change, found, expected_version, show_body=True, **values)

    def archive_space_entry(self, change: Change, *, entry: str, expected_version: int, archived: bool) -> Answer:
        """Put it away, or bring it back. Archived entries are listed only when asked for."""
        found = self.permitted(change.caller, entry)
        written = self.write(change, found, expected_version, archived=archived)
        return self.answer(change, written)

    def add_evidence(self, change: Change, *, entry: str, body: str, link: str | None = None) -> Answer:
        """Add what was found out. The entry's version stays."""
        change.begin()
        found = self.permitted(change.caller, entry)
        added = found.evidence.create(
            ref=new_id("ev"),
            author_id=change.caller.agent_id,
            via=change.caller.via,
            link=link,
            created_at=change.now,
            body=body,
        )
        change.stream = space_stream(found.space.ref)
        change.record(EVIDENCE, added.ref, found.version)
        self.call_mentioned(change, found, body)
        shape = added.as_json(change.caller, body=False)
        return Answer(change.answered(shape, EVIDENCE, added.ref, found.version), created=True)

    # Reads

    def get_space_entry(
        self,
        caller: Caller,
        *,
        entry: str,
        limit: int,
        detail: str,
        version: int | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """The entry as it stands, or what a retained version of it said, with its evidence."""
        binding = (caller.agent_id, "get_space_entry", entry, version, detail)
        after = position(cursor, binding)
        found = self.readable(caller, entry)
        body = detail == "full"
        shape = found.as_json(caller, timezone.now(), body=body)
        if version is not None:
            shape |= self._revision(found, version).past(caller, body=body)
        evidence = found.evidence.select_related("author").order_by("ref")
        evidence = evidence.filter(ref__gt=after[0]) if after else evidence
        rows = list(evidence[: limit + 1])
        proofs = page(rows, limit, lambda proof: proof.as_json(caller, body=body), lambda proof: [proof.ref], binding)
        return Answer({**shape, "evidence": proofs})

    def list_space_entries(
        self,
        caller: Caller,
        *,
        space: str,
        limit: int,
        detail: str,
        archived: bool,
        cursor: str | None = None,
        q: str | None = None,
        **filters: Any,
    ) -> Answer:
        """Pinned ones first, then by priority, then the latest changed; with `q` those that hold all its words."""
        binding = (caller.agent_id, "list_space_entries", space, detail, archived, q, sorted(filters.items()))
        after = position(cursor, binding)
        found, _ = Space.objects.readable(caller, space)
        query = parsed(q) if q is not None else None
        now = timezone.now()
        entries = self._filtered(found, archived, now, **filters)
        if query is not None:
            entries = entries.filter(pk__among=self._matching(found, query))
        entries = entries.order_by("-pinned", "-priority", "-updated_at", "-pk")
        if after:
            at = datetime.fromisoformat(after[2])
            entries = entries.filter(behind(("pinned", "priority", "updated_at", "pk"), (*after[:2], at, after[3])))
        rows = list(self.whole(entries if detail == "full" or query else entries.defer("body"))[: limit + 1])

        def shape(entry: Entry) -> dict[str, Any]:
            told = entry.as_json(caller, now, body=detail == "full")
            return told | {"snippet": snippet(query, entry.body, limits.SNIPPET_MAX)} if query else told

        def place(entry: Entry) -> list[Any]:
            return [entry.pinned, entry.priority, entry.updated_at.isoformat(), entry.pk]

        return Answer(page(rows, limit, shape, place, binding))

    def list_entry_revisions(
        self, caller: Caller, *, entry: str, limit: int, detail: str, cursor: str | None = None
    ) -> Answer:
        """The retained versions, newest first."""
        binding = (caller.agent_id, "list_entry_revisions", entry, detail)
        after = position(cursor, binding)
        found = self.readable(caller, entry)
        revisions = found.revisions.select_related("changed_by").order_by("-version")
        revisions = revisions.filter(version__lt=after[0]) if after else revisions
        rows = list(revisions[: limit + 1])

        def shape(revision: EntryRevision) -> dict[str, Any]:
            return revision.as_json(found, caller, body=detail == "full")

        return Answer(page(rows, limit, shape, lambda revision: [revision.version], binding))

    # What they rest on

    def readable(self, caller: Caller, ref: str) -> Entry:
        """The entry, its `role` set to the caller's (None: an outsider of a public space). Raises not_found."""
        found = self.whole(self.filter(ref=ref, hidden_at=None)).first()
        role = found.space.role_of(caller.agent_id) if found else None
        if found is None or (role is None and found.space.visibility != PUBLIC):
            raise Refusal("not_found", f"There is no entry {ref}.", next_action="List the entries of the space.")
        found.role = role
        return found

    def permitted(self, caller: Caller, ref: str, needed: str = EDITOR) -> Entry:
        """The entry, for a change by one who may. Raises not_found, forbidden, state_conflict."""
        found = self.readable(caller, ref)
        require(found.role, needed, found.space.ref)
        found.space.refuse_archived()
        return found

    def fresh(self, entry: Entry) -> Entry:
        """The entry read anew, for the same caller."""
        found = self.whole(self.filter(pk=entry.pk)).get()
        found.role = entry.role
        return found

    def write(self, change: Change, entry: Entry, expected: int, **values: Any) -> Entry:
        """The next version of `entry`, which was just read: `values` by column, all else as it is.

        Compares and swaps, so it needs no lock before. In a transaction, for the row is read again: committed already,
        it could be at somebody else's next version by then. Raises version_conflict.
        """
        if entry.version != expected:
            raise self.conflict(entry, expected)
        change.begin()
        row = {name: getattr(entry, concrete(Entry, name).attname) for name in WRITE.fields} | values
        row |= {"changed_by": change.caller.agent_id, "changed_via": change.caller.via}
        row |= {"bytes": len(row["body"].encode())}
        row |= sealed({text: row[text] for text in TEXTS}, entry.ref, expected + 1)
        change.stream = space_stream(entry.space.ref)
        if WRITE.update(change, {"ref": entry.ref}, expected, row, prune=entry.kind != KNOWLEDGE) is None:
            raise self.conflict(self.fresh(entry), expected)
        return self.fresh(entry)

    def answer(self, change: Change, entry: Entry, *, body: bool = False, created: bool = False) -> Answer:
        """What a write of the entry answers."""
        shape = entry.as_json(change.caller, change.now, body=body)
        return Answer(change.answered(shape, RESOURCE, entry.ref, entry.version), created)

    def conflict(self, entry: Entry, expected: int) -> Refusal:
        """version_conflict for an entry that is read already; of a task it also tells who holds it."""
        told: dict[str, Any] = {
            "resource": {"type": RESOURCE, "id": entry.ref},
            "current_version": entry.version,
            "changed_by": handle_of(entry.changed_by),
            "changed_via": entry.changed_via,
            "changed_at": entry.updated_at,
        }
        message = f"{entry.ref} is not at version {expected}: it is at version {entry.version}."
        if entry.kind == TASK:
            message += f" {entry.holding(timezone.now())}"
        bodies = {
            revision.version: revision.body
            for revision in entry.revisions.filter(version__in=(expected, entry.version)).select_related("entry")
        }
        if len(bodies) == 2:
            told["diff"], truncated = cut(unified(bodies[expected], bodies[entry.version], (expected, entry.version)))
            told |= {"truncated": True} if truncated else {}
        return Refusal("version_conflict", message, **told)

    def call_mentioned(self, change: Change, entry: Entry, text: str, before: str = "") -> None:
        """Tell the agents that `text` names, and `before` did not, if they may read the entry."""
        named = set(handles(text)) - set(handles(before))
        if not named:
            return
        ids = self.readers(entry, handle__in=named)
        change.tell(ids, InboxItem.Kind.MENTION, RESOURCE, entry.ref, entry.space.ref)

    def readers(self, entry: Entry, **which: Any) -> QuerySet[Agent, int]:
        """The ids of those among some agents who may read the entry now."""
        agents = Agent.objects.filter(**which, active=True)
        if entry.space.visibility == PRIVATE:
            agents = agents.filter(memberships__space=entry.space, memberships__state=ACTIVE)
        return agents.values_list("pk", flat=True)

    def _first(self, change: Change, space: Space, texts: dict[str, str | None], **values: Any) -> Entry:
        """Version 1 of a new entry, and its revision; the two rows share their tokens."""
        ref, by, via = new_id("en"), change.caller.agent_id, change.caller.via
        shared = {"version": 1, "author_id": by, "via": via, "changed_by_id": by, "changed_via": via}
        shared |= {"bytes": len((texts["body"] or "").encode()), "created_at": change.now, **sealed(texts, ref, 1)}
        state = OPEN if values["kind"] == TASK else None
        entry = self.create(ref=ref, space=space, state=state, updated_at=change.now, **shared, **values)
        copied = {name: values[name] for name in ("tags", "pinned", "priority")}
        EntryRevision.objects.create(entry=entry, **shared, **copied)
        return entry

    def _rewrite(
        self, change: Change, entry: Entry, expected: int, *, show_body: bool = False, **values: Any
    ) -> Answer:
        """A new version of the texts, by the caller."""
        before, after = (told(entry, {}), told(entry, values))
        if handles(after) != handles(before):
            change.begin()
        author = {"author": change.caller.agent_id, "via": change.caller.via}
        written = self.write(change, entry, expected, **author, **values)
        self.call_mentioned(change, written, after, before)
        return self.answer(change, written, body=show_body)

    def whole(self, entries: QuerySet[Entry]) -> QuerySet[Entry]:
        """With all that an entry's shape shows, in two queries."""
        waits_for = Prefetch("dependencies", Dependency.objects.select_related("on").order_by("pk"))
        return entries.select_related("space", "author", "changed_by", "assignee").prefetch_related(waits_for)

    def _filtered(
        self,
        space: Space,
        archived: bool,
        now: datetime,
        kind: str | None = None,
        tag: str | None = None,
        state: str | None = None,
        assignee: str | None = None,
        priority: int | None = None,
    ) -> QuerySet[Entry]:
        entries = self.filter(space=space, hidden_at=None, archived=archived)
        entries = entries.filter(kind=kind) if kind else entries
        entries = entries.filter(tags__has=tag) if tag else entries
        entries = entries.filter(priority=priority) if priority is not None else entries
        lapsed = Q(state__in=HELD, lease_expires_at__lte=now)
        if assignee:
            entries = entries.filter(assignee__handle=assignee).exclude(lapsed)
        if state == OPEN:
            return entries.filter(Q(state=OPEN) | lapsed)
        return entries.filter(state=state).exclude(lapsed) if state else entries

    def _matching(self, space: Space, query: Query) -> list[int]:
        source = self._source(space)
        try:
            return current(source).ids(query)
        except TooLarge:
            return scan_ids(source.documents(None), query)

    def _source(self, space: Space) -> Source:
        """What the search index of the space's entries reads from: hidden ones too, which the list then leaves out."""
        entries = self.filter(space=space)

        def documents(refs: Sequence[str] | None) -> Iterator[Document]:
            found = entries if refs is None else entries.filter(ref__in=refs)
            for entry in found.iterator(chunk_size=200):
                texts = (entry.summary or "", entry.result or "", entry.body)
                yield Document(entry.pk, entry.version, entry.title, entry.kind, tuple(entry.tags), *texts)

        return Source(space_stream(space.ref), RESOURCE, documents, erased=lambda refs: ())

    def _revision(self, entry: Entry, version: int) -> EntryRevision:
        found = entry.revisions.select_related("entry", "author").filter(version=version).first()
        if found is None:
            raise Refusal(
                "not_found",
                f"{entry.ref} has no retained version {version}; it is at version {entry.version}.",
                next_action="List its revisions and use a version from there.",
            )
        return found


class EntryText(models.Model):
    """The columns that an entry and its revisions share."""

    version = models.PositiveIntegerField()
    # Of the text, and of this version; null once the agent was deleted: what it wrote for others stays.
    author = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    via = models.CharField(max_length=120)
    changed_by = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    changed_via = models.CharField(max_length=120)
    tags = Slugs()
    pinned = models.BooleanField()
    priority = models.PositiveSmallIntegerField()
    bytes = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        abstract = True


class Entry(EntryText):
    """A note, decision, piece of knowledge or task of a space, as it stands."""

    ref = ByteOrdered(max_length=REF_MAX, unique=True)
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="entries", db_index=False)
    kind = models.CharField(max_length=10)
    archived = models.BooleanField(default=False)
    updated_at = models.DateTimeField()
    hidden_at = models.DateTimeField(null=True)  # by an operator; reads as not found
    # Of a task. One that is held counts as open once its lease has run out.
    state = models.CharField(max_length=12, null=True)
    assignee = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="tasks")
    lease_expires_at = models.DateTimeField(null=True)
    lease_seconds = models.PositiveIntegerField(null=True)
    progress = models.PositiveSmallIntegerField(null=True)  # percent
    title = EncryptedText()
    summary = EncryptedText(null=True)
    body = EncryptedText()
    result = EncryptedText(null=True)

    objects: ClassVar[EntryManager] = EntryManager()
    tasks: ClassVar[TaskManager] = TaskManager()

    role: str | None = None  # of the caller that it was read for

    class Meta:
        verbose_name_plural = "entries"
        indexes = [
            models.Index(fields=["space", "-pinned", "-priority", "-updated_at", "-id"], name="entry_in_order"),
            models.Index(fields=["space", "kind", "state", "-priority", "id"], name="entry_tasks"),
        ]

    def __str__(self) -> str:
        return f"{self.ref} v{self.version}"

    def sealing_place(self) -> str:
        """What the texts of this row are sealed for."""
        return sealing_place(self.ref, self.version)

    def lapsed(self, now: datetime) -> bool:
        """Whether it is a task whose lease has run out."""
        return self.state in HELD and self.lease_expires_at is not None and self.lease_expires_at <= now

    def holding(self, now: datetime) -> str:
        """Who holds the task, in a sentence."""
        if self.state in HELD and not self.lapsed(now) and self.assignee and self.lease_expires_at:
            return f"The task is held by {self.assignee.handle}, until {self.lease_expires_at:%Y-%m-%dT%H:%M:%SZ}."
        return f"The task is {OPEN if self.lapsed(now) else self.state}."

    def as_json(self, caller: Caller, now: datetime, *, body: bool) -> dict[str, Any]:
        """The entry's shape; of a task also `task`."""
        shape = {
            "id": self.ref,
            "space": self.space.ref,
            "kind": self.kind,
            "title": self.title,
            "summary": self.summary,
            "tags": list(self.tags),
            "pinned": self.pinned,
            "priority": self.priority,
            "archived": self.archived,
            "version": self.version,
            "bytes": self.bytes,
            "author": handle_of(self.author),
            "via": self.via,
            "origin": origin(self.author_id, self.via, caller),
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }
        shape |= {"body": self.body} if body else {}
        return shape | {"task": self._task(now)} if self.kind == TASK else shape

    def _task(self, now: datetime) -> dict[str, Any]:
        lapsed = self.lapsed(now)
        return {
            "state": OPEN if lapsed else self.state,
            "assignee": self.assignee.handle if self.assignee and not lapsed else None,
            "lease_expires_at": None if lapsed else self.lease_expires_at,
            "progress": self.progress,
            "result": self.result,
            "depends_on": [dependency.on.ref for dependency in self.dependencies.all()],
        }


class EntryRevision(EntryText):
    """What an entry said at one version, and who made it so."""

    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    title = EncryptedText()
    summary = EncryptedText(null=True)
    body = EncryptedText()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["entry", "version"], name="entry_revision_once")]

    def __str__(self) -> str:
        return f"{self.entry_id} v{self.version}"

    def sealing_place(self) -> str:
        """The same place as the entry's at that version: the two rows share their tokens."""
        return sealing_place(self.entry.ref, self.version)

    def past(self, caller: Caller, *, body: bool) -> dict[str, Any]:
        """What of the entry's shape was different at this version."""
        shape = {
            "title": self.title,
            "summary": self.summary,
            "tags": list(self.tags),
            "pinned": self.pinned,
            "priority": self.priority,
            "version": self.version,
            "bytes": self.bytes,
            "author": handle_of(self.author),
            "via": self.via,
            "origin": origin(self.author_id, self.via, caller),
            "updated_at": self.created_at,
        }
        return shape | {"body": self.body} if body else shape

    def as_json(self, entry: Entry, caller: Caller, *, body: bool) -> dict[str, Any]:
        """The revision's shape in the list of an entry."""
        shape = {
            "version": self.version,
            "current": self.version == entry.version,
            "tags": list(self.tags),
            "bytes": self.bytes,
            "author": handle_of(self.changed_by),
            "via": self.changed_via,
            "created_at": self.created_at,
        }
        text = {"origin": origin(self.changed_by_id, self.changed_via, caller), "body": self.body} if body else {}
        return shape | text


class Dependency(models.Model):
    """A task that waits for another task of its space."""

    task = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="dependencies", db_index=False)
    on = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="dependents")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["task", "on"], name="dependency_once")]

    def __str__(self) -> str:
        return f"{self.task_id} waits for {self.on_id}"


class Evidence(models.Model):
    """What somebody found out for an entry; only ever added."""

    ref = ByteOrdered(max_length=REF_MAX, unique=True)
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="evidence", db_index=False)
    author = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    via = models.CharField(max_length=120)
    link = models.CharField(max_length=LINK_MAX, null=True)
    created_at = models.DateTimeField()
    body = EncryptedText()

    class Meta:
        indexes = [models.Index(fields=["entry", "ref"], name="evidence_in_order")]

    def __str__(self) -> str:
        return self.ref

    def sealing_place(self) -> str:
        """Evidence never changes: it belongs to its own id."""
        return f"evidence:{self.ref}"

    def as_json(self, caller: Caller, *, body: bool) -> dict[str, Any]:
        """The shape of evidence."""
        shape = {
            "id": self.ref,
            "link": self.link,
            "author": handle_of(self.author),
            "via": self.via,
            "origin": origin(self.author_id, self.via, caller),
            "created_at": self.created_at,
        }
        return shape | {"body": self.body} if body else shape


WRITE = VersionedWrite(
    head=Entry,
    revision=EntryRevision,
    resource_type=RESOURCE,
    key=("ref",),
    fields=(
        *("changed_by", "changed_via", "tags", "pinned", "priority", "bytes", "author", "via", "archived"),
        *("state", "assignee", "lease_expires_at", "lease_seconds", "progress", *TEXTS),
    ),
    link="entry",
    resource_id="ref",
)


def sealing_place(ref: str, version: int) -> str:
    """Where a text belongs: ciphertext moved to another entry or version does not open."""
    return f"entry:{ref}:{version}"


def sealed(texts: dict[str, str | None], ref: str, version: int) -> dict[str, str | None]:
    """The texts as the columns of that version store them."""
    place = sealing_place(ref, version)
    return {name: None if text is None else seal(text, field_place(place, name)) for name, text in texts.items()}


def told(entry: Entry, values: dict[str, Any]) -> str:
    """What the entry says, with `values` in place of what they replace."""
    return "\n".join(str(values.get(name, getattr(entry, name)) or "") for name in ("title", "summary", "body"))


def handle_of(agent: Agent | None) -> str | None:
    """The agent's handle; None for one that was deleted."""
    return None if agent is None else agent.handle


def origin(author_id: int | None, via: str, caller: Caller) -> str:
    """Whose words they are for the reading agent: its own, its owner's, or of another in the space."""
    if author_id != caller.agent_id:
        return "space"
    return "owner" if via == BROWSER else "own"


def refuse_blank_summary(summary: str | None) -> None:
    """Raise invalid_arguments where a version of knowledge would say nothing in its summary."""
    if summary is None:
        raise invalid("summary", "is required for KNOWLEDGE")
    if problem := not_blank(summary):
        raise invalid("summary", problem)


def published(entry: Entry) -> Refusal:
    """state_conflict for a change of what is published."""
    return Refusal(
        "state_conflict",
        f"{entry.ref} is KNOWLEDGE: its published versions are never changed.",
        next_action="Publish its next version with publish_knowledge.",
    )


def parsed(q: str) -> Query:
    """The words of `q`. Raises invalid_arguments for too many."""
    query = Query.parse(q)
    if len(query.phrases) > PHRASES_MAX:
        raise invalid("q", f"has {len(query.phrases)} words; at most {PHRASES_MAX} are allowed")
    return query


def behind(fields: Sequence[str], values: Iterable[Any]) -> Q:
    """What comes after these values where all fields are sorted downwards."""
    found, equal = Q(), Q()
    for field, value in zip(fields, values, strict=True):
        found |= equal & Q(**{f"{field}__lt": value})
        equal &= Q(**{field: value})
    return found


def is_public_entry(ref: str) -> bool:
    """Whether everybody may read the entry."""
    return Entry.objects.filter(ref=ref, hidden_at=None, space__visibility=PUBLIC).exists()


def hide_entry(ref: str, *, hidden: bool) -> Entry | None:
    """Hide an entry of a public space from everybody, or show it again; None where there is none. For operators."""
    now = timezone.now() if hidden else None
    found = Entry.objects.filter(ref=ref, space__visibility=PUBLIC)
    return Entry.objects.get(ref=ref) if found.update(hidden_at=now) else None
