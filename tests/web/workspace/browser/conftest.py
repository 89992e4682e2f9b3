"""A real server, Chromium, and a person who has signed up there and has an agent that knows things."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.posts.browser.conftest import board, browser
from tests.posts.hostile import MARKDOWN

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.doors.board import Board

HANDLE, OTHER = "wren", "wren-two"
PASSWORD = "violet harbour 27"
Opens = Callable[..., "Page"]
BODY = "# Order of trust\n\n1. Contracts\n2. Surveys, **weighted**\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n"


@dataclass(frozen=True)
class Wren:
    """The person's cookies, the agent's key, and what it has."""

    cookies: list[dict[str, object]]
    board: Board
    key: str
    ids: dict[str, str]

    def do(self, path: str, /, **data: Any) -> dict[str, Any]:
        """A write of the agent itself, over REST."""
        reply = self.board.post(f"/v1/{path}", data, key=None, Authorization=f"Bearer {self.key}")
        assert reply.status in (200, 201), reply.json
        found: dict[str, Any] = reply.json
        return found

    def note(self, name: str) -> dict[str, Any]:
        """A note, over REST."""
        found: dict[str, Any] = self.board.get(f"/v1/memory/{name}", key=None, Authorization=f"Bearer {self.key}").json
        return found


@pytest.fixture(scope="module")
def wren(board: Board, browser: Browser) -> Wren:
    """A person who has just made an account, two agents and a key, and the notes of one of them."""
    context = browser.new_context(base_url=board.url)
    page = context.new_page()
    page.goto("/account/sign-up")
    page.get_by_label("Name").fill(f"wren-{id(context)}")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()
    page.wait_for_url("**/account")
    made = [f"{handle}-{id(context)}" for handle in (HANDLE, OTHER)]
    for handle in made:
        page.goto("/account/new-agent")
        page.get_by_label("Handle").fill(handle)
        page.get_by_role("button", name="Make the agent").click()
        page.wait_for_url(f"**/account/agents/{handle}")
    page.goto(f"/account/agents/{made[0]}/keys/new")
    page.get_by_role("button", name="Make the key").click()
    key = page.locator("#key").inner_text()
    cookies: list[dict[str, object]] = [{**cookie} for cookie in context.cookies()]
    context.close()
    found = Wren(cookies, board, key, {"agent": made[0], "other": made[1]})
    fill(found)
    return found


def fill(wren: Wren) -> None:
    """Notes, a space with tasks, a post: some long, some hostile, some due."""
    wren.do("memory/first-note", body=BODY, expected_version=0, tags=["red"], summary="In short", use_when="Always")
    wren.do("memory/first-note", body=BODY.replace("weighted", "unweighted"), expected_version=1, tags=["red"])
    wren.do("memory/due-note", body="Old", expected_version=0, review_after="2026-01-01T00:00:00Z",
            memory_references=[{"name": "first-note", "version": 1}])  # fmt: skip
    wren.do("memory/" + "long-" * 15 + "name", body="W" * 9_000, expected_version=0, tags=["a" * 80, "b" * 80])
    wren.do("memory/hostile", body="\n\n".join(MARKDOWN), expected_version=0, summary=MARKDOWN[0])
    about = {"request_id": f"space-{id(wren)}", "name": f"space-{id(wren)}", "title": "Grid " * 30}
    space = wren.do("spaces", **about, description="What it is for")["id"]
    for number in range(3):
        wren.do(f"spaces/{space}/entries", kind="TASK", title=f"Task {number}", body=BODY, priority=number)
    claimed = wren.do(f"spaces/{space}/claim-next")["entry"]["id"]
    wren.do(f"space-entries/{claimed}/evidence", body="Proof", link="https://example.org/")
    wren.do(f"spaces/{space}/entries", kind="NOTE", title="Note", body=BODY, pinned=True)
    post = wren.do("posts", type="QUESTION", title="Which survey?", body=BODY, summary="In short")["id"]
    wren.do(f"posts/{post}/replies", body="The quarterly one")
    wren.ids.update(space=space, entry=claimed, post=post)


@pytest.fixture
def opens(board: Board, browser: Browser, wren: Wren) -> Iterator[Opens]:
    """A page of wren in a browser of its own; `complaints` gathers what it says on its console."""
    made: list[BrowserContext] = []

    def open_page(path: str, *, complaints: list[str] | None = None, **options: Any) -> Page:
        context = browser.new_context(base_url=board.url, reduced_motion="reduce", **options)
        made.append(context)
        context.add_cookies(wren.cookies)  # type: ignore[arg-type]
        page = context.new_page()
        if complaints is not None:
            page.on("console", lambda line: complaints.append(line.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path)
        return page

    yield open_page
    for context in made:
        context.close()


__all__ = ["board", "browser"]
