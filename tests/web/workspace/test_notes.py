"""Notes as pages: found, read, compared, restored, reviewed, in few queries, and only by whose they are."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentboard import rate
from agentboard.identity.models import Agent as AgentRow
from agentboard.web.markdown import TAGS
from agentboard.web.workspace.drafts import Draft
from memory.models import Note
from tests.board import Board
from tests.calls import Agent
from tests.posts.hostile import MARKDOWN, elements, harms
from tests.web.workspace.page import Page, opened

QUERIES_MAX = 12


def at(agent: Agent, path: str = "") -> str:
    """An address of the agent's workspace."""
    return f"/workspace/{agent.handle}{path}"


def titles(page: Page) -> list[str]:
    """The notes of the ledger."""
    return [link.words for link in page.root.all("a", class_="title")]


# ---- the way in


def test_one_agent_is_gone_to_and_more_are_offered(mira: Client, atlas: Agent, board: Board) -> None:
    assert mira.get("/workspace")["Location"] == at(atlas)
    page = opened(mira, "/workspace?all")
    assert at(atlas) in page.links()


def test_my_agents_are_listed_and_nobody_elses(mira: Client, atlas: Agent, second: Agent, boreas: Agent) -> None:
    links = opened(mira, "/workspace").links()
    assert {at(atlas), at(second)} <= {*links}
    assert at(boreas) not in links


def test_without_an_agent_the_page_says_how_to_get_one(board: Board) -> None:
    client = Client()
    client.force_login(board.person())
    for address in ("/workspace", "/workspace?method=save_memory"):
        assert "No agents yet" in opened(client, address).main.words


@pytest.mark.parametrize(
    "path",
    ["", "/memory", "/memory/kept", "/memory/kept/edit", "/memory/kept/text", "/new-note", "/methods", "/spaces",
     "/posts", "/activity", "/inbox", "/search?q=kept"],
)  # fmt: skip
def test_another_persons_agent_has_no_pages(mira: Client, boreas: Agent, path: str) -> None:
    boreas.save("kept", "secret words")
    answer = mira.get(at(boreas, path))
    missing = mira.get(f"/workspace/nobody{path}")
    assert answer.status_code == missing.status_code == 404
    assert answer.content.replace(boreas.handle.encode(), b"nobody") == missing.content
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/memory/kept/restore", "/memory/kept/review", "/memory/kept/edit", "/drafts"])
def test_another_persons_note_cannot_be_changed(mira: Client, boreas: Agent, path: str) -> None:
    boreas.save("kept")
    typed = {"expected_version": "1", "version": "1", "data.body": "mine", "data.expected_version": "1", "do": "save"}
    assert mira.post(at(boreas, path), typed).status_code == 404
    assert boreas.note("kept")["version"] == 1


@pytest.mark.parametrize("path", ["", "/memory", "/activity", "/search", "/inbox"])
def test_every_page_asks_for_signing_in_and_comes_back(atlas: Agent, path: str) -> None:
    answer = Client().get(at(atlas, path))
    assert (answer.status_code, answer["Location"]) == (302, f"/account/sign-in?next={at(atlas, path)}")


# ---- home


def test_home_tells_what_waits(mira: Client, atlas: Agent, boreas: Agent) -> None:
    atlas.save("due", review_after="2026-01-01T00:00:00Z")
    post = atlas.done("create_post", type="OFFER", title="Offer", body="text")
    boreas.done("reply_to_post", post["id"], body="reply")
    page = opened(mira, at(atlas))
    waiting = page.root.one("section", class_="attn").words
    assert "1 note is due for review." in waiting
    assert "1 unread item in the inbox." in waiting
    assert titles(page) == ["due"]


def test_home_without_anything_says_what_will_stand_there(mira: Client, atlas: Agent) -> None:
    page = opened(mira, at(atlas))
    assert page.root.all("section", class_="attn") == []
    assert "No notes yet." in page.main.words
    assert at(atlas, "/new-note") in page.links()


# ---- the ledger


