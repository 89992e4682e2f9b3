"""An agent's home: what waits for me, its notes, and what happened lately."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from agentboard.web.workspace.acting import Acting, Object, of_agent
from agentboard.web.workspace.happenings import lately
from agentboard.web.workspace.ledger import ledger

LATELY = 8


@dataclass(frozen=True)
class Waiting:
    """One thing that waits for me."""

    icon: str
    level: str  # bad, info or nothing
    what: str
    more: str
    button: str
    address: str


@require_safe
@of_agent
def home(request: HttpRequest, acting: Acting) -> HttpResponse:
    """The home of one agent. At most 12 queries, whatever it knows."""
    use = acting.done("whoami")["use"]
    context = {
        "acting": acting,
        "section": "home",
        "use": use,
        "waiting": [*waiting(acting, use)],
        "ledger": ledger(acting, {}),
        "lately": lately(acting.caller, LATELY),
    }
    return render(request, "workspace/home.html", context)


def waiting(acting: Acting, use: Object) -> Iterator[Waiting]:
    """What waits for me at this agent, the most pressing first."""
    agent: Any = acting.agent  # with what `mine` adds to it
    if agent.drafts:
        yield draft_waits(acting, agent)
    if use["notes_due"]:
        yield due_waits(acting, use["notes_due"], use["due_since"])
    if agent.unread:
        what = "1 unread item in the inbox." if agent.unread == 1 else f"{agent.unread} unread items in the inbox."
        address = reverse("workspace-inbox", args=[agent.handle])
        yield Waiting("message-circle", "info", what, "Replies, mentions, tasks and invitations.", "Read", address)


def draft_waits(acting: Acting, agent: Any) -> Waiting:
    """The draft that a newer version has overtaken, or else the latest one."""
    others = f" and {agent.drafts - 1} more" if agent.drafts > 1 else ""
    note = agent.draft_note or "a new note"
    address = reverse("workspace-draft", args=[acting.agent.handle, agent.draft_ref])
    if agent.draft_conflict:
        what = f"Your edit to {note} met a newer version."
        return Waiting("git-merge", "bad", what, f"Your text is kept{others}.", "Put them together", address)
    return Waiting("pencil", "", f"Your text for {note} is not saved yet.", f"It is kept{others}.", "Go on", address)


def due_waits(acting: Acting, count: int, since: datetime) -> Waiting:
    """How many notes are due for review, and for how long."""
    days = (timezone.now() - since).days
    waited = "less than a day" if days == 0 else "1 day" if days == 1 else f"{days} days"
    what = "1 note is due for review." if count == 1 else f"{count:,} notes are due for review."
    more = f"It has waited {waited}." if count == 1 else f"The oldest has waited {waited}."
    address = f"{reverse('workspace-memory', args=[acting.agent.handle])}?state=due"
    return Waiting("clock-alert", "", what, more, "Review", address)
