"""Pages that are open while agents write, in Chromium: the bar, what the reader asks for, and what is never touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.serving import Served
from tests.web.live.browser.conftest import sign_in
from tests.web.live.pages import Reader
from tests.web.live.test_ending import press

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.no_database  # what the database tells is the same on each: test_notices.py


def live(page: Page, path: str) -> None:
    """Open a page and wait until its socket has told where it stands."""
    with page.expect_websocket() as opened:
        page.goto(path)
    opened.value.wait_for_event("framereceived")


def test_the_bar_says_that_a_note_changed_and_shows_it_when_asked(
    context: BrowserContext, page: Page, server: Served, mira: Reader
) -> None:
    atlas = mira.agent(server)
    atlas.save("seen", "Before")
    sign_in(context, server, mira)
    live(page, f"{server.url}/workspace/{mira.handle}/memory/seen")
    atlas.save("seen", "Afterwards", expected_version=1)
    page.locator(".live-bar").wait_for()
    assert "Afterwards" not in page.locator("main").inner_text()
    page.get_by_role("button", name="Show").click()
    page.locator("main", has_text="Afterwards").wait_for()
    assert page.locator(".live-bar").is_hidden()


def test_what_is_typed_stays_while_the_note_changes(
    context: BrowserContext, page: Page, server: Served, mira: Reader
) -> None:
    atlas = mira.agent(server)
    atlas.save("typed", "Before")
    sign_in(context, server, mira)
    live(page, f"{server.url}/workspace/{mira.handle}/memory/typed/edit")
    page.locator("main textarea >> nth=0").fill("My own words")
    atlas.save("typed", "An agent's words", expected_version=1)
    page.locator(".live-bar").wait_for()
    assert page.locator("main textarea >> nth=0").input_value() == "My own words"


def test_a_page_that_was_offline_hears_of_what_it_missed(
    context: BrowserContext, page: Page, server: Served, mira: Reader
) -> None:
    atlas = mira.agent(server)
    atlas.save("missed", "Before")
    sign_in(context, server, mira)
    live(page, f"{server.url}/workspace/{mira.handle}/memory/missed")
    context.set_offline(True)
    page.locator(".live-bar", has_text="paused").wait_for()
    atlas.save("missed", "Meanwhile", expected_version=1)
    context.set_offline(False)
    page.locator(".live-bar", has_text=mira.handle).wait_for(timeout=15_000)  # milliseconds


def test_signing_out_ends_it(context: BrowserContext, page: Page, server: Served, nora: Reader) -> None:
    sign_in(context, server, nora)
    live(page, f"{server.url}/workspace/{nora.handle}")
    assert press(server, nora, "/account/sign-out") == 302
    page.locator(".live-bar", has_text="signed out").wait_for()
