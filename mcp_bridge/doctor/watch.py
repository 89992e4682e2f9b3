"""What the doors tell the doctor. Cheap, bounded, and never the reason why the request it watches fails."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from agentboard.contract.errors import Refusal
from agentboard.rate import Buckets
from mcp_bridge.doctor.models import Attempt, Step
from mcp_bridge.doctor.peer import Peer, known_id, tidy
from mcp_bridge.doctor.reasons import Reason
from mcp_bridge.oauth.models import Connection

ANONYMOUS_FOR = timedelta(minutes=30)  # so long an attempt without a client_id goes on
KNOWN_FOR = timedelta(days=1)  # and one with a client_id
ROWS_A_DAY = 50  # new attempts of nobody known from one address
OWN_ROWS_A_DAY = 200  # new attempts of one person
REPEAT_SECONDS = 60  # the same news within them is no news
REMEMBERED_MAX = 5_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class News:
    """What a door tells: a step that was reached or (with a reason) stopped at, by whom, and for whom if known."""

    step: Step
    reason: str
    peer: Peer
    client_id: str = ""
    client: str = ""
    person: int | None = None
    agent: int | None = None
    begins: bool = True  # an attempt, where it belongs to none that has begun


class Remembered:
    """What was said within the last seconds, at most so many things of it."""

    def __init__(self, seconds: float = REPEAT_SECONDS, most: int = REMEMBERED_MAX) -> None:
        self._seconds, self._most = seconds, most
        self._at: OrderedDict[Hashable, float] = OrderedDict()  # by time.monotonic
        self._lock = threading.Lock()

    def again(self, thing: Hashable) -> bool:
        """Whether it was said before; from now on it was."""
        now = time.monotonic()
        with self._lock:
            if self._at.get(thing, now - self._seconds) > now - self._seconds:
                return True
            self._at[thing] = now
            self._at.move_to_end(thing)
            if len(self._at) > self._most:
                self._at.popitem(last=False)
            return False

    def knows(self, thing: Hashable) -> bool:
        """Whether it was said, which does not count as saying it again."""
        with self._lock:
            return thing in self._at

    def forget(self) -> None:
        """Begin anew."""
        with self._lock:
            self._at.clear()


NEWS = Remembered()
NEW_ROWS = Buckets("attempts", 30, 300, 1)  # of a process, whatever the addresses: a flood fills no table


def reached(
    step: Step,
    peer: Peer,
    *,
    client_id: str = "",
    client: str = "",
    person: int | None = None,
    agent: int | None = None,
) -> None:
    """An app came so far; `client` is the name it gives itself. Outside any transaction that may still roll back."""
    tell(News(step, "", peer, known_id(client_id), tidy(client), person, agent))


def stopped(
    step: Step,
    reason: Reason,
    peer: Peer,
    *,
    client_id: str = "",
    client: str = "",
    person: int | None = None,
    agent: int | None = None,
) -> None:
    """An app got no further than to this step, or waits there. Outside any transaction that may still roll back."""
    tell(News(step, reason.value, peer, known_id(client_id), tidy(client), person, agent))


def about(connection: Connection) -> dict[str, Any]:
    """What `reached` and `stopped` are told of a connection, whose application is loaded."""
    application = connection.application
    names = {"client_id": application.client_id, "client": application.name}
    return {**names, "person": connection.person_id, "agent": connection.agent_id}


def settled(peer: Peer) -> None:
    """An app that is connected has looked around again, as some do each hour: that was no attempt."""
    since = timezone.now() - ANONYMOUS_FOR
    with quietly():
        Attempt.objects.filter(
            address=peer.address,
            program=peer.program,
            client_id="",
            person=None,
            step=Step.DISCOVERY,
            reason="",
            updated_at__gt=since,
        ).delete()


def tell(news: News) -> None:
    """Write it down, in one small write at most; what the database does not take is logged and forgotten."""
    if news.step in (Step.DISCOVERY, Step.FIRST_CALL) and NEWS.again(news):
        return
    with quietly(), transaction.atomic():
        _one_at_a_time(news.peer.address)
        _write(news, timezone.now())


@contextmanager
def quietly() -> Iterator[None]:
    """Log what the database does not take, and go on."""
    try:
        yield
    except DatabaseError:
        logger.warning("an attempt to connect was not written down", exc_info=True)


def _one_at_a_time(address: str) -> None:
    """Let others with news from this address wait: apps look in several places at once. SQLite has one writer."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int(address[:15], 16)])


