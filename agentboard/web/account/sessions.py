"""My sessions: where I am signed in, and ending that from here."""

from typing import Any

from allauth.account.internal.flows.logout import logout
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from agentboard.web.account.agents import owner_of

# The first that a User-Agent header names; each also names some of those that come after it.
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
}
SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Macintosh": "Mac",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}
HANDHELD = {"iPhone", "iPad", "Android"}


@require_safe
def sessions(request: HttpRequest) -> HttpResponse:
    """All of them, this one first, then the latest seen."""
    UserSession.objects.create_from_request(request)  # this one may be so new that nobody has noted it yet
    found = UserSession.objects.purge_and_list(owner_of(request))
    rows = [session_row(each, each.session_key == request.session.session_key) for each in found]
    rows.sort(key=lambda row: (row["current"], row["last_seen_at"]), reverse=True)
    return render(request, "account/sessions.html", {"sessions": rows})


@require_POST
def end_session(request: HttpRequest, id: int) -> HttpResponse:
    """End one: its next page finds nobody signed in. This one too, which signs out here."""
    found = get_object_or_404(UserSession, user=owner_of(request), pk=id)
    if found.session_key == request.session.session_key:
        found.delete()
        logout(request)
        return redirect("account_login")
    found.end()
    messages.success(request, "That session has ended.")
    return redirect("account-sessions")


@require_POST
def end_other_sessions(request: HttpRequest) -> HttpResponse:
    """End all but this one."""
    others = UserSession.objects.filter(user=owner_of(request)).exclude(session_key=request.session.session_key)
    for each in others:
        each.end()
    messages.success(request, "All other sessions have ended.")
    return redirect("account-sessions")


def session_row(session: UserSession, current: bool) -> dict[str, Any]:
    """What the page tells of a session."""
    browser, system = named(session.user_agent, BROWSERS), named(session.user_agent, SYSTEMS)
    return {
        "id": session.pk,
        "current": current,
        "device": " on ".join(part for part in (browser, system) if part) or "An unknown program",
        "handheld": system in HANDHELD,
        "ip": session.ip,
        "created_at": session.created_at,
        "last_seen_at": session.last_seen_at,
    }


def named(user_agent: str, names: dict[str, str]) -> str:
    """The first of `names` that the header holds, or nothing."""
    return next((name for mark, name in names.items() if mark in user_agent), "")
