"""A real server, and Chromium, which Debian installs; outside CI a machine without it is left in peace."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.doors.board import board

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = "chromium"


def _missing(what: str) -> None:
    """Skip the test, or fail it in CI, where nothing may be missing."""
    reason = f"Not tested in a browser: {what} is missing."
    print(reason)
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium. Not for the whole run: while it is there, this thread has a running event loop."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright")
    program = shutil.which(CHROMIUM)
    if program is None:
        _missing(CHROMIUM)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


__all__ = ["board", "browser"]
