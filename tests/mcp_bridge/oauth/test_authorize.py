"""What an application may ask a person for, and where the refusal of anything else goes."""

import secrets
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from django.contrib.auth.hashers import make_password
from django.test import override_settings

from agentboard import rate
from agentboard.identity.models import Person
from agentboard.identity.scopes import ALL_SCOPES
from mcp_bridge.oauth.models import Application, Connection, Grant
from tests.mcp_bridge.oauth.flow import CALLBACK, HERE, App, Browser, Page, Web, signed_in


def sent_back(browser: Browser, path: str, error: str) -> str:
    """The description that a redirect to the application carries, after what holds for all of them."""
    answer = browser.get(path)
    assert answer.status == 302, answer.text
    assert answer.location.startswith(f"{CALLBACK}?")
    assert (answer.told["error"], answer.told["iss"], answer.told["state"]) == (error, HERE, "st")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert not Grant.objects.exists()
    description = answer.told["error_description"]
    assert description.isascii()
    assert description.endswith(".")
    return description


def refused(browser: Browser, path: str, status: int = 400) -> str:
    """The page that says why, and nothing goes to any application."""
    answer = browser.get(path)
    assert answer.status == status, answer.location
    assert "location" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"
    assert "An app’s request can’t be answered" in answer.text
    return answer.text


def test_who_is_not_signed_in_signs_in_first_and_comes_back(web: Web, app: App) -> None:
    path = app.request()
    answer = Browser(web).get(path)
    assert answer.status == 302
    assert urlsplit(answer.location).path == "/account/sign-in"
    assert parse_qs(urlsplit(answer.location).query) == {"next": [path]}


def test_signing_in_on_the_way_leads_back_with_a_session_of_its_own(web: Web, app: App, mira: Person) -> None:
    planted = "fixed" * 6
    browser = Browser(web, {"sessionid": planted})
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        Person.objects.filter(pk=mira.pk).update(password=make_password("violet harbour 27"))
        answer = signed_in(browser, "mira", "violet harbour 27", browser.get(app.request()).location)
    assert answer.location == app.request()
    assert browser.cookies["sessionid"] not in ("", planted)
    assert browser.get(answer.location).status == 200
    assert Browser(web, {"sessionid": planted}).get(app.request()).status == 302


def test_the_other_address_asks_the_same(browser: Browser, app: App) -> None:
    assert "Which agent may it act as?" in browser.get(app.request().removeprefix("/oauth")).text


@pytest.mark.parametrize("prompt", ["none", "none consent"])
def test_without_asking_nothing_is_allowed(web: Web, browser: Browser, app: App, prompt: str) -> None:
    app.connect(browser)
    assert "sign in" in sent_back(Browser(web), app.request(prompt=prompt), "login_required")
    assert "allow it" in sent_back(browser, app.request(prompt=prompt), "consent_required")
    refused(Browser(web), app.request(prompt=prompt, redirect_uri="https://evil.example/"))
    refused(Browser(web), app.request(prompt=prompt, client_id="unknown"))


@pytest.mark.parametrize(
    "parameter", ["approval_prompt=auto", "approval_prompt=force", "skip_authorization=true", "prompt=consent"]
)
def test_no_parameter_skips_the_page(browser: Browser, app: App, parameter: str) -> None:
    app.connect(browser)
    answer = browser.get(f"{app.request()}&{parameter}")
    assert (answer.status, "Which agent may it act as?" in answer.text) == (200, True)
    assert Connection.objects.count() == 1


def test_looking_at_the_page_allows_nothing(browser: Browser, app: App) -> None:
    for path in (app.request(), f"{app.request()}&decision=allow&agent=atlas&scopes=memory:read"):
        assert browser.get(path).status == 200
        assert browser.web.ask("HEAD", path, browser._cookie()).status == 200
    assert not Connection.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"code_challenge": None},
        {"code_challenge_method": None},
        {"code_challenge_method": "plain"},
        {"code_challenge_method": "S512"},
        {"code_challenge": None, "code_challenge_method": None},
        {"code_challenge": ""},
        {"code_challenge": "x" * 42},
        {"code_challenge": "x" * 44},
        {"code_challenge": "x" * 42 + "="},
        {"code_challenge": "x" * 42 + "\n"},
    ],
)
def test_without_pkce_by_s256_nothing_is_allowed(browser: Browser, app: App, changes: dict[str, str | None]) -> None:
    assert "code_challenge" in sent_back(browser, app.request(**changes), "invalid_request")


@pytest.mark.parametrize("kind", ["token", "id_token", "code token", "code id_token", "none", "CODE", "x"])
def test_only_a_code_is_given(browser: Browser, app: App, kind: str) -> None:
    sent_back(browser, app.request(response_type=kind), "unsupported_response_type")


