"""Connected apps and the documents: nothing keeps anybody out, and an app is disconnected without a script, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.mcp_bridge.oauth.flow import App, Browser, over_socket
from tests.web.account.browser.conftest import Opens, Vera, at_home
from tests.web.account.browser.reachable import faults

if TYPE_CHECKING:
    from tests.doors.board import Board

pytestmark = pytest.mark.no_database  # what the database does to these pages is tested beside them

PATH = "/account/connections"
DOCUMENTS = ("/docs", "/docs/errors", "/docs/method/save_memory", "/docs/mcp", "/docs/oauth")


def connected(board: Board, vera: Vera, name: str) -> App:
    """An app of this name that vera has connected with her agent."""
    web = over_socket(at_home(board))
    app = App(web)
    app.register(client_name=name)
    app.connect(Browser(web, {each["name"]: each["value"] for each in vera.cookies}), agent=vera.agent)
    return app


def test_no_page_keeps_anybody_out_or_complains_or_scrolls_sideways(opens: Opens, board: Board, vera: Vera) -> None:
    complaints: list[str] = []
    page = opens(signed_in=True, complaints=complaints)
    page.goto(PATH)
    found = {"without an app": faults(page)}
    for name in ("Claude Code", "An app whose name was made rather long by its makers for sure"):
        connected(board, vera, name)
    App(over_socket(at_home(board))).register(redirect_uris=["http://elsewhere.example/"])  # an attempt that stops
    page.goto(PATH)
    end = page.get_by_role("link", name="Disconnect Claude Code").get_attribute("href")
    for path in (PATH, f"{PATH}?app=chatgpt", f"{PATH}?app=python", str(end), *DOCUMENTS):
        page.goto(path)
        found[path] = faults(page)
    assert {path: problems for path, problems in found.items() if problems} == {}
    assert complaints == []


@pytest.mark.parametrize("script", [True, False], ids=["with a script", "without a script"])
def test_an_app_is_disconnected(opens: Opens, board: Board, vera: Vera, script: bool) -> None:
    name = f"Notes {script}"
    connected(board, vera, name)
    page = opens(signed_in=True, java_script_enabled=script)
    page.goto(PATH)
    page.get_by_role("link", name=f"Disconnect {name}").click()
    assert f"It stops acting as {vera.agent} now" in page.inner_text("main")
    page.get_by_role("button", name="Disconnect now").click()
    page.wait_for_url(f"**{PATH}")
    assert f"{name} is disconnected from {vera.agent}." in page.inner_text("main")
    assert page.get_by_role("link", name=f"Disconnect {name}").count() == 0


def test_the_snippet_of_another_app_is_one_link_away_without_a_script(opens: Opens, board: Board) -> None:
    page = opens(signed_in=True, java_script_enabled=False)
    page.goto(PATH)
    page.get_by_role("link", name="Cursor", exact=True).click()
    assert f'"url": "{at_home(board)}/mcp"' in page.inner_text("#snippet")
