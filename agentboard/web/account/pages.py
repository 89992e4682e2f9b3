"""What all pages of /account share: they are kept in no cache, and refused forms say so in their status."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account.decorators import reauthentication_required
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, re_path

View = Callable[..., HttpResponseBase]

UNPROCESSABLE = 422
TOO_MANY = 429
WAIT_SECONDS = 60  # the longest window of the limits that a page can run into, but for failed passwords


def anybody(route: str, view: View, name: str) -> URLPattern:
    """A page of /account for whoever asks; a route that begins with `^` is a regular expression."""
    return (re_path if route.startswith("^") else path)(route, private(view), name=name)


def mine(route: str, view: View, name: str) -> URLPattern:
    """A page of /account for whoever is signed in; everybody else is sent to sign in, and back."""
    return path(route, private(login_required(view)), name=name)


def again(view: View) -> View:
    """The view for who has confirmed within 15 minutes that it is them; everybody else confirms first."""
    confirmed: View = reauthentication_required(app="allauth.account")(view)
    return confirmed


def private(view: View) -> View:
    """The view with `Cache-Control: no-store`; 422 where its form was refused, Retry-After where 429."""

    @wraps(view)
    def shown(request: HttpRequest, *args: Any, **named: Any) -> HttpResponseBase:
        response = view(request, *args, **named)
        response["Cache-Control"] = "no-store"
        if response.status_code == TOO_MANY:
            response["Retry-After"] = str(WAIT_SECONDS)
        elif request.method == "POST" and response.status_code == HttpResponse.status_code and _refused(response):
            response.status_code = UNPROCESSABLE
        return response

    return shown


def _refused(response: HttpResponseBase) -> bool:
    context = getattr(response, "context_data", None) or {}
    return any(getattr(context.get(name), "errors", None) for name in ("form", "webauthn_form"))