def test_a_request_without_response_type_is_refused(browser: Browser, app: App) -> None:
    sent_back(browser, app.request(response_type=None), "invalid_request")


def test_the_rows_of_an_application_open_no_other_way(browser: Browser, app: App) -> None:
    Application.objects.update(authorization_grant_type=Application.GRANT_IMPLICIT)
    sent_back(browser, app.request(response_type="token"), "unsupported_response_type")
    assert browser.get(app.request()).status == 200


@pytest.mark.parametrize(
    "resource",
    [
        "https://other.example/mcp",
        f"{HERE}/",
        f"{HERE}/mcp/x",
        f"{HERE}/v1",
        f"{HERE}/mcp#x",
        "mcp",
        " ",
        "http://[",
        HERE,
        "http://127.0.0.1:8001/mcp",
        "https://127.0.0.1:8000/mcp",
        f"{HERE}@evil.example/mcp",
        "urn:x:y",
    ],
)
def test_a_foreign_resource_is_refused(browser: Browser, app: App, resource: str) -> None:
    assert "/mcp" in sent_back(browser, app.request(resource=resource), "invalid_target")


def test_one_foreign_resource_among_several_is_refused(browser: Browser, app: App) -> None:
    sent_back(browser, f"{app.request()}&resource={quote('https://other.example/mcp')}", "invalid_target")


@pytest.mark.parametrize(
    "resource",
    [
        None,
        f"{HERE}/mcp",
        f"{HERE}/mcp/",
        f"{HERE}/mcp?toolsets=memory",
        "HTTP://127.0.0.1:8000/mcp",
        "http://localhost:8000/mcp",
    ],
)
def test_the_endpoint_is_meant_however_it_is_spelled_and_by_none_at_all(
    browser: Browser, app: App, resource: str | None
) -> None:
    assert "code" in browser.consent(app.request(resource=resource)).told
    assert Grant.objects.get().resource == [f"{HERE}/mcp"]


def test_two_spellings_of_the_endpoint_are_one_resource(browser: Browser, app: App) -> None:
    assert "code" in browser.consent(f"{app.request()}&resource={quote('http://localhost:8000/mcp')}").told


@pytest.mark.parametrize("scope", ["wishes:read", "openid profile", "memory", "MEMORY:READ"])
def test_scopes_of_which_none_exists_are_refused(browser: Browser, app: App, scope: str) -> None:
    sent_back(browser, app.request(scope=scope), "invalid_scope")


def test_scopes_that_do_not_exist_are_passed_over_beside_one_that_does(browser: Browser, app: App) -> None:
    shown = Page(browser.get(app.request(scope="posts:read offline_access memory:read posts:read")).text)
    assert shown.chosen["scopes"] == ["memory:read", "posts:read"]


@pytest.mark.parametrize("scope", [None, ""])
def test_without_a_wish_the_person_is_asked_for_all_scopes(browser: Browser, app: App, scope: str | None) -> None:
    assert Page(browser.get(app.request(scope=scope)).text).chosen["scopes"] == list(ALL_SCOPES)


# ---- where the answer goes


REGISTERED = "http://localhost:3118/callback http://127.0.0.1/cb http://[::1]/cb https://app.example/cb https://app.example/q?a=b"


@pytest.fixture
def several(browser: Browser, app: App) -> App:
    """The application, registered with addresses of every kind."""
    Application.objects.update(redirect_uris=REGISTERED)
    return app


@pytest.mark.parametrize(
    "uri",
    [
        "http://localhost:49152/callback",
        "http://localhost/callback",
        "http://127.0.0.1:50000/cb",
        "http://[::1]:50000/cb",
        "https://app.example/cb",
        "https://app.example/q?a=b",
    ],
)
def test_the_port_of_a_loopback_address_is_free(browser: Browser, several: App, uri: str) -> None:
    answer = browser.consent(several.request(redirect_uri=uri))
    assert answer.location.startswith(f"{uri}{'&' if '?' in uri else '?'}code=")


