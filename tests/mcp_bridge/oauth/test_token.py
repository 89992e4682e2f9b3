"""Codes in, tokens out."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agentboard import rate
from agentboard.contract.errors import Refusal
from agentboard.identity import keys
from agentboard.identity.models import Agent, Person
from mcp_bridge.oauth.bearer import from_token
from mcp_bridge.oauth.models import AccessToken, Application, Connection, Grant, RefreshToken
from tests.mcp_bridge.oauth.flow import CALLBACK, Answer, App, Browser, Web, tokens


def refused(answer: Answer, error: str, status: int = 400) -> str:
    """The description of a refusal, after what holds for all of them."""
    assert (answer.status, answer.json["error"]) == (status, error), answer.body
    assert answer.json.keys() == {"error", "error_description"}
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert ("www-authenticate" in answer.headers) == (status == 401)
    description: str = answer.json["error_description"]
    assert description.isascii()
    assert '"' not in description
    assert description.endswith(".")
    return description


def works(access_token: str) -> bool:
    try:
        from_token(access_token)
    except Refusal:
        return False
    return True


def test_a_code_gets_an_access_token_of_an_hour_and_a_refresh_token(app: App, browser: Browser) -> None:
    answer = app.redeem(app.code(browser))
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    got = answer.json
    assert got.keys() == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}
    assert (got["token_type"], got["expires_in"], got["scope"]) == ("Bearer", 3600, "memory:read posts:read")
    assert keys.well_formed(got["access_token"], keys.ACCESS_TOKEN)
    assert keys.well_formed(got["refresh_token"], keys.REFRESH_TOKEN)


def test_the_other_address_does_the_same(app: App, browser: Browser) -> None:
    code = app.code(browser)
    form = {"grant_type": "authorization_code", "code": code, "client_id": app.client_id, "code_verifier": app.verifier}
    assert app.web.post("/token", form).status == 200


def test_nothing_that_opens_anything_is_stored(app: App, browser: Browser) -> None:
    code = app.code(browser)
    stored = [str(row) for model in (Grant, Connection) for row in model._default_manager.values()]
    got = tokens(app.redeem(code))
    stored += [str(row) for model in (AccessToken, RefreshToken, Connection) for row in model._default_manager.values()]
    for secret in (code, app.verifier, got.access_token, got.refresh_token):
        assert not any(secret in row for row in stored)


def test_all_tokens_are_for_the_endpoint_whether_the_client_named_it_or_not(app: App, browser: Browser) -> None:
    tokens(app.redeem(app.code(browser, resource=""), resource=None))
    assert {tuple(row) for row in AccessToken.objects.values_list("resource", flat=True)} == {(f"{app.web.url}/mcp",)}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_verifier": "z" * 50}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_request"),
        ({"code_verifier": "z" * 42}, "invalid_request"),
        ({"code_verifier": "z" * 129}, "invalid_request"),
        ({"code_verifier": "ü" * 50}, "invalid_request"),
        ({"redirect_uri": "http://127.0.0.1:1/callback"}, "invalid_grant"),
        ({"redirect_uri": "https://evil.example/"}, "invalid_grant"),
        ({"redirect_uri": f"{CALLBACK}#"}, "invalid_grant"),
        ({"code": "unknown"}, "invalid_grant"),
        ({"code": None}, "invalid_request"),
        ({"code": "\ud7ff" * 9}, "invalid_grant"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"grant_type": None}, "invalid_request"),
        ({"grant_type": "password", "username": "mira", "password": "x"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": "implicit"}, "unsupported_grant_type"),
        ({"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": "x"}, "unsupported_grant_type"),
        ({"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "x"}, "unsupported_grant_type"),
        ({"grant_type": "AUTHORIZATION_CODE"}, "unsupported_grant_type"),
        ({"grant_type": "refresh_token"}, "invalid_request"),
    ],
)
def test_a_wrong_exchange_is_refused_and_a_right_one_still_works_after_it(
    app: App, browser: Browser, changes: dict[str, str | None], error: str
) -> None:
    code = app.code(browser)
    refused(app.redeem(code, **changes), error)
    assert not AccessToken.objects.exists()
    tokens(app.redeem(code))


@pytest.mark.parametrize("client_id", [None, "unknown", "x\0", "é"])
def test_an_unknown_client_is_told_to_register(app: App, browser: Browser, client_id: str | None) -> None:
    code = app.code(browser)
    if client_id == "x\0":
        refused(app.redeem(code, client_id=client_id), "invalid_request")
    else:
        assert "register" in refused(app.redeem(code, client_id=client_id), "invalid_client", 401)


def test_the_code_of_another_client_gets_nothing_and_ends_nothing(app: App, browser: Browser, web: Web) -> None:
    code = app.code(browser)
    other = App(web)
    other.register()
    other.verifier = app.verifier
    refused(other.redeem(code), "invalid_grant")
    got = tokens(app.redeem(code))
    refused(other.redeem(code), "invalid_grant")
    assert works(got.access_token)


def test_the_redirect_uri_may_be_left_out(app: App, browser: Browser) -> None:
    Application.objects.update(redirect_uris=f"{CALLBACK} https://app.example/cb")
    tokens(app.redeem(app.code(browser), redirect_uri=None))


def test_a_code_that_is_used_again_gets_nothing_and_ends_what_it_got(app: App, browser: Browser) -> None:
    code = app.code(browser)
    got = tokens(app.redeem(code))
    newer = tokens(app.refresh(got.refresh_token))
    assert "used before" in refused(app.redeem(code), "invalid_grant")
    assert not works(got.access_token)
    assert not works(newer.access_token)
    refused(app.refresh(newer.refresh_token), "invalid_grant")
    assert Connection.objects.get().ended_at is not None


def test_a_code_that_is_used_again_with_a_wrong_verifier_ends_what_it_got(app: App, browser: Browser) -> None:
    code = app.code(browser)
    got = tokens(app.redeem(code))
    refused(app.redeem(code, code_verifier="z" * 50), "invalid_grant")
    assert not works(got.access_token)


def test_a_code_lives_for_a_minute(app: App, browser: Browser) -> None:
    code = app.code(browser)
    life = Grant.objects.get().expires - timezone.now()
    assert timedelta(seconds=50) < life <= timedelta(seconds=60)
    Grant.objects.update(expires=timezone.now())
    assert "expired" in refused(app.redeem(code), "invalid_grant")


def test_the_secret_of_a_client_that_has_none_is_passed_over(app: App, browser: Browser) -> None:
    tokens(app.redeem(app.code(browser), client_secret="anything"))


def test_the_client_id_must_stand_in_the_body(app: App, browser: Browser) -> None:
    form = {"grant_type": "authorization_code", "code": app.code(browser), "code_verifier": app.verifier}
    answer = app.web.post("/oauth/token", form, authorization="Basic eDp5")
    assert "client_id in the body" in refused(answer, "invalid_client", 401)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: Person.objects.filter(username="mira").update(is_active=False), "owner of the agent atlas"),
        (lambda: Agent.objects.filter(handle="atlas").update(active=False), "agent atlas is deactivated"),
        (
            lambda: Agent.objects.filter(handle="atlas").update(owner=Person.objects.get(username="noor")),
            "another person",
        ),
        (lambda: Connection.objects.get().end(), "does not know this code"),
    ],
)
def test_who_may_no_longer_act_gets_nothing_for_a_code(
    app: App, browser: Browser, boreas: Agent, change: Any, words: str
) -> None:
    code = app.code(browser)
    change()
    assert words in refused(app.redeem(code), "invalid_grant")


def test_a_deleted_agent_person_or_application_leaves_an_unknown_code(app: App, browser: Browser) -> None:
    code = app.code(browser)
    Agent.objects.filter(handle="atlas").delete()
    assert "does not know this code" in refused(app.redeem(code), "invalid_grant")
    Application.objects.all().delete()
    refused(app.redeem(code), "invalid_client", 401)


def test_a_blocked_application_is_unknown(app: App, browser: Browser) -> None:
    code = app.code(browser)
    Application.objects.update(active=False)
    refused(app.redeem(code), "invalid_client", 401)


# ---- bodies that nobody should send

BODIES: list[tuple[bytes, str]] = [
    (b"", "grant_type"),
    (b"grant_type=authorization_code&grant_type=authorization_code", "more than once"),
    (b"grant_type=authorization_code&code=a&code=b", "more than once"),
    (b"grant_type=authorization_code&client_id=a&client_id=b", "more than once"),
    (b"grant_type=%ff", "not UTF-8"),
    (b"grant_type=%00", "NUL"),
    (b"%00=x", "NUL"),
    (b"\xff\xfe", "percent-encoded"),
    (b"&".join(b"a%d=b" % number for number in range(60)), "more than 50"),
    (b"=&=&%zz", "more than once"),
    (b"%", "grant_type"),
    (b'{"grant_type": "authorization_code"}', "grant_type"),
]


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
def test_a_body_that_cannot_be_read_is_refused_in_json(web: Web, path: str) -> None:
    for body, words in BODIES:
        answer = web.ask("POST", path, {"Content-Type": "application/x-www-form-urlencoded"}, body)
        description = refused(answer, "invalid_request")
        assert words in description or (path == "/oauth/revoke" and "as token" in description)


TYPES = ["application/json", "text/plain", "multipart/form-data; boundary=x", "multipart/form-data", "x/y; charset=no"]


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
def test_another_content_type_is_refused_in_json(web: Web, path: str) -> None:
    for content_type in TYPES:
        answer = web.ask("POST", path, {"Content-Type": content_type}, b'{"grant_type": "refresh_token"}')
        assert "x-www-form-urlencoded" in refused(answer, "invalid_request")


def test_a_body_without_a_type_is_taken_for_a_form(app: App, browser: Browser) -> None:
    got = app.connect(browser)
    body = f"grant_type=refresh_token&refresh_token={got.refresh_token}&client_id={app.client_id}"
    assert app.web.ask("POST", "/oauth/token", {}, body.encode()).status == 200


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
def test_too_much_is_not_read(web: Web, path: str) -> None:
    for size in (16 * 1024 + 1, 3_000_000):
        answer = web.ask("POST", path, {"Content-Type": "application/x-www-form-urlencoded"}, b"x" * size)
        refused(answer, "invalid_request", 413)


def test_parameters_in_the_url_are_refused(app: App, browser: Browser) -> None:
    form = {"grant_type": "authorization_code", "code": app.code(browser), "code_verifier": app.verifier}
    answer = app.web.post(f"/oauth/token?client_id={app.client_id}", form)
    assert "none in the URL" in refused(answer, "invalid_request")


def test_reading_the_addresses_is_refused_in_json(web: Web) -> None:
    for path in ("/oauth/token", "/oauth/revoke", "/oauth/register"):
        for verb in ("GET", "PUT", "DELETE"):
            answer = web.ask(verb, path)
            refused(answer, "invalid_request", 405)
            assert answer.headers["allow"] == "POST, OPTIONS"


def test_failures_use_up_the_budget_of_their_address_and_successes_do_not(
    app: App, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = app.code(browser)
    monkeypatch.setattr(rate, "ADDRESSES", rate.Buckets("address", 1, 2, 1))
    for _ in range(2):
        refused(app.redeem("unknown"), "invalid_grant")
    answer = app.redeem("unknown")
    assert (answer.status, answer.headers["retry-after"]) == (429, "60")
    tokens(app.redeem(code))
