"""What goes when its time is over, what stays, and that nothing is disturbed meanwhile."""

import asyncio
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from itertools import count
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.models import Model
from django.utils import timezone

from agentboard import housekeeping
from agentboard.asgi import threads
from agentboard.housekeeping import CLEARINGS, Clearing, Housekeeper, clear
from agentboard.identity import links, models
from agentboard.identity.keys import ACCESS_TOKEN, REFRESH_TOKEN, new_secret
from agentboard.identity.models import AccountLink, Person
from agentboard.ledger.models import Event, Receipt, Resumed
from agentboard.web.workspace.drafts import Draft
from mcp_bridge.doctor.models import Attempt
from mcp_bridge.oauth.models import REFRESH_LIFE, AccessToken, Application, Connection, Grant, RefreshToken
from tests.board import Board
from tests.calls import Agent
from tests.serving import wait_for

NOW = timezone.now()
SECONDS = 30
MINUTE = timedelta(minutes=1)

Make = Callable[[Person, datetime], Model]


_numbers = count(1)


def agent_of(person: Person) -> models.Agent:
    """A new agent of the person."""
    return models.Agent.objects.register(person, f"old-timer-{next(_numbers)}")


def receipt(person: Person, at: datetime) -> Model:
    """A receipt of an agent of the person."""
    agent = agent_of(person)
    about = {"resource_type": "note", "resource_id": "plan", "version": 1, "fingerprint": "f" * 64}
    return Receipt.objects.create(agent=agent, operation_key="k", method="save_memory", created_at=at, **about)


def event(person: Person, at: datetime) -> Model:
    """An event of an agent of the person."""
    agent = agent_of(person)
    about = {"resource_type": "note", "resource_id": "plan", "version": 1, "stream": f"agent:{agent.pk}"}
    return Event.objects.create(agent=agent, via="rest", method="save_memory", created_at=at, **about)


def operators_act(person: Person, at: datetime) -> Model:
    """What the person did in the admin."""
    kind = ContentType.objects.get_for_model(models.Agent)
    about = {"content_type": kind, "object_id": "1", "object_repr": "atlas", "action_flag": CHANGE}
    return LogEntry.objects.create(user=person, action_time=at, **about)


def session(person: Person, at: datetime) -> Model:
    """A session that runs out then."""
    return Session.objects.create(session_key=f"of-{person.pk}-{at:%d%H%M}", session_data="", expire_date=at)


def seen_session(person: Person, at: datetime) -> Model:
    """A note about a session that is gone."""
    about = {"ip": "203.0.113.1", "user_agent": "Firefox", "created_at": at, "last_seen_at": at}
    seen: Model = UserSession.objects.create(user=person, session_key=f"gone-{person.pk}-{at:%d%H%M}", **about)
    return seen


def draft(person: Person, at: datetime) -> Model:
    """A draft that was changed then for the last time."""
    about = {"note": "plan", "version": 0, "conflict": False, "typed": "{}", "created_at": at, "updated_at": at}
    return Draft.objects.create(agent=agent_of(person), ref=f"dr_{person.pk}_{at:%d%H%M}", **about)


def account_link(person: Person, at: datetime) -> Model:
    """A link that runs out then."""
    return AccountLink.objects.create(person=person, digest=f"{person.pk}{at.isoformat()}"[:64], expires_at=at)


def used_link(person: Person, at: datetime) -> Model:
    """A link that was used then."""
    digest = f"used{person.pk}{at.isoformat()}"[:64]
    return AccountLink.objects.create(person=person, digest=digest, used_at=at, expires_at=NOW + timedelta(days=9))


def attempt(person: Person, at: datetime) -> Model:
    """An attempt to connect that went on then for the last time."""
    return Attempt.objects.create(person=person, address="x", started_at=at, updated_at=at)


def application() -> Application:
    """One that registered itself just now."""
    return Application.objects.create(
        name="Notes", redirect_uris="https://app.example/", registration_source=Application.RegistrationSource.DCR
    )


def connection_of(person: Person, **about: Any) -> Connection:
    """A live connection of an agent of the person."""
    agent = agent_of(person)
    return Connection.objects.create(
        agent=agent, person=person, application=application(), scopes="memory:read", **about
    )


