"""When and from where each session was seen last, for the page that lists them."""

import time
from collections.abc import Callable

from allauth.usersessions.models import UserSession
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest
from django.http.response import HttpResponseBase

NOTED = "presence_noted"
NOTE_SECONDS = 600


class Presence:
    """Middleware that notes a session's first page, and then one every ten minutes at most.

    Only a page that has read the session anyway is looked at, so a page for everybody costs no query.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        session = request.session
        if session.accessed and SESSION_KEY in session and session.get(NOTED, 0) < time.time() - NOTE_SECONDS:
            self._note(request)
        return response

    def _note(self, request: HttpRequest) -> None:
        if request.user.is_authenticated:
            request.session[NOTED] = int(time.time())
            UserSession.objects.create_from_request(request)
