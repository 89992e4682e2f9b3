"""Applications that register themselves."""

import json
from typing import Any

import pytest

from agentboard import rate
from mcp_bridge.oauth import registration
from mcp_bridge.oauth.models import Application
from tests.mcp_bridge.oauth.flow import CALLBACK, JSON, Answer, App, Web

ACCEPTED = [
    "https://app.example/cb",
    "https://app.example:8443/cb?keep=this",
    "http://127.0.0.1/cb",
    "http://127.0.0.1:33418/",
    "http://[::1]:3118/callback",
    "http://localhost:3118/callback",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "vscode://vscode.microsoft-authentication",
    "vscode-insiders://vscode.microsoft-authentication",
    "windsurf://codeium.windsurf/callback",
]
REFUSED = [
    "http://evil.example/cb",
    "http://127.0.0.1.evil.example/cb",
    "http://localhost.evil.example/cb",
    "http://localhost@evil.example/cb",
    "http://0.0.0.0/cb",
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "myapp://callback",
    "cursor:callback",
    "https://user@evil.example/",
    "https://user:pass@evil.example/",
    "https://a.example/#f",
    "https://a.example/cb#",
    "https:///cb",
    "https://a.example:0/cb",
    "https://a.example:99999/cb",
    "https://a.example:x/cb",
    "https://[::1/cb",
    "https://*.example/cb",
    "https://a.example/c b",
    "https://a.example/\ncb",
    "https://a.example/cb\0",
    "https://a.example\\@b.example/cb",
    "https://приклад.example/cb",
    "https://a.example/" + "a" * 512,
    "//a.example/cb",
    "/cb",
    "cb",
    "",
    "\ud800",
]


def sent(web: Web, body: bytes, content_type: str = "application/json") -> Answer:
    return web.ask("POST", "/oauth/register", {"Content-Type": content_type}, body)


def refused(answer: Answer, error: str, status: int = 400) -> str:
    """The description of a refusal, after what holds for all of them."""
    assert (answer.status, answer.json["error"]) == (status, error)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    description: str = answer.json["error_description"]
    assert description.isascii()
    assert description.endswith(".")
    assert not Application.objects.exists()
    return description