def tokens(person: Person) -> tuple[AccessToken, RefreshToken]:
    """A pair of tokens of a live connection."""
    linked = connection_of(person)
    linked.mint(new_secret(ACCESS_TOKEN), new_secret(REFRESH_TOKEN), "memory:read")
    return AccessToken.objects.get(connection=linked), RefreshToken.objects.get(connection=linked)


def refresh_token(person: Person, at: datetime) -> Model:
    """A refresh token made then."""
    _, row = tokens(person)
    RefreshToken.objects.filter(pk=row.pk).update(created=at)
    return row


def access_token(person: Person, at: datetime) -> Model:
    """An access token that ran out then, and whose refresh token was used since."""
    row, renewing = tokens(person)
    RefreshToken.objects.filter(pk=renewing.pk).update(revoked=NOW)
    AccessToken.objects.filter(pk=row.pk).update(expires=at)
    return row


def code(person: Person, at: datetime) -> Model:
    """An authorization code that ran out then."""
    linked = connection_of(person)
    about = {"code": f"{linked.pk}", "redirect_uri": "https://app.example/", "scope": "memory:read"}
    return Grant.objects.create(
        connection=linked, user=person, application=linked.application, expires=at, code_challenge="c", **about
    )


def ended_connection(person: Person, at: datetime) -> Model:
    """A connection that was ended then."""
    return connection_of(person, ended_at=at)


def idle_connection(person: Person, at: datetime) -> Model:
    """A connection that ran out then, since its app came no more."""
    return connection_of(person, expires_at=at)


def registration(person: Person, at: datetime) -> Model:
    """An application that registered itself then and was never connected."""
    row = application()
    Application.objects.filter(pk=row.pk).update(created=at)
    return row


def resume_mark(person: Person, at: datetime) -> Model:
    """Where a connection resumed then that is gone."""
    linked = connection_of(person)
    Connection.objects.filter(pk=linked.pk).delete()
    return Resumed.objects.create(agent=linked.agent, credential=f"token:{linked.pk}", at=at, upto_xact=0, upto_id=0)


KEPT: list[tuple[Make, timedelta]] = [  # what is made, and how long after its time it still has to be there
    (receipt, timedelta(days=settings.RECEIPT_DAYS)),
    (event, timedelta(days=settings.AUDIT_DAYS)),
    (operators_act, timedelta(days=settings.AUDIT_DAYS)),
    (session, timedelta()),
    (seen_session, timedelta()),
    (draft, timedelta(days=7)),
    (account_link, timedelta(days=1)),
    (used_link, timedelta(days=1)),
    (attempt, timedelta(days=14)),
    (refresh_token, REFRESH_LIFE + timedelta(days=1)),
    (access_token, timedelta(days=1)),
    (code, timedelta(days=1)),
    (ended_connection, timedelta(days=30)),
    (idle_connection, timedelta(days=30)),
    (registration, timedelta(days=1)),
    (resume_mark, timedelta()),
]


def is_there(row: Model) -> bool:
    return type(row)._default_manager.filter(pk=row.pk).exists()


@pytest.mark.parametrize(("make", "kept"), KEPT)
def test_a_row_goes_when_its_time_is_over_and_not_before(board: Board, make: Make, kept: timedelta) -> None:
    person, now = board.person(), timezone.now()
    old, young = make(person, now - kept - timedelta(hours=1) - MINUTE), make(person, now - kept + MINUTE)
    removed = clear(now)
    assert sum(removed.values()) >= 1
    assert (is_there(old), is_there(young)) == (False, True)


def test_a_live_session_and_what_was_noted_of_it_stay(board: Board) -> None:
    person = board.person()
    live = session(person, timezone.now() + timedelta(days=1))
    seen = UserSession.objects.create(
        user=person, session_key=live.pk, ip="203.0.113.1", user_agent="x", last_seen_at=NOW - timedelta(days=3)
    )
    clear()
    assert Session.objects.filter(pk=live.pk).exists()
    assert UserSession.objects.filter(pk=seen.pk).exists()


def test_a_link_that_works_still_works(board: Board) -> None:
    token = links.person_link(board.person()).rpartition("/")[2]
    clear()
    assert links.live(token) is not None


