"""What clients learn by themselves."""

import pytest

from agentboard.identity.scopes import ALL_SCOPES
from tests.mcp_bridge.oauth.flow import HERE, App, Web

pytestmark = pytest.mark.no_database  # the metadata come from the settings

RESOURCE = ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource")
ISSUER = "/.well-known/oauth-authorization-server"
PROGRAMS = (*RESOURCE, ISSUER, "/oauth/register", "/register", "/oauth/token", "/token", "/oauth/revoke")


@pytest.mark.parametrize("path", RESOURCE)
def test_the_resource_is_the_endpoint_at_the_origin_that_was_asked(web: Web, path: str) -> None:
    for origin in (HERE, "http://localhost:8000", "http://[::1]:8000"):
        found = web.ask("GET", path, host=origin.removeprefix("http://")).json
        assert found["resource"] == f"{origin}/mcp"
        assert found["authorization_servers"] == [origin]
        assert found["scopes_supported"] == list(ALL_SCOPES)
        assert found["bearer_methods_supported"] == ["header"]


def test_the_issuer_is_the_origin_that_was_asked_and_so_is_that_of_every_address(web: Web) -> None:
    for origin in (HERE, "http://localhost:8000"):
        found = web.ask("GET", ISSUER, host=origin.removeprefix("http://")).json
        assert found["issuer"] == origin
        addresses = [value for name, value in found.items() if name.endswith("_endpoint")]
        assert sorted(addresses) == [f"{origin}/oauth/{name}" for name in ("authorize", "register", "revoke", "token")]


def test_what_is_offered_is_what_is_served(web: Web) -> None:
    found = web.ask("GET", ISSUER).json
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert found["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert found["response_types_supported"] == ["code"]
    assert found["token_endpoint_auth_methods_supported"] == ["none"]
    assert found["authorization_response_iss_parameter_supported"] is True
    assert found["client_id_metadata_document_supported"] is True


@pytest.mark.parametrize(
    "path",
    [f"{ISSUER}/mcp", f"{ISSUER}/", f"{RESOURCE[0]}/", f"{RESOURCE[1]}/v1", f"{RESOURCE[1]}/mcp/x"]
    + [f"/.well-known/{name}" for name in ("openid-configuration", "jwks.json", "oauth-protected-resource.json")],
)
def test_no_other_address_has_metadata(web: Web, path: str) -> None:
    assert web.ask("GET", path).status == 404


@pytest.mark.parametrize("path", [*RESOURCE, ISSUER])
def test_metadata_is_for_reading_only_and_says_so_in_json(web: Web, path: str) -> None:
    assert web.ask("HEAD", path).status == 200
    refused = web.post(path, {})
    assert (refused.status, refused.headers["allow"]) == (405, "GET, OPTIONS")
    assert refused.json["error"] == "invalid_request"


@pytest.mark.parametrize("path", PROGRAMS)
def test_scripts_of_any_site_may_ask_and_read_and_never_with_cookies(web: Web, path: str) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    preflight = web.ask("OPTIONS", path, asked, origin="https://inspector.example")
    assert preflight.status == 204
    answers = [preflight, web.ask("GET", path, origin="https://inspector.example")]
    answers += [web.post(path, {}, origin="https://inspector.example")]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers
        assert "set-cookie" not in answer.headers
    assert "*" in preflight.headers["access-control-allow-headers"]


def test_scripts_may_not_ask_the_consent_page(web: Web, app: App) -> None:
    assert "access-control-allow-origin" not in web.ask("GET", app.request(), origin="https://evil.example").headers


ELSEWHERE = """introspect device device-authorization applications applications/register authorized_tokens userinfo
logout revoke_token register/x authorize/ token/ register/""".split()


@pytest.mark.parametrize("prefix", ["/oauth/", "/o/", "/"])
def test_nothing_else_of_the_toolkit_is_served(web: Web, prefix: str) -> None:
    assert [path for path in ELSEWHERE if web.ask("GET", prefix + path).status != 404] == []
    assert [path for path in ELSEWHERE if web.post(prefix + path, {}).status not in (403, 404)] == []