def test_filters_stand_in_the_address_and_tags_have_counts(mira: Client, atlas: Agent) -> None:
    atlas.save("one", tags=["red", "green"])
    atlas.save("two", "find these words", tags=["red"], status="archived")
    atlas.save("three", review_after="2026-01-01T00:00:00Z")
    page = opened(mira, at(atlas, "/memory"))
    assert titles(page) == ["three", "two", "one"]
    assert page.link("red 2") == at(atlas, "/memory?tag=red")
    assert titles(opened(mira, page.link("red 2"))) == ["two", "one"]
    assert titles(opened(mira, at(atlas, "/memory?state=due"))) == ["three"]
    assert titles(opened(mira, at(atlas, "/memory?state=archived"))) == ["two"]
    assert titles(opened(mira, at(atlas, "/memory?order=name"))) == ["one", "three", "two"]
    found = opened(mira, at(atlas, "/memory?q=these+words&tag=red"))
    assert titles(found) == ["two"]
    assert "find these words" in found.main.words
    assert found.by_id("f")["value"] == "these words"
    assert "No note fits “nothing”" in opened(mira, at(atlas, "/memory?q=nothing")).main.words


def test_the_pages_of_the_ledger_show_each_note_once(mira: Client, atlas: Agent) -> None:
    for number in range(60):
        atlas.save(f"note-{number:02}")
    seen: list[str] = []
    page = opened(mira, at(atlas, "/memory?order=name"))
    while True:
        seen += titles(page)
        following = [link["href"] for link in page.root.all("a", rel="next")]
        if not following:
            break
        page = opened(mira, following[0])
    assert seen == [f"note-{number:02}" for number in range(60)]


@pytest.mark.parametrize("query", ["q=%00", "q=" + "a+" * 99, "tag=%00", "tag=A_", "cursor=abc", "state=x&order=y"])
def test_no_query_breaks_the_ledger(mira: Client, atlas: Agent, query: str) -> None:
    """B53"""
    assert mira.get(at(atlas, f"/memory?{query}")).status_code in (200, 400)


# ---- few queries


@pytest.fixture
def full(board: Board, atlas: Agent) -> Agent:
    """An agent with 10 000 notes, the latest with references that are stale in every way, drafts and an inbox."""
    now = datetime.now(UTC)
    rows = [
        Note(
            agent_id=atlas.pk, name=f"filler-{number}", version=1, status="active", tags=[f"tag-{number % 300}"],
            memory_references=[], bytes=1, via="rest", created_at=now - timedelta(days=40),
            updated_at=now - timedelta(days=40), review_after=now + timedelta(days=2),
        )
        for number in range(9_899)
    ]  # fmt: skip
    Note.objects.bulk_create(rows, batch_size=2_000)
    for number in range(40):
        atlas.save(f"old-{number}")
        atlas.save(f"old-{number}", "newer", 1, review_after="2026-01-01T00:00:00Z")
    for number in range(60):
        references = [{"name": f"old-{number % 40}", "version": 1}, {"name": f"old-{(number + 1) % 40}", "version": 2}]
        atlas.save(f"new-{number}", memory_references=references, review_after="2026-01-01T00:00:00Z")
    return atlas


def test_no_page_of_an_agent_with_ten_thousand_notes_takes_more_than_twelve_queries(
    full: Agent, mira: Client, boreas: Agent
) -> None:
    post = full.done("create_post", type="OFFER", title="Offer", body="text")
    boreas.done("reply_to_post", post["id"], body="reply")
    space = full.done("create_space", request_id="full", name="full", title="Full")
    entry = full.done("create_space_entry", space["id"], kind="TASK", title="Task", body="text")["id"]
    full.done("add_evidence", entry, body="text")
    full.save("new-0", "newest", 1, memory_references=[{"name": "old-1", "version": 1}])
    Draft.objects.keep(full_row(full), "", {"data.body": "mine"}, note="new-0", version=1, conflict=True)
    draft = Draft.objects.get(agent_id=full.pk).ref
    mira.get(at(full))  # once a session its first page notes where it was seen
    pages = [
        "", "/memory", "/memory?tag=tag-1", "/memory?state=due", "/memory?q=new", "/memory/new-0",
        "/memory/new-0?tab=changes", "/memory/new-0?tab=links", "/memory/new-0?tab=raw", "/memory/new-0?version=1",
        "/memory/new-0/edit", "/new-note", f"/drafts/{draft}/merge", "/methods", "/spaces", "/posts", "/activity",
        "/inbox", "/search?q=new", f"/spaces/{space['id']}", f"/spaces/{space['id']}?tab=tasks",
        f"/spaces/{space['id']}?tab=members", f"/entries/{entry}", f"/posts/{post['id']}",
    ]  # fmt: skip
    counted = {}
    full.save("newest", tags=["tag-1"])  # so that what is remembered of its tags is out of date
    for page in pages:
        with CaptureQueriesContext(connection) as queries:
            answer = mira.get(at(full, page))
        assert answer.status_code == 200, page
        counted[page] = len(queries)
    assert {page: count for page, count in counted.items() if count > QUERIES_MAX} == {}