def test_every_kind_of_rows_is_tested_here() -> None:
    assert len(KEPT) == len(CLEARINGS) + 2  # links and connections have two ways to their end


def test_the_access_token_of_a_client_that_sleeps_stays_as_long_as_it_can_come_back(board: Board) -> None:
    row, _ = tokens(board.person())
    AccessToken.objects.filter(pk=row.pk).update(expires=NOW - timedelta(days=20))
    clear()
    assert is_there(row)


def test_a_live_connection_stays_with_its_application_and_where_it_resumed(board: Board) -> None:
    linked = connection_of(board.person())
    Application.objects.update(created=NOW - timedelta(days=400))
    mark = Resumed.objects.create(
        agent=linked.agent, credential=f"token:{linked.pk}", at=NOW - timedelta(days=9), upto_xact=0, upto_id=0
    )
    clear()
    assert is_there(linked)
    assert is_there(linked.application)
    assert is_there(mark)


def test_where_a_key_or_a_browser_resumed_stays(atlas: Agent) -> None:
    for credential in ("key:1", "session:None", "token"):
        at = NOW - timedelta(days=9)
        Resumed.objects.create(agent_id=atlas.pk, credential=credential, at=at, upto_xact=0, upto_id=0)
    clear()
    assert Resumed.objects.filter(agent=atlas.pk).count() == 3


def test_an_application_that_operators_made_stays(board: Board) -> None:
    row = application()
    source = Application.RegistrationSource.MANUAL
    Application.objects.filter(pk=row.pk).update(registration_source=source, created=NOW - timedelta(days=400))
    clear()
    assert is_there(row)


def test_an_application_that_somebody_is_just_connecting_stays(board: Board) -> None:
    row, person = application(), board.person()
    Application.objects.filter(pk=row.pk).update(created=NOW - timedelta(days=400))
    trying = {"started_at": NOW, "updated_at": NOW - timedelta(hours=23)}
    Attempt.objects.create(client_id=row.client_id, person=person, address="x", **trying)
    clear()
    assert is_there(row)


def test_a_receipt_within_its_time_still_answers_after_it(atlas: Agent) -> None:
    atlas.save("plan", operation_key="k1")
    Receipt.objects.filter(agent=atlas.pk).update(
        created_at=timezone.now() - timedelta(days=settings.RECEIPT_DAYS) + MINUTE
    )
    clear()
    assert atlas.done("save_memory", "plan", body="Text", expected_version=0, operation_key="k1")["replayed"]


@pytest.mark.parametrize("cleared", [False, True])
def test_an_expired_operation_key_is_free_whether_its_receipt_is_there_or_not(atlas: Agent, cleared: bool) -> None:
    atlas.save("plan", operation_key="k1")
    Receipt.objects.filter(agent=atlas.pk).update(created_at=timezone.now() - timedelta(days=settings.RECEIPT_DAYS + 1))
    if cleared:
        clear()
    assert Receipt.objects.filter(agent=atlas.pk).exists() != cleared
    assert atlas.save("other", operation_key="k1")["replayed"] is False


def test_an_event_that_is_no_longer_listed_stays_in_the_audit_trail(atlas: Agent) -> None:
    atlas.save("plan")
    Event.objects.filter(agent=atlas.pk).update(created_at=timezone.now() - timedelta(days=settings.EVENT_DAYS + 1))
    clear()
    assert atlas.done("list_events")["items"] == []
    assert Event.objects.filter(agent=atlas.pk).count() == 1


def test_reading_goes_on_after_all_events_have_gone(atlas: Agent) -> None:
    atlas.save("plan", "Grapes of old")
    cursor = atlas.done("list_events")["next_cursor"]
    assert atlas.done("search_memory", q="grapes")["items"]
    Event.objects.filter(agent=atlas.pk).update(created_at=timezone.now() - timedelta(days=settings.AUDIT_DAYS + 1))
    clear()
    atlas.save("later", "Grapes of now")
    later = atlas.done("list_events", cursor=cursor, wait_seconds=20)  # till no older transaction runs anywhere
    assert [item["resource"]["id"] for item in later["items"]] == ["later"]
    assert {item["name"] for item in atlas.done("search_memory", q="grapes")["items"]} == {"plan", "later"}
    assert atlas.send("resume").status == 200