def _write(news: News, now: datetime) -> None:
    attempt = joined(news, now)
    if attempt is not None:
        _go_on(attempt, news, now)
    elif news.begins:
        _begin(news, now)


def joined(news: News, now: datetime) -> Attempt | None:
    """The attempt that the news belongs to, if it has begun; locked where rows can be."""
    later = Attempt.objects.filter(updated_at__gt=now - (KNOWN_FOR if news.client_id else ANONYMOUS_FOR))
    if news.step != Step.DISCOVERY:
        later = later.filter(step__lt=Step.FIRST_CALL)
    for way in _ways(news, now):
        found = later.filter(way).order_by("-updated_at", "-id").select_for_update(of=("self",)).first()
        if found is not None and not _anew(found, news):
            return found
    return None


def _ways(news: News, now: datetime) -> Iterator[Q]:
    """The ways to know an attempt again, the surest first."""
    here = Q(address=news.peer.address)
    if news.step == Step.DISCOVERY:
        yield here & Q(program=news.peer.program)
        return
    if news.client_id:
        yield from _by_client(news, here)
        before = Q(client_id="", person=None, step__lte=Step.DISCOVERY, updated_at__gt=now - ANONYMOUS_FOR)
        # The app itself registers; consent is another program's business, the browser's.
        yield here & before & (Q(program=news.peer.program) if news.step == Step.REGISTRATION else Q())
        return
    if news.person is not None:
        yield Q(client_id="", person=news.person, agent=news.agent)
    yield here & Q(client_id="", person=None, program=news.peer.program)


def _by_client(news: News, here: Q) -> Iterator[Q]:
    same = Q(client_id=news.client_id)
    if news.person is not None:
        yield same & Q(person=news.person)
        yield same & here & Q(person=None)
    else:
        yield same & here
    if not news.client_id.startswith("https:"):  # an address is the client_id of all copies of an app
        yield same & Q(person=None)


def _anew(found: Attempt, news: News) -> bool:
    """Whether somebody who had come further starts again."""
    return news.step in (Step.REGISTRATION, Step.CONSENT) and found.step > news.step


def _begin(news: News, now: datetime) -> None:
    if _too_many(news, now):
        return
    stopped_at = news.step if news.reason else Step.NONE
    Attempt.objects.create(
        client_id=news.client_id,
        client=news.client,
        program=news.peer.program,
        address=news.peer.address,
        person_id=news.person,
        agent_id=news.agent,
        step=Step.NONE if news.reason else news.step,
        stopped_at=stopped_at,
        reason=news.reason,
        started_at=now,
        updated_at=now,
    )


def _too_many(news: News, now: datetime) -> bool:
    who = Q(person=None, address=news.peer.address) if news.person is None else Q(person=news.person)
    most = ROWS_A_DAY if news.person is None else OWN_ROWS_A_DAY
    if Attempt.objects.filter(who, updated_at__gt=now - timedelta(days=1))[:most].count() >= most:
        return True
    try:
        NEW_ROWS.take("all")
    except Refusal:
        return True
    return False


def _go_on(attempt: Attempt, news: News, now: datetime) -> None:
    changes = _progress(attempt, news) | _learned(attempt, news)
    if changes or (news.step != Step.DISCOVERY and attempt.updated_at < now - timedelta(seconds=REPEAT_SECONDS)):
        Attempt.objects.filter(pk=attempt.pk).update(**changes, updated_at=now)


def _progress(attempt: Attempt, news: News) -> dict[str, object]:
    if news.reason:
        facts: dict[str, object] = {"stopped_at": news.step, "reason": news.reason}
    else:
        facts = {"step": max(attempt.step, news.step)}
        if attempt.stopped_at <= news.step:
            facts |= {"stopped_at": Step.NONE, "reason": ""}
    return {name: value for name, value in facts.items() if getattr(attempt, name) != value}


def _learned(attempt: Attempt, news: News) -> dict[str, object]:
    """What the attempt did not know yet; the agent may still change, since the person picks it anew."""
    facts = {
        "client_id": attempt.client_id or news.client_id,
        "client": attempt.client or news.client,
        "person_id": attempt.person_id or news.person,
        "agent_id": news.agent or attempt.agent_id,
    }
    return {name: value for name, value in facts.items() if getattr(attempt, name) != value}
