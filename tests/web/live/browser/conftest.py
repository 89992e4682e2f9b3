"""Chromium, and pages of a reader in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.posts.browser.conftest import browser
from tests.serving import Served
from tests.web.live.pages import Reader

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, WebSocketRoute

TOLD_SECONDS = 20  # far more than it takes
LOST = 1001  # "going away", RFC 6455, section 7.4.1
QUIET = ("net::ERR_", "WebSocket connection to")  # what Chromium says of every lost connection


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that nobody has used yet."""
    found = browser.new_context(reduced_motion="reduce")
    found.set_default_timeout(20_000)  # milliseconds
    yield found
    found.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page on which nothing may go wrong: no error, nothing that the policy refuses."""
    said: list[str] = []
    found = context.new_page()
    found.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: said.append(str(error)))
    yield found
    assert [each for each in said if not any(quiet in each for quiet in QUIET)] == []


class Line:
    """What lies between a page and the server's sockets, and may be cut, or pass nothing on and look open."""

    def __init__(self, page: Page) -> None:
        self._page, self._cut, self._told = page, False, 0
        self._deaf: set[WebSocketRoute] = set()
        self._open: list[WebSocketRoute] = []
        page.route_web_socket("**/live", self._begin)

    def _begin(self, route: WebSocketRoute) -> None:
        if self._cut:
            route.close(code=LOST)
            return
        server = route.connect_to_server()
        self._open.append(route)
        route.on_message(lambda message: None if route in self._deaf else server.send(message))
        server.on_message(lambda message: None if route in self._deaf else self._pass(route, message))

    def _pass(self, route: WebSocketRoute, message: str | bytes) -> None:
        route.send(message)
        self._told += 1

    def wait_until_told(self) -> None:
        """Come back when the page has heard something. Raises TimeoutError."""
        deadline = time.monotonic() + TOLD_SECONDS
        while not self._told:
            if time.monotonic() > deadline:
                raise TimeoutError("the page has heard nothing")
            self._page.wait_for_timeout(20)  # milliseconds, in which Chromium is listened to

    def cut(self) -> None:
        """Close all sockets, and each new one."""
        self._cut = True
        for route in self._open:
            route.close(code=LOST)

    def mend(self) -> None:
        """Let new sockets through."""
        self._cut = False

    def deafen(self) -> None:
        """Pass nothing on over the sockets that are open now."""
        self._deaf.update(self._open)


@pytest.fixture
def line(page: Page) -> Line:
    """The line of the page, in order."""
    return Line(page)


def sign_in(context: BrowserContext, server: Served, reader: Reader) -> None:
    """Give the browser the reader's session."""
    context.add_cookies([{"name": "sessionid", "value": reader.sessions[0], "url": server.url}])


__all__ = ["browser"]
