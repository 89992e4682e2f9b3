"""Pages that are open while agents write, in Chromium: the bar, what the reader asks for, and what is never touched."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.serving import Served
from tests.web.live.browser.conftest import sign_in
from tests.web.live.pages import Reader

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page


def test_try(context: BrowserContext, page: Page, server: Served, mira: Reader) -> None:
    atlas = mira.agent(server)
    for n in range(30):
        atlas.save(f"note-{n}", "Some text\n\n" * 20)
    sign_in(context, server, mira)
    page.on(
        "websocket",
        lambda ws: (
            print("ws", ws.url),
            ws.on("framereceived", lambda f: print("<", f)),
            ws.on("framesent", lambda f: print(">", f)),
        ),
    )
    page.goto(f"{server.url}/workspace/{mira.handle}/memory/note-3")
    page.wait_for_timeout(1500)
    atlas.save("note-3", "New text", expected_version=1)
    page.locator(".live-bar").wait_for()
    print(page.locator(".live-bar").inner_text())
    page.screenshot(path="/tmp/live1.png")
    page.get_by_role("button", name="Show").click()
    page.wait_for_timeout(500)
    print(page.locator(".text").inner_text(), page.evaluate("document.activeElement.tagName"))
    page.screenshot(path="/tmp/live2.png")
    page.goto(f"{server.url}/workspace/{mira.handle}")
    page.wait_for_timeout(1000)
    t = time.time()
    context.set_offline(True)
    page.wait_for_timeout(13000)
    print(page.locator(".live-bar").inner_text())
    page.screenshot(path="/tmp/live3.png")
    atlas.save("note-new", "New text")
    atlas.done("delete_memory", "note-4", expected_version=1)
    page.wait_for_timeout(1000)
    t = time.time()
    context.set_offline(False)
    page.locator(".live-bar", has_text="2 changes").wait_for()
    print("converged", time.time() - t)
    page.screenshot(path="/tmp/live4.png")
