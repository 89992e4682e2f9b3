"""What a connected application can do at the endpoint, and nowhere else, over real connections."""

import pytest

from agentboard.identity.scopes import ALL_SCOPES
from tests.mcp_bridge.oauth.conftest import REGISTRATIONS
from tests.mcp_bridge.oauth.flow import JSON, App, Tokens
from tests.mcp_bridge.oauth.serving import Site, call, content

EVERYTHING = " ".join(ALL_SCOPES)
METADATA = "/.well-known/oauth-protected-resource/mcp"


@pytest.fixture
def app(site: Site) -> App:
    made = App(site.web)
    assert made.register(client_name="Claude Code").status == 201
    return made


@pytest.fixture
def got(site: Site, app: App) -> Tokens:
    return app.connect(site.browser(), scope=EVERYTHING)


def challenged(site: Site, token: str, error: str = "invalid_token") -> str:
    """The WWW-Authenticate of a call that must be refused for its credential."""
    answer = call(site.web, token)
    assert answer.status == 401, answer.body
    challenge = answer.headers["www-authenticate"]
    assert f'resource_metadata="{site.web.url}{METADATA}"' in challenge
    assert f'scope="{EVERYTHING}"' in challenge
    assert (f'error="{error}"' in challenge) == bool(token)
    return challenge


def test_from_a_challenge_to_a_note_by_nothing_but_what_the_server_says(site: Site) -> None:
    challenge = challenged(site, "")
    metadata = challenge.partition('resource_metadata="')[2].partition('"')[0].removeprefix(site.web.url)
    resource = site.web.ask("GET", metadata).json
    assert resource["resource"] == f"{site.web.url}/mcp"
    [issuer] = resource["authorization_servers"]
    about = site.web.ask("GET", "/.well-known/oauth-authorization-server").json
    assert about["issuer"] == issuer == site.web.url
    app = App(site.web)
    app.register(client_name="Claude Code")
    answer = site.browser().consent(app.request(scope=" ".join(resource["scopes_supported"])))
    assert answer.told["iss"] == issuer
    got = app.redeem(answer.told["code"]).json
    saved = call(site.web, got["access_token"], "save_memory", id="plan", data={"body": "Text", "expected_version": 0})
    assert content(saved)["via"] == "mcp (Claude Code)"
    assert content(saved)["author"] == "atlas"


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "Bearer  "])
def test_tokens_and_keys_work_however_the_scheme_is_written(site: Site, got: Tokens, scheme: str) -> None:
    for credential in (got.access_token, site.key()):
        answer = site.web.ask(
            "POST",
            "/mcp",
            {**JSON, "Accept": "application/json, text/event-stream", "Authorization": scheme + credential},
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{}}}',
        )
        assert content(answer)["agent"]["handle"] == "atlas"


def test_a_refresh_token_and_nonsense_are_no_way_in(site: Site, got: Tokens) -> None:
    for token in (got.refresh_token, "nonsense", got.access_token[:-1], got.access_token + "x"):
        challenge = challenged(site, token)
        assert token not in challenge


def test_a_token_in_the_url_is_no_way_in(site: Site, got: Tokens) -> None:
    assert call(site.web, "", path=f"/mcp?access_token={got.access_token}").status == 401


def test_a_token_is_refused_at_rest_and_told_where_it_belongs(site: Site, got: Tokens) -> None:
    for token in (got.access_token, got.refresh_token):
        answer = site.web.ask("GET", "/v1/me", {"Authorization": f"Bearer {token}"})
        assert answer.status == 401
        error = answer.json["error"]
        assert (error["code"], "only at /mcp" in error["message"]) == ("unauthenticated", True)
        assert token not in answer.text


def test_a_token_opens_no_page(site: Site, got: Tokens) -> None:
    answer = site.web.ask("GET", "/account", {"Authorization": f"Bearer {got.access_token}"})
    assert answer.location.startswith("/account/sign-in")


def test_a_missing_scope_is_told_with_all_that_the_call_needs(site: Site, app: App) -> None:
    got = app.connect(site.browser(), scopes=["memory:read"])
    answer = call(site.web, got.access_token, "save_memory", id="plan-b", data={"body": "Text", "expected_version": 0})
    assert answer.status == 403
    challenge = answer.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="memory:read memory:write"' in challenge
    assert METADATA in challenge


def test_a_token_is_out_as_soon_as_it_was_given_back(site: Site, app: App, got: Tokens) -> None:
    assert call(site.web, got.access_token).status == 200
    app.revoke(got.refresh_token)
    assert "was ended" in challenged(site, got.access_token)


def test_one_persons_application_does_not_know_another_persons_things(site: Site, app: App, got: Tokens) -> None:
    saved = {"body": "Text", "expected_version": 0}
    call(site.web, got.access_token, "save_memory", id="mine", data=saved)
    theirs = app.connect(site.browser("noor"), scope=EVERYTHING)
    answer = call(site.web, theirs.access_token, "get_memory", id="mine")
    assert content(answer)["error"]["code"] == "not_found"


def test_a_flood_of_registrations_is_stopped_at_the_address_that_the_proxy_names(site: Site) -> None:
    flood, calm = "203.0.113.7", "203.0.113.8"  # RFC 5737
    body = b'{"redirect_uris": ["http://127.0.0.1/cb"]}'
    statuses = [
        site.web.ask("POST", "/oauth/register", JSON, body, x_forwarded_for=flood).status
        for _ in range(REGISTRATIONS + 1)
    ]
    assert statuses == [201] * REGISTRATIONS + [429]
    assert site.web.ask("POST", "/oauth/register", JSON, body, x_forwarded_for=calm).status == 201


def test_a_scheme_that_the_proxy_names_is_the_issuers(site: Site) -> None:
    named = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}
    about = site.web.ask("GET", "/.well-known/oauth-authorization-server", named).json
    assert about["issuer"] == site.web.url, "https is not how this server is reached, so its public URL stands"


def test_no_line_of_the_log_holds_a_secret(site: Site, app: App) -> None:
    browser = site.browser()
    code = app.code(browser, state="a-state-nobody-logs")
    got = app.redeem(code).json
    newer = app.refresh(got["refresh_token"]).json
    app.redeem(code)
    app.refresh(got["refresh_token"], scope="wishes")
    app.token(grant_type="refresh_token", refresh_token=got["refresh_token"], client_id="unknown")
    call(site.web, got["access_token"])
    app.revoke(newer["access_token"])
    secrets = [code, app.verifier, app.challenge, "a-state-nobody-logs", browser.cookies["sessionid"]]
    secrets += [each[name] for each in (got, newer) for name in ("access_token", "refresh_token")]
    log = site.server.err + site.server.out
    assert len(log) > 100
    assert [secret for secret in secrets if secret in log] == []


def test_nothing_of_all_this_was_a_fault_of_the_server(site: Site) -> None:
    assert [line for line in site.lines() if line["level"] == "ERROR" or line.get("status", 0) >= 500] == []
