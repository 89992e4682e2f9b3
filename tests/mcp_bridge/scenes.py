"""Scenes: for every method calls that work, for every code of a refusal calls that provoke it.

A scene prepares through the REST door what its call needs, and gives the call's id and arguments.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections, transaction
from pytest_django import Settings

from agentboard import rate
from agentboard.asgi import threads
from agentboard.contract import limits
from spaces.models import Entry
from tests.board import Board
from tests.calls import Agent

LATER = "2030-01-01T00:00:00Z"
TEXT = 'Zwölf „Zeilen“:\n\t"one" \\ two \u2028 \U0001f680 </b>'  # what a careless writer of JSON would spoil
TITLE = "Über „alles“"
NOWHERE = "en_00000000000000000000000000"


@dataclass(frozen=True)
class Stage:
    """An agent that makes the calls, one of the same person, and one of another person, who prepare through REST.

    `home` is a space of the caller's, for entries that need none of their own. Names are drawn from the label, so
    scenes with the same label find the same names on different stages.
    """

    caller: Agent
    sibling: Agent
    other: Agent
    home: str
    label: str = "scene"
    numbers: Iterator[int] = field(default_factory=count)

    def labelled(self, *words: Any) -> "Stage":
        """The same agents, with names that no other label draws."""
        return replace(self, label="-".join(map(str, words)).replace("_", "-"), numbers=count())

    def name(self) -> str:
        """A name that this agent has not used."""
        return f"{self.label}-{next(self.numbers)}"

    def note(self, *bodies: str, **more: Any) -> str:
        """A note that had these bodies, one a version."""
        name = self.name()
        for version, body in enumerate(bodies or (TEXT,)):
            self.caller.save(name, body, version, **more)
        return name

    def space(self, owner: Agent | None = None, **more: Any) -> str:
        """A space of the caller's, unless told whose."""
        name = self.name()
        about = {"request_id": name, "name": name, "title": TITLE, **more}
        return str((owner or self.caller).done("create_space", **about)["id"])

    def entry(self, kind: str = "NOTE", space: str = "", **more: Any) -> str:
        """An entry of the caller's at version 1, at home unless told where."""
        about = {"kind": kind, "title": TITLE, "body": TEXT, "summary": "Short", **more}
        return str(self.caller.done("create_space_entry", space or self.home, **about)["id"])

    def task(self, space: str = "", **more: Any) -> str:
        """A task at version 2 that the caller holds."""
        entry = self.entry("TASK", space, **more)
        self.caller.done("claim_task", entry, expected_version=1)
        return entry

    def invitation(self, role: str = "editor") -> str:
        """A space of the other's to which the caller was invited."""
        space = self.space(self.other)
        self.other.done("set_space_member", space, agent=self.caller.handle, role=role)
        return space

    def joined(self, role: str = "editor") -> str:
        """A space of the other's in which the caller has this role."""
        space = self.invitation(role)
        self.caller.done("respond_to_invitation", space, accept=True)
        return space

    def post(self, author: Agent | None = None, **more: Any) -> str:
        """A post of the caller's, unless told whose."""
        about = {"type": "QUESTION", "title": TITLE, "body": TEXT, **more}
        return str((author or self.caller).done("create_post", **about)["id"])

    def reply(self, post: str, body: str = TEXT) -> str:
        """The other's reply."""
        return str(self.other.done("reply_to_post", post, body=body)["id"])

    def mail(self, items: int = 2) -> str:
        """The newest of so many unread items, the only ones in the caller's inbox."""
        for old in self.caller.done("inbox", limit=1)["items"]:
            self.caller.done("mark_inbox_read", up_to=old["id"])
        post = self.post()
        for number in range(items):
            self.reply(post, f"Reply {number}")
        return str(self.caller.done("inbox", limit=1)["items"][0]["id"])


Prepared = tuple[str | None, Mapping[str, Any]]  # id and arguments of a call
Scene = Callable[[Stage], Prepared]


def plain(id: str | None = None, **data: Any) -> Scene:
    """A call that needs nothing."""
    return lambda stage: (id, data)


def on(prepare: Callable[[Stage], str], **data: Any) -> Scene:
    """A call on what `prepare` makes."""
    return lambda stage: (prepare(stage), data)


# ---- every credential


def with_mail(**data: Any) -> Scene:
    """A call with something in the inbox."""
    return lambda stage: (None, data if stage.mail() else {})


def marking_one(stage: Stage) -> Prepared:
    return None, {"ids": [stage.mail()]}


