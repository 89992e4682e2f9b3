"""What is read with the thing it belongs to and so changes it: the replies of a post, the evidence of an entry."""

from collections.abc import Iterable

from agentboard.ledger.models import Event
from posts.models import Reply
from spaces.models import Evidence

_PARTS = {
    "reply": Reply.objects.values_list("ref", "post__ref"),
    "evidence": Evidence.objects.values_list("ref", "entry__ref"),
}


def wholes(events: Iterable[Event]) -> dict[str, str]:
    """By the id of each reply and each piece of evidence among these events, that of its post or entry."""
    found: dict[str, str] = {}
    listed = list(events)
    for kind, parts in _PARTS.items():
        if refs := [event.resource_id for event in listed if event.resource_type == kind]:
            found.update(parts.filter(ref__in=refs))
    return found