def old_attempts(board: Board, count: int) -> Person:
    """A person with so many attempts whose time is over."""
    person, long_ago = board.person(), timezone.now() - timedelta(days=99)
    row = {"person": person, "address": "x", "started_at": long_ago, "updated_at": long_ago}
    Attempt.objects.bulk_create(Attempt(**row) for _ in range(count))
    return person


def test_many_rows_go_a_few_at_a_time(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH", 2)
    clear()
    old_attempts(board, 5)
    (attempts,) = (clearing for clearing in CLEARINGS if clearing.what == "attempts to connect")
    assert [attempts.batch(timezone.now()) for _ in range(4)] == [2, 2, 1, 0]


def together(count: int, work: Callable[[], Any]) -> list[Any]:
    """What so many threads return that begin at the same moment."""
    start, results = threading.Barrier(count), []

    def one() -> None:
        start.wait(SECONDS)
        try:
            results.append(work())
        finally:
            connection.close()

    started = [threading.Thread(target=one) for _ in range(count)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(SECONDS)
    return results


def test_two_at_once_remove_each_row_once(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH", 7)
    clear()
    person = old_attempts(board, 200)
    removed = together(2, clear)
    assert sum(sum(each.values()) for each in removed) == 200
    assert not Attempt.objects.filter(person=person).exists()


def test_agents_write_meanwhile(atlas: Agent, board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH", 5)
    old_attempts(board, 200)

    def save() -> None:
        for number in range(30):
            atlas.save(f"note-{number}", operation_key=f"k-{number}")

    both = iter((clear, save))
    together(2, lambda: next(both)())
    assert Receipt.objects.filter(agent=atlas.pk).count() == 30


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite locks no single row")
def test_a_row_that_somebody_holds_is_left_for_the_next_time(board: Board) -> None:
    clear()
    person = old_attempts(board, 2)
    with transaction.atomic():
        held = Attempt.objects.select_for_update().filter(person=person)[0]
        (removed,) = together(1, clear)
    assert sum(removed.values()) == 1
    assert list(Attempt.objects.filter(person=person)) == [held]
    assert sum(clear().values()) == 1


def test_the_command_says_what_went_and_the_next_time_that_nothing_did(board: Board) -> None:
    clear()
    old_attempts(board, 3)
    for wanted in (3, 0):
        out = StringIO()
        call_command("housekeeping", stdout=out)
        lines = out.getvalue().splitlines()
        assert f"{wanted:>8} attempts to connect" in lines
        assert lines[-1] == f"{wanted:>8} rows removed"
        assert len(lines) == len(CLEARINGS) + 1


def test_a_running_server_does_it_by_itself(
    board: Board, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Housekeeper, "FIRST_SECONDS", (0, 0))
    clear()
    person = old_attempts(board, 3)
    caplog.set_level("INFO", "agentboard.housekeeping")

    async def serve() -> None:
        keeper = Housekeeper(threads)
        keeper.start()
        await asyncio.to_thread(wait_for, lambda: bool(caplog.records), SECONDS)
        keeper.stop()

    asyncio.run(serve())
    assert not Attempt.objects.filter(person=person).exists()
    assert [record.getMessage() for record in caplog.records] == ["housekeeping removed 3 attempts to connect"]


def test_a_database_that_does_not_serve_ends_no_housekeeper(
    board: Board, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried = []

    def fail(*_: Any) -> int:
        tried.append(1)
        raise DatabaseError("gone")

    monkeypatch.setattr(Housekeeper, "FIRST_SECONDS", (0, 0))
    monkeypatch.setattr(Housekeeper, "EVERY_SECONDS", (0, 0))
    monkeypatch.setattr(Clearing, "batch", fail)

    async def serve() -> None:
        keeper = Housekeeper(threads)
        keeper.start()
        await asyncio.to_thread(wait_for, lambda: len(tried) > 2, SECONDS)
        keeper.stop()

    asyncio.run(serve())
    assert {record.getMessage() for record in caplog.records} == {
        "housekeeping could not finish; it is tried again tomorrow"
    }


def test_stopping_one_that_never_started_is_no_error() -> None:
    Housekeeper(threads).stop()