def full_row(agent: Agent) -> AgentRow:
    """The agent's row."""
    return AgentRow.objects.get(pk=agent.pk)


# ---- one note


def test_a_note_is_shown_as_markdown_and_as_it_is(mira: Client, atlas: Agent) -> None:
    body = "# Title\n\nSome **bold** words\n<script>alert(1)</script>\n"
    atlas.save("kept", body, summary="In <b>short</b>", use_when="Always", tags=["red"])
    page = opened(mira, at(atlas, "/memory/kept"))
    assert "<strong>bold</strong>" in page.html
    assert page.root.all("script", src="") == []
    assert "In <b>short</b>" in page.main.words
    raw = opened(mira, at(atlas, "/memory/kept?tab=raw"))
    assert raw.root.one("pre", class_="raw").text == "\n" + body
    file = mira.get(at(atlas, "/memory/kept/text"))
    assert (file.content.decode(), file["Content-Disposition"]) == (body, 'attachment; filename="kept.r1.md"')
    assert file["Cache-Control"] == "no-store"


def test_hostile_texts_are_harmless_on_every_page(mira: Client, atlas: Agent) -> None:
    """B47"""
    whole = "\n\n".join(MARKDOWN)
    atlas.save("hostile", "before", summary=MARKDOWN[0], use_when=MARKDOWN[1])
    atlas.save("hostile", whole, 1, summary=MARKDOWN[2], use_when=MARKDOWN[3])
    for path in ("", "/memory?q=script", "/memory/hostile", "/memory/hostile?tab=changes", "/memory/hostile?tab=raw",
                 "/memory/hostile/edit", "/search?q=alert"):  # fmt: skip
        found = elements(opened(mira, at(atlas, path)).html)
        assert not [attributes for tag, attributes in found if tag == "script" and "src" not in attributes], path
        assert not {"img", "iframe", "style", "math", "object"} & {tag for tag, _ in found}, path
        assert not [name for _, attributes in found for name in attributes if name.startswith("on")], path
        assert not [a for tag, a in found if tag == "a" and (a["href"] or "").lower().startswith(("java", "data"))]
    for text in re.findall(
        r'<div class="text" dir="auto">(.*?)</div>', opened(mira, at(atlas, "/memory/hostile")).html
    ):
        assert [*harms(text, frozenset(TAGS))] == []


def test_changes_show_lines_and_words(mira: Client, atlas: Agent) -> None:
    atlas.save("kept", "one\ntwo small words\nthree\n", tags=["red"])
    atlas.save("kept", "one\ntwo large words\nthree\nfour & <five>\n", 1)
    page = opened(mira, at(atlas, "/memory/kept?tab=changes"))
    table = page.root.one("table", class_="diff")
    assert [each.words for each in table.all("del")] == ["small"]
    assert [each.words for each in table.all("ins")] == ["large"]
    assert "Added: four & <five>" in table.words
    assert "+2 lines −1 line" in page.main.words
    assert "tags red → nothing" in page.main.words
    assert "nothing → r1" in opened(mira, at(atlas, "/memory/kept?tab=changes&to=1")).main.words


def test_two_revisions_are_chosen_and_compared_without_script(mira: Client, atlas: Agent) -> None:
    for version, body in enumerate(["a", "b", "c"]):
        atlas.save("kept", body, version)
    page = opened(mira, at(atlas, "/memory/kept")).send("Compare", {"from": "1", "to": "3"})
    assert "r1 → r3" in page.main.words
    assert [each["value"] for each in page.root.all("input", type="radio") if "checked" in each] == ["3", "1"]


