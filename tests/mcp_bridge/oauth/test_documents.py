"""Applications whose client_id is the URL of a document about them."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.core.cache import cache
from django.utils import timezone
from oauth2_provider import cimd
from pytest_django.fixtures import Settings

from mcp_bridge.oauth.bearer import from_token
from mcp_bridge.oauth.documents import Fetcher, narrowed
from mcp_bridge.oauth.models import Application
from tests.mcp_bridge.oauth import fixtures
from tests.mcp_bridge.oauth.fixtures import ASSERTION, CHATGPT, CLAUDE, CLAUDE_CODE, DEVICE, HEADLESS, VS_CODE
from tests.mcp_bridge.oauth.flow import App, Browser, Web, tokens
from tests.mcp_bridge.oauth.test_authorize import refused

pytestmark = pytest.mark.no_database  # a document is fetched and read before any row is written

RETURNS = {
    CLAUDE: "https://claude.ai/api/mcp/auth_callback",
    CLAUDE_CODE: "http://localhost:58135/callback",
    VS_CODE: "http://127.0.0.1:33418/",
    CHATGPT: "https://chatgpt.com/connector/oauth/abc",
    HEADLESS: "http://127.0.0.1:4444/callback",
}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What could not be fetched is asked for anew."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def published(settings: Settings) -> None:
    """The documents of fixtures.py are all there is."""
    fetcher = {"CIMD_METADATA_FETCHER": "tests.mcp_bridge.oauth.fixtures.Documents"}
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, **fetcher}


@pytest.mark.parametrize("client_id", RETURNS)
def test_a_widespread_application_connects_by_its_document(
    published: None, web: Web, browser: Browser, client_id: str
) -> None:
    app = App(web, RETURNS[client_id], client_id)
    got = app.connect(browser)
    name = fixtures.DOCUMENTS[client_id]["client_name"]
    assert from_token(got.access_token).via == f"mcp ({name})"
    tokens(app.refresh(got.refresh_token))
    refused(browser, app.request(redirect_uri="https://evil.example/cb"))
    row = Application.objects.get()
    assert (row.client_id, row.registration_source, row.client_secret) == (client_id, "cimd", "")


def test_a_document_is_fetched_again_when_it_has_grown_old(
    published: None, web: Web, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App(web, RETURNS[HEADLESS], HEADLESS)
    app.connect(browser)
    changed = {**fixtures.DOCUMENTS[HEADLESS], "client_name": "Renamed", "redirect_uris": ["https://client.example/cb"]}
    monkeypatch.setitem(fixtures.DOCUMENTS, HEADLESS, changed)
    assert browser.get(app.request()).status == 200
    Application.objects.update(cimd_expires_at=timezone.now() - timedelta(seconds=1))
    refused(browser, app.request())
    assert Application.objects.get().name == "Renamed"
    monkeypatch.delitem(fixtures.DOCUMENTS, HEADLESS)
    Application.objects.update(cimd_expires_at=timezone.now() - timedelta(seconds=1))
    assert browser.get(app.request(redirect_uri="https://client.example/cb")).status == 200, "the last good one counts"


def test_a_blocked_application_stays_blocked_whatever_its_document_says(
    published: None, web: Web, browser: Browser
) -> None:
    app = App(web, RETURNS[HEADLESS], HEADLESS)
    app.connect(browser)
    Application.objects.update(active=False, cimd_expires_at=timezone.now() - timedelta(seconds=1))
    refused(browser, app.request(), 403)
    assert not Application.objects.get().active


def test_a_document_takes_over_no_application_of_another_kind(published: None, web: Web, browser: Browser) -> None:
    app = App(web, RETURNS[HEADLESS])
    app.register()
    Application.objects.update(client_id=HEADLESS)
    app.client_id = HEADLESS
    assert "This app named itself" in browser.get(app.request(redirect_uri=RETURNS[HEADLESS])).text
    assert Application.objects.get().registration_source == "dcr"


# ---- what a document may say


def document(**changes: Any) -> dict[str, Any]:
    said = {"client_id": HEADLESS, "client_name": "Headless", "redirect_uris": ["https://client.example/cb"], **changes}
    return narrowed(said, HEADLESS)


@pytest.mark.parametrize("more", [[DEVICE], [ASSERTION, "refresh_token"], ["implicit", "password", "x"]])
def test_grants_beyond_ours_are_left_out(more: list[str]) -> None:
    assert document(grant_types=["authorization_code", *more])["grant_types"] == ["authorization_code"]


@pytest.mark.parametrize("grants", [["client_credentials"], [], [DEVICE]])
def test_grants_without_ours_stay_as_they_are_and_are_refused(grants: list[str]) -> None:
    assert document(grant_types=grants)["grant_types"] == grants
    with pytest.raises(cimd.CIMDError):
        cimd._build_application_kwargs(document(grant_types=grants))


def test_redirect_uris_that_could_lead_elsewhere_are_left_out() -> None:
    said = ["http://evil.example/", "javascript:alert(1)", 1, None, "https://client.example/cb", "https://a@b.example/"]
    assert document(redirect_uris=said)["redirect_uris"] == ["https://client.example/cb"]
    assert len(document(redirect_uris=[f"https://client.example/{n}" for n in range(99)])["redirect_uris"]) == 20


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\u202eevil", "evil"),
        ("", "client.example"),
        (None, "client.example"),
        (1, "client.example"),
        ("x" * 999, "x" * 59 + "…"),
    ],
)
def test_a_name_is_made_harmless_and_the_host_stands_for_none(name: Any, shown: str) -> None:
    assert document(client_name=name)["client_name"] == shown


@pytest.mark.parametrize("value", [1, "authorization_code", {"a": 1}, [[]], None])
def test_values_of_a_wrong_type_break_nothing(value: Any) -> None:
    said = document(grant_types=value, redirect_uris=value, token_endpoint_auth_methods_supported=value)
    with pytest.raises(cimd.CIMDError):
        cimd._build_application_kwargs(said)


# ---- fetching, over a real connection


class Site:
    """An HTTPS server of this machine that answers as a test wants it to."""

    def __init__(self, port: int) -> None:
        self.origin = f"https://localhost:{port}"
        self.client_id = f"{self.origin}/client.json"
        self.answer: Callable[[BaseHTTPRequestHandler], None] = self.serve
        self.asked: list[str] = []

    def described(self, **changes: Any) -> bytes:
        about = {"client_id": self.client_id, "client_name": "Local", "redirect_uris": [f"{self.origin}/cb"], **changes}
        return json.dumps(about).encode()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        reply(handler, 200, self.described())


def reply(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str = "application/json", **more: str
) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **more}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def certified(folder: Path) -> ssl.SSLContext:
    """A server's side of TLS for localhost, by a certificate of its own in folder/certificate.pem."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    made = made.add_extension(names, False).add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
    pem = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    (folder / "certificate.pem").write_bytes(pem)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "both.pem").write_bytes(pem + key.private_bytes(*form))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site that this process trusts and, other than in production, takes for a public one."""
    found: list[Site] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found[0].asked.append(self.path)
            found[0].answer(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hangs up is what is tested
    server.socket = certified(tmp_path).wrap_socket(server.socket, server_side=True)
    found.append(Site(server.server_address[1]))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    monkeypatch.setattr(cimd, "_ip_is_public", lambda ip: ip in ("127.0.0.1", "::1"))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield found[0]
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_document_is_fetched_and_narrowed(site: Site) -> None:
    site.answer = lambda handler: reply(
        handler,
        200,
        site.described(client_name="Lo\u202ecal", grant_types=["authorization_code", DEVICE]),
        **{"Cache-Control": "max-age=600"},
    )
    found, seconds = Fetcher().fetch(site.client_id)
    assert (found["client_name"], found["grant_types"], seconds) == ("Local", ["authorization_code"], 600)


def test_an_application_connects_by_a_document_that_was_fetched(site: Site, web: Web, browser: Browser) -> None:
    app = App(web, f"{site.origin}/cb", site.client_id)
    assert from_token(app.connect(browser).access_token).via == "mcp (Local)"
    app.connect(browser)
    assert site.asked == ["/client.json"], "once"


def test_a_redirect_is_not_followed(site: Site) -> None:
    site.answer = lambda handler: reply(handler, 302, b"", Location=f"{site.origin}/other.json")
    with pytest.raises(cimd.CIMDError, match="302"):
        Fetcher().fetch(site.client_id)
    assert site.asked == ["/client.json"]


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, b"{}", "application/json"),
        (500, b"{}", "application/json"),
        (200, b"<html>", "text/html"),
        (200, b"[]", "application/json"),
        (200, b"not json", "application/json"),
        (200, b"\xff", "application/json"),
        (200, b"[" * 9_000, "application/json"),
        (200, b'{"a": "' + b"x" * 17_000 + b'"}', "application/json"),
    ],
)
def test_what_is_no_document_leaves_an_unknown_application(
    site: Site, web: Web, browser: Browser, status: int, body: bytes, kind: str
) -> None:
    site.answer = lambda handler: reply(handler, status, body, kind)
    app = App(web, f"{site.origin}/cb", site.client_id)
    for _ in range(2):
        assert "could not be read" in refused(browser, app.request())
    assert len(site.asked) == 1, "one that failed is not asked again for a while"
    assert not Application.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "https://claude.ai/oauth/mcp-oauth-client-metadata"},
        {"client_id": None},
        {"redirect_uris": []},
        {"redirect_uris": ["http://evil.example/"]},
        {"grant_types": ["client_credentials"]},
        {"client_secret": "x"},
        {"token_endpoint_auth_method": "private_key_jwt"},
    ],
)
def test_a_document_that_describes_nobody_who_may_come_in_is_refused(
    site: Site, web: Web, browser: Browser, changes: dict[str, Any]
) -> None:
    site.answer = lambda handler: reply(handler, 200, site.described(**changes))
    assert "could not be read" in refused(browser, App(web, f"{site.origin}/cb", site.client_id).request())
    assert not Application.objects.exists()


BEGUN = [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"]


@pytest.mark.parametrize("begun", BEGUN, ids=["nothing", "headers", "body"])
def test_a_site_that_never_finishes_is_given_up(site: Site, settings: Settings, begun: bytes) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "CIMD_FETCH_TIMEOUT_SECONDS": 0.3}
    hung_up = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(begun)
        while begun and not hung_up.wait(0.05):
            try:
                handler.wfile.write(b" ")
            except OSError:
                hung_up.set()

    site.answer = drip
    with given_up_soon():
        Fetcher().fetch(site.client_id)
    hung_up.set()


def test_a_site_that_takes_a_connection_and_says_nothing_is_given_up(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "CIMD_FETCH_TIMEOUT_SECONDS": 0.3}
    monkeypatch.setattr(cimd, "_ip_is_public", lambda ip: True)
    with socket.create_server(("127.0.0.1", 0)) as silent, given_up_soon():
        Fetcher().fetch(f"https://127.0.0.1:{silent.getsockname()[1]}/client.json")


@contextmanager
def given_up_soon() -> Iterator[None]:
    started = time.monotonic()
    with pytest.raises(cimd.CIMDError):
        yield
    assert time.monotonic() - started < 5


def test_a_certificate_that_nobody_vouches_for_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(cimd.CIMDError):
        Fetcher().fetch(site.client_id)
    assert site.asked == []


PRIVATE = [
    "127.0.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "192.168.1.1",
    "100.64.0.1",
    "::1",
    "fd00::1",
    "::ffff:127.0.0.1",
]


@pytest.mark.parametrize("address", [*PRIVATE, "64:ff9b::7f00:1", "2002:7f00:1::", "0.0.0.0"])
def test_an_address_that_is_not_public_is_never_asked(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    resolved = [
        (family, socket.SOCK_STREAM, 6, "", (address, 443)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 443)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: resolved)
    with pytest.raises(cimd.CIMDError, match="non-public address"):
        Fetcher().fetch("https://client.example/client.json")


@pytest.mark.parametrize(
    "client_id",
    [
        "https://localhost/client.json",
        "https://127.0.0.1/client.json",
        "https://[::1]/client.json",
        "https://2130706433/client.json",
        "https://client.example",
        "https://user@client.example/client.json",
        "https://client.example/client.json#x",
        "https://client.example/../client.json",
        "https://client.example:x/client.json",
        "https://cliеnt.example/client.json",
        "https://client_.example/client.json",
        "https://[/client.json",
        "https:///client.json",
        "HTTPS://localhost/client.json",
        "https://client.example/" + "x" * 300,
    ],
)
def test_a_client_id_that_leads_nowhere_public_leaves_an_unknown_application(
    web: Web, browser: Browser, client_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(host: str, *_: object, **__: object) -> Any:
        if host != "client.example":
            return real(host, *_, **__)
        raise socket.gaierror("unknown")

    real: Any = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    refused(browser, App(web, client_id=client_id).request())
    assert not Application.objects.exists()
