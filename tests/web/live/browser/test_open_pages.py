"""Pages that are open while agents write, in Chromium: the bar, what the reader asks for, and what is never touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.calls import Agent
from tests.serving import Served
from tests.web.live.browser.conftest import Line, sign_in
from tests.web.live.pages import Reader
from tests.web.live.test_ending import press
from tests.web.workspace.browser.test_every_page import faults_of

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page

pytestmark = pytest.mark.no_database  # what the database tells is the same on each: test_notices.py

ONLINE_MS = 10_000  # until a page that is online again shows what it has missed, at most
PING_MS = 3_000  # between signs of life, and until one is missed
PAUSE_MS = 10_000  # without a socket until a page says so
BAR = ".live-bar"
Opens = Callable[[str], None]


@pytest.fixture
def atlas(server: Served, mira: Reader) -> Agent:
    """The agent of mira."""
    return mira.agent(server)


@pytest.fixture
def opens(context: BrowserContext, page: Page, server: Served, mira: Reader, line: Line) -> Opens:
    """Open a page of mira's workspace, and come back when its socket has told it where it stands."""
    sign_in(context, server, mira)

    def open_page(path: str) -> None:
        page.goto(f"{server.url}/workspace/{mira.handle}{path}")
        line.wait_until_told()

    return open_page


def bar(page: Page, words: str) -> Locator:
    """The bar, once it says this."""
    found = page.locator(BAR, has_text=words)
    found.wait_for()
    return found


def place_of(found: Locator) -> tuple[float, float]:
    """Where it stands in the window."""
    box = found.bounding_box()
    assert box is not None
    return box["x"], box["y"]


def test_the_bar_says_that_a_note_changed_moves_nothing_and_shows_it_when_asked(
    page: Page, opens: Opens, atlas: Agent, mira: Reader
) -> None:
    atlas.save("plan", "Before\n\n" * 80 + "The end")
    opens("/memory/plan")
    end = page.get_by_text("The end")
    end.scroll_into_view_if_needed()
    place = place_of(end)
    atlas.save("plan", "Afterwards", 1)
    shown = bar(page, f"{mira.handle} saved r2.")
    assert place_of(end) == place
    assert faults_of(page, "the bar") == {}
    assert page.locator("#live").inner_text() == f"{mira.handle} saved r2."
    assert "Afterwards" not in page.locator("main").inner_text()
    shown.get_by_role("button", name="Show").click()
    page.locator("main", has_text="Afterwards").wait_for()
    assert page.locator(BAR).is_hidden()


def test_a_bar_that_is_put_off_comes_again_with_the_next_change(page: Page, opens: Opens, atlas: Agent) -> None:
    atlas.save("plan")
    opens("/memory/plan")
    atlas.save("plan", "Second", 1)
    bar(page, "saved r2").get_by_role("button", name="Later").click()
    assert page.locator(BAR).is_hidden()
    atlas.save("plan", "Third", 2)
    bar(page, "saved r3")


def test_a_list_takes_in_what_is_new_when_asked_and_its_filter_stays_as_typed(
    page: Page, opens: Opens, atlas: Agent
) -> None:
    atlas.save("old")
    opens("/memory")
    atlas.save("new")
    atlas.save("old", "More", 1)
    shown = bar(page, "2 changes since you opened this.")
    assert page.locator("[data-live-row=new]").count() == 0
    words = page.get_by_label("Filter notes by words")
    words.fill("surv")
    shown.get_by_role("button", name="Show").click()
    page.locator("#live", has_text="but for the part that you are typing in").wait_for()
    assert words.input_value() == "surv"
    words.fill("")
    words.blur()
    atlas.save("newest")
    bar(page, "since you opened this.").get_by_role("button", name="Show").click()
    page.locator("[data-live-row=newest]").wait_for()
    assert page.locator("[data-live-row=old]").get_attribute("data-version") == "2"
    assert page.locator("[data-live-row=new]").count() == 1


def test_a_form_is_never_touched_while_its_note_changes(page: Page, opens: Opens, atlas: Agent, mira: Reader) -> None:
    atlas.save("plan", "Before")
    opens("/memory/plan/edit")
    text = page.locator("textarea[name='data.body']")
    text.fill("My own words")
    place = place_of(text)
    atlas.save("plan", "An agent's words", 1)
    shown = bar(page, f"{mira.handle} saved r2. What you type stays.")
    assert shown.get_by_role("button", name="Show").count() == 0
    assert shown.get_by_role("link", name="See it").get_attribute("target") == "_blank"
    page.keyboard.type(" and more")
    assert text.input_value() == "My own words and more"
    assert page.locator("input[name='data.expected_version']").input_value() == "1"
    assert place_of(text) == place
    assert faults_of(page, "the bar over a form") == {}


def test_a_page_shows_all_that_it_missed_soon_after_it_is_online_again(
    context: BrowserContext, page: Page, opens: Opens, line: Line, atlas: Agent
) -> None:
    atlas.save("changed")
    atlas.save("deleted")
    opens("/memory")
    line.cut()
    context.set_offline(True)
    atlas.save("new")
    atlas.save("changed", "More", 1)
    atlas.done("delete_memory", "deleted", expected_version=1)
    context.set_offline(False)
    line.mend()
    found = page.locator(BAR, has_text="3 changes since you opened this.")
    found.wait_for(timeout=ONLINE_MS)
    found.get_by_role("button", name="Show").click()
    page.locator("[data-live-row=new]").wait_for()
    assert page.locator("[data-live-row=deleted]").count() == 0


def test_a_socket_that_looks_open_and_is_dead_is_noticed(page: Page, opens: Opens, line: Line, atlas: Agent) -> None:
    atlas.save("plan")
    page.clock.install()
    opens("/memory/plan")
    line.deafen()
    atlas.save("plan", "Second", 1)
    for _ in range(2):  # to ask for a sign of life, and to have waited for it
        page.clock.fast_forward(PING_MS)
    page.locator(BAR, has_text="saved r2").wait_for(timeout=ONLINE_MS - 2 * PING_MS)


def test_a_page_without_a_socket_says_so_and_asks_again_and_again(
    page: Page, server: Served, context: BrowserContext, line: Line, atlas: Agent, mira: Reader
) -> None:
    atlas.save("plan")
    sign_in(context, server, mira)
    line.cut()
    page.clock.install()
    page.goto(f"{server.url}/workspace/{mira.handle}/memory/plan")
    page.clock.fast_forward(PAUSE_MS)
    bar(page, "Live updates paused.")
    atlas.save("plan", "Second", 1)
    page.clock.fast_forward("01:01")
    bar(page, "saved r2").get_by_role("button", name="Show").click()
    page.locator("main", has_text="Second").wait_for()
    bar(page, "Live updates paused.")


def test_signing_out_in_another_tab_ends_it_and_the_text_stays(
    page: Page, opens: Opens, server: Served, mira: Reader, atlas: Agent
) -> None:
    atlas.save("plan", "Before")
    opens("/memory/plan")
    assert press(server, mira, "/account/sign-out") == 302
    shown = bar(page, "You are signed out")
    assert "Before" in page.locator("main").inner_text()
    shown.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/account/sign-in?**")
