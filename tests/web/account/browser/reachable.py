"""What keeps people out of a page, as axe-core finds it, and whether the page fits a narrow screen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from axe_playwright_python.base import AXE_SCRIPT

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTHS = (1280, 390)
NARROWEST = 320
COLOURS = ["color-contrast", "link-in-text-block"]  # the rules that a colour scheme can break


def faults(page: Page) -> dict[str, Any]:
    """By where it is: each fault of the page as it stands, at two widths and in both colour schemes."""
    page.evaluate(AXE_SCRIPT)
    found: dict[str, Any] = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme, options in (("light", {}), ("dark", {"runOnly": COLOURS})):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            found |= {f"{width} {scheme} {rule}": nodes for rule, nodes in violations(page, options).items()}
    page.set_viewport_size({"width": NARROWEST, "height": 700})
    wide = page.evaluate("document.documentElement.scrollWidth")
    return found | ({"scrolls sideways": wide} if wide > NARROWEST else {})


def violations(page: Page, options: dict[str, Any]) -> dict[str, Any]:
    """The elements that break a rule, by the rule's name."""
    report = page.evaluate(f"axe.run(document, {json.dumps(options | {'resultTypes': ['violations']})})")
    return {each["id"]: [node["html"] for node in each["nodes"]] for each in report["violations"]}
