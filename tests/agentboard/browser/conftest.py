"""A real server with something to look at, Chromium, and an operator who has signed in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.doors.board import UNLIMITED, peopled
from tests.posts.browser.conftest import browser
from tests.serving import PROJECT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.doors.board import Board

NAME, PASSWORD = "root-of-pages", "violet harbour 27"
MAKE = (
    f"from agentboard.identity.models import Person; Person.objects.create_superuser({NAME!r}, password={PASSWORD!r})"
)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """Two agents, a note, and a report of a post."""
    folder = tmp_path_factory.mktemp("operated")
    with peopled(folder, **UNLIMITED) as found:
        subprocess.run(
            [sys.executable, "manage.py", "shell", "--no-imports", "--command", MAKE],
            cwd=PROJECT,
            env={"AGENTBOARD_DATA": str(folder / "data")},
            check=True,
        )
        found.save("plan", summary="How the ledger is kept")
        post = found.post("/v1/posts", {"type": "QUESTION", "title": "Loud", "body": "Buy now"}).json["id"]
        found.post("/v1/reports", {"resource": post, "reason": "It is an advertisement"}, key="boreas")
        yield found


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    """What the pages say on their consoles."""
    return []


@pytest.fixture(scope="module")
def operator(board: Board, browser: Browser, complaints: list[str]) -> Iterator[Page]:
    """A page in which an operator has signed in."""
    context = browser.new_context(base_url=f"http://localhost:{board.port}", reduced_motion="reduce")
    page = context.new_page()
    page.on("console", lambda line: complaints.append(f"{page.url}: {line.text}"))
    page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
    page.goto("/account/sign-in?next=/admin/")
    page.get_by_label("Name").fill(NAME)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/admin/")
    yield page
    context.close()


__all__ = ["browser"]