def marking_all(stage: Stage) -> Prepared:
    return None, {"up_to": stage.mail()}


def since_a_cursor(stage: Stage) -> Prepared:
    cursor = stage.caller.done("list_events", limit=2)["next_cursor"]
    stage.note("one", "two", review_after="2020-01-01T00:00:00Z")
    return None, {"since": cursor}


def on_what_there_is(**data: Any) -> Scene:
    """A call of an agent with notes, tasks, mail."""

    def prepare(stage: Stage) -> Prepared:
        stage.note(review_after=LATER)
        stage.task()
        stage.entry("TASK")
        stage.mail()
        return None, data

    return prepare


# ---- memory


def two_versions(stage: Stage) -> str:
    return stage.note("one\ntwo\n", TEXT, tags=["a"])


def referring(stage: Stage) -> str:
    """A note with a reference that has gone stale."""
    base = stage.note()
    name = stage.note(memory_references=[{"name": base, "version": 1}])
    stage.caller.save(base, "more", 1)
    return name


def some_notes(**data: Any) -> Scene:
    """A call on notes that fit these arguments, and others."""

    def prepare(stage: Stage) -> Prepared:
        for number in range(3):
            stage.note(f"März {number}. {TEXT}", tags=["a", "b"], review_after=LATER, summary="Über März")
        stage.note(status="archived")
        return None, data

    return prepare


def whole_save(stage: Stage) -> Prepared:
    base = stage.note("one", "two")
    return stage.note(), {
        "body": TEXT,
        "expected_version": 1,
        "summary": TITLE,
        "use_when": "When „asked“",
        "tags": ["b", "a"],
        "status": "superseded",
        "memory_references": [{"name": base, "version": 1}],
        "review_after": "2030-01-01T01:00:00+01:00",
        "superseded_by": base,
    }


def superseding(stage: Stage) -> Prepared:
    old = {"name": stage.note(), "expected_version": 1}
    return stage.name(), {"body": TEXT, "expected_version": 0, "supersedes": old}


# ---- spaces


def new_space(**more: Any) -> Scene:
    def prepare(stage: Stage) -> Prepared:
        name = stage.name()
        return None, {"request_id": name, "name": name, "title": TITLE, **more}

    return prepare


def member(which: str, role: str) -> Scene:
    """A call that gives an agent of the stage a role."""
    return lambda stage: (stage.space(), {"agent": getattr(stage, which).handle, "role": role})


def taking_out(stage: Stage) -> Prepared:
    space = stage.space()
    stage.caller.done("set_space_member", space, agent=stage.sibling.handle, role="editor")
    return space, {"agent": stage.sibling.handle}


def leaving(stage: Stage) -> Prepared:
    return stage.joined(), {"agent": stage.caller.handle}


def waiting_task(stage: Stage) -> Prepared:
    space = stage.space()
    data = {"kind": "TASK", "title": TITLE, "body": TEXT, "summary": "Short", "tags": ["b", "a"], "pinned": True}
    return space, {**data, "priority": 3, "depends_on": [stage.entry("TASK", space)]}


def calling_other(stage: Stage) -> Prepared:
    space = stage.joined()
    return space, {"kind": "KNOWLEDGE", "title": TITLE, "body": f"@{stage.other.handle}", "summary": "Short"}


def proven(stage: Stage) -> str:
    entry = stage.entry("TASK")
    for number in range(3):
        stage.caller.done("add_evidence", entry, body=f"{number} {TEXT}", link="https://example.org/")
    return entry


def rewritten(stage: Stage) -> str:
    """An entry at version 2."""
    entry = stage.entry(tags=["a"])
    stage.caller.done("update_space_entry", entry, expected_version=1, title="New", body="New", priority=2)
    return entry


def full_space(stage: Stage, **about: Any) -> str:
    space = stage.space(**about)
    for number in range(3):
        stage.entry("NOTE", space, tags=["a"], pinned=number == 1)
    stage.task(space, tags=["a"], priority=1)
    return space


def held_tasks(stage: Stage) -> Prepared:
    narrow = {"kind": "TASK", "tag": "a", "state": "claimed", "priority": 1, "q": "zeilen"}
    return full_space(stage), {**narrow, "assignee": stage.caller.handle, "limit": 1, "detail": "full"}


def many_spaces(**data: Any) -> Scene:
    def prepare(stage: Stage) -> Prepared:
        stage.space(visibility="public", description=TEXT)
        stage.joined()
        return None, data

    return prepare


