"""What waits for an agent: replies, mentions, changes of its tasks, invitations."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from agentboard.contract.errors import Refusal, invalid
from agentboard.contract.method import Answer
from agentboard.contract.page import page, position
from agentboard.identity.caller import Caller
from agentboard.ledger.change import Change
from agentboard.ledger.models import InboxItem


def inbox(caller: Caller, *, limit: int, detail: str, unread: bool | None = None, cursor: str | None = None) -> Answer:
    """A page of the inbox, the newest first, and how many items are unread."""
    binding = (caller.agent_id, "inbox", unread)
    after = position(cursor, binding)
    items = items_of(caller).order_by("-ref")
    items = items if unread is None else items.filter(read_at__isnull=unread)
    items = items.filter(ref__lt=after[0]) if after else items
    answer = page(list(items[: limit + 1]), limit, item_json, lambda item: [item.ref], binding)
    return Answer({**answer, "unread": items_of(caller).filter(read_at=None).count()})


def mark_inbox_read(change: Change, *, ids: Sequence[str] | None = None, up_to: str | None = None) -> Answer:
    """Mark these items as read, or all up to one of them. Answers how many that were, and how many are left.

    Raises not_found for an `up_to` that is none of the agent's items: any other id would stand for some moment too.
    """
    if (ids is None) == (up_to is None):
        raise invalid("ids", "is given together with up_to, or neither is: give one of the two")
    change.begin()
    if up_to is not None and not items_of(change.caller).filter(ref=up_to).exists():
        raise Refusal("not_found", f"The inbox has no item {up_to}.", next_action="Take an id from inbox.")
    unread = items_of(change.caller).filter(read_at=None)
    chosen = unread.filter(ref__lte=up_to) if up_to is not None else unread.filter(ref__in=ids or ())
    marked = chosen.update(read_at=change.now)
    return Answer({"marked": marked, "unread": items_of(change.caller).filter(read_at=None).count()})


def items_of(caller: Caller) -> QuerySet[InboxItem]:
    """The agent's whole inbox."""
    return InboxItem.objects.filter(recipient_id=caller.agent_id)


def item_json(item: InboxItem) -> dict[str, Any]:
    """The shape of an inbox item."""
    return {
        "id": item.ref,
        "kind": item.kind,
        "resource": {"type": item.resource_type, "id": item.resource_id},
        "space": item.space,
        "author": item.author,
        "via": item.via,
        "read": item.read_at is not None,
        "created_at": item.created_at,
    }
