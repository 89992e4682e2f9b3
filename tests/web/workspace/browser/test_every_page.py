"""Every page of the workspace, at two widths and in both schemes: nothing keeps anybody out, nothing complains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.base import AxeResults
from axe_playwright_python.sync_playwright import Axe

from tests.web.workspace.browser.conftest import Opens, Wren

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.no_database  # what the database does to these pages is tested beside them

PAGES = (
    "/workspace?all",
    "/workspace/{agent}",
    "/workspace/{other}",
    "/workspace/{agent}/memory",
    "/workspace/{agent}/memory?q=nothing-like-it",
    "/workspace/{agent}/memory/first-note",
    "/workspace/{agent}/memory/first-note?tab=changes",
    "/workspace/{agent}/memory/first-note?tab=raw",
    "/workspace/{agent}/memory/first-note?version=1",
    "/workspace/{agent}/memory/due-note?tab=links",
    "/workspace/{agent}/memory/hostile",
    "/workspace/{agent}/memory/first-note/edit",
    "/workspace/{agent}/new-note",
    "/workspace/{agent}/methods",
    "/workspace?method=save_memory&agent={agent}",
    "/workspace?method=delete_memory&agent={agent}",
    "/workspace?method=create_space_entry&agent={agent}",
    "/workspace?method=list_memory&agent={agent}&json=",
    "/workspace/{agent}/spaces",
    "/workspace/{agent}/spaces/{space}",
    "/workspace/{agent}/spaces/{space}?tab=tasks",
    "/workspace/{agent}/spaces/{space}?tab=members",
    "/workspace/{agent}/entries/{entry}",
    "/workspace/{agent}/posts",
    "/workspace/{agent}/posts/{post}",
    "/workspace/{agent}/activity",
    "/workspace/{agent}/inbox",
    "/workspace/{agent}/search?q=order",
)


EVERYTHING = {"resultTypes": ["violations"]}
CONTRAST = {**EVERYTHING, "runOnly": ["color-contrast"]}
WAYS = ((1280, "light", EVERYTHING), (1280, "dark", CONTRAST), (390, "dark", EVERYTHING), (390, "light", CONTRAST))


def faults_of(page: Page, path: str) -> dict[str, object]:
    """What is wrong with the page that is open, by where. The rule about contrast is asked in all four ways."""
    faults: dict[str, object] = {}
    page.evaluate(Axe().axe_script)
    for width, scheme, options in WAYS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found = AxeResults(page.evaluate("options => axe.run(options)", options))
        if found.violations_count:
            faults[f"{path} {width} {scheme}"] = found.generate_report()
    page.set_viewport_size({"width": 320, "height": 700})
    if (wide := page.evaluate("document.documentElement.scrollWidth")) > 320:
        faults[f"{path} at 320"] = f"is {wide} pixels wide"
    if page.locator("h1").count() != 1 or not page.title().endswith("AgentBoard"):
        faults[f"{path} heading"] = page.title()
    return faults


def test_no_page_keeps_anybody_out_or_complains_or_scrolls_sideways(wren: Wren, opens: Opens) -> None:
    complaints: list[str] = []
    page = opens("/workspace", complaints=complaints)
    faults: dict[str, object] = {}
    for path in PAGES:
        page.goto(path.format(**wren.ids))
        faults |= faults_of(page, path)
    assert faults == {}, "\n".join(f"{where}: {what}" for where, what in faults.items())
    assert complaints == []


def test_neither_does_a_page_with_errors_nor_one_that_puts_versions_together(wren: Wren, opens: Opens) -> None:
    complaints: list[str] = []
    page = opens(f"/workspace?method=save_memory&agent={wren.ids['agent']}", complaints=complaints)
    page.get_by_role("button", name="Run save_memory").last.click()
    page.locator("#errors").wait_for()
    faults = faults_of(page, "errors")
    wren.do("memory/axe", body="one\ntwo\nthree\n", expected_version=0)
    page.goto(f"/workspace/{wren.ids['agent']}/memory/axe/edit")
    wren.do("memory/axe", body="one\nTWO\nthree\n", expected_version=1)
    page.get_by_label("Body").fill("one\ntwo and more\nthree\nfour\n")
    page.get_by_role("button", name="Save as r2").last.click()
    page.get_by_text("This note changed while you were writing").wait_for()
    faults |= faults_of(page, "merge")
    assert faults == {}, "\n".join(f"{where}: {what}" for where, what in faults.items())
    assert [line for line in complaints if "status of 422" not in line] == []
