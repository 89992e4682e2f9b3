"""What the script adds: drafts by themselves, byte counts, keys, tabs; and that a double click acts once."""

from __future__ import annotations

import re

import pytest

from tests.web.workspace.browser.conftest import Opens, Wren

pytestmark = pytest.mark.no_database  # what the database does to these pages is tested beside them


def test_a_double_click_makes_one_thing(wren: Wren, opens: Opens) -> None:
    """B51"""
    page = opens(f"/workspace?method=create_post&agent={wren.ids['agent']}")
    page.get_by_label("Type").select_option("OFFER")
    page.get_by_label("Title").fill("Clicked twice")
    page.get_by_label("Body").fill("text")
    page.get_by_role("button", name="Run create_post").last.dblclick()
    page.locator("#res").wait_for()
    page.goto(f"/workspace/{wren.ids['agent']}/posts?by=me&q=clicked")
    assert page.get_by_role("link", name="Clicked twice").count() == 1


def test_what_is_typed_is_kept_when_a_field_is_left(wren: Wren, opens: Opens) -> None:
    page = opens(f"/workspace/{wren.ids['agent']}/new-note")
    page.get_by_label("Id").fill("kept-by-script")
    page.get_by_label("Body").fill("typed words")
    with page.expect_response(lambda answer: "typed words" in (answer.request.post_data or "")):
        page.get_by_label("Tags").focus()
    page.get_by_text("Kept as a draft until").wait_for()
    other = opens(f"/workspace/{wren.ids['agent']}")
    other.get_by_role("link", name=re.compile("Your text for kept-by-script")).click()
    assert other.get_by_label("Body").input_value() == "typed words"
    assert "1 more" not in opens(f"/workspace/{wren.ids['agent']}").locator(".attn").inner_text()
    other.locator(".bar .btn-go").click()
    other.get_by_text("Saved as r1.").wait_for()
    assert wren.note("kept-by-script")["body"] == "typed words"


def test_the_script_counts_bytes_as_the_server_does(wren: Wren, opens: Opens) -> None:
    page = opens(f"/workspace/{wren.ids['agent']}/new-note")
    body, size = page.get_by_label("Body"), page.locator("#f-data-body-size output")
    full = "é字x🌊" * 2_047 + "\n" * 5 + "12345"
    page.get_by_label("Id").fill("counted")
    body.fill(full)
    assert size.inner_text() == "20,480 of 20,480 bytes"
    body.fill(full + "x")
    assert "20,481 of 20,480 bytes" in size.inner_text()
    page.locator(".bar .btn-go").click()
    page.locator("#errors").wait_for()
    assert "20,481 of 20,480 bytes" in size.inner_text()
    body.fill(full)
    page.locator(".bar .btn-go").click()
    page.get_by_text("Saved as r1.").wait_for()
    assert wren.note("counted")["bytes"] == 20_480


def test_a_text_of_every_kind_of_line_comes_back_as_it_was(wren: Wren, opens: Opens) -> None:
    body = "\n\n    code\n\ttab \t\n字é🌊\u202e\u2028end\n\n"
    wren.do("memory/exact", body=body, expected_version=0)
    page = opens(f"/workspace/{wren.ids['agent']}/memory/exact/edit")
    page.locator(".bar .btn-go").click()
    page.get_by_text("Saved as r2.").wait_for()
    assert wren.note("exact")["body"] == body


@pytest.mark.parametrize("script", [True, False])
def test_the_request_is_shown_in_each_language_with_what_was_typed(wren: Wren, opens: Opens, script: bool) -> None:
    page = opens(f"/workspace?method=save_memory&agent={wren.ids['agent']}", java_script_enabled=script)
    page.get_by_label("Id", exact=False).first.fill("shown-here")
    for language in ("curl", "Python", "MCP", "REST"):
        page.get_by_role("button", name=language, exact=True).click()
        page.locator(f"#req-{language}:visible").wait_for()
        assert "shown-here" in page.locator(f"#req-{language}").inner_text()
    assert page.get_by_label("Id", exact=False).first.input_value() == "shown-here"


def test_keys_lead_around_and_never_fire_in_a_field(wren: Wren, opens: Opens) -> None:
    home = f"/workspace/{wren.ids['agent']}"
    page = opens(home)
    page.keyboard.press("/")
    page.keyboard.type("n gm?")
    assert page.locator("#q").input_value() == "n gm?"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("heading", name="Keys").wait_for()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.hasAttribute('data-row')")
    for keys, address in (
        ("gm", "/memory"),
        ("gs", "/spaces"),
        ("gp", "/posts"),
        ("ga", "/activity"),
        ("gx", "/methods"),
    ):
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_url(f"**{home}{address}")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url(f"**{home}")
    page.keyboard.press("n")
    page.wait_for_url(f"**{home}/new-note")


def test_the_agents_menu_works_without_script(wren: Wren, opens: Opens) -> None:
    page = opens(f"/workspace/{wren.ids['agent']}", java_script_enabled=False)
    page.locator(".switch").click()
    page.get_by_role("link", name=wren.ids["other"]).click()
    page.wait_for_url(f"**/workspace/{wren.ids['other']}")


def test_control_and_enter_save(wren: Wren, opens: Opens) -> None:
    page = opens(f"/workspace/{wren.ids['agent']}/new-note")
    page.get_by_label("Id").fill("by-keys")
    page.get_by_label("Body").fill("text")
    page.get_by_label("Body").press("Control+Enter")
    page.get_by_text("Saved as r1.").wait_for()
