"""Chromium, and pages of a reader in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.posts.browser.conftest import browser
from tests.serving import Served
from tests.web.live.pages import Reader

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

Opened = Callable[..., "Page"]
QUIET = ("net::ERR_", "WebSocket connection to")  # what Chromium says of every lost connection


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that nobody has used yet."""
    found = browser.new_context()
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


def sign_in(context: BrowserContext, server: Served, reader: Reader) -> None:
    """Give the browser the reader's session."""
    context.add_cookies([{"name": "sessionid", "value": reader.sessions[0], "url": server.url}])


__all__ = ["browser", "context", "page", "sign_in"]
