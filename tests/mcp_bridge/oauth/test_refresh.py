"""From one refresh token to the next."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agentboard.identity.models import Agent, Person
from mcp_bridge.oauth.bearer import from_token
from mcp_bridge.oauth.models import AccessToken, Application, Connection, RefreshToken
from mcp_bridge.oauth.validator import ROTATION_WINDOW
from tests.mcp_bridge.oauth.flow import App, Browser, Tokens, Web, tokens
from tests.mcp_bridge.oauth.test_token import refused, works


@pytest.fixture
def got(app: App, browser: Browser) -> Tokens:
    return app.connect(browser)


def age(seconds: float) -> None:
    """Let all that was replaced have been replaced so much earlier."""
    for token in RefreshToken.objects.exclude(revoked=None):
        assert token.revoked is not None
        RefreshToken.objects.filter(pk=token.pk).update(revoked=token.revoked - timedelta(seconds=seconds))


def test_a_chain_of_refreshes_stays_one_connection(app: App, got: Tokens) -> None:
    newest = got
    for _ in range(4):
        newest = tokens(app.refresh(newest.refresh_token))
    connection = Connection.objects.get()
    assert set(RefreshToken.objects.values_list("token_family", flat=True)) == {connection.family}
    assert RefreshToken.objects.filter(revoked=None).count() == 1
    assert works(newest.access_token)


def test_a_token_that_was_replaced_a_moment_ago_gets_a_sibling_pair(app: App, got: Tokens) -> None:
    first, second = (tokens(app.refresh(got.refresh_token)) for _ in range(2))
    age(ROTATION_WINDOW.total_seconds() - 5)
    third = tokens(app.refresh(got.refresh_token))
    for pair in (first, second, third):
        assert works(pair.access_token)
        tokens(app.refresh(pair.refresh_token))
    assert Connection.objects.count() == 1


def test_a_token_that_was_replaced_a_while_ago_ends_the_whole_family(app: App, got: Tokens) -> None:
    first, second = (tokens(app.refresh(got.refresh_token)) for _ in range(2))
    age(ROTATION_WINDOW.total_seconds())
    assert "replaced a while ago" in refused(app.refresh(got.refresh_token), "invalid_grant")
    for pair in (got, first, second):
        assert not works(pair.access_token)
        assert "was ended" in refused(app.refresh(pair.refresh_token), "invalid_grant")
    assert Connection.objects.get().ended_at is not None


def test_each_token_of_a_chain_has_its_own_moment(app: App, got: Tokens) -> None:
    second = tokens(app.refresh(got.refresh_token))
    age(40)
    third = tokens(app.refresh(second.refresh_token))
    age(40)
    tokens(app.refresh(second.refresh_token))
    assert works(third.access_token)
    refused(app.refresh(got.refresh_token), "invalid_grant")
    assert not works(third.access_token)


def test_a_refresh_token_lives_for_thirty_days_from_its_making(app: App, got: Tokens) -> None:
    RefreshToken.objects.update(created=timezone.now() - timedelta(days=30, seconds=-60))
    newer = tokens(app.refresh(got.refresh_token))
    RefreshToken.objects.update(created=timezone.now() - timedelta(days=30))
    assert "30 days" in refused(app.refresh(newer.refresh_token), "invalid_grant")


def test_a_connection_runs_out_with_its_newest_refresh_token(app: App, got: Tokens) -> None:
    Connection.objects.update(expires_at=timezone.now() + timedelta(days=1))
    tokens(app.refresh(got.refresh_token))
    left = Connection.objects.get().expires_at - timezone.now()
    assert timedelta(days=29) < left <= timedelta(days=30)


def test_fewer_scopes_are_given_when_asked_for_and_all_again_later(app: App, got: Tokens) -> None:
    narrow = tokens(app.refresh(got.refresh_token, scope="posts:read"))
    assert narrow.scope == "posts:read"
    assert from_token(narrow.access_token).scopes == {"posts:read"}
    assert tokens(app.refresh(narrow.refresh_token)).scope == "memory:read posts:read"


@pytest.mark.parametrize("scope", ["memory:read posts:write", "memory:write", "wishes", "offline_access"])
def test_more_scopes_than_granted_are_refused(app: App, got: Tokens, scope: str) -> None:
    refused(app.refresh(got.refresh_token, scope=scope), "invalid_scope")
    tokens(app.refresh(got.refresh_token))


def test_a_scope_that_does_not_exist_is_passed_over_beside_one_that_was_granted(app: App, got: Tokens) -> None:
    assert tokens(app.refresh(got.refresh_token, scope="memory:read offline_access")).scope == "memory:read"


@pytest.mark.parametrize("resource", ["https://other.example/", "https://other.example/mcp"])
def test_another_resource_is_refused(app: App, got: Tokens, resource: str) -> None:
    refused(app.refresh(got.refresh_token, resource=resource), "invalid_target")


def test_naming_the_endpoint_changes_nothing(app: App, got: Tokens) -> None:
    tokens(app.refresh(got.refresh_token, resource=f"{app.web.url}/mcp"))


def test_the_refresh_token_of_another_client_gets_nothing_and_ends_nothing(app: App, got: Tokens, web: Web) -> None:
    other = App(web)
    other.register()
    assert "does not know" in refused(other.refresh(got.refresh_token), "invalid_grant")
    tokens(app.refresh(got.refresh_token))
    age(ROTATION_WINDOW.total_seconds())
    refused(other.refresh(got.refresh_token), "invalid_grant")
    assert works(got.access_token)


@pytest.mark.parametrize("token", ["unknown", "", "\ud7ff", "abr_" + "x" * 49])
def test_an_unknown_refresh_token_gets_nothing(app: App, token: str) -> None:
    refused(app.refresh(token), "invalid_grant" if token else "invalid_request")


def test_an_access_token_refreshes_nothing(app: App, got: Tokens) -> None:
    refused(app.refresh(got.access_token), "invalid_grant")


def test_a_refresh_after_the_access_token_has_gone_still_works(app: App, got: Tokens) -> None:
    AccessToken.objects.all().delete()
    tokens(app.refresh(got.refresh_token))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda: Person.objects.filter(username="mira").update(is_active=False),
            "owner of the agent atlas is deactivated",
        ),
        (lambda: Agent.objects.filter(handle="atlas").update(active=False), "agent atlas is deactivated"),
        (
            lambda: Agent.objects.filter(handle="atlas").update(owner=Person.objects.get(username="noor")),
            "another person",
        ),
        (lambda: Connection.objects.get().end(), "was ended"),
        (lambda: Agent.objects.filter(handle="atlas").delete(), "does not know this refresh token"),
    ],
)
def test_who_may_no_longer_act_refreshes_nothing(app: App, got: Tokens, boreas: Agent, change: Any, words: str) -> None:
    change()
    assert words in refused(app.refresh(got.refresh_token), "invalid_grant")
    assert not works(got.access_token)


def test_a_person_who_is_back_refreshes_again(app: App, got: Tokens) -> None:
    Person.objects.update(is_active=False)
    refused(app.refresh(got.refresh_token), "invalid_grant")
    Person.objects.update(is_active=True)
    tokens(app.refresh(got.refresh_token))


def test_a_blocked_application_refreshes_nothing(app: App, got: Tokens) -> None:
    Application.objects.update(active=False)
    refused(app.refresh(got.refresh_token), "invalid_client", 401)
    assert not works(got.access_token)