def test_restoring_makes_a_new_version_once_and_can_be_undone(mira: Client, atlas: Agent) -> None:
    atlas.save("kept", "first")
    atlas.save("kept", "second", 1)
    page = opened(mira, at(atlas, "/memory/kept?tab=changes"))
    for _ in range(2):
        restored = page.press("Restore r1")
        assert (restored.status, "Saved as r3." in restored.main.words) == (200, True)
    assert (atlas.note("kept")["body"], atlas.note("kept")["version"]) == ("first", 3)
    restored.press("Undo: restore r2")
    assert (atlas.note("kept")["body"], atlas.note("kept")["version"]) == ("second", 4)


def test_restoring_over_a_newer_version_is_refused_in_words(mira: Client, atlas: Agent) -> None:
    atlas.save("kept", "first")
    atlas.save("kept", "second", 1)
    page = opened(mira, at(atlas, "/memory/kept?tab=changes"))
    atlas.save("kept", "third", 2)
    refused = page.press("Restore r1")
    assert (refused.status, "it is at version 3" in refused.main.words) == (409, True)
    assert atlas.note("kept")["body"] == "third"


def test_a_review_is_marked_with_or_without_a_next_date(mira: Client, atlas: Agent) -> None:
    atlas.save("kept", "text", review_after="2026-01-01T00:00:00Z")
    page = opened(mira, at(atlas, "/memory/kept"))
    assert "days late" in page.main.words
    page.press("Still right: mark reviewed", review_after="2027-03-01T08:30")
    assert atlas.note("kept")["review_after"] == "2027-03-01T08:30:00Z"
    opened(mira, at(atlas, "/memory/kept")).press("Still right: mark reviewed")
    assert (atlas.note("kept")["review_after"], atlas.note("kept")["body"]) == (None, "text")


def test_links_tell_how_the_notes_below_stand(mira: Client, atlas: Agent) -> None:
    atlas.save("below")
    atlas.save("gone")
    references = [{"name": "below", "version": 1}, {"name": "gone", "version": 1}]
    atlas.save("above", memory_references=references)
    atlas.save("below", "newer", 1)
    atlas.done("delete_memory", "gone", expected_version=1)
    words = opened(mira, at(atlas, "/memory/above?tab=links")).main.words
    assert "r1 below historical" in words
    assert "r1 gone unavailable" in words
    assert "stale links" in opened(mira, at(atlas)).main.words


def test_an_earlier_version_says_that_it_is_one_and_offers_no_changes_to_it(mira: Client, atlas: Agent) -> None:
    atlas.save("kept", "first words")
    atlas.save("kept", "second", 1)
    page = opened(mira, at(atlas, "/memory/kept?version=1"))
    assert "first words" in page.main.words
    assert "This is what r1 held." in page.main.words
    assert page.root.all("a", class_="btn-bad") == []


def test_a_superseded_note_leads_to_its_successor(mira: Client, atlas: Agent) -> None:
    atlas.save("old")
    atlas.save("new", supersedes={"name": "old", "expected_version": 1})
    assert "Superseded by new." in opened(mira, at(atlas, "/memory/old")).main.words


@pytest.mark.parametrize("path", ["/memory/missing", "/memory/missing/edit", "/memory/%00", "/memory/A_b/text"])
def test_a_note_that_does_not_exist_is_a_page_that_says_so(mira: Client, atlas: Agent, path: str) -> None:
    answer = mira.get(at(atlas, path))
    assert answer.status_code in (400, 404)
    assert b"<h1>" in answer.content


def test_too_many_calls_are_told_when_to_come_back(mira: Client, atlas: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "AGENTS", rate.Buckets("agent", 60, 1, 1))
    mira.get(at(atlas, "/memory"))
    answer = mira.get(at(atlas, "/memory"))
    assert (answer.status_code, answer["Retry-After"]) == (429, "1")


def test_the_same_thing_from_code_is_shown_without_a_key(mira: Client, atlas: Agent) -> None:
    atlas.save("kept")
    shown = unescape(opened(mira, at(atlas, "/memory/kept")).root.one("details", class_="twin").text)
    assert "/v1/memory/kept" in shown
    assert "$AGENT_KEY" in shown
