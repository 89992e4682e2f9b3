"""The way in by OAuth, followed from the first look to the token, and each place where it can stop."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.utils import timezone

from agentboard.identity.models import Agent, Person
from mcp_bridge.doctor import watch
from mcp_bridge.doctor.models import Attempt, Step
from mcp_bridge.doctor.peer import hashed
from mcp_bridge.oauth.models import REFRESH_LIFE, Application, Connection, Grant, RefreshToken
from tests.board import Board
from tests.mcp_bridge.oauth.conftest import browser_of, generous, web
from tests.mcp_bridge.oauth.flow import JSON, App, Browser, Web

HERE = hashed("127.0.0.1")  # where all of these requests come from

pytestmark = pytest.mark.usefixtures("nothing_here")


@pytest.fixture
def nothing_here(db: None) -> None:
    """No attempt from this machine is left of another test."""
    Attempt.objects.filter(address=HERE).delete()


@pytest.fixture
def mine(board: Board) -> Agent:
    return Agent.objects.get(pk=board.agent().pk)


@pytest.fixture
def browser(web: Web, mine: Agent) -> Browser:
    return browser_of(web, mine.owner)


@pytest.fixture
def app(web: Web) -> App:
    """An application that has looked around and registered itself."""
    web.ask("GET", "/.well-known/oauth-protected-resource/mcp")
    made = App(web)
    assert made.register(client_name="Claude Code").status == 201
    return made


def only() -> Attempt:
    return Attempt.objects.get(address=HERE)


def last() -> Attempt:
    found = Attempt.objects.filter(address=HERE).order_by("id").last()
    assert found is not None
    return found


def test_looking_at_the_metadata_begins_an_attempt(web: Web) -> None:
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"):
        assert web.ask("GET", path).status == 200
    assert only().step == Step.DISCOVERY


def test_a_whole_flow_is_one_attempt_up_to_its_token(app: App, browser: Browser, mine: Agent) -> None:
    assert (only().step, only().client, only().person) == (Step.REGISTRATION, "Claude Code", None)
    app.connect(browser, agent=mine.handle)
    found = only()
    assert (found.step, found.reason, found.client_id) == (Step.TOKEN, "", app.client_id)
    assert (found.person_id, found.agent_id) == (mine.owner_id, mine.pk)


def test_the_open_consent_page_waits_for_an_answer(app: App, browser: Browser, mine: Agent) -> None:
    browser.get(app.request())
    found = only()
    assert (found.step, found.stopped_at, found.reason) == (Step.REGISTRATION, Step.CONSENT, "consent_open")
    assert found.person_id == mine.owner_id


def test_a_code_was_given_and_the_app_has_not_come_back(app: App, browser: Browser, mine: Agent) -> None:
    app.code(browser, agent=mine.handle)
    assert (only().step, only().reason, only().agent_id) == (Step.CONSENT, "", mine.pk)


def test_nobody_is_signed_in(app: App, web: Web) -> None:
    Browser(web).get(app.request())
    assert (only().reason, only().person) == ("sign_in_open", None)


def test_the_person_refuses(app: App, browser: Browser) -> None:
    browser.consent(app.request(), decision="deny")
    assert (only().stopped_at, only().reason) == (Step.CONSENT, "consent_denied")


def test_a_form_that_was_filled_in_wrongly_waits_still(app: App, browser: Browser) -> None:
    assert browser.consent(app.request(), scopes=[]).status == 422
    assert only().reason == "consent_open"


WRONG_REQUESTS: list[tuple[dict[str, str | None], str]] = [
    ({"code_challenge": None, "code_challenge_method": None}, "pkce_missing"),
    ({"code_challenge_method": "plain"}, "pkce_missing"),
    ({"code_challenge": "short"}, "request_malformed"),
    ({"resource": "https://elsewhere.example/mcp"}, "resource_foreign"),
    ({"scope": "everything"}, "scope_unknown"),
    ({"response_type": "token"}, "request_malformed"),
    ({"redirect_uri": "https://elsewhere.example/callback"}, "redirect_uri_differs"),
]


@pytest.mark.parametrize(("changes", "reason"), WRONG_REQUESTS)
def test_a_request_that_cannot_be_granted_says_why(
    app: App, browser: Browser, mine: Agent, changes: dict[str, str | None], reason: str
) -> None:
    browser.get(app.request(**changes))
    assert (only().stopped_at, only().reason, only().person_id) == (Step.CONSENT, reason, mine.owner_id)


def test_an_app_that_was_cleared_away_is_unknown(app: App, browser: Browser) -> None:
    Application.objects.filter(client_id=app.client_id).delete()
    browser.get(app.request())
    assert only().reason == "client_unknown"


def test_an_app_that_an_operator_has_blocked(app: App, browser: Browser) -> None:
    Application.objects.filter(client_id=app.client_id).update(active=False)
    browser.get(app.request())
    assert only().reason == "client_blocked"


def test_an_app_that_asks_silently_has_not_stopped(app: App, browser: Browser) -> None:
    browser.get(app.request(prompt="none"))
    assert only().reason == ""


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"redirect_uris": ["http://elsewhere.example/"]}, "redirect_uri_refused"),
        ({"grant_types": ["password"]}, "registration_malformed"),
    ],
)
def test_a_registration_that_is_refused_says_why(web: Web, metadata: dict[str, Any], reason: str) -> None:
    assert App(web).register(**metadata).status == 400
    assert (only().stopped_at, only().reason) == (Step.REGISTRATION, reason)


@pytest.mark.parametrize(
    "body", [b"", b"[", b"[]", b"\xff", b'{"redirect_uris": ["https://a.example/"], "a": "\\ud800"}']
)
@pytest.mark.parametrize("path", ["/oauth/register", "/oauth/token", "/oauth/revoke"])
def test_no_body_breaks_what_follows_it(web: Web, path: str, body: bytes) -> None:
    assert web.ask("POST", path, JSON, body).status < 500


WRONG_TOKENS: list[tuple[dict[str, str | None], str]] = [
    ({"code_verifier": "w" * 43}, "pkce_wrong"),
    ({"redirect_uri": "http://127.0.0.1:1/"}, "redirect_uri_differs"),
    ({"resource": "https://elsewhere.example/mcp"}, "resource_foreign"),
    ({"code": "nonsense"}, "code_unknown"),
    ({"grant_type": "password"}, "grant_unsupported"),
    ({"grant_type": None}, "request_malformed"),
    ({"client_id": "nobody"}, "client_unknown"),
]


@pytest.mark.parametrize(("changes", "reason"), WRONG_TOKENS)
def test_a_token_request_that_is_refused_says_why(
    app: App, browser: Browser, mine: Agent, changes: dict[str, str | None], reason: str
) -> None:
    code = app.code(browser, agent=mine.handle)
    known = {"redirect_uri": app.redirect_uri, "code_verifier": app.verifier}
    sent = {"grant_type": "authorization_code", "code": code, **known, **changes}
    assert app.token(**sent).status in (400, 401)
    assert (last().stopped_at, last().reason) == (Step.TOKEN, reason)


def test_a_code_that_came_too_late(app: App, browser: Browser, mine: Agent) -> None:
    code = app.code(browser, agent=mine.handle)
    Grant.objects.update(expires=timezone.now())
    app.redeem(code)
    assert (only().reason, only().step) == ("code_expired", Step.CONSENT)


def test_a_code_that_came_twice(app: App, browser: Browser, mine: Agent) -> None:
    code = app.code(browser, agent=mine.handle)
    app.redeem(code)
    app.redeem(code)
    assert (only().reason, only().person_id) == ("code_used", mine.owner_id)


def of_refresh(person: Person) -> str:
    """Why the person's app got no new tokens."""
    found = Attempt.objects.filter(person=person, stopped_at=Step.TOKEN).order_by("id").last()
    assert found is not None
    return found.reason


