"""What goes when its time is over, a few rows at a time, beside everything else that goes on."""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db import DatabaseError, transaction
from django.db.models import CharField, Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from agentboard.contract.errors import Refusal
from agentboard.identity.models import AccountLink
from agentboard.ledger.models import Event, Receipt, Resumed
from agentboard.threads import Threads
from agentboard.web.workspace.drafts import KEPT_DAYS as DRAFT_DAYS
from agentboard.web.workspace.drafts import Draft
from mcp_bridge.doctor.models import KEPT as ATTEMPTS_KEPT
from mcp_bridge.doctor.models import Attempt
from mcp_bridge.oauth.models import REFRESH_LIFE, AccessToken, Application, Connection, Grant, RefreshToken

BATCH = 500  # rows a transaction: some milliseconds in which SQLite's other writers wait
# Clocks of several machines differ, and a call takes its time: what has just run out may still be looked at.
MARGIN = timedelta(hours=1)
DAY = timedelta(days=1)
CONNECTION_REMEMBERED = timedelta(days=30)  # after its end; its application need not register anew meanwhile
BY_TOKEN = "token:"  # what a connection's credential begins with, where it has resumed

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Clearing:
    """One kind of rows that go: what they are called, and which they are at a time."""

    what: str
    rows: Callable[[datetime], QuerySet[Any]]

    def batch(self, now: datetime) -> int:
        """Delete a batch of them in a transaction of its own; how many those were.

        Rows that another transaction has locked are left for the next time, so two at once share the work.
        """
        with transaction.atomic():
            found = self.rows(now).order_by().select_for_update(skip_locked=True, of=("self",))
            keys = list(found.values_list("pk", flat=True)[:BATCH])
            if keys:
                found.model._default_manager.filter(pk__in=keys).delete()
        return len(keys)


def receipts(now: datetime) -> QuerySet[Receipt]:
    """Those that no longer answer a repeated call."""
    return Receipt.objects.filter(created_at__lt=now - timedelta(days=settings.RECEIPT_DAYS) - MARGIN)


def events(now: datetime) -> QuerySet[Event]:
    """Those that are neither listed nor part of the audit trail any more."""
    return Event.objects.filter(created_at__lt=now - timedelta(days=settings.AUDIT_DAYS) - MARGIN)


def operators_acts(now: datetime) -> QuerySet[LogEntry]:
    """What operators did in the admin, as long ago."""
    return LogEntry.objects.filter(action_time__lt=now - timedelta(days=settings.AUDIT_DAYS) - MARGIN)


def sessions(now: datetime) -> QuerySet[Session]:
    """Those that have run out."""
    return Session.objects.filter(expire_date__lt=now - MARGIN)


def seen_sessions(now: datetime) -> QuerySet[Any]:
    """What was noted of sessions that are gone; not of one that is being made."""
    there = Session.objects.filter(session_key=OuterRef("session_key"))
    gone: QuerySet[Any] = UserSession.objects.filter(~Exists(there), last_seen_at__lt=now - MARGIN)
    return gone


def drafts(now: datetime) -> QuerySet[Draft]:
    """Those that were left alone too long."""
    return Draft.objects.filter(updated_at__lt=now - timedelta(days=DRAFT_DAYS) - MARGIN)


def account_links(now: datetime) -> QuerySet[AccountLink]:
    """Those that were used or have run out; for a day their page still says so."""
    return AccountLink.objects.filter(Q(expires_at__lt=now - DAY) | Q(used_at__lt=now - DAY))


def attempts(now: datetime) -> QuerySet[Attempt]:
    """Those that the connection doctor shows no more."""
    return Attempt.objects.filter(updated_at__lt=now - ATTEMPTS_KEPT)


def refresh_tokens(now: datetime) -> QuerySet[RefreshToken]:
    """Those that get nothing any more; until then one that comes a second time gives a thief away."""
    return RefreshToken.objects.filter(created__lt=now - REFRESH_LIFE - DAY)


