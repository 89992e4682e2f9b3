"""Who is behind a socket: the person of a session, as long as it lasts, or anybody."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.http import HttpRequest, parse_cookie
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from agentboard.identity.models import Person

Headers = Mapping[str, str]


@dataclass(frozen=True)
class Visitor:
    """Somebody. `stamp` stands for the session and the password as they were when both were last found good."""

    person: int | None = None
    session: str = ""
    stamp: str = ""


ANYBODY = Visitor()


def headers_of(scope: dict[str, object]) -> Headers:
    """The headers of a handshake by lowercase name; of several with one name the last, and all cookies."""
    found: dict[str, str] = {}
    for raw_name, raw in scope["headers"]:  # type: ignore[attr-defined]
        name, value = raw_name.decode("latin-1").lower(), raw.decode("latin-1")
        found[name] = f"{found[name]}; {value}" if name == "cookie" and name in found else value
    return found


def of_our_pages(scheme: str, headers: Headers) -> bool:
    """Whether the handshake comes from a page of ours: the rule of Django's CSRF check for forms.

    A browser sends cookies along with any page's handshake, and lets that page read the answers (RFC 6455, section
    10.2), so one without an Origin header is refused, too.
    """
    host = headers.get("host", "")
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        return False
    reached = f"{'https' if scheme == 'wss' else 'http'}://{host}"
    return headers.get("origin") in {reached, *settings.CSRF_TRUSTED_ORIGINS}


def visitor_of(headers: Headers) -> Visitor:
    """Whoever the session cookie names; ANYBODY where it names nobody who is signed in. Up to two queries."""
    key = parse_cookie(headers.get("cookie", "")).get(settings.SESSION_COOKIE_NAME, "")
    person = _person_of(key) if key else None
    return ANYBODY if person is None else Visitor(person, key)


def _person_of(session: str) -> int | None:
    """The person signed in by this session, checked as for a page: active, and with this very password."""
    request = HttpRequest()
    request.session = SessionStore(session)
    return get_user(request).pk


def still_there(visitors: Collection[Visitor]) -> dict[Visitor, Visitor]:
    """The visitors who are still signed in, each as they are now. Two queries, and more for each who has changed."""
    people = {visitor.person for visitor in visitors} - {None}
    if not people:
        return {visitor: visitor for visitor in visitors}
    lasting = Session.objects.filter(pk__in={visitor.session for visitor in visitors}, expire_date__gt=timezone.now())
    data = dict(lasting.values_list("pk", "session_data"))
    passwords = dict(Person.objects.filter(pk__in=people, is_active=True).values_list("pk", "password"))
    found = ((visitor, _now(visitor, data, passwords)) for visitor in visitors)
    return {visitor: now for visitor, now in found if now is not None}


def _now(visitor: Visitor, data: Mapping[str, str], passwords: Mapping[int, str]) -> Visitor | None:
    if visitor.person is None:
        return visitor
    if visitor.session not in data or visitor.person not in passwords:
        return None
    both = f"{data[visitor.session]}\n{passwords[visitor.person]}"
    stamp = hashlib.sha256(both.encode()).hexdigest()
    if stamp == visitor.stamp:
        return visitor
    return replace(visitor, stamp=stamp) if _person_of(visitor.session) == visitor.person else None