def test_refresh_tokens_that_get_nothing_say_why(app: App, browser: Browser, mine: Agent) -> None:
    tokens = app.connect(browser, agent=mine.handle)
    connection = Connection.objects.get(agent=mine)
    RefreshToken.objects.update(created=timezone.now() - REFRESH_LIFE)
    app.refresh(tokens.refresh_token)
    assert of_refresh(mine.owner) == "refresh_expired"
    RefreshToken.objects.update(created=timezone.now())
    Agent.objects.filter(pk=mine.pk).update(active=False)
    app.refresh(tokens.refresh_token)
    assert of_refresh(mine.owner) == "agent_inactive"
    Agent.objects.filter(pk=mine.pk).update(active=True)
    connection.end()
    app.refresh(tokens.refresh_token)
    assert of_refresh(mine.owner) == "connection_ended"


def test_a_refresh_token_that_a_thief_may_have_ends_the_connection_and_says_so(
    app: App, browser: Browser, mine: Agent
) -> None:
    tokens = app.connect(browser, agent=mine.handle)
    app.refresh(tokens.refresh_token)
    RefreshToken.objects.filter(revoked__isnull=False).update(revoked=timezone.now() - timedelta(minutes=2))
    app.refresh(tokens.refresh_token)
    assert of_refresh(mine.owner) == "refresh_replayed"


def test_an_app_that_looks_around_before_it_refreshes_leaves_no_attempt_behind(
    app: App, browser: Browser, mine: Agent, web: Web
) -> None:
    tokens = app.connect(browser, agent=mine.handle)
    Attempt.objects.filter(address=HERE).update(step=Step.FIRST_CALL, updated_at=timezone.now() - timedelta(hours=1))
    watch.NEWS.forget()
    web.ask("GET", "/.well-known/oauth-authorization-server")
    assert Attempt.objects.filter(address=HERE).count() == 2
    assert app.refresh(tokens.refresh_token).status == 200
    assert only().step == Step.FIRST_CALL


def test_a_flow_goes_on_where_the_doctor_cannot_write(
    web: Web, mine: Agent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise DatabaseError("disk full")

    monkeypatch.setattr(watch, "_write", full)
    app = App(web)
    app.register()
    assert app.connect(browser_of(web, mine.owner), agent=mine.handle).access_token
    assert {record.getMessage() for record in caplog.records} == {"an attempt to connect was not written down"}


def test_no_attempt_holds_a_code_or_a_token(app: App, browser: Browser, mine: Agent) -> None:
    tokens = app.connect(browser, agent=mine.handle)
    row = json.dumps(Attempt.objects.filter(address=HERE).values().get(), default=str)
    assert tokens.access_token not in row
    assert "st" not in row.split('"')


__all__ = ["generous", "web"]
