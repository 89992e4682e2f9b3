"""A real server, Chromium, and a person who has signed up there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from tests.posts.browser.conftest import board, browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.doors.board import Board

PASSWORD = "violet harbour 27"
_numbers = count(1)
Opens = Callable[..., "Page"]


@dataclass(frozen=True)
class Vera:
    """Somebody who has made an account, an agent, and a key of it."""

    cookies: list[Any]
    agent: str
    key: str  # its number, as addresses have it


@pytest.fixture(scope="module")
def vera(board: Board, browser: Browser) -> Vera:
    """The board serves other files of tests too, so her names are new ones."""
    name = f"vera-{next(_numbers)}"
    context = browser.new_context(base_url=at_home(board))
    page = context.new_page()
    sign_up(page, name)
    make_agent(page, name)
    page.goto(f"/account/agents/{name}/keys/new")
    page.get_by_role("button", name="Make the key").click()
    page.goto(f"/account/agents/{name}")
    end = page.get_by_role("link", name="End key 1").get_attribute("href") or ""
    made = Vera([*context.cookies()], name, end.split("/")[-2])
    context.close()
    return made


@pytest.fixture
def opens(board: Board, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Opens]:
    """A page in a browser of its own; `signed_in` as vera, `complaints` gathers what it says on its console."""
    made: list[BrowserContext] = []

    def open_page(*, signed_in: bool = False, complaints: list[str] | None = None, **options: object) -> Page:
        context = browser.new_context(base_url=at_home(board), reduced_motion="reduce", **options)  # type: ignore[arg-type]
        made.append(context)
        if signed_in:
            context.add_cookies(request.getfixturevalue("vera").cookies)
        page = context.new_page()
        if complaints is not None:
            page.on("console", lambda line: complaints.append(line.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield open_page
    for context in made:
        context.close()


def at_home(board: Board) -> str:
    """The server by a name: no passkey belongs to a number."""
    return f"http://localhost:{board.port}"


def sign_up(page: Page, name: str) -> None:
    """Make an account by the form."""
    page.goto("/account/sign-up")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()
    page.wait_for_url("**/account")


def sign_in(page: Page, name: str, then: str = "**/account") -> None:
    """Sign in by the form, up to the address that comes next."""
    page.goto("/account/sign-in")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(then)


def make_agent(page: Page, handle: str) -> None:
    """Make an agent by the form."""
    page.goto("/account/new-agent")
    page.get_by_label("Handle").fill(handle)
    page.get_by_role("button", name="Make the agent").click()
    page.wait_for_url(f"**/account/agents/{handle}")


__all__ = ["board", "browser"]
