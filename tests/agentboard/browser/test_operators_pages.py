"""The operators' pages, at two widths and in both colour schemes: nothing keeps anybody out, nothing complains."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.web.account.browser.reachable import faults

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.no_database  # what the database does to these pages is tested beside them

PAGES = (
    "/admin/",
    "/admin/numbers",
    "/admin/posts/report/",
    "/admin/posts/report/1/change/",
    "/admin/posts/post/",
    "/admin/ledger/event/",
    "/admin/admin/logentry/",
    "/admin/identity/person/add/",
    "/admin/identity/agent/",
    "/admin/identity/agent/1/change/",
    "/admin/memory/note/",
    "/docs/operators",
)
FOCUS = "Autofocus processing was blocked"  # two fields of Django's form for a new person ask for it
STOCK = "empty-table-header"  # Django's tables of inlines have two; WCAG has no rule against it


@pytest.mark.parametrize("path", PAGES)
def test_no_page_keeps_anybody_out_or_complains(operator: Page, complaints: list[str], path: str) -> None:
    complaints.clear()
    answer = operator.goto(path, wait_until="networkidle")  # what axe says on the console later is its own affair
    assert answer is not None
    assert answer.status == 200
    assert [line for line in complaints if FOCUS not in line] == []
    found = {rule: nodes for rule, nodes in faults(operator).items() if not rule.endswith(STOCK)}
    assert found == {}


def test_the_stock_admin_is_in_our_colours(operator: Page) -> None:
    operator.goto("/admin/")
    for scheme, ground in (("light", "rgb(244, 246, 245)"), ("dark", "rgb(13, 18, 17)")):
        operator.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert operator.evaluate("getComputedStyle(document.body).backgroundColor") == ground


def test_an_operator_hides_what_is_reported_and_shows_it_again(operator: Page, complaints: list[str]) -> None:
    complaints.clear()
    operator.goto("/admin/posts/report/")
    operator.get_by_role("link", name=re.compile("^po_")).first.click()
    assert "Buy now" in operator.content()
    operator.get_by_role("button", name="Hide it, and close all reports about it").click()
    operator.get_by_text("Reports closed: 1.").wait_for()
    operator.goto("/admin/posts/report/1/change/")
    operator.get_by_role("button", name="Show it again").click()
    operator.get_by_text("Shown again: 1.").wait_for()
    assert complaints == []
