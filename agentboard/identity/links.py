"""One-time links: the only way to a first password. One dies with its use, after 24 hours, and with the next link."""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from agentboard.identity.models import AccountLink, Person
from agentboard.identity.people import NO_PASSWORD, make_first_operator, operators

LIFE = timedelta(hours=24)


def first_account_link() -> str | None:
    """The path of a fresh link for the first account, which becomes the operator; None once there is one.

    Earlier links for the first account stop working.
    """
    return None if operators().exists() else _new_path(None)


def person_link(person: Person) -> str:
    """The path of a fresh link with which `person` sets a first password; their earlier links stop working.

    The link works only while the person is active and has no usable password.
    """
    return _new_path(person)


def live(token: str) -> AccountLink | None:
    """The link of this token with its person, if it could be used now; using it up is `consume`."""
    return _usable(token).select_related("person").first()


def consume(token: str) -> AccountLink | None:
    """Use the link up. One statement decides, so of two at once exactly one gets it and the other gets None.

    In a transaction this comes first: it takes the row's lock (on SQLite the database's) before anything is read.
    """
    if not _usable(token).update(used_at=timezone.now()):
        return None
    return AccountLink.objects.select_related("person").get(digest=_digest(token))


def redeem(token: str, *, password: str, username: str = "") -> Person | None:
    """Use the link up and set the password; the person, or None for a link that is dead (and nothing has changed).

    `username` names the first account and means nothing to a person's link. The password has been validated. Raises
    ValidationError or IntegrityError for a name that is invalid or was taken meanwhile; the link then stays usable.
    """
    hashed = make_password(password)  # a third of a second, so before the lock
    with transaction.atomic():
        link = consume(token)
        if link is None:
            return None
        if link.person is None:
            return make_first_operator(username, hashed)
        Person.objects.filter(pk=link.person.pk).update(password=hashed)
        link.person.password = hashed
        return link.person


def _new_path(person: Person | None) -> str:
    token, now = secrets.token_urlsafe(32), timezone.now()
    with transaction.atomic():
        AccountLink.objects.filter(person=person, used_at__isnull=True, expires_at__gt=now).update(expires_at=now)
        AccountLink.objects.create(person=person, digest=_digest(token), created_at=now, expires_at=now + LIFE)
    return f"/account/start/{token}"


def _usable(token: str) -> QuerySet[AccountLink]:
    # People are looked at in subqueries, never by a join: a joined UPDATE turns into `id IN (SELECT …)`, and then
    # PostgreSQL does not look at used_at again after it has waited for the other one's row lock.
    for_a_person = Exists(Person.objects.filter(NO_PASSWORD, pk=OuterRef("person_id"), is_active=True))
    for_the_first = Q(person_id__isnull=True) & ~Exists(operators())
    return AccountLink.objects.filter(
        for_a_person | for_the_first, digest=_digest(token), used_at__isnull=True, expires_at__gt=timezone.now()
    )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