def test_an_application_gets_an_id_and_no_secret(web: Web) -> None:
    answer = App(web).register()
    assert answer.status == 201
    row = Application.objects.get()
    assert answer.json == {
        "client_id": row.client_id,
        "client_id_issued_at": int(row.created.timestamp()),
        "client_name": "Notes",
        "redirect_uris": [CALLBACK],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    assert answer.headers["cache-control"] == "no-store"
    assert (row.client_type, row.client_secret, row.active) == ("public", "", True)


def test_the_other_address_does_the_same(web: Web) -> None:
    assert web.ask("POST", "/register", JSON, json.dumps({"redirect_uris": [CALLBACK]}).encode()).status == 201


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post", "private_key_jwt", None])
def test_however_it_wants_to_authenticate_it_becomes_a_public_client(web: Web, method: str | None) -> None:
    answer = App(web).register(token_endpoint_auth_method=method)
    assert answer.status == 201
    assert answer.json["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in answer.json


@pytest.mark.parametrize("uri", ACCEPTED)
def test_a_redirect_uri_of_its_own_is_accepted(web: Web, uri: str) -> None:
    answer = App(web).register(redirect_uris=[uri])
    assert answer.status == 201
    assert answer.json["redirect_uris"] == [uri]


@pytest.mark.parametrize("uri", REFUSED)
def test_a_redirect_uri_that_could_lead_elsewhere_is_refused_with_the_reason(web: Web, uri: str) -> None:
    description = refused(App(web).register(redirect_uris=[CALLBACK, uri]), "invalid_redirect_uri")
    assert description.startswith("redirect_uris[1] ")


@pytest.mark.parametrize("uris", [None, [], "https://a.example/cb", {}, [1], [None], [["https://a.example/cb"]]])
def test_redirect_uris_must_be_a_list_of_texts(web: Web, uris: Any) -> None:
    refused(App(web).register(redirect_uris=uris), "invalid_redirect_uri")


def test_redirect_uris_are_ten_at_most_and_each_once(web: Web) -> None:
    many = [f"https://a.example/{number}" for number in range(11)]
    assert "not 11" in refused(App(web).register(redirect_uris=many), "invalid_redirect_uri")
    answer = App(web).register(redirect_uris=many[:9] + many[:1])
    assert (answer.status, answer.json["redirect_uris"]) == (201, many[:9])


@pytest.mark.parametrize(
    "grants", [["password"], ["client_credentials"], ["implicit"], ["refresh_token"], [], "x", [{}]]
)
def test_grants_without_the_authorization_code_are_refused(web: Web, grants: Any) -> None:
    assert "authorization_code" in refused(App(web).register(grant_types=grants), "invalid_client_metadata")


def test_grants_beyond_ours_are_left_out_instead_of_refused(web: Web) -> None:
    wanted = ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code", "password"]
    assert App(web).register(grant_types=wanted).json["grant_types"] == ["authorization_code", "refresh_token"]


@pytest.mark.parametrize("types", [["token"], ["id_token"], [], "code"])
def test_response_types_without_code_are_refused(web: Web, types: Any) -> None:
    assert "code" in refused(App(web).register(response_types=types), "invalid_client_metadata")


@pytest.mark.parametrize("name", [1, ["Notes"], {"a": 1}, True])
def test_a_name_that_is_no_text_is_refused(web: Web, name: Any) -> None:
    assert "client_name" in refused(App(web).register(client_name=name), "invalid_client_metadata")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"not json", "not JSON"),
        (b"[]", "must be a JSON object"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 8_000, "deep"),
        (b'{"a":' * 1_600, "deep"),
        (b'{"redirect_uris": [], "redirect_uris": []}', "twice"),
        (b'{"a": NaN}', "not JSON"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "number"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused_with_the_reason(web: Web, body: bytes, words: str) -> None:
    assert words in refused(sent(web, body), "invalid_client_metadata")


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_an_empty_body_lacks_its_redirect_uris(web: Web, body: bytes) -> None:
    refused(sent(web, body), "invalid_redirect_uri")


def test_a_body_larger_than_eight_kibibytes_is_refused(web: Web) -> None:
    described = {"redirect_uris": [CALLBACK], "policy": ""}
    described["policy"] = "x" * (8 * 1024 - len(json.dumps(described)))
    assert "8192" in refused(sent(web, json.dumps(described).encode() + b" "), "invalid_client_metadata", 413)
    refused(sent(web, b"x" * 3_000_000), "invalid_client_metadata", 413)
    assert sent(web, json.dumps(described).encode()).status == 201


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_another_content_type_is_refused(web: Web, content_type: str) -> None:
    refused(sent(web, b'{"redirect_uris": ["https://a.example/cb"]}', content_type), "invalid_client_metadata")


@pytest.mark.parametrize("content_type", ["", "application/json; charset=utf-8"])
def test_json_is_read_however_it_is_labelled_as_such(web: Web, content_type: str) -> None:
    assert sent(web, b'{"redirect_uris": ["https://a.example/cb"]}', content_type).status == 201


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("  Notes\n\t Keeper ", "Notes Keeper"),
        ("Cl\u200baude", "Claude"),
        ("\u202eedualC\u202c", "edualC"),
        ("\u2066x\u2069\x00\x1b[31m", "x [31m"),
        ("e\u0301\u0301\u0301\u0301\u0301\u0301", "é\u0301\u0301"),
        ("", "An app without a name"),
        (None, "An app without a name"),
        ("\u200b\u202e", "An app without a name"),
        ("\ud800", "An app without a name"),
        ("<b>Notes</b>", "<b>Notes</b>"),
        ("N" * 61, "N" * 59 + "…"),
        ("日本語メモ", "日本語メモ"),
    ],
)
def test_a_name_is_kept_on_one_line_without_what_nobody_can_see(web: Web, name: str | None, shown: str) -> None:
    assert App(web).register(client_name=name).json["client_name"] == shown
    assert Application.objects.get().name == shown


def test_a_registration_hands_out_nothing_that_lets_anybody_in(web: Web) -> None:
    assert (
        not {"client_secret", "registration_access_token", "registration_client_uri"} & App(web).register().json.keys()
    )


def test_an_address_may_register_only_so_many_applications_an_hour(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "REGISTRATIONS", rate.Buckets("address", 20 / 60, 3, 1))
    assert [App(web).register(redirect_uris=["bad"]).status for _ in range(5)] == [400] * 5
    assert [App(web).register().status for _ in range(3)] == [201] * 3
    answer = App(web).register()
    assert (answer.status, answer.json["error"]) == (429, "temporarily_unavailable")
    assert 170 <= int(answer.headers["retry-after"]) <= 180
    assert answer.headers["retry-after"] in answer.json["error_description"]
    assert answer.headers["access-control-allow-origin"] == "*"


def test_bad_registrations_use_up_the_budget_of_their_address(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "ADDRESSES", rate.Buckets("address", 1, 2, 1))
    assert [sent(web, b"x").status for _ in range(3)] == [400, 400, 429]
