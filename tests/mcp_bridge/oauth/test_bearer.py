"""Who is let in by an access token."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection as database
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentboard.contract.errors import Refusal
from agentboard.identity import keys
from agentboard.identity.models import Agent, AgentKey, Person
from agentboard.identity.scopes import ALL_SCOPES
from mcp_bridge.oauth import bearer
from mcp_bridge.oauth.bearer import from_token
from mcp_bridge.oauth.models import AccessToken, Application, Connection
from tests.mcp_bridge.oauth.flow import App, Browser, Tokens, tokens


@pytest.fixture
def got(app: App, browser: Browser) -> Tokens:
    return app.connect(browser, scope=" ".join(ALL_SCOPES))


def refusal(token: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        from_token(token)
    refused = caught.value
    assert refused.code == "unauthenticated"
    assert refused.next_action
    assert token[:8] == "" or token not in str(refused.as_json())
    return refused


def test_a_token_names_its_agent_in_one_query(got: Tokens) -> None:
    from_token(got.access_token)  # the first use is noted at once
    with CaptureQueriesContext(database) as queries:
        caller = from_token(got.access_token)
    assert len(queries) == 1
    row = Connection.objects.get()
    assert (caller.handle, caller.credential, caller.credential_id) == ("atlas", "token", row.pk)
    assert caller.scopes == set(ALL_SCOPES)


def test_the_credential_stays_the_same_from_token_to_token(app: App, got: Tokens) -> None:
    newer = tokens(app.refresh(got.refresh_token))
    assert from_token(newer.access_token) == from_token(got.access_token)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not an access token"),
        ("nonsense", "not an access token"),
        ("é\ud800", "not an access token"),
        ("abo_tooshort", "mistyped or cut"),
        ("abr_" + "x" * 49, "refresh token"),
        (keys.new_key(), "not an access token"),
        (keys.new_secret(keys.REFRESH_TOKEN), "refresh token"),
        (keys.new_secret(keys.ACCESS_TOKEN), "does not know this access token"),
    ],
)
def test_what_is_no_token_of_this_server_is_refused_with_the_reason(db: None, text: str, words: str) -> None:
    assert words in refusal(text).message


def test_a_mistyped_token_is_told_without_asking_the_database(got: Tokens) -> None:
    wrong = got.access_token[:-1] + ("0" if got.access_token[-1] != "0" else "1")
    with CaptureQueriesContext(database) as queries:
        assert "mistyped or cut" in refusal(wrong).message
    assert len(queries) == 0


def test_a_token_works_for_an_hour(got: Tokens) -> None:
    left = AccessToken.objects.get().expires - timezone.now()
    assert timedelta(minutes=59) < left <= timedelta(hours=1)
    AccessToken.objects.update(expires=timezone.now())
    refused = refusal(got.access_token)
    assert "has expired" in refused.message
    assert "refresh token" in refused.next_action


CHANGES: list[tuple[Callable[[], Any], str]] = [
    (lambda: Connection.objects.get().end(), "was ended"),
    (lambda: Agent.objects.filter(handle="atlas").update(active=False), "agent atlas is deactivated"),
    (lambda: Person.objects.filter(username="mira").update(is_active=False), "owns the agent atlas is deactivated"),
    (lambda: Agent.objects.filter(handle="atlas").update(owner=Person.objects.get(username="noor")), "another person"),
    (lambda: Application.objects.update(active=False), "is blocked"),
    (lambda: AccessToken.objects.update(resource=["https://other.example/mcp"]), "for another resource"),
    (lambda: AccessToken.objects.update(resource=[]), "for another resource"),
    (lambda: Agent.objects.filter(handle="atlas").delete(), "does not know this access token"),
    (lambda: Person.objects.filter(username="mira").delete(), "does not know this access token"),
    (lambda: Application.objects.all().delete(), "does not know this access token"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES, ids=[words for _, words in CHANGES])
def test_what_ended_is_out_at_the_very_next_call(got: Tokens, boreas: Agent, change: Any, words: str) -> None:
    from_token(got.access_token)
    change()
    assert words in refusal(got.access_token).message


def test_a_connection_without_its_application_or_agent_leaves_nothing_behind(got: Tokens) -> None:
    Agent.objects.get().delete()
    assert not Connection.objects.exists()
    assert not AccessToken.objects.exists()


def test_ending_the_keys_of_an_agent_leaves_its_connections(got: Tokens, atlas: Agent) -> None:
    AgentKey.objects.issue(atlas)
    AgentKey.objects.get_queryset().revoke()
    from_token(got.access_token)


def test_a_scope_that_no_longer_exists_grants_nothing(got: Tokens) -> None:
    AccessToken.objects.update(scope="memory:read wishes:read")
    assert from_token(got.access_token).scopes == {"memory:read"}


@pytest.mark.parametrize("name", ["N" * 255, "Notes", "Nо\u0301tes"])
def test_the_name_of_the_application_fits_where_it_is_written(got: Tokens, name: str) -> None:
    Application.objects.update(name=name)
    via = from_token(got.access_token).via
    assert via.startswith("mcp (N")
    assert via.endswith(")")
    assert len(via) <= 120


def test_a_call_notes_the_use_of_its_connection_and_of_no_key(got: Tokens, atlas: Agent) -> None:
    AgentKey.objects.issue(atlas)
    before = timezone.now()
    from_token(got.access_token)
    bearer.flush_last_used()
    used = Connection.objects.get().last_used_at
    assert used is not None
    assert before <= used <= timezone.now()
    assert AgentKey.objects.get().last_used_at is None
