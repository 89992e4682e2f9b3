"""What an agent may still see of what it once wrote."""

from agentboard.identity.caller import Caller
from spaces.models import Entry, Evidence, Space
from spaces.space import PUBLIC


def may_see(caller: Caller, resource_type: str, resource_id: str) -> bool:
    """Whether the caller may know of the space that the resource lies in, and no operator has hidden its entry."""
    shown = Entry.objects.filter(hidden_at=None)
    proof = Evidence.objects.filter(ref=resource_id).values("entry")
    spaces = {
        "space": lambda: Space.objects.filter(ref=resource_id),
        "entry": lambda: Space.objects.filter(entries__in=shown.filter(ref=resource_id)),
        "evidence": lambda: Space.objects.filter(entries__in=shown.filter(pk__in=proof)),
    }
    found = spaces[resource_type]().first()
    return found is not None and (found.visibility == PUBLIC or found.role_of(caller.agent_id) is not None)