def two_tasks(stage: Stage) -> str:
    space = stage.space()
    stage.entry("TASK", space)
    stage.entry("TASK", space, tags=["a"], priority=2)
    return space


def new_dependency(stage: Stage) -> Prepared:
    space = stage.space()
    return stage.task(space), {"expected_version": 2, "depends_on": [stage.entry("TASK", space)]}


# ---- posts


def some_posts(**data: Any) -> Scene:
    def prepare(stage: Stage) -> Prepared:
        for _ in range(3):
            stage.post(tags=["a"], summary="Short")
        return None, {**data, "author": stage.caller.handle} if "q" in data else data

    return prepare


def discussed(stage: Stage) -> str:
    post = stage.post()
    for number in range(3):
        stage.reply(post, f"{number} {TEXT}")
    return post


def settling(stage: Stage) -> Prepared:
    post = stage.post()
    return post, {"expected_version": 1, "accepted_reply": stage.reply(post)}


def reported_post(stage: Stage) -> Prepared:
    return None, {"resource": stage.post(stage.other), "reason": TEXT}


def reported_entry(stage: Stage) -> Prepared:
    return None, {"resource": stage.entry(space=stage.space(visibility="public")), "reason": TEXT}


REWRITE = {"expected_version": 1, "title": "New", "body": TEXT}
SCENES: Mapping[str, tuple[Scene, ...]] = {
    "get_help": (plain(), plain(limit=15, detail="full"), plain("save_memory")),
    "whoami": (plain(),),
    "resume": (on_what_there_is(), on_what_there_is(max_bytes=1_024), since_a_cursor),
    "inbox": (with_mail(), with_mail(limit=1, unread=True, detail="full")),
    "mark_inbox_read": (marking_one, marking_all),
    "list_events": (on_what_there_is(limit=3), on_what_there_is(wait_seconds=0, detail="full")),
    "save_memory": (lambda stage: (stage.name(), {"body": TEXT, "expected_version": 0}), superseding, whole_save),
    "edit_memory": (
        on(two_versions, expected_version=2, append="\nmore"),
        on(two_versions, expected_version=2, edits=[{"old": "one", "new": "1"}, {"old": "two", "new": "2"}]),
    ),
    "get_memory": (on(two_versions), on(two_versions, version=1, detail="summary"), on(referring)),
    "list_memory": (
        some_notes(limit=1, order="updated", detail="full"),
        some_notes(status="active", tag="b", review_due=False, updated_since="2020-02-29T00:00:00-11:00"),
    ),
    "search_memory": (
        some_notes(q="marz uber"),
        some_notes(q="März", status="active", tag="a", limit=1, detail="full"),
    ),
    "list_memory_revisions": (on(two_versions), on(two_versions, limit=1, detail="full")),
    "compare_memory": (on(two_versions), on(two_versions, **{"from": 2, "to": 1})),
    "restore_memory": (on(two_versions, expected_version=2, version=1),),
    "mark_memory_reviewed": (
        on(two_versions, expected_version=2),
        on(two_versions, expected_version=2, review_after=LATER),
    ),
    "delete_memory": (on(two_versions, expected_version=2),),
    "create_space": (new_space(), new_space(description=TEXT, visibility="public")),
    "list_spaces": (many_spaces(), many_spaces(scope="public", detail="full", limit=2)),
    "get_space": (on(full_space), on(Stage.joined)),
    "update_space": (
        on(Stage.space, expected_version=1, title="New", description=TEXT, archived=True),
        on(lambda stage: stage.space(visibility="public"), expected_version=1, visibility="private"),
    ),
    "set_space_member": (member("sibling", "owner"), member("other", "reader")),
    "respond_to_invitation": (on(Stage.invitation, accept=True), on(Stage.invitation, accept=False)),
    "remove_space_member": (taking_out, leaving),
    "create_space_entry": (on(Stage.space, kind="NOTE", title=TITLE, body=TEXT), waiting_task, calling_other),
    "get_space_entry": (on(proven, limit=2), on(rewritten, version=1, detail="summary")),
    "list_space_entries": (on(full_space, limit=2), held_tasks, on(full_space, archived=True)),
    "update_space_entry": (
        on(Stage.entry, **REWRITE),
        on(Stage.entry, **REWRITE, tags=["b", "a"], pinned=True, priority=3),
    ),
    "archive_space_entry": (on(Stage.entry, expected_version=1, archived=True),),
    "list_entry_revisions": (on(rewritten), on(rewritten, limit=1, detail="full")),
    "restore_space_entry": (on(rewritten, expected_version=2, version=1),),
    "publish_knowledge": (
        on(lambda stage: stage.entry("KNOWLEDGE"), expected_version=1, body=TEXT, summary="Short"),
        on(lambda stage: stage.entry("KNOWLEDGE"), **REWRITE, summary="Short", tags=["b"]),
    ),
    "add_evidence": (on(Stage.entry, body=TEXT), on(Stage.entry, body=TEXT, link="https://example.org/?a=1&b=ü")),
    "claim_next_task": (on(two_tasks), on(two_tasks, lease_seconds=3_600, tag="a")),
    "claim_task": (
        on(lambda stage: stage.entry("TASK"), expected_version=1),
        on(lambda stage: stage.entry("TASK"), expected_version=1, lease_seconds=86_400),
    ),
    "update_task": (
        on(Stage.task, expected_version=2, state="in_progress", progress=50),
        on(Stage.task, expected_version=2, state="done", result=TEXT),
        new_dependency,
    ),
    "release_task": (on(Stage.task, expected_version=2),),
    "create_post": (
        plain(type="QUESTION", title=TITLE, body=TEXT),
        plain(type="OFFER", title=TITLE, body=TEXT, summary="Short", topic="general", tags=["b", "a"]),
    ),
    "list_posts": (
        some_posts(),
        some_posts(topic="general", type="QUESTION", tag="a", state="open", q="zeilen", limit=2, detail="full"),
    ),
    "get_post": (on(discussed, limit=2), on(discussed, detail="summary")),
    "reply_to_post": (on(lambda stage: stage.post(stage.other), body=TEXT),),
    "resolve_post": (on(Stage.post, expected_version=1), settling),
    "topics": (plain(), plain(limit=1)),
    "report_content": (reported_post, reported_entry),
}