def access_tokens(now: datetime) -> QuerySet[AccessToken]:
    """Those that have run out; for a day who brings one hears so. One that can still be renewed stays till it was."""
    renewable = RefreshToken.objects.filter(access_token=OuterRef("pk"), revoked__isnull=True)
    return AccessToken.objects.filter(~Exists(renewable), expires__lt=now - DAY)


def codes(now: datetime) -> QuerySet[Grant]:
    """Those that have run out; for a day who brings one hears so."""
    return Grant.objects.filter(expires__lt=now - DAY)


def ended_connections(now: datetime) -> QuerySet[Connection]:
    """Those that were ended, or have run out, a month ago."""
    long_ago = now - CONNECTION_REMEMBERED
    return Connection.objects.filter(Q(ended_at__lt=long_ago) | Q(expires_at__lt=long_ago))


def resume_marks(now: datetime) -> QuerySet[Resumed]:
    """Where a connection had resumed that is gone."""
    there = Connection.objects.annotate(credential=Concat(Value(BY_TOKEN), Cast("pk", CharField())))
    gone = ~Exists(there.filter(credential=OuterRef("credential")))
    return Resumed.objects.filter(gone, credential__startswith=BY_TOKEN, at__lt=now - MARGIN)


def registrations(now: datetime) -> QuerySet[Application]:
    """Applications that registered themselves a day ago or longer, are connected with nobody, and try nothing now."""
    connected = Connection.objects.filter(application=OuterRef("pk"))
    trying = Attempt.objects.filter(client_id=OuterRef("client_id"), updated_at__gte=now - DAY)
    by_themselves = (Application.RegistrationSource.DCR, Application.RegistrationSource.CIMD)
    found = Application.objects.filter(~Exists(connected), ~Exists(trying), registration_source__in=by_themselves)
    return found.filter(created__lt=now - DAY)


CLEARINGS = (
    Clearing("receipts of operations", receipts),
    Clearing("events", events),
    Clearing("acts of operators", operators_acts),
    Clearing("sessions", sessions),
    Clearing("notes about sessions", seen_sessions),
    Clearing("drafts", drafts),
    Clearing("account links", account_links),
    Clearing("refresh tokens", refresh_tokens),
    Clearing("access tokens", access_tokens),
    Clearing("authorization codes", codes),
    Clearing("ended connections", ended_connections),
    Clearing("marks of resuming", resume_marks),
    Clearing("unused registrations", registrations),
    Clearing("attempts to connect", attempts),
)


def clear(now: datetime | None = None) -> dict[str, int]:
    """Delete everything whose time is over; how many rows of each kind went."""
    removed = dict.fromkeys((clearing.what for clearing in CLEARINGS), 0)
    for clearing in CLEARINGS:
        while count := clearing.batch(now or timezone.now()):
            removed[clearing.what] += count
    return removed


class Housekeeper:
    """Clears once a day while the server runs, in the calls' threads and between calls.

    Each worker does, at a time of its own: the second finds nothing left, and no operator has to schedule anything.
    """

    FIRST_SECONDS = (300, 1_800)  # after the start, somewhere between
    EVERY_SECONDS = (82_800, 90_000)  # 23 to 25 hours
    PAUSE_SECONDS = 0.1  # between two batches, for those who wait to write

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, on the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._live())

    def stop(self) -> None:
        """End; a batch that runs is finished by its thread."""
        if self._task is not None:
            self._task.cancel()

    async def _live(self) -> None:
        wait = self.FIRST_SECONDS
        while True:
            await asyncio.sleep(random.uniform(*wait))
            wait = self.EVERY_SECONDS
            try:
                await self.clear()
            except (DatabaseError, Refusal):
                logger.warning("housekeeping could not finish; it is tried again tomorrow", exc_info=True)

    async def clear(self) -> None:
        """What `clear` does, one batch a turn; logged where something went."""
        removed: dict[str, int] = {}
        for clearing in CLEARINGS:
            while count := await self._threads.run(clearing.batch, timezone.now()):
                removed[clearing.what] = removed.get(clearing.what, 0) + count
                await asyncio.sleep(self.PAUSE_SECONDS)
        if removed:
            told = ", ".join(f"{count} {what}" for what, count in removed.items())
            logger.info("housekeeping removed %s", told)
