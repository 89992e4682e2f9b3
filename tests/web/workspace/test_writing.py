"""Writing notes: drafts, and two writers of one note. Whatever happens, no word that was typed is lost."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.utils import timezone

from agentboard import rate
from agentboard.contract import limits
from agentboard.web.workspace.drafts import KEPT_DAYS, KEPT_MAX, Draft
from tests.calls import Agent
from tests.web.workspace.conftest import Browser
from tests.web.workspace.page import Page, opened
from tests.web.workspace.test_notes import at, full_row

BASE = "## Units\nkWh is energy.\n\n## Ageing\nTo 80 %.\n\n## Money\nThe fee from June on.\n"
THEIRS = BASE.replace("80", "70").replace("energy.", "energy, kW is power.")
MINE = BASE.replace("80", "75").replace("June", "July")
MERGED = BASE.replace("80", "75").replace("June", "July").replace("energy.", "energy, kW is power.")


def editing(client: Client, agent: Agent, name: str = "kept") -> Page:
    return opened(client, at(agent, f"/memory/{name}/edit"))


def drafts(agent: Agent) -> list[Draft]:
    return list(Draft.objects.living(full_row(agent)))


@pytest.fixture
def clash(mira: Client, atlas: Agent) -> Page:
    """The page after a save that met a newer version."""
    atlas.save("kept", BASE, summary="short", tags=["red"])
    page = editing(mira, atlas)
    atlas.save("kept", THEIRS, 1, summary="short", tags=["red"])
    return page.press("Save as r2", data__body=MINE, data__tags="red, blue")


# ---- writing


def test_a_new_note_is_written_and_shown(mira: Client, atlas: Agent) -> None:
    page = opened(mira, at(atlas, "/new-note"))
    page = page.press("Save as r1", id="first-note", data__body="  text\n\n", data__tags="red", data__summary="short")
    assert (page.status, "Saved as r1." in page.main.words) == (200, True)
    note = atlas.note("first-note")
    assert (note["body"], note["tags"], note["summary"], note["via"]) == ("  text\n\n", ["red"], "short", "browser")
    assert drafts(atlas) == []


def test_an_edit_keeps_all_that_was_not_changed(mira: Client, atlas: Agent) -> None:
    atlas.save("below")
    atlas.save("next")
    whole: dict[str, Any] = {
        "summary": "In short",
        "use_when": "Always\nor never",
        "tags": ["red", "blue"],
        "status": "archived",
        "review_after": "2027-03-01T08:30:15.123456Z",
        "memory_references": [{"name": "below", "version": 1}],
        "superseded_by": "next",
    }
    atlas.save("kept", "\n\ntext\n", **whole)
    before = atlas.note("kept")
    editing(mira, atlas).press("Save as r2")
    after = atlas.note("kept")
    changing = ("version", "via", "origin", "updated_at")
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }
    assert after["version"] == 2


def test_references_are_added_row_by_row_while_the_words_stay(mira: Client, atlas: Agent) -> None:
    atlas.save("below")
    atlas.save("kept", "text")
    page = editing(mira, atlas).press("do=add:data.memory_references", data__body="new words")
    assert page.by_id("f-data-body").text == "\nnew words"
    page.press("Save as r2", data__memory_references__0__name="below", data__memory_references__0__version="1")
    assert atlas.note("kept")["memory_references"] == [{"name": "below", "version": 1, "state": "current"}]


def test_saving_twice_by_one_form_makes_one_version(mira: Client, atlas: Agent) -> None:
    """B51"""
    atlas.save("kept", "first")
    page = editing(mira, atlas)
    for _ in range(2):
        saved = page.press("Save as r2", data__body="second")
        assert "Saved as r2." in saved.main.words
    assert atlas.note("kept")["version"] == 2


def test_a_refused_save_shows_the_words_again_and_keeps_them(mira: Client, atlas: Agent) -> None:
    atlas.save("kept", "first")
    body = "x" * (limits.BODY_MAX + 1)
    page = editing(mira, atlas).press("Save as r2", data__body=body, data__tags="Not A Slug")
    assert (page.status, page.title.startswith("Error:")) == (422, True)
    assert page.by_id("f-data-body").text == "\n" + body
    assert {link["href"] for link in page.by_id("errors").all("a")} == {"#f-data-tags"}
    (draft,) = drafts(atlas)
    assert draft.fields["data.body"] == body
    page = page.press("Save as r2", data__tags="red")
    assert "#f-data-body" in {link["href"] for link in page.by_id("errors").all("a")}
    page.press("Save as r2", data__body="short enough")
    assert (atlas.note("kept")["body"], drafts(atlas)) == ("short enough", [])


def test_a_note_deleted_meanwhile_can_be_made_anew_from_what_was_typed(mira: Client, atlas: Agent) -> None:
    atlas.save("kept", "first")
    page = editing(mira, atlas)
    atlas.done("delete_memory", "kept", expected_version=1)
    page = page.press("Save as r2", data__body="my words")
    assert "deleted meanwhile" in page.by_id("errors").words
    page.press("Save as r1")
    assert (atlas.note("kept")["body"], atlas.note("kept")["version"]) == ("my words", 3)


def test_a_preview_shows_markdown_and_keeps_a_draft(mira: Client, atlas: Agent) -> None:
    atlas.save("kept", "first")
    page = editing(mira, atlas).press("Preview", data__body="Some **bold** words")
    assert "<strong>bold</strong>" in page.html
    assert atlas.note("kept")["body"] == "first"
    assert [draft.fields["data.body"] for draft in drafts(atlas)] == ["Some **bold** words"]


def test_too_many_calls_lose_no_words(mira: Client, atlas: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    atlas.save("kept", "first")
    page = editing(mira, atlas)
    monkeypatch.setattr(rate, "AGENTS", rate.Buckets("agent", 60, 1, 1))
    rate.AGENTS.take(atlas.pk)
    page = page.press("Save as r2", data__body="my words")
    assert (page.status, page.response["Retry-After"]) == (429, "1")
    assert page.by_id("f-data-body").text == "\nmy words"
    assert [draft.fields["data.body"] for draft in drafts(atlas)] == ["my words"]


# ---- drafts


def test_a_draft_is_offered_gone_on_with_and_dropped(mira: Client, atlas: Agent) -> None:
    atlas.save("kept", "first")
    editing(mira, atlas).press("Preview", data__body="my words")
    waiting = opened(mira, at(atlas)).root.one("section", class_="attn")
    assert "Your text for kept is not saved yet." in waiting.words
    page = editing(mira, atlas)
    assert page.by_id("f-data-body").text == "\nfirst"
    page = Page(mira, mira.get(page.link("Go on with it"), follow=True))
    assert page.by_id("f-data-body").text == "\nmy words"
    editing(mira, atlas).press("Drop it")
    assert drafts(atlas) == []


def test_the_script_keeps_a_draft_by_its_own_address(mira: Client, atlas: Agent) -> None:
    typed = {"id": "kept", "data.body": "a\r\nb", "data.expected_version": "3", "once": "x", "do": "save"}
    first = mira.post(at(atlas, "/drafts"), typed).json()["draft"]
    again = mira.post(at(atlas, "/drafts"), {**typed, "draft": first, "data.body": "c"}).json()["draft"]
    (draft,) = drafts(atlas)
    assert (first, draft.ref, draft.note, draft.version) == (again, first, "kept", 3)
    assert draft.fields == {"id": "kept", "data.body": "c", "data.expected_version": "3"}


def test_a_draft_with_a_name_that_no_note_could_have_can_be_gone_on_with_and_dropped(
    mira: Client, atlas: Agent
) -> None:
    page = opened(mira, at(atlas, "/new-note")).press("Preview", id="a/b ?", data__body="my words")
    (draft,) = drafts(atlas)
    for path in ("", "/merge"):
        page = Page(mira, mira.get(at(atlas, f"/drafts/{draft.ref}{path}"), follow=True))
        assert (page.by_id("f-id")["value"], page.by_id("f-data-body").text) == ("a/b ?", "\nmy words")
    assert mira.post(at(atlas, f"/drafts/{draft.ref}/drop"), follow=True).status_code == 200
    assert drafts(atlas) == []


def test_two_browsers_keep_their_own_drafts(mira: Client, atlas: Agent) -> None:
    atlas.save("kept", "first")
    for words in ("in one", "in the other"):
        editing(mira, atlas).press("Preview", data__body=words)
    assert {draft.fields["data.body"] for draft in drafts(atlas)} == {"in one", "in the other"}


def test_a_draft_of_another_person_is_as_good_as_none(
    mira: Client, atlas: Agent, boreas: Agent, owner_of: Browser
) -> None:
    boreas.save("kept", "first")
    editing(owner_of(boreas), boreas).press("Preview", data__body="secret words")
    (draft,) = drafts(boreas)
    for path in ("", "/text", "/merge"):
        assert mira.get(at(atlas, f"/drafts/{draft.ref}{path}")).status_code == 404
        assert mira.get(at(boreas, f"/drafts/{draft.ref}{path}")).status_code == 404
    assert mira.post(at(atlas, f"/drafts/{draft.ref}/drop")).status_code == 404
    assert mira.get(at(atlas, f"/new-note?draft={draft.ref}")).status_code == 404
    mira.post(at(atlas, "/drafts"), {"draft": draft.ref, "data.body": "other"})
    assert drafts(boreas)[0].fields["data.body"] == "secret words"


def test_drafts_are_encrypted_and_forgotten_after_a_week(mira: Client, atlas: Agent) -> None:
    """B50"""
    opened(mira, at(atlas, "/new-note")).press("Preview", id="kept", data__body="MARKER-7f3a")
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM web_draft")
        assert not any("MARKER-7f3a" in str(row) for row in cursor.fetchall())
    (draft,) = drafts(atlas)
    Draft.objects.filter(pk=draft.pk).update(updated_at=timezone.now() - timedelta(days=KEPT_DAYS))
    assert drafts(atlas) == []
    assert mira.get(at(atlas, f"/drafts/{draft.ref}/text")).status_code == 404
    Draft.objects.keep(full_row(atlas), "", {}, note="", version=0, conflict=False)
    assert not Draft.objects.filter(pk=draft.pk).exists()


def test_the_oldest_of_too_many_drafts_go(atlas: Agent) -> None:
    row = full_row(atlas)
    for number in range(KEPT_MAX + 2):
        Draft.objects.keep(row, "", {"data.body": str(number)}, note="", version=0, conflict=False)
    kept = [draft.fields["data.body"] for draft in drafts(atlas)]
    assert (len(kept), kept[0], kept[-1]) == (KEPT_MAX, str(KEPT_MAX + 1), "2")


# ---- signed out meanwhile


def test_what_is_sent_after_the_session_has_ended_comes_back_and_can_be_sent_again(
    mira: Client, atlas: Agent, owner_of: Browser
) -> None:
    atlas.save("kept", "first")
    page = editing(mira, atlas)
    mira.logout()
    page = page.press("Save as r2", data__body="my\n\nwords\n")
    assert (page.status, "Your text is still here" in page.main.words) == (401, True)
    assert page.response["Cache-Control"] == "no-store"
    assert atlas.note("kept")["body"] == "first"
    mira.cookies = owner_of(atlas).cookies
    page = page.press("I have signed in: send it again")
    assert "Saved as r2." in page.main.words
    assert atlas.note("kept")["body"] == "my\n\nwords\n"


def test_a_form_older_than_the_sign_in_is_sent_once_more(atlas: Agent, owner_of: Browser) -> None:
    atlas.save("kept", "first")
    strict = Client(enforce_csrf_checks=True, headers={"origin": "http://testserver"})
    strict.cookies = owner_of(atlas).cookies
    page = editing(strict, atlas)
    strict.cookies["csrftoken"] = "x" * 32
    page = page.press("Save as r2", data__body="my words")
    assert (page.status, "Your text is still here" in page.main.words) == (403, True)
    page = page.press("Send it again")
    assert "Saved as r2." in page.main.words


def test_what_another_site_sends_is_not_even_shown(atlas: Agent, owner_of: Browser) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = owner_of(atlas).cookies
    for origin in ({}, {"origin": "https://elsewhere.example"}):
        answer = strict.post(at(atlas, "/new-note"), {"data.body": "MARKER"}, headers=origin)
        assert (answer.status_code, b"MARKER" in answer.content) == (403, False)


# ---- a newer version


def test_a_newer_version_leads_to_a_page_that_puts_both_together(clash: Page, atlas: Agent) -> None:
    assert (clash.status, clash.title) == (200, "Newer version of kept · AgentBoard")
    assert "1 place needs your choice" in clash.main.words
    assert "2 others were put together for you" in clash.main.words
    assert clash.by_id("m").text == "\n" + MERGED
    assert "Tags: yours, red, blue" in clash.main.words
    place = clash.root.all("fieldset", class_="hunk")[0].words
    assert all(text in place for text in ("To 80 %.", "To 70 %.", "To 75 %.", "Line 5"))
    assert atlas.note("kept")["body"] == THEIRS


@pytest.mark.parametrize(
    ("choice", "line"), [("saved", "To 70 %.\n"), ("mine", "To 75 %.\n"), ("both", "To 70 %.\nTo 75 %.\n"),
                         ("before", "To 80 %.\n")]
)  # fmt: skip
def test_the_choices_build_the_text_anew(clash: Page, atlas: Agent, choice: str, line: str) -> None:
    built = clash.send("Build again from the choices", {"place.0": choice})
    assert built.by_id("m").text == "\n" + MERGED.replace("To 75 %.\n", line)
    saved = built.press("Save as r3")
    assert "Saved as r3." in saved.main.words
    assert atlas.note("kept")["body"] == MERGED.replace("To 75 %.\n", line)
    assert atlas.note("kept")["tags"] == ["red", "blue"]
    assert drafts(atlas) == []


def test_the_merged_text_can_be_edited_and_building_again_shows_what_stood_there(clash: Page, atlas: Agent) -> None:
    built = clash.send("Build again from the choices", {"place.0": "saved", "text": "by hand"})
    assert "What stood there before" in built.main.words
    assert "by hand" in built.main.words
    built.press("Save as r3", text="by hand after all")
    assert atlas.note("kept")["body"] == "by hand after all"


def test_a_version_newer_still_is_met_in_the_same_way(clash: Page, atlas: Agent) -> None:
    atlas.save("kept", "one more\n" + THEIRS, 2, summary="longer", tags=["red"])
    again = clash.press("Save as r3")
    assert (again.status, again.title) == (200, "Newer version of kept · AgentBoard")
    assert again.by_id("m").text == "\none more\n" + MERGED
    again.press("Save as r4")
    note = atlas.note("kept")
    assert (note["body"], note["version"], note["tags"]) == ("one more\n" + MERGED, 4, ["red", "blue"])
    assert note["summary"] == "longer"


def test_a_field_that_both_changed_is_a_choice_of_its_own(mira: Client, atlas: Agent) -> None:
    atlas.save("kept", "text", summary="before", tags=["red"])
    page = editing(mira, atlas)
    atlas.save("kept", "text", 1, summary="theirs", tags=["green"])
    page = page.press("Save as r2", data__summary="mine", data__tags="blue")
    assert "All changes to the text go together" in page.main.words
    page.send("Save as r3", {"take.summary": "saved", "take.tags": "mine"})
    note = atlas.note("kept")
    assert (note["summary"], note["tags"], note["body"]) == ("theirs", ["blue"], "text")


def test_the_merged_text_keeps_to_the_limit_and_loses_nothing(clash: Page, atlas: Agent) -> None:
    body = "é" * (limits.BODY_MAX // 2) + "x"
    page = clash.press("Save as r3", text=body)
    assert (page.status, page.by_id("m").text) == (422, "\n" + body)
    assert page.by_id("m")["aria-invalid"] == "true"
    assert drafts(atlas)[0].fields["data.body"] == body
    page.press("Save as r3", text=body[:-1])
    assert atlas.note("kept")["bytes"] == limits.BODY_MAX


def test_the_draft_of_a_conflict_outlives_signing_out(clash: Page, mira: Client, atlas: Agent) -> None:
    mira.logout()
    assert mira.get(clash.response.request["PATH_INFO"]).status_code == 302
    mira.force_login(full_row(atlas).owner)
    home = opened(mira, at(atlas))
    assert "Your edit to kept met a newer version." in home.main.words
    page = Page(mira, mira.get(home.link("Your edit to kept"), follow=True))
    assert page.by_id("m").text == "\n" + MERGED
    text = mira.get(page.link("Download my text")).content.decode()
    assert text == MINE


def test_mine_can_be_dropped_or_become_another_note(clash: Page, mira: Client, atlas: Agent) -> None:
    page = clash.press("Save mine as a new note", name="kept-mine")
    assert (page.by_id("f-id")["value"], page.by_id("f-data-body").text) == ("kept-mine", "\n" + MINE)
    page.press("Save as r1")
    assert (atlas.note("kept-mine")["body"], atlas.note("kept")["body"]) == (MINE, THEIRS)
    page = editing(mira, atlas)
    atlas.save("kept", "newest", 2)
    page.press("Save as r3", data__body="mine").press("Keep r3, drop mine")
    assert (atlas.note("kept")["body"], drafts(atlas)) == ("newest", [])


def test_a_new_note_whose_name_is_taken_meets_the_one_that_is_there(mira: Client, atlas: Agent) -> None:
    page = opened(mira, at(atlas, "/new-note"))
    atlas.save("kept", "there before\n")
    page = page.press("Save as r1", id="kept", data__body="mine\n")
    assert "This note exists already" in page.main.words
    page = page.send("Build again from the choices", {"place.0": "both"})
    page.press("Save as r2")
    assert atlas.note("kept")["body"] == "there before\nmine\n"


def test_the_version_before_may_be_kept_no_longer(clash: Page, mira: Client, atlas: Agent) -> None:
    (draft,) = drafts(atlas)
    Draft.objects.filter(pk=draft.pk).update(version=99)
    page = opened(mira, clash.response.request["PATH_INFO"])
    assert "is kept no longer" in page.main.words
    assert "To 75 %." in page.by_id("m").text


def test_a_note_deleted_during_the_conflict_leads_back_to_the_words(clash: Page, mira: Client, atlas: Agent) -> None:
    atlas.done("delete_memory", "kept", expected_version=2)
    page = Page(mira, mira.get(clash.response.request["PATH_INFO"], follow=True))
    assert page.status == 404 or "75" in page.by_id("f-data-body").text


def test_a_merge_that_is_sent_twice_saves_once(clash: Page, atlas: Agent) -> None:
    """B51"""
    for _ in range(2):
        assert "Saved as r3." in clash.press("Save as r3").main.words
    assert atlas.note("kept")["version"] == 3


def test_of_two_browsers_that_save_at_once_one_merges(atlas: Agent, owner_of: Browser) -> None:
    atlas.save("kept", BASE)
    pages = [editing(owner_of(atlas), atlas) for _ in range(2)]
    together = threading.Barrier(2)

    def save(number: int) -> Page:
        together.wait(10)  # seconds
        try:
            return pages[number].press("Save as r2", data__body=BASE.replace("80 %", f"{number} of 100"))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as browsers:
        answers = [*browsers.map(save, range(2))]
    assert sorted("met" if "Newer version" in page.title else "saved" for page in answers) == ["met", "saved"]
    (merging,) = [page for page in answers if "Newer version" in page.title]
    merging.send("Build again from the choices", {"place.0": "both"}).press("Save as r3")
    assert all(f"{number} of 100" in atlas.note("kept")["body"] for number in range(2))