# ---- refusals


@dataclass(frozen=True)
class Ground:
    """What a refusal may need beside agents."""

    board: Board
    settings: Settings
    patch: pytest.MonkeyPatch
    stack: ExitStack


Call = tuple[Agent, str, str | None, Mapping[str, Any]]
Provoke = Callable[[Stage, Ground], Call]


def of(method: str, scene: Scene) -> Provoke:
    """The caller's call of the method."""
    return lambda stage, ground: (stage.caller, method, *scene(stage))


def saving(**data: Any) -> Scene:
    """A save of a new note."""
    return lambda stage: (stage.name(), {"body": TEXT, "expected_version": 0, **data})


def referring_to_itself(stage: Stage) -> Prepared:
    name = stage.note()
    return name, {"body": TEXT, "expected_version": 1, "memory_references": [{"name": name, "version": 1}]}


def telling_a_key(stage: Stage) -> Prepared:
    return stage.name(), {"body": f"Mine is {stage.caller.key}.", "expected_version": 0}


def superseding_at(version: int) -> Scene:
    """A save that names this version of a note it supersedes, which was retired before."""

    def prepare(stage: Stage) -> Prepared:
        name, old = superseding(stage)
        stage.caller.done("save_memory", name, **old)
        return stage.name(), {**old, "supersedes": {**old["supersedes"], "expected_version": version}}

    return prepare


def restoring_a_broken_reference(stage: Stage) -> Prepared:
    base = stage.note()
    name = stage.note(memory_references=[{"name": base, "version": 1}])
    stage.caller.save(name, "two", 1)
    stage.caller.done("delete_memory", base, expected_version=1)
    return name, {"version": 1, "expected_version": 2}


def spent_key(method: str, **changed: Any) -> Provoke:
    """Another call with the operation key of a save."""

    def provoke(stage: Stage, ground: Ground) -> Call:
        key, name = stage.name(), stage.name()
        stage.caller.save(name, operation_key=key)
        data = {"body": "Text", "expected_version": 0} if method == "save_memory" else {}
        return stage.caller, method, name, {**data, "operation_key": key, **changed}

    return provoke


def same_space(**changed: Any) -> Scene:
    """A space of the same name as one before, and what else is changed."""

    def prepare(stage: Stage) -> Prepared:
        _, about = new_space()(stage)
        stage.caller.done("create_space", **about)
        return None, {**about, **changed}

    return prepare


def of_reader(stage: Stage) -> str:
    """An entry that the caller may read and not change."""
    space = stage.joined("reader")
    return str(stage.other.done("create_space_entry", space, kind="NOTE", title=TITLE, body=TEXT)["id"])


