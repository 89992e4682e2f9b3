"""Activity: who did what to what, by which door, the latest first."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import TruncDate
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from agentboard.contract.page import cursor, position
from agentboard.identity.caller import BROWSER
from agentboard.ledger.feed import Place
from agentboard.ledger.models import Event, own_stream
from agentboard.web.workspace.acting import Acting, of_agent
from agentboard.web.workspace.happenings import address_of, everything, latest, told

PAGE = 40  # events
DAYS = 30
WIDTH, HEIGHT = 296, 56  # of the chart, in units of its view box
DOORS = {"": "All doors", "browser": "Browser", "mcp": "MCP", "rest": "REST"}
KINDS = {"": "Everything", "note": "Notes", "entry": "Entries and tasks", "space": "Spaces", "post": "Posts"}
OF_KIND = {"entry": ("entry", "evidence"), "post": ("post", "reply")}


@require_safe
@of_agent
def activity(request: HttpRequest, acting: Acting) -> HttpResponse:
    """The events that the agent may see, by door and kind."""
    given = {name: request.GET[name] for name in ("door", "kind") if request.GET.get(name)}
    given = {name: value for name, value in given.items() if value in {"door": DOORS, "kind": KINDS}[name]}
    binding = (acting.agent.pk, "activity", given.get("door"), given.get("kind"))
    events = filtered(everything(acting.caller), given)
    at = position(request.GET.get("cursor") or None, binding)
    rows = list((before(events, Place(at[0], at[1])) if at else events)[: PAGE + 1])
    place = cursor([rows[PAGE - 1].xact, rows[PAGE - 1].pk], binding) if len(rows) > PAGE else None
    context = {
        "acting": acting,
        "section": "activity",
        "events": told(acting.caller, rows[:PAGE]),
        "doors": [(value, words, value == given.get("door", "")) for value, words in DOORS.items()],
        "kinds": [(value, words, value == given.get("kind", "")) for value, words in KINDS.items()],
        "filtered": bool(given),
        "later": at is not None,
        "next": f"?{urlencode({**given, 'cursor': place})}" if place else None,
        "chart": chart(acting),
    }
    return render(request, "workspace/activity.html", context)


def filtered(events: QuerySet[Event], given: dict[str, str]) -> QuerySet[Event]:
    """Those by this door, about this kind of thing."""
    door, kind = given.get("door"), given.get("kind")
    events = events.filter(Q(via=door) | Q(via__startswith=f"{door} ")) if door else events
    return events.filter(resource_type__in=OF_KIND.get(kind, (kind,))) if kind else events


def before(events: QuerySet[Event], place: Place) -> QuerySet[Event]:
    """Those that came before `place`."""
    earlier = Q(xact__lt=place.xact) | Q(xact=place.xact, pk__lt=place.id)
    return events.filter(earlier, xact__lte=place.xact)


def chart(acting: Acting) -> dict[str, Any]:
    """Changes of the agent's own notes a day: bars for a drawing, and the sums in words."""
    today = timezone.now().date()
    since = today - timedelta(days=DAYS - 1)
    own = latest([own_stream(acting.agent.pk)]).order_by().filter(created_at__date__gte=since)
    by_day = own.annotate(day=TruncDate("created_at")).values("day")
    counts = by_day.annotate(all=Count("pk"), browser=Count("pk", filter=Q(via=BROWSER)))
    found = {row["day"]: (row["all"] - row["browser"], row["browser"]) for row in counts}
    days = [found.get(since + timedelta(days=n), (0, 0)) for n in range(DAYS)]
    top = max((sum(day) for day in days), default=0)
    return {
        "bars": [bar(number, *day, top or 1) for number, day in enumerate(days)],
        "agent": sum(day[0] for day in days),
        "browser": sum(day[1] for day in days),
        "highest": top,
        "since": since,
        "width": WIDTH,
        "height": HEIGHT + 2,
    }


def bar(number: int, agent: int, browser: int, top: int) -> dict[str, str]:
    """One day as two rectangles: what I changed below, what the agent changed above."""
    wide = WIDTH / DAYS
    mine, its = browser / top * HEIGHT, agent / top * HEIGHT
    return {
        "x": f"{number * wide + 1:.1f}",
        "width": f"{wide - 2:.1f}",
        "mine_y": f"{HEIGHT - mine:.1f}",
        "mine": f"{mine:.1f}",
        "its_y": f"{HEIGHT - mine - its:.1f}",
        "its": f"{its:.1f}",
    }


# ---- the inbox


@require_safe
@of_agent
def inbox(request: HttpRequest, acting: Acting) -> HttpResponse:
    """What waits for the agent, the newest first."""
    unread = True if request.GET.get("show") == "unread" else None
    found = acting.done("inbox", unread=unread, cursor=request.GET.get("cursor") or None, limit=PAGE)
    context = {
        "acting": acting,
        "section": "inbox",
        "items": [{**item, "address": place_of(acting, item)} for item in found["items"]],
        "unread": found["unread"],
        "only_unread": unread,
        "later": "cursor" in request.GET,
        "next": more(found, {"show": "unread"} if unread else {}),
        "newest": found["items"][0]["id"] if found["items"] and "cursor" not in request.GET else None,
    }
    return render(request, "workspace/inbox.html", context)


def more(found: dict[str, Any], given: dict[str, str]) -> str | None:
    """The address of a list's next page."""
    return f"?{urlencode({**given, 'cursor': found['next_cursor']})}" if "next_cursor" in found else None


def place_of(acting: Acting, item: dict[str, Any]) -> str | None:
    """Where an item of the inbox leads: an invitation to its answer, for the space is unknown until then."""
    handle, resource = acting.agent.handle, item["resource"]
    if item["kind"] == "invitation":
        return f"{reverse('workspace')}?{urlencode({'method': ANSWER, 'agent': handle, 'id': resource['id']})}"
    return address_of(handle, resource["type"], resource["id"])


ANSWER = "respond_to_invitation"


@require_POST
@of_agent
def read(request: HttpRequest, acting: Acting) -> HttpResponse:
    """Mark one item as read, or all up to one; leads back to the inbox."""
    acting.done("mark_inbox_read", ids=request.POST.getlist("id") or None, up_to=request.POST.get("up_to"))
    return redirect("workspace-inbox", acting.agent.handle)
