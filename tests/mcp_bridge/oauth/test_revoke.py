"""Tokens given back."""

import pytest

from agentboard.identity import keys
from mcp_bridge.oauth.models import Connection
from tests.mcp_bridge.oauth.flow import App, Browser, Tokens, Web, tokens
from tests.mcp_bridge.oauth.test_token import refused, works


@pytest.fixture
def got(app: App, browser: Browser) -> Tokens:
    return app.connect(browser)


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
@pytest.mark.parametrize("hint", [None, "access_token", "refresh_token", "nonsense"])
def test_either_token_ends_the_whole_family(app: App, got: Tokens, kind: str, hint: str | None) -> None:
    newer = tokens(app.refresh(got.refresh_token))
    answer = app.revoke(got.raw[kind], token_type_hint=hint)
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    for pair in (got, newer):
        assert not works(pair.access_token)
        assert "was ended" in refused(app.refresh(pair.refresh_token), "invalid_grant")
    assert Connection.objects.get().ended_at is not None


def test_giving_back_twice_is_no_error(app: App, got: Tokens) -> None:
    assert [app.revoke(got.access_token).status for _ in range(2)] == [200, 200]
    ended = Connection.objects.get().ended_at
    app.revoke(got.access_token)
    assert Connection.objects.get().ended_at == ended


@pytest.mark.parametrize("token", ["unknown", keys.new_secret(keys.ACCESS_TOKEN), "é"])
def test_what_nobody_knows_is_given_back_all_the_same(app: App, got: Tokens, token: str) -> None:
    assert app.revoke(token).status == 200
    assert works(got.access_token)


def test_another_client_ends_nothing_and_learns_nothing(app: App, got: Tokens, web: Web) -> None:
    other = App(web)
    other.register()
    for token in (got.access_token, got.refresh_token):
        assert other.revoke(token).status == 200
    assert works(got.access_token)
    refused(app.revoke(got.access_token, client_id="unknown"), "invalid_client", 401)
    assert works(got.access_token)


def test_another_connection_of_the_same_client_lives_on(app: App, got: Tokens, noors: Browser) -> None:
    theirs = app.connect(noors)
    app.revoke(got.access_token)
    assert works(theirs.access_token)
    tokens(app.refresh(theirs.refresh_token))


def test_a_token_must_be_named(app: App) -> None:
    assert "as token" in refused(app.revoke(""), "invalid_request")