def public_entry(stage: Stage) -> str:
    """An entry of a space that the caller may read, as everybody may, and is no member of."""
    space = stage.space(stage.other, visibility="public")
    return str(stage.other.done("create_space_entry", space, kind="NOTE", title=TITLE, body=TEXT)["id"])


def held_by_other(stage: Stage) -> str:
    """A task at version 2, held by the owner of its space, where the caller edits."""
    space = stage.joined()
    task = str(stage.other.done("create_space_entry", space, kind="TASK", title=TITLE, body=TEXT)["id"])
    stage.other.done("claim_task", task, expected_version=1)
    return task


def unready_task(stage: Stage) -> str:
    space = stage.space()
    return stage.entry("TASK", space, depends_on=[stage.entry("TASK", space)])


def archived_space(stage: Stage) -> str:
    space = stage.space()
    stage.caller.done("update_space", space, expected_version=1, archived=True)
    return space


def last_owner(stage: Stage) -> Prepared:
    return stage.space(), {"agent": stage.caller.handle}


def reporting_again(stage: Stage) -> Prepared:
    _, report = reported_post(stage)
    stage.caller.done("report_content", **report)
    return None, report


def resolved(stage: Stage) -> str:
    post = stage.post()
    stage.caller.done("resolve_post", post, expected_version=1)
    return post


def without_scope(stage: Stage, ground: Ground) -> Call:
    narrow = ground.board.with_scopes(stage.caller, "memory:read")
    return narrow, "save_memory", *saving()(stage)


def beyond_the_quota(stage: Stage, ground: Ground) -> Call:
    ground.settings.NOTES_PER_AGENT = 0
    return stage.caller, "save_memory", *saving()(stage)


def with_an_old_cursor(method: str, argument: str) -> Provoke:
    """A cursor from before what is kept."""

    def provoke(stage: Stage, ground: Ground) -> Call:
        cursor = stage.caller.done("list_events")["next_cursor"]
        ground.settings.EVENT_DAYS = 0
        return stage.caller, method, None, {argument: cursor}

    return provoke


def too_often(stage: Stage, ground: Ground) -> Call:
    never = 1e-16  # calls a minute: the seconds to wait are the same at each door, however long the test takes
    ground.patch.setattr(rate, "AGENTS", rate.Buckets("agent", never, 1, 1))
    stage.caller.done("whoami")
    return stage.caller, "whoami", None, {}


def spoilt_text(stage: Stage, ground: Ground) -> Call:
    """An entry whose stored text is another's, which does not open here."""
    entry, another = stage.entry(), stage.entry()
    held = Entry.objects.filter(ref=another).values_list("body", flat=True).get()
    Entry.objects.filter(ref=entry).update(body=held)
    return stage.caller, "get_space_entry", entry, {}


def locked_database(stage: Stage, ground: Ground) -> Call:
    ground.stack.enter_context(locked())
    return stage.caller, "save_memory", *saving()(stage)


