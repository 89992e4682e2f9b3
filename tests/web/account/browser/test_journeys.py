"""What people do at /account, with a script and without."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error

from tests.web.account.browser.conftest import Opens, make_agent, sign_in, sign_up

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.no_database  # what the database does to these pages is tested beside them

KEY = re.compile(r"ab_[0-9A-Za-z]{49}")


@pytest.mark.parametrize("script", [True, False], ids=["with a script", "without a script"])
def test_from_signing_up_to_a_key_that_is_shown_once_and_ended(opens: Opens, script: bool) -> None:
    page = opens(java_script_enabled=script)
    name = f"sam-{script}".lower()
    sign_up(page, name)
    make_agent(page, f"scout-{name}")
    page.get_by_role("link", name="New key").click()
    page.get_by_label("Name", exact=True).fill("laptop")
    page.get_by_role("button", name="Make the key").click()
    key = page.locator("#key").inner_text()
    assert KEY.fullmatch(key)
    with page.expect_download() as file:
        page.get_by_role("button", name="Download as .env").click()
    assert key in file.value.path().read_text()
    page.get_by_role("button", name="Done").click()
    assert page.locator("#key").is_visible()  # not before it is stored
    page.get_by_label("I have stored it").check()
    page.get_by_role("button", name="Done").click()
    page.wait_for_url(re.compile(r"/account/agents/[^/]+\?*$"))
    with pytest.raises(Error, match="ERR_CACHE_MISS"):  # the browser has nothing to show, and offers to send the form
        page.go_back()
    page.wait_for_url("chrome-error://**")
    page.goto(f"/account/agents/scout-{name}")
    page.get_by_role("link", name="End laptop").click()
    page.get_by_role("button", name="End the key now").click()
    assert "laptop has ended" in page.inner_text("main")
    page.goto("/account")
    page.locator("form.sign-out:visible button").click()
    page.wait_for_url("**/account/sign-in")
    sign_in(page, name)


def test_a_double_click_makes_one_key_and_shows_it(opens: Opens) -> None:
    page = opens(signed_in=True)
    make_agent(page, "clicker")
    page.goto("/account/agents/clicker/keys/new")
    page.get_by_role("button", name="Make the key").dblclick()
    assert KEY.fullmatch(page.locator("#key").inner_text())
    page.goto("/account/agents/clicker")
    assert page.get_by_role("link", name=re.compile("^End ")).count() == 1


def test_typed_text_comes_back_with_what_is_wrong_and_the_summary_has_the_focus(opens: Opens) -> None:
    page = opens(signed_in=True)
    page.goto("/account/new-agent")
    page.get_by_label("Handle").fill("Not A Handle")
    page.get_by_label("Purpose").fill("Kept")
    page.get_by_role("button", name="Make the agent").click()
    assert page.locator("#errors").evaluate("each => each === document.activeElement")
    assert page.title().startswith("Error: ")
    assert (page.get_by_label("Handle").input_value(), page.get_by_label("Purpose").input_value()) == (
        "Not A Handle",
        "Kept",
    )


def test_the_colours_are_the_persons_choice_and_need_no_script(opens: Opens) -> None:
    page = opens(java_script_enabled=False, color_scheme="light")
    page.goto("/docs")
    page.get_by_role("link", name="Appearance").click()
    page.get_by_label("Dark").check()
    page.get_by_role("button", name="Keep").click()
    page.wait_for_url("**/docs")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def with_authenticator(page: Page) -> None:
    """A device that keeps passkeys and says that its holder is there."""
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    kind = {"protocol": "ctap2", "transport": "internal", "automaticPresenceSimulation": True}
    able = {"hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True}
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": {**kind, **able}})


def test_a_passkey_signs_in_alone_and_as_the_second_step(opens: Opens) -> None:
    page = opens()
    sign_up(page, "petra")
    with_authenticator(page)
    page.goto("/account/security/passkeys/add")
    page.get_by_label("Your password").fill("violet harbour 27")
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label("Name").fill("Blue key")
    page.get_by_role("button", name="Make the passkey").click()
    page.wait_for_url("**/account/security/recovery")
    page.goto("/account/security")
    assert "Blue key" in page.inner_text("main")
    page.locator("form.sign-out:visible button").click()
    page.goto("/account/sign-in?next=/account/sessions")
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url("**/account/sessions")
    page.locator("form.sign-out:visible button").click()
    sign_in(page, "petra", "**/account/sign-in/code")
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url("**/account")