@pytest.mark.parametrize(
    "uri",
    [
        "http://localhost:50000/cb",
        "http://127.0.0.1:3118/callback",
        "https://app.example:8443/cb",
        "https://app.example/cb/",
        "https://app.example/cb?a=b",
        "https://app.example/cb?",
        "https://app.example/q",
        "https://app.example/q?a=c",
        "https://app.example/cb;x",
        "https://app.example/x/../cb",
        "https://user@app.example/cb",
        "https://app.example/cb#f",
        "https://app.example/cb#",
        "http://app.example/cb",
        "https://app.example.evil.example/cb",
        "http://127.0.0.1:50000/other",
        "http://127.0.0.1.evil.example/cb",
        "http://localhost@evil.example/cb",
        "http://127.0.0.1:99999/cb",
        "http://127.0.0.1:0/cb",
        "http://127.0.0.1:x/cb",
        "http://127.0.0.1:/cb#",
        "http://127.0.0.1\\@evil.example/cb",
        "http://[::1/cb",
        "javascript:alert(1)",
        "/cb",
        "\nhttps://app.example/cb",
        "https://app.example/cb\r\nX: y",
        "https://аpp.example/cb",
    ],
)
def test_an_address_that_was_not_registered_gets_nothing(browser: Browser, several: App, uri: str) -> None:
    refused(browser, several.request(redirect_uri=uri))
    assert not Connection.objects.exists()


def test_the_only_address_need_not_be_named_and_one_of_several_must(browser: Browser, app: App) -> None:
    assert browser.consent(app.request(redirect_uri=None)).location.startswith(f"{CALLBACK}?code=")
    Application.objects.update(redirect_uris=REGISTERED)
    assert "waits for you" in refused(browser, app.request(redirect_uri=None))


# ---- requests that cannot be answered


@pytest.mark.parametrize("client_id", [None, "", "unknown", "unknown\n", "x" * 3_000, "é\u202e", "<script>"])
def test_an_unknown_application_gets_nothing(browser: Browser, app: App, client_id: str | None) -> None:
    assert "<script>" not in refused(browser, app.request(client_id=client_id))


def test_a_blocked_application_gets_nothing(browser: Browser, app: App) -> None:
    Application.objects.update(active=False)
    assert "blocked" in refused(browser, app.request(), 403)


@pytest.mark.parametrize(
    "name", ["client_id", "redirect_uri", "response_type", "scope", "state", "code_challenge", "x"]
)
def test_a_parameter_that_comes_twice_is_refused(browser: Browser, app: App, name: str) -> None:
    assert "more than once" in refused(browser, f"{app.request()}&{name}=x&{name}=x")


@pytest.mark.parametrize(
    "query",
    [
        "client_id=%ff",
        "client_id=%00",
        "%00=x",
        "client_id=%zz",
        "&".join(f"a{n}=b" for n in range(60)),
        "=",
        "&&",
        "%",
        "",
        "client_id=%ed%a0%80",
    ],
)
def test_a_query_that_cannot_be_read_breaks_nothing(browser: Browser, query: str) -> None:
    refused(browser, f"/oauth/authorize?{query}")


def test_bytes_that_are_no_text_break_nothing(web: Web) -> None:
    assert web.ask("GET", "/oauth/authorize?client_id=\xff").status in (302, 400)


@pytest.mark.parametrize("state", ["a b&c=d", "é\u202e<script>", "x" * 4_000, None, "a\nb"])
def test_the_state_comes_back_as_it_was(browser: Browser, app: App, state: str | None) -> None:
    for decision in ("allow", "deny"):
        answer = browser.consent(app.request(state=state), decision=decision)
        assert answer.status == 302
        assert parse_qs(urlsplit(answer.location).query, keep_blank_values=True).get("state") == (
            None if state is None else [state]
        )


def test_names_of_our_own_in_the_query_change_nothing(browser: Browser, app: App, mira: Person) -> None:
    more = "&".join(
        f"{name}=x" for name in ("user", "client", "scopes", "request", "grant", "connection", "code", "token")
    )
    answer = browser.consent(f"{app.request()}&{more}")
    assert Connection.objects.get().person == mira
    assert "code" in answer.told


def test_the_answer_names_the_origin_at_which_the_person_answered(browser: Browser, app: App) -> None:
    answer = browser.get(app.request(scope="x"), host="localhost:8000")
    assert answer.told["iss"] == "http://localhost:8000"


def test_an_address_that_asks_for_too_many_documents_is_told_to_wait(
    browser: Browser, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate, "ADDRESSES", rate.Buckets("address", 1, 1, 1))
    hosts = [f"https://{secrets.token_hex(4)}.invalid/client" for _ in range(2)]
    assert "could not be read" in refused(browser, app.request(client_id=hosts[0]))
    answer = browser.get(app.request(client_id=hosts[1]))
    assert (answer.status, answer.headers["retry-after"]) == (429, "60")


def test_who_is_not_signed_in_makes_the_server_fetch_nothing(
    web: Web, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate, "ADDRESSES", rate.Buckets("address", 1, 1, 1))
    for _ in range(3):
        refused(Browser(web), app.request(client_id="https://nowhere.invalid/client", prompt="none"))
