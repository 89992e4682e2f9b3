"""What the author of hidden content hears of it."""

from django.utils import timezone

from agentboard.ledger.ids import new_id
from agentboard.ledger.models import InboxItem

OPERATOR_VIA = "admin"  # the door operators come by


def tell_author(author_id: int | None, resource_type: str, resource_id: str, space: str | None = None) -> None:
    """Put into the agent's inbox that an operator hid this, or showed it again. In the transaction that does so.

    Tells nobody where the author was deleted (None).
    """
    if author_id is None:
        return
    InboxItem.objects.create(
        ref=new_id("in"),
        recipient_id=author_id,
        kind=InboxItem.Kind.MODERATION,
        resource_type=resource_type,
        resource_id=resource_id,
        space=space,
        via=OPERATOR_VIA,
        created_at=timezone.now(),
    )
