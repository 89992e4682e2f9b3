"""The consent page in a real browser: it leads back to the application under its policy, with and without script."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from tests.mcp_bridge.oauth.fixtures import CLAUDE, CLAUDE_CODE
from tests.mcp_bridge.oauth.flow import App, tokens
from tests.mcp_bridge.oauth.serving import Site
from tests.posts.browser.conftest import browser as chromium
from tests.web.account.browser.reachable import faults

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

pytestmark = pytest.mark.no_database  # what the database does to these pages is tested beside them

__all__ = ["chromium"]


class Opened:
    """A page of a browser of its own, in which Mira is signed in, and what it complained about."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda line: self.complaints.append(line.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("dialog", self._dismiss)

    def _dismiss(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def ask(self, app: App, **changes: str) -> None:
        """Open what the application asks."""
        self.page.goto(app.web.url + app.request(**changes))


@contextmanager
def opened(chromium: Browser, site: Site, **options: object) -> Iterator[Opened]:
    context = chromium.new_context(reduced_motion="reduce", **options)  # type: ignore[arg-type]
    session = site.browser().cookies["sessionid"]
    context.add_cookies([{"name": "sessionid", "value": session, "url": site.web.url}])
    yield Opened(context.new_page())
    context.close()


class Waiting:
    """What an application has waiting at a loopback address; `onward` is where it leads the browser then."""

    def __init__(self, host: str = "127.0.0.1", onward: str = "") -> None:
        self.came: list[str] = []
        came = self.came

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.startswith("/callback"):
                    came.append(self.path)
                self.send_response(302 if onward else 200)
                if onward:
                    self.send_header("Location", onward)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!doctype html><title>Back</title><p>Back at the app.")

            def log_message(self, *_: object) -> None:
                pass

        class Server(HTTPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        self._server = Server((host, 0), Handler)
        shown = f"[{host}]" if ":" in host else host
        self.uri = f"http://{shown}:{self._server.server_address[1]}/callback"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def waiting() -> Iterator[Waiting]:
    made = Waiting()
    yield made
    made.close()


def registered(site: Site, uri: str, name: str = "Notes") -> App:
    app = App(site.web, uri)
    assert app.register(client_name=name).status == 201
    return app


@pytest.mark.parametrize("script", [True, False])
def test_allowing_leads_back_to_the_application_and_its_code_gets_tokens(
    chromium: Browser, site: Site, waiting: Waiting, script: bool
) -> None:
    app = registered(site, waiting.uri)
    with opened(chromium, site, java_script_enabled=script) as seen:
        seen.ask(app, scope="memory:read posts:write")
        seen.page.get_by_label("Post and reply in its name").uncheck()
        seen.page.get_by_role("button", name="Allow", exact=True).click()
        seen.page.get_by_text("Back at the app.").wait_for()
        assert seen.complaints == []
        code = seen.page.url.partition("code=")[2].partition("&")[0]
        assert tokens(app.redeem(code)).scope == "memory:read"
    assert len(waiting.came) == 1


def test_refusing_leads_back_too(chromium: Browser, site: Site, waiting: Waiting) -> None:
    with opened(chromium, site) as seen:
        seen.ask(registered(site, waiting.uri))
        seen.page.get_by_role("button", name="Don’t allow").click()
        seen.page.wait_for_url("**error=access_denied**")
        assert seen.complaints == []


def test_a_callback_at_an_ipv6_address_is_reached(chromium: Browser, site: Site) -> None:
    waiting = Waiting("::1")
    with opened(chromium, site) as seen:
        seen.ask(registered(site, waiting.uri))
        seen.page.get_by_role("button", name="Allow", exact=True).click()
        seen.page.get_by_text("Back at the app.").wait_for()
        assert seen.complaints == []
    waiting.close()


def test_a_callback_may_lead_on_to_another_place(chromium: Browser, site: Site, waiting: Waiting) -> None:
    first = Waiting(onward=waiting.uri)
    with opened(chromium, site) as seen:
        seen.ask(registered(site, first.uri))
        seen.page.get_by_role("button", name="Allow", exact=True).click()
        seen.page.get_by_text("Back at the app.").wait_for()
        assert seen.page.url == waiting.uri
        assert seen.complaints == []
    first.close()


@pytest.mark.parametrize("uri", ["https://app.invalid/cb", "cursor://anysphere.cursor-mcp/oauth/callback"])
def test_the_policy_lets_the_browser_go_to_a_site_and_to_a_program(chromium: Browser, site: Site, uri: str) -> None:
    with opened(chromium, site) as seen:
        seen.ask(registered(site, uri))
        with seen.page.expect_event("requestfailed", lambda failed: failed.url.startswith(f"{uri}?code=")):
            seen.page.get_by_role("button", name="Allow", exact=True).click()
        assert not [line for line in seen.complaints if "Content Security Policy" in line]


def test_pressing_twice_or_coming_back_allows_no_more_than_it_says(
    chromium: Browser, site: Site, waiting: Waiting
) -> None:
    app = registered(site, waiting.uri)
    with opened(chromium, site) as seen:
        seen.ask(app)
        seen.page.get_by_role("button", name="Allow", exact=True).dblclick()
        seen.page.get_by_text("Back at the app.").wait_for()
        seen.page.go_back()
        seen.page.get_by_role("heading", name="wants to act as one of your agents").wait_for()
        assert seen.complaints == []
    assert 1 <= len(waiting.came) <= 2
    assert all(path.startswith("/callback?code=") for path in waiting.came)


HOSTILE = "<img src=x onerror=alert(1)>\u202e<script>alert(1)</script>"


def test_the_page_keeps_nobody_out_and_runs_no_name(chromium: Browser, site: Site) -> None:
    with opened(chromium, site) as seen:
        seen.ask(registered(site, "https://app.example/a-long-callback" + "x" * 300, HOSTILE), scope="")
        assert faults(seen.page) == {}
        for box in seen.page.get_by_role("checkbox").all():
            box.uncheck()
        seen.page.get_by_role("button", name="Allow", exact=True).click()
        seen.page.get_by_text("Nothing is allowed yet.").wait_for()
        assert faults(seen.page) == {}
        assert (seen.dialogs, [line for line in seen.complaints if "422" not in line]) == ([], [])
        assert all(url.startswith(site.web.url) for url in seen.asked)


def test_the_page_of_a_request_that_cannot_be_answered_keeps_nobody_out(chromium: Browser, site: Site) -> None:
    with opened(chromium, site) as seen:
        seen.ask(App(site.web, client_id="unknown"))
        seen.page.get_by_role("heading", name="An app’s request can’t be answered").wait_for()
        assert faults(seen.page) == {}


@pytest.mark.parametrize(("client_id", "uri"), [(CLAUDE, "https://claude.ai/api/mcp/auth_callback"), (CLAUDE_CODE, "")])
def test_an_application_with_a_document_is_shown_with_its_host(
    chromium: Browser, site: Site, waiting: Waiting, client_id: str, uri: str
) -> None:
    with opened(chromium, site) as seen:
        seen.ask(App(site.web, uri or waiting.uri, client_id))
        seen.page.get_by_text("claude.ai vouches for this app.").wait_for()
        assert seen.page.get_by_text("Any program on your computer").count() == (0 if uri else 1)
