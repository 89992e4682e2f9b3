"""Connections by themselves."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from agentboard.identity.models import Agent
from mcp_bridge.oauth.models import AccessToken, Application, Connection, Grant, RefreshToken
from tests.mcp_bridge.oauth.flow import App, Browser, tokens


def test_a_connection_is_live_while_its_code_and_then_its_refresh_token_are(
    app: App, browser: Browser, atlas: Agent
) -> None:
    code = app.code(browser)
    assert atlas.connections.live().count() == 1
    Connection.objects.update(expires_at=timezone.now())
    assert not Connection.objects.live().exists()
    got = tokens(app.redeem(code))
    assert Connection.objects.live().count() == 1
    Connection.objects.update(expires_at=timezone.now() - timedelta(days=1))
    assert not Connection.objects.live().exists()
    tokens(app.refresh(got.refresh_token))
    assert Connection.objects.live().count() == 1


def test_ending_ends_tokens_and_unused_codes_once(app: App, browser: Browser) -> None:
    app.connect(browser)
    app.code(browser)
    assert Connection.objects.live().end() == 2
    assert not Connection.objects.live().exists()
    assert not Grant.objects.exists()
    assert not RefreshToken.objects.filter(revoked=None).exists()
    ended = list(Connection.objects.values_list("ended_at", flat=True))
    assert Connection.objects.get_queryset().end() == 0
    assert list(Connection.objects.values_list("ended_at", flat=True)) == ended


def test_one_connection_ends_alone(app: App, browser: Browser) -> None:
    app.connect(browser)
    app.connect(browser)
    newer, older = Connection.objects.all()
    assert older.end() is True
    assert older.end() is False
    assert list(Connection.objects.live()) == [newer]


def test_a_connection_says_what_it_is(app: App, browser: Browser) -> None:
    app.connect(browser)
    connection = Connection.objects.get()
    assert str(connection) == "Notes as atlas"
    assert connection.scope_set == {"memory:read", "posts:read"}


def test_scopes_that_are_none_cannot_be_allowed(app: App, atlas: Agent) -> None:
    about = {"code": "x", "redirect_uri": "https://a.example/", "code_challenge": "y"}
    for granted in ([], ["wishes"]):
        with pytest.raises(ValueError, match="scope"):
            Connection.objects.allow(atlas, Application.objects.get(), granted, **about)


def test_clearing_old_tokens_takes_none_that_is_still_good_for_something(app: App, browser: Browser) -> None:
    first = app.connect(browser)
    second = tokens(app.refresh(first.refresh_token))
    app.code(browser)
    AccessToken.objects.update(expires=timezone.now() - timedelta(hours=1))
    call_command("cleartokens")
    assert Grant.objects.count() == 1
    third = tokens(app.refresh(second.refresh_token))
    RefreshToken.objects.update(revoked=timezone.now() - timedelta(minutes=5))
    assert "replaced a while ago" in app.refresh(first.refresh_token).json["error_description"]
    assert app.refresh(third.refresh_token).status == 400
    long_ago = timezone.now() - timedelta(days=31)
    RefreshToken.objects.update(revoked=long_ago)
    AccessToken.objects.update(expires=long_ago)
    Grant.objects.update(expires=long_ago)
    call_command("cleartokens")
    assert [model._default_manager.count() for model in (RefreshToken, AccessToken, Grant)] == [0, 0, 0]
