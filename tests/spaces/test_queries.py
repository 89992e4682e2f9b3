"""Reads and claims make as many queries for a thousand rows as for ten."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentboard.identity import caller, models
from agentboard.ledger.ids import new_id
from spaces.entry import sealed
from spaces.models import Dependency, Entry, EntryRevision, Evidence, Member, Space
from tests.calls import Agent, Rest, in_this_thread
from tests.spaces.conftest import MakeEntry, MakeSpace, join

FEW, MANY = 10, 1_000
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def near(atlas: Agent, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """Atlas, calling in this thread, where its queries can be counted; when its key was used is not noted meanwhile."""
    monkeypatch.setattr(caller, "note_use", lambda key_id: None)
    return Agent(Rest(in_this_thread), atlas.key, atlas.handle, atlas.pk)


@contextmanager
def counted() -> Iterator[list[str]]:
    """The queries made meanwhile."""
    made: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield made
    made += [query["sql"] for query in captured]


def same(call: Callable[[], Any], more: Callable[[], None], most: int) -> None:
    """The call makes as many queries before there are more rows as afterwards, and at most so many."""
    call()  # whatever is read once in a process
    with counted() as before:
        few = call()
    more()
    with counted() as after:
        many = call()
    assert len(after) == len(before), [*before, "", *after]
    assert len(before) <= most, before
    assert few != many, "the rows made a difference"


def entries(space: str, number: int, agent: Agent, kind: str = "TASK") -> list[Entry]:
    """Rows as create_space_entry makes them, quickly; each task but the first waits for the one before."""
    row = Space.objects.get(ref=space)
    rows = []
    for place in range(number):
        ref = new_id("en")
        who = {"author_id": agent.pk, "via": "rest", "changed_by_id": agent.pk, "changed_via": "rest"}
        texts = sealed({"title": f"T{place}", "summary": "S", "body": "word"}, ref, 1)
        at = START + timedelta(seconds=place)
        rows.append(
            Entry(
                ref=ref,
                space=row,
                kind=kind,
                version=1,
                **who,
                tags=[f"t{place % 7}"],
                pinned=place % 5 == 0,
                priority=place % 4,
                bytes=4,
                created_at=at,
                updated_at=at,
                state="open" if kind == "TASK" else None,
                assignee_id=agent.pk if place % 2 else None,
                **texts,
            )
        )
    return Entry.objects.bulk_create(rows)


@pytest.mark.parametrize("data", [{}, {"detail": "full"}, {"kind": "TASK", "state": "open", "tag": "t1"}])
def test_a_list_of_entries(atlas: Agent, near: Agent, space: str, data: dict[str, Any]) -> None:
    def more(number: int = MANY) -> None:
        rows = entries(space, number, atlas)
        Dependency.objects.bulk_create(Dependency(task=task, on=on) for on, task in pairwise(rows))

    more(FEW)
    same(lambda: near.done("list_space_entries", space, limit=100, **data), more, most=6)


def test_a_search_in_entries_that_nobody_has_searched_yet(atlas: Agent, near: Agent, make_space: MakeSpace) -> None:
    made = []
    for number in (FEW, MANY):
        space = make_space(atlas)
        entries(space, number, atlas)
        with counted() as queries:
            assert near.done("list_space_entries", space, q="word", limit=FEW)["items"]
        made.append(queries)
    assert len(made[0]) == len(made[1]) <= 9, made


def test_a_read_of_an_entry_with_evidence_and_dependencies(
    atlas: Agent, near: Agent, space: str, make_entry: MakeEntry
) -> None:
    ahead = entries(space, 20, atlas)
    task = Entry.objects.get(ref=make_entry(atlas, space, kind="TASK", depends_on=[ahead[0].ref])["id"])

    def proof() -> Evidence:
        return Evidence(ref=new_id("ev"), entry=task, author_id=atlas.pk, via="rest", created_at=START, body="Seen")

    Evidence.objects.bulk_create(proof() for _ in range(FEW))

    def more() -> None:
        Evidence.objects.bulk_create(proof() for _ in range(MANY))
        Dependency.objects.bulk_create(Dependency(task=task, on=row) for row in ahead[1:])

    same(lambda: near.done("get_space_entry", task.ref, limit=100), more, most=7)


def test_a_list_of_revisions(atlas: Agent, near: Agent, space: str, make_entry: MakeEntry) -> None:
    entry = Entry.objects.get(ref=make_entry(atlas, space)["id"])
    Entry.objects.filter(pk=entry.pk).update(version=MANY)
    kept = ("author_id", "via", "changed_by_id", "changed_via", "bytes")
    first = EntryRevision.objects.filter(entry=entry).values(*kept).get()

    def revisions(numbers: range) -> None:
        EntryRevision.objects.bulk_create(
            EntryRevision(
                entry=entry,
                version=number,
                tags=[],
                pinned=False,
                priority=0,
                created_at=START,
                title="T",
                body="B",
                **first,
            )
            for number in numbers
        )

    revisions(range(2, FEW))
    same(
        lambda: near.done("list_entry_revisions", entry.ref, limit=100, detail="full"),
        lambda: revisions(range(FEW, MANY)),
        most=6,
    )


@pytest.mark.parametrize("scope", ["mine", "public"])
def test_a_list_of_spaces_with_their_members(atlas: Agent, near: Agent, scope: str) -> None:
    others = models.Agent.objects.bulk_create(
        models.Agent(owner_id=models.Agent.objects.get(pk=atlas.pk).owner_id, handle=f"{atlas.handle}-{number}")
        for number in range(50)
    )

    def spaces(number: int) -> None:
        about = {"creator_id": atlas.pk, "changed_by_id": atlas.pk, "changed_via": "rest", "visibility": "public"}
        at = {"created_at": START, "updated_at": START}
        rows = [Space(ref=new_id("sp"), name=new_id("n")[2:], title="T", **about, **at) for _ in range(number)]
        Space.objects.bulk_create(rows)
        Member.objects.bulk_create(
            Member(space=space, agent=agent, role="reader", state="active", created_at=START)
            for space in rows
            for agent in (*others[:: 10 if number > FEW else 1], models.Agent(pk=atlas.pk))
        )

    spaces(FEW)
    same(lambda: near.done("list_spaces", scope=scope, limit=100), lambda: spaces(MANY), most=5)
    Space.objects.filter(creator_id=atlas.pk).delete()


def test_a_read_of_a_space(atlas: Agent, near: Agent, space: str) -> None:
    entries(space, FEW, atlas)
    owner = models.Agent.objects.get(pk=atlas.pk).owner_id

    def more() -> None:
        rows = models.Agent.objects.bulk_create(
            models.Agent(owner_id=owner, handle=f"{atlas.handle}-{number}") for number in range(200)
        )
        Member.objects.bulk_create(
            Member(space=Space.objects.get(ref=space), agent=agent, role="reader", state="active", created_at=START)
            for agent in rows
        )
        entries(space, MANY, atlas)

    same(lambda: near.done("get_space", space), more, most=7)


@pytest.mark.parametrize("with_author", [True, False])
def test_a_claim_of_the_next_task(atlas: Agent, boreas: Agent, near: Agent, space: str, with_author: bool) -> None:
    join(atlas, space, boreas, "editor")
    author = atlas if with_author else boreas
    entries(space, FEW, author)

    def more() -> None:
        rows = entries(space, MANY, author)
        Dependency.objects.bulk_create(Dependency(task=task, on=on) for task, on in pairwise(rows) if task.priority)

    same(lambda: near.done("claim_next_task", space)["entry"]["id"], more, most=20)


def test_a_search_for_circles_behind_a_task_that_waits_for_very_many(atlas: Agent, near: Agent, space: str) -> None:
    ends = []
    for number in (FEW, MANY):
        rows = entries(space, number, atlas)
        Dependency.objects.bulk_create(Dependency(task=task, on=on) for on, task in pairwise(rows))
        with counted() as queries:
            near.refused("state_conflict", "update_task", rows[0].ref, expected_version=1, depends_on=[rows[-1].ref])
        ends.append(queries)
    assert len(ends[0]) == len(ends[1]) <= 12, ends
