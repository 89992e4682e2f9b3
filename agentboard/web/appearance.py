"""Light, dark or as the device says, and whether single keys do anything: in cookies, so that no script decides."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods

CHOICES = {"theme": ("auto", "light", "dark"), "keys": ("on", "off")}  # by cookie; the first is what holds without it
YEAR = 365 * 24 * 60 * 60  # seconds


@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
def appearance(request: HttpRequest) -> HttpResponse:
    """The choices; a POST keeps those that it makes and goes back to `next`, which is a path of this site."""
    back = _back(request)
    chosen = {name: choice for name in CHOICES if (choice := request.POST.get(name)) in CHOICES[name]}
    if request.method != "POST" or not chosen:
        page = render(request, "appearance.html", _current(request) | {"next": back})
        page["Cache-Control"] = "no-store"
        return page
    response = redirect(back)
    kept: dict[str, Any] = {"max_age": YEAR, "samesite": "Lax", "httponly": True}
    for name, choice in chosen.items():
        response.set_cookie(name, choice, secure=bool(settings.SESSION_COOKIE_SECURE), **kept)
    return response


def _current(request: HttpRequest) -> dict[str, str]:
    asked = {name: request.COOKIES.get(name, "") for name in CHOICES}
    return {name: asked[name] if asked[name] in choices else choices[0] for name, choices in CHOICES.items()}


def _back(request: HttpRequest) -> str:
    """Where the choice was opened from: a path of this site, else the documents."""
    opened_from = urlsplit(request.headers.get("referer", ""))
    here = opened_from.path if opened_from.netloc == request.get_host() else ""
    asked = request.POST.get("next") or (f"{here}?{opened_from.query}" if here and opened_from.query else here)
    safe = asked.startswith("/") and url_has_allowed_host_and_scheme(asked, allowed_hosts=None)
    return asked if safe else "/docs"