@contextmanager
def locked() -> Iterator[None]:
    """Meanwhile no note can be written, and the doors' threads wait for that no longer than a test can bear."""
    on_postgresql = connection.vendor == "postgresql"
    in_each_thread(lambda: execute("SET lock_timeout = 50" if on_postgresql else "PRAGMA busy_timeout = 50"))  # ms
    try:
        with transaction.atomic():  # on SQLite this alone locks
            if on_postgresql:
                execute("LOCK TABLE memory_note IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        in_each_thread(connections.close_all)


def execute(statement: str) -> None:
    """Run it on this thread's connection."""
    with connection.cursor() as cursor:
        cursor.execute(statement)


def in_each_thread(work: Callable[[], None]) -> None:
    """Do it once in each thread of the doors."""
    met = threading.Barrier(settings.THREADS)

    def alone() -> None:
        met.wait(10)  # seconds; so each thread takes one of the jobs
        work()

    async def all_of_them() -> None:
        await asyncio.gather(*(threads.run(alone) for _ in range(settings.THREADS)))

    asyncio.run(all_of_them())


MISSING_NOTE = {"name": "no-such-note", "version": 1}
REFUSALS: Mapping[str, tuple[Provoke, ...]] = {
    "invalid_arguments": (
        of("save_memory", saving(body=" \n")),
        of("save_memory", saving(body="ü" * limits.BODY_MAX)),
        of("save_memory", saving(body="a\0b", summary="\ud800")),
        of("save_memory", saving(tags=["a", "B", "a"], memory_references=[MISSING_NOTE, MISSING_NOTE])),
        of("save_memory", telling_a_key),
        of("save_memory", referring_to_itself),
        of("save_memory", saving(expected_version=1, supersedes={"name": "old", "expected_version": 1})),
        of("edit_memory", on(two_versions, expected_version=2)),
        of("edit_memory", on(lambda stage: stage.note("a a"), expected_version=1, edits=[{"old": "a", "new": ""}])),
        of("list_memory", plain(cursor="AAAA")),
        of("list_events", plain(cursor="AAAA")),
        of("mark_inbox_read", plain(ids=["a"], up_to="b")),
        of("update_space", on(Stage.space, expected_version=1)),
        of("create_space_entry", on(Stage.space, kind="KNOWLEDGE", title=TITLE, body=TEXT)),
        of("create_space_entry", on(Stage.space, kind="NOTE", title=TITLE, body=TEXT, depends_on=[NOWHERE])),
        of("add_evidence", on(Stage.entry, body=TEXT, link="http://example.org/")),
        of("update_task", on(Stage.task, expected_version=2)),
        of("create_post", plain(type="OFFER", title=TITLE, body=TEXT, topic="no-such-topic")),
    ),
    "insufficient_scope": (without_scope,),
    "forbidden": (
        of("update_space_entry", on(of_reader, **REWRITE)),
        of("update_task", on(held_by_other, expected_version=2, state="done")),
        of("add_evidence", on(public_entry, body=TEXT)),
        of("resolve_post", on(lambda stage: stage.post(stage.other), expected_version=1)),
    ),
    "not_found": (
        of("get_help", plain("no_such_method")),
        of("get_memory", on(two_versions, version=99)),
        of("get_space", on(Stage.invitation)),
        of("respond_to_invitation", on(Stage.space, accept=True)),
        of("set_space_member", on(Stage.space, agent="nobody-at-all", role="reader")),
        of("remove_space_member", on(Stage.space, agent="nobody-at-all")),
        of("mark_inbox_read", plain(up_to="in_00000000000000000000000000")),
        of("report_content", lambda stage: (None, {"resource": stage.entry(), "reason": TEXT})),
    ),
    "version_conflict": (
        of("save_memory", on(two_versions, body=TEXT, expected_version=0)),
        of("save_memory", on(two_versions, body=TEXT, expected_version=1)),
        of("save_memory", superseding_at(7)),
        of("update_space", on(archived_space, expected_version=1, title="New")),
        of("update_space_entry", on(rewritten, **REWRITE)),
        of("claim_task", on(held_by_other, expected_version=1)),
        of("resolve_post", on(resolved, expected_version=1)),
    ),
    "operation_key_conflict": (
        spent_key("save_memory", body="Other"),
        spent_key("delete_memory", expected_version=1),
        of("create_space", same_space(title="Other")),
    ),
    "already_exists": (of("create_space", same_space(request_id="another")),),
    "reference_unavailable": (
        of("save_memory", saving(memory_references=[MISSING_NOTE])),
        of("save_memory", saving(superseded_by="no-such-note")),
        of("restore_memory", restoring_a_broken_reference),
        of("create_space_entry", on(Stage.space, kind="TASK", title=TITLE, body=TEXT, depends_on=[NOWHERE])),
        of("resolve_post", on(Stage.post, expected_version=1, accepted_reply="re_00000000000000000000000000")),
    ),
    "state_conflict": (
        of("save_memory", superseding_at(2)),
        of("update_space", on(Stage.space, expected_version=1, visibility="public")),
        of("remove_space_member", last_owner),
        of("create_space_entry", on(archived_space, kind="NOTE", title=TITLE, body=TEXT)),
        of("update_space_entry", on(lambda stage: stage.entry("KNOWLEDGE"), **REWRITE)),
        of("publish_knowledge", on(Stage.entry, expected_version=1, body=TEXT, summary="Short")),
        of("claim_task", on(held_by_other, expected_version=2)),
        of("claim_task", on(unready_task, expected_version=1)),
        of("release_task", on(unready_task, expected_version=1)),
        of("resolve_post", on(resolved, expected_version=2)),
        of("report_content", reporting_again),
    ),
    "quota_exceeded": (beyond_the_quota,),
    "cursor_expired": (with_an_old_cursor("list_events", "cursor"), with_an_old_cursor("resume", "since")),
    "rate_limited": (too_often,),
    "internal_error": (spoilt_text,),
    "unavailable": (locked_database,),
}
