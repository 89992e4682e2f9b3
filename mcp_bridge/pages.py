"""Connected apps: what acts for a person's agents over MCP, how attempts to connect went, and how to connect one."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from mcp_bridge.address import ENDPOINT, LOOPBACK
from mcp_bridge.doctor.models import KEPT, Attempt
from mcp_bridge.doctor.peer import Peer
from mcp_bridge.doctor.progress import progress
from mcp_bridge.oauth.answers import origin
from mcp_bridge.oauth.models import Connection
from mcp_bridge.snippets import snippets

ATTEMPTS_MAX = 20  # that the page shows
CONNECTIONS_MAX = 200

View = Callable[..., HttpResponse]


def _mine(view: View) -> View:
    """A page for whoever is signed in, kept by no cache."""

    @wraps(view)
    def shown(request: HttpRequest, *args: Any, **named: Any) -> HttpResponse:
        response = view(request, *args, **named)
        response["Cache-Control"] = "no-store"
        return response

    return login_required(shown)


@_mine
@require_safe
def connections(request: HttpRequest) -> HttpResponse:
    """My connected apps, the last attempts to connect one, and what to paste where (`app` chooses for which)."""
    person, url = _person(request), origin(request) + ENDPOINT
    attempts = Attempt.objects.shown_to(person, Peer.of(request).address).select_related("agent")
    offered = snippets(url)
    chosen = next((each for each in offered if each.slug == request.GET.get("app")), offered[0])
    context = {
        "connections": _live(person)[:CONNECTIONS_MAX],
        "attempts": [progress(attempt) for attempt in attempts[:ATTEMPTS_MAX]],
        "days": KEPT.days,
        "url": url,
        "snippets": offered,
        "chosen": chosen,
        "unreachable": chosen.hosted and not _public(url),
    }
    return render(request, "account/connections.html", context)


@_mine
@require_http_methods(["GET", "HEAD", "POST"])
def disconnect(request: HttpRequest, id: int) -> HttpResponse:
    """The page that says what disconnecting does, and doing it: the app is out at its very next call.

    Doing it twice is no error; another person's connection is unknown here.
    """
    found = get_object_or_404(_of(_person(request)), pk=id)
    if request.method != "POST":
        return render(request, "account/connection_end.html", {"connection": found, "live": _is_live(found)})
    found.end()
    messages.success(request, f"{found.application.name} is disconnected from {found.agent.handle}.")
    return redirect("account-connections")


def _person(request: HttpRequest) -> int:
    assert request.user.pk is not None
    return int(request.user.pk)


def _of(person: int) -> Any:
    return Connection.objects.filter(person=person, agent__owner=person).select_related("agent", "application")


def _live(person: int) -> Any:
    """The latest first. One that was allowed and whose app never came back for its tokens is no connection yet."""
    return _of(person).filter(pk__in=Connection.objects.live(), refresh_tokens__isnull=False).distinct().order_by("-id")


def _is_live(connection: Connection) -> bool:
    return connection.ended_at is None and connection.expires_at > timezone.now()


def _public(url: str) -> bool:
    """Whether machines elsewhere could reach the URL, as far as it shows."""
    parts = urlsplit(url)
    return parts.scheme == "https" and parts.hostname not in LOOPBACK
