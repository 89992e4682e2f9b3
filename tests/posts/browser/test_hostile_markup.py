"""Hostile texts in a post and its reply: no page opens a dialog, with the pages' policy and without it (B47)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.doors.board import Board
from tests.posts.hostile import MARKDOWN, TITLE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page

pytestmark = pytest.mark.no_database  # texts come out of each as they went in: tests/posts/test_pages.py

HOSTILE = "\n\n".join(MARKDOWN)
ATOM = "{http://www.w3.org/2005/Atom}"
HOSTS = ("data:", "blob:")  # what a browser asks of itself


class Watched:
    """A page, the dialogs that it opened, what its policy had to stop, and whom it asked for anything."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.dialogs: list[str] = []
        self.stopped: list[str] = []
        self.asked: list[str] = []
        page.on("dialog", self._dialog)
        page.on("console", self._line)
        page.on("request", lambda request: self.asked.append(request.url))

    def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _line(self, line: ConsoleMessage) -> None:
        if "Content Security Policy" in line.text:
            self.stopped.append(line.text)

    def open(self, address: str) -> None:
        """Go there and wait until nothing more is asked for."""
        self.page.goto(address, wait_until="networkidle")

    def harmless(self, url: str) -> None:
        """Nothing ran, nothing had to be stopped, nobody but this server was asked."""
        assert (self.dialogs, self.stopped) == ([], [])
        assert [address for address in self.asked if not address.startswith((url, *HOSTS))] == []


@pytest.fixture(params=[False, True], ids=["with-policy", "without-policy"])
def watched(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """A page of its own, under the pages' policy or without it."""
    context = browser.new_context(bypass_csp=request.param)
    yield Watched(context.new_page())
    context.close()


@pytest.fixture(scope="module")
def hostile(board: Board) -> str:
    """The id of a post full of it, with a reply full of it."""
    sent = {"type": "QUESTION", "title": TITLE, "body": HOSTILE, "summary": TITLE}
    made = board.post("/v1/posts", sent).json["id"]
    board.post(f"/v1/posts/{made}/replies", {"body": HOSTILE}, key="boreas")
    return str(made)


def test_the_hook_would_see_a_dialog(watched: Watched) -> None:
    watched.page.set_content("<img src=x onerror=alert(1)>")
    watched.page.wait_for_timeout(200)  # milliseconds
    assert watched.dialogs == ["1"]


@pytest.mark.parametrize("address", ["/posts", "/posts?q=script", "/posts/{}", "/posts/topics/general.atom"])
def test_no_page_runs_what_a_text_says(board: Board, hostile: str, watched: Watched, address: str) -> None:
    watched.open(board.url + address.format(hostile))
    assert "alert(1)" in watched.page.content()
    watched.harmless(board.url)


def test_every_link_in_a_text_leads_away_and_runs_nothing(board: Board, hostile: str, watched: Watched) -> None:
    watched.page.route(re.compile("^https:"), lambda route: route.fulfill(body="elsewhere"))
    watched.open(f"{board.url}/posts/{hostile}")
    count = watched.page.locator(".text a").count()
    assert count > 3
    for number in range(count):
        watched.page.goto(f"{board.url}/posts/{hostile}")
        link = watched.page.locator(".text a").nth(number)
        link.hover()
        link.click()
        watched.page.wait_for_url(re.compile("^https://ok.example/"))
    assert (watched.dialogs, watched.stopped) == ([], [])


def test_a_reader_that_shows_the_feeds_html_as_it_is_runs_nothing(board: Board, hostile: str, watched: Watched) -> None:
    entry = ET.fromstring(board.get("/posts/topics/general.atom", key=None).body).find(f"{ATOM}entry")
    assert entry is not None
    for name in ("summary", "content"):
        watched.page.set_content(entry.findtext(f"{ATOM}{name}") or "", wait_until="networkidle")
    watched.harmless(board.url)


def test_the_page_of_a_public_space_full_of_it_is_harmless(board: Board, watched: Watched) -> None:
    about = {"request_id": f"hostile-{id(watched)}", "name": f"hostile-{id(watched)}", "title": TITLE}
    space = board.post("/v1/spaces", {**about, "description": TITLE, "visibility": "public"}).json["id"]
    entry = {"kind": "TASK", "title": TITLE, "summary": TITLE, "body": HOSTILE}
    task = board.post(f"/v1/spaces/{space}/entries", entry).json["id"]
    board.post(f"/v1/space-entries/{task}/claim", {"expected_version": 1})
    done = {"expected_version": 2, "state": "done", "result": "\n".join(MARKDOWN[:20])}
    assert board.post(f"/v1/space-entries/{task}/task", done).status == 200
    watched.open(f"{board.url}/spaces/{space}")
    assert watched.page.locator("h1").inner_text().split() == TITLE.split()
    assert watched.page.locator("main a[href^='javascript' i]").count() == 0
    watched.harmless(board.url)
