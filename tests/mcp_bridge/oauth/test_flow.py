"""The way of a client that does everything right."""

from agentboard.identity.models import Agent
from mcp_bridge.oauth.bearer import from_token
from mcp_bridge.oauth.models import AccessToken, Connection, RefreshToken
from tests.mcp_bridge.oauth.flow import App, Browser, tokens


def test_a_connected_application_acts_as_the_chosen_agent(app: App, browser: Browser, atlas: Agent) -> None:
    got = app.connect(browser, agent="atlas", scopes=["memory:read"])
    caller = from_token(got.access_token)
    assert (caller.agent_id, caller.handle, caller.owner_id) == (atlas.pk, "atlas", atlas.owner.pk)
    assert caller.scopes == {"memory:read"}
    assert got.scope == "memory:read"
    assert (caller.via, caller.credential) == ("mcp (Notes)", "token")
    assert caller.credential_id == Connection.objects.get().pk


def test_a_refresh_gives_a_new_pair_of_the_same_connection(app: App, browser: Browser) -> None:
    first = app.connect(browser)
    second = tokens(app.refresh(first.refresh_token))
    assert from_token(second.access_token) == from_token(first.access_token)
    assert len({first.access_token, first.refresh_token, second.access_token, second.refresh_token}) == 4
    assert Connection.objects.count() == 1
    assert AccessToken.objects.count() == RefreshToken.objects.count() == 2
