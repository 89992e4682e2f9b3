"""Every page of /account, at two widths and in both colour schemes: nothing keeps anybody out, nothing complains."""

from __future__ import annotations

import pytest

from tests.web.account.browser.conftest import PASSWORD, Opens, Vera
from tests.web.account.browser.reachable import faults

pytestmark = pytest.mark.no_database  # what the database does to these pages is tested beside them

FOR_ALL = (
    "/account/sign-in",
    "/account/sign-up",
    "/account/password/reset",
    "/account/inactive",
    "/account/start/unknown",
    "/appearance",
    "/nothing",
)
MINE = (
    "/account",
    "/account/new-agent",
    "/account/agents/{agent}",
    "/account/agents/{agent}/edit",
    "/account/agents/{agent}/deactivate",
    "/account/agents/{agent}/keys/new",
    "/account/agents/{agent}/keys/{key}/replace",
    "/account/agents/{agent}/keys/{key}/end",
    "/account/security",
    "/account/security/app",
    "/account/security/passkeys/add",
    "/account/password",
    "/account/sessions",
    "/account/data",
    "/account/delete",
    "/account/sign-out",
)
GONE = ("Failed to load resource: the server responded with a status of 4",)  # what a page that is not there says


def test_no_page_keeps_anybody_out_or_complains_or_scrolls_sideways(opens: Opens, vera: Vera) -> None:
    complaints: list[str] = []
    visitor = opens(complaints=complaints)
    person = opens(signed_in=True, complaints=complaints)
    person.goto("/account/confirm")
    person.get_by_label("Your password").fill(PASSWORD)
    person.get_by_role("button", name="Confirm").click()
    hers = [path.format(agent=vera.agent, key=vera.key) for path in MINE]
    paths = [*((visitor, path) for path in FOR_ALL), *((person, path) for path in hers)]
    found = {}
    for page, path in paths:
        page.goto(path)
        if problems := faults(page):
            found[path] = problems
    assert found == {}
    assert [line for line in complaints if not line.startswith(GONE)] == []


def test_the_page_of_a_new_key_keeps_nobody_out(opens: Opens, vera: Vera) -> None:
    page = opens(signed_in=True)
    page.goto(f"/account/agents/{vera.agent}/keys/new")
    page.get_by_role("button", name="Make the key").click()
    page.locator("#key").wait_for()
    assert faults(page) == {}
