"""The endpoint's own part of an attempt: what it refuses, and the first call."""

import pytest
from django.utils import timezone

from agentboard.identity.models import Agent as AgentRow
from mcp_bridge.doctor.models import Attempt, Step
from mcp_bridge.doctor.peer import hashed
from mcp_bridge.oauth.models import AccessToken
from tests.calls import Agent
from tests.mcp_bridge.doctor.test_follow import browser, generous, mine, nothing_here, web
from tests.mcp_bridge.oauth.flow import App, Browser, Web
from tests.mcp_bridge.speaking import Client

HERE = hashed("127.0.0.1")

pytestmark = pytest.mark.usefixtures("nothing_here")


def only() -> Attempt:
    return Attempt.objects.get(address=HERE)


def test_a_call_without_a_credential_begins_an_attempt_that_the_first_call_with_a_key_ends(atlas: Agent) -> None:
    assert Client("").ask("tools/list").status == 401
    assert only().step == Step.DISCOVERY
    assert Client(atlas.key).ask("tools/list").status == 200
    assert (only().done, only().agent_id) == (True, atlas.pk)


def test_the_whole_way_by_oauth_is_one_attempt(web: Web, browser: Browser, mine: AgentRow) -> None:
    Client("").ask("tools/list")
    app = App(web)
    app.register(client_name="Claude Code")
    tokens = app.connect(browser, agent=mine.handle)
    assert Client(tokens.access_token).ask("tools/list").status == 200
    assert (only().done, only().client, only().person_id) == (True, "Claude Code", mine.owner_id)


@pytest.mark.parametrize("modern", [False, True])
def test_a_refused_key_is_told(atlas: Agent, modern: bool) -> None:
    AgentRow.objects.filter(pk=atlas.pk).update(active=False)
    assert Client(atlas.key, modern).ask("tools/list").status == 401
    assert (only().reason, only().agent_id) == ("agent_inactive", atlas.pk)


def test_a_page_of_another_site_is_told(atlas: Agent) -> None:
    answer = Client(atlas.key).ask("tools/list", changes={"origin": "https://elsewhere.example"})
    assert (answer.status, only().reason) == (403, "origin_refused")


def test_a_name_that_is_not_ours_is_told(atlas: Agent) -> None:
    assert Client(atlas.key).ask("tools/list", changes={"host": "elsewhere.example"}).status == 400
    assert only().reason == "host_unknown"


def test_an_unknown_protocol_is_told(atlas: Agent) -> None:
    answer = Client(atlas.key).ask("tools/list", changes={"mcp-protocol-version": "1999-01-01"})
    assert (answer.status, only().reason, only().agent_id) == (400, "protocol_unsupported", atlas.pk)


def test_a_scope_that_was_not_given_is_told(web: Web, browser: Browser, mine: AgentRow) -> None:
    app = App(web)
    app.register()
    tokens = app.connect(browser, agent=mine.handle, scopes=["posts:read"])
    call = {"name": "list_memory", "arguments": {}}
    assert Client(tokens.access_token).ask("tools/call", call).status == 403
    last = Attempt.objects.filter(person=mine.owner).order_by("id").last()
    assert last is not None
    assert last.reason == "scope_missing"


def test_an_expired_token_is_no_attempt(web: Web, browser: Browser, mine: AgentRow) -> None:
    app = App(web)
    app.register()
    tokens = app.connect(browser, agent=mine.handle)
    Client(tokens.access_token).ask("tools/list")
    AccessToken.objects.filter(connection__agent=mine).update(expires=timezone.now())
    assert Client(tokens.access_token).ask("tools/list").status == 401
    assert only().done


__all__ = ["browser", "generous", "mine", "nothing_here", "web"]
