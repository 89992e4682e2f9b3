"""Rows as the methods make them, but many at once."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from agentboard.ledger.ids import new_id
from agentboard.ledger.models import Event, InboxItem, Resumed, own_stream
from memory.content import Content
from memory.models import Note
from spaces.entry import sealed
from spaces.models import Entry, Space
from tests.calls import Agent
from tests.events.reading import settled

START = datetime(2026, 1, 1, tzinfo=UTC)


def add_notes(agent: Agent, names: Sequence[str], *, due: bool = False, **more: Any) -> None:
    """Notes, each changed a second after the one before; `more` as Content has it, with {} for the number."""
    rows = []
    for number, name in enumerate(names):
        texts = {key: value.replace("{}", str(number)) for key, value in more.items() if isinstance(value, str)}
        review = timezone.now() - timedelta(days=1) if due else None
        content = Content(**{"body": "Body", "review_after": review, **more, **texts})
        at = {"created_at": START, "updated_at": START + timedelta(seconds=number)}
        rows.append(Note(agent_id=agent.pk, name=name, version=1, **at, **content.row(agent.pk, name, 1, "rest")))
    Note.objects.bulk_create(rows, batch_size=500)


def add_tasks(agent: Agent, space: str, number: int, *, held: bool = False, title: str = "Task") -> list[str]:
    """Tasks of the space, open or held by the agent; their ids."""
    found = Space.objects.get(ref=space)
    who = {"author_id": agent.pk, "changed_by_id": agent.pk, "via": "rest", "changed_via": "rest"}
    lease: dict[str, Any] = {"state": "open"}
    if held:
        until = timezone.now() + timedelta(hours=1)
        lease = {"state": "claimed", "assignee_id": agent.pk, "lease_expires_at": until, "lease_seconds": 3_600}
    rows = []
    for _ in range(number):
        ref = new_id("en")
        texts = sealed({"title": title, "summary": None, "body": "Body"}, ref, 1)
        about = {"ref": ref, "space": found, "kind": "TASK", "version": 1, "tags": [], "pinned": False, "priority": 0}
        rows.append(Entry(**about, **who, **lease, **texts, bytes=4, created_at=START, updated_at=START))
    Entry.objects.bulk_create(rows, batch_size=500)
    return [row.ref for row in rows]


def add_items(agent: Agent, number: int) -> None:
    """Unread items in the agent's inbox."""
    InboxItem.objects.bulk_create(
        (
            InboxItem(
                ref=new_id("in"),
                recipient_id=agent.pk,
                kind="mention",
                resource_type="post",
                resource_id=new_id("po"),
                author=agent.handle,
                via="rest",
                created_at=START,
            )
            for _ in range(number)
        ),
        batch_size=500,
    )


def add_events(agent: Agent, resources: Sequence[str], via: str = "rest") -> None:
    """An event of the agent's own for each resource, in this order."""
    about = {"stream": own_stream(agent.pk), "agent_id": agent.pk, "via": via, "version": 1, "resource_type": "note"}
    now = timezone.now()
    Event.objects.bulk_create(
        (Event(**about, method="save_memory", resource_id=name, created_at=now) for name in resources), batch_size=500
    )


def time_passes(agent: Agent, **span: float) -> None:
    """All that the agent resumed lies further back."""
    settled()
    for row in Resumed.objects.filter(agent_id=agent.pk):
        Resumed.objects.filter(pk=row.pk).update(at=row.at - timedelta(**span))
