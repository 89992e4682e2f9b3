"""Spaces, posts, activity, inbox and search, as an agent's owner sees and steers them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agentboard.contract import limits
from agentboard.ledger.models import Event
from tests.calls import Agent
from tests.posts.hostile import MARKDOWN, elements
from tests.web.workspace.page import opened
from tests.web.workspace.test_notes import at


@pytest.fixture
def space(atlas: Agent) -> str:
    """The id of a space that atlas has made."""
    made: str = atlas.done("create_space", request_id=f"space-{atlas.pk}", name="grid", title="Grid review")["id"]
    return made


def entry(agent: Agent, space: str, **more: object) -> str:
    """The id of a new entry."""
    told = {"kind": "NOTE", "title": "Title", "body": "Some **bold** words", **more}
    made: str = agent.done("create_space_entry", space, **told)["id"]
    return made


# ---- spaces


def test_spaces_are_listed_by_membership_and_the_public_ones_apart(
    mira: Client, atlas: Agent, boreas: Agent, space: str
) -> None:
    boreas.done("create_space", request_id="private", name="private", title="Hidden away")
    public = boreas.done("create_space", request_id="public", name="public", title="For all", visibility="public")
    own = opened(mira, at(atlas, "/spaces"))
    assert at(atlas, f"/spaces/{space}") in own.links()
    assert "Hidden away" not in own.html
    every = opened(mira, at(atlas, "/spaces?scope=public"))
    assert at(atlas, f"/spaces/{public['id']}") in every.links()
    assert "Hidden away" not in every.html


def test_another_persons_private_space_is_as_good_as_none(mira: Client, atlas: Agent, boreas: Agent) -> None:
    private = boreas.done("create_space", request_id="hidden", name="hidden", title="Hidden")["id"]
    made = entry(boreas, private)
    for path in (f"/spaces/{private}", f"/spaces/{private}?tab=members", f"/entries/{made}", f"/entries/{made}/edit"):
        answer = mira.get(at(atlas, path))
        assert (answer.status_code, b"Hidden" in answer.content) == (404, False)
    typed = {"do": "archive_space_entry", "data.expected_version": "1", "data.archived": "true"}
    assert mira.post(at(atlas, f"/entries/{made}/act"), typed).status_code == 404


def test_entries_are_filtered_by_words_kind_and_tag(mira: Client, atlas: Agent, space: str) -> None:
    entry(atlas, space, title="First", tags=["red"])
    entry(atlas, space, title="Second", kind="DECISION", body="find these words")
    page = opened(mira, at(atlas, f"/spaces/{space}"))
    assert [link.words for link in page.root.all("a", class_="title")] == ["Second", "First"]
    for query, wanted in (("q=these+words", "Second"), ("kind=DECISION", "Second"), ("tag=red", "First")):
        page = opened(mira, at(atlas, f"/spaces/{space}?{query}"))
        assert [link.words for link in page.root.all("a", class_="title")] == [wanted], query
    assert "No entry fits." in opened(mira, at(atlas, f"/spaces/{space}?q=nothing")).main.words


def test_tasks_stand_by_state_and_are_claimed_moved_and_given_back(mira: Client, atlas: Agent, space: str) -> None:
    made = entry(atlas, space, kind="TASK", title="Do it")
    page = opened(mira, at(atlas, f"/entries/{made}")).press(f"Claim as {atlas.handle}")
    assert atlas.done("get_space_entry", made)["task"]["state"] == "claimed"
    page = page.press("Move", data__state="in_progress")
    board = opened(mira, at(atlas, f"/spaces/{space}?tab=tasks"))
    column = board.by_id("s-in_progress").within("section")
    assert column is not None
    assert "Do it" in column.words
    page.press("Give it back")
    task = atlas.done("get_space_entry", made)
    assert (task["task"]["state"], task["version"]) == ("open", 4)


def test_the_same_small_form_sent_twice_acts_once(mira: Client, atlas: Agent, space: str) -> None:
    """B51"""
    made = entry(atlas, space, kind="TASK")
    page = opened(mira, at(atlas, f"/entries/{made}"))
    for _ in range(2):
        assert page.press(f"Claim as {atlas.handle}").status == 200
    assert atlas.done("get_space_entry", made)["version"] == 2


def test_a_task_that_somebody_else_took_meanwhile_is_told_in_words(mira: Client, atlas: Agent, space: str) -> None:
    made = entry(atlas, space, kind="TASK")
    page = opened(mira, at(atlas, f"/entries/{made}"))
    atlas.done("claim_task", made, expected_version=1)
    refused = page.press(f"Claim as {atlas.handle}")
    assert (refused.status, "it is at version 2" in refused.main.words) == (409, True)


def test_only_what_the_page_has_a_button_for_can_be_done_there(mira: Client, atlas: Agent, space: str) -> None:
    made = entry(atlas, space)
    for name in ("delete_memory", "nothing", "", "get_space_entry"):
        assert mira.post(at(atlas, f"/entries/{made}/act"), {"do": name}).status_code == 404


def test_an_entry_shows_text_evidence_and_its_past(mira: Client, atlas: Agent, boreas: Agent, space: str) -> None:
    made = entry(atlas, space, summary="In short", tags=["red"])
    atlas.done("add_evidence", made, body="The _proof_", link="https://example.org/proof")
    atlas.done("update_space_entry", made, expected_version=1, title="New title", body="Newer")
    page = opened(mira, at(atlas, f"/entries/{made}"))
    assert "<em>proof</em>" in page.html
    assert "https://example.org/proof" in page.links()
    old = opened(mira, at(atlas, f"/entries/{made}?version=1"))
    assert "<strong>bold</strong>" in old.html
    old.press("Restore r1")
    assert atlas.done("get_space_entry", made)["body"] == "Some **bold** words"


def test_an_entry_is_edited_from_what_it_says_now(mira: Client, atlas: Agent, space: str) -> None:
    made = entry(atlas, space, title="Old", tags=["red"], pinned=True, priority=2)
    page = opened(mira, at(atlas, f"/entries/{made}/edit"))
    assert page.by_id("f-data-body").text == "\nSome **bold** words"
    page.press("Run update_space_entry", data__title="New")
    found = atlas.done("get_space_entry", made)
    assert (found["title"], found["tags"], found["pinned"], found["priority"]) == ("New", ["red"], True, 2)


def test_knowledge_is_published_not_edited(mira: Client, atlas: Agent, space: str) -> None:
    made = entry(atlas, space, kind="KNOWLEDGE", summary="In short")
    page = opened(mira, at(atlas, f"/entries/{made}/edit"))
    page.press("Run publish_knowledge", data__body="Version two")
    assert atlas.done("get_space_entry", made)["version"] == 2


def test_an_owner_finds_the_ways_to_change_members(mira: Client, atlas: Agent, second: Agent, space: str) -> None:
    atlas.done("set_space_member", space, agent=second.handle, role="reader")
    page = opened(mira, at(atlas, f"/spaces/{space}?tab=members"))
    form = opened(mira, page.link(f"Remove {second.handle}"))
    assert form.by_id("f-data-agent")["value"] == second.handle
    form.press("Run remove_space_member")
    assert second.call("get_space", space).status == 404


def test_hostile_texts_are_harmless_in_spaces_and_posts(mira: Client, atlas: Agent, space: str) -> None:
    """B47"""
    whole = "\n\n".join(MARKDOWN)
    made = entry(atlas, space, title=MARKDOWN[0][:200], body=whole, summary=MARKDOWN[1], kind="TASK")
    atlas.done("add_evidence", made, body=whole[:9_000])
    post = atlas.done("create_post", type="OFFER", title=MARKDOWN[0][:200], body=whole)["id"]
    paths = [f"/spaces/{space}", f"/spaces/{space}?tab=tasks", f"/entries/{made}", f"/posts/{post}", "/posts"]
    for path in paths:
        found = elements(opened(mira, at(atlas, path)).html)
        assert not [attributes for tag, attributes in found if tag == "script" and "src" not in attributes], path
        assert not {"img", "iframe", "style", "math", "object"} & {tag for tag, _ in found}, path
        assert not [name for _, attributes in found for name in attributes if name.startswith("on")], path


# ---- posts


def test_posts_are_read_and_answered_and_the_words_outlive_a_refusal(mira: Client, atlas: Agent, boreas: Agent) -> None:
    post = boreas.done("create_post", type="QUESTION", title="Which survey?", body="Some **bold** words")["id"]
    page = opened(mira, at(atlas, f"/posts/{post}"))
    assert "<strong>bold</strong>" in page.html
    long = "x" * (limits.SHORT_BODY_MAX + 1)
    page = page.press("Publish the reply", data__body=long)
    assert (page.status, page.by_id("reply").text) == (422, "\n" + long)
    for _ in range(2):
        answered = page.press("Publish the reply", data__body="The quarterly one\n")
        assert "The quarterly one" in answered.main.words
    replies = boreas.done("get_post", post)["replies"]["items"]
    assert [(each["body"], each["author"], each["via"]) for each in replies] == [
        ("The quarterly one\n", atlas.handle, "browser")
    ]


def test_a_post_is_resolved_by_its_author_only(mira: Client, atlas: Agent, boreas: Agent) -> None:
    own = atlas.done("create_post", type="QUESTION", title="Mine", body="text")["id"]
    reply = boreas.done("reply_to_post", own, body="This one")
    foreign = boreas.done("create_post", type="QUESTION", title="Theirs", body="text")["id"]
    assert opened(mira, at(atlas, f"/posts/{foreign}")).root.all("form", class_="inline") == []
    page = opened(mira, at(atlas, f"/posts/{own}")).press("Accept")
    assert "resolved" in page.main.words
    assert atlas.done("get_post", own)["accepted_reply"] == reply["id"]
    answer = mira.post(at(atlas, f"/posts/{foreign}/resolve"), {"data.expected_version": "1"})
    assert answer.status_code == 403


def test_posts_are_filtered_by_words_and_author(mira: Client, atlas: Agent, boreas: Agent) -> None:
    atlas.done("create_post", type="OFFER", title="Mine zebra", body="text")
    boreas.done("create_post", type="OFFER", title="Theirs zebra", body="text")
    titles = [each.words for each in opened(mira, at(atlas, "/posts?q=zebra")).root.all("a", class_="title")]
    assert sorted(titles) == ["Mine zebra", "Theirs zebra"]
    page = opened(mira, at(atlas, "/posts?by=me"))
    assert [each.words for each in page.root.all("a", class_="title")] == ["Mine zebra"]


# ---- activity, inbox, search


def test_activity_tells_who_did_what_by_which_door(mira: Client, atlas: Agent, boreas: Agent, space: str) -> None:
    atlas.save("kept")
    opened(mira, at(atlas, "/memory/kept/edit")).press("Save as r2")
    boreas.save("secret-plan")
    page = opened(mira, at(atlas, "/activity"))
    lines = [line.words for line in page.root.one("ol", class_="log").all("li")]
    assert "by its person save_memory kept r2 browser" in lines[0]
    assert "save_memory kept r1 rest" in lines[1]
    assert any(f"create_space {space} r1 rest" in line for line in lines)
    assert "secret-plan" not in page.html
    assert at(atlas, "/memory/kept") in page.links()
    assert "1 by you" in page.main.words
    undone = opened(mira, page.link("r2")).press("Restore r1")
    assert "Saved as r3." in undone.main.words
    browser = opened(mira, at(atlas, "/activity?door=browser&kind=note")).root.one("ol", class_="log").all("li")
    assert len(browser) == 2


def test_the_pages_of_activity_show_each_event_once(mira: Client, atlas: Agent) -> None:
    for number in range(90):
        atlas.save(f"note-{number:02}")
    Event.objects.filter(agent_id=atlas.pk).update(created_at=timezone.now() - timedelta(days=2))
    seen: list[str] = []
    address = at(atlas, "/activity?kind=note")
    while address:
        page = opened(mira, address)
        seen += [link.words for link in page.root.one("ol", class_="log").all("a")]
        following = [link["href"] for link in page.root.all("a", rel="next")]
        address = at(atlas, f"/activity{following[0]}") if following else ""
    assert seen == [f"note-{number:02}" for number in reversed(range(90))]


def test_the_inbox_is_read_and_marked(mira: Client, atlas: Agent, boreas: Agent) -> None:
    post = atlas.done("create_post", type="OFFER", title="Offer", body="text")["id"]
    for _ in range(2):
        reply = boreas.done("reply_to_post", post, body="reply")
    invited = boreas.done("create_space", request_id="invites", name="invites", title="Invites")["id"]
    boreas.done("set_space_member", invited, agent=atlas.handle, role="reader")
    page = opened(mira, at(atlas, "/inbox"))
    assert at(atlas, f"/posts/{reply['id']}") in page.links()
    answer = opened(mira, page.link(invited))
    assert answer.by_id("f-id")["value"] == invited
    page.press("Read")
    assert atlas.done("inbox")["unread"] == 2
    opened(mira, at(atlas, "/inbox")).press("Mark all read")
    assert atlas.done("inbox")["unread"] == 0
    assert "Nothing waits." in opened(mira, at(atlas, "/inbox?show=unread")).main.words


def test_search_finds_notes_and_posts_and_leads_into_spaces(mira: Client, atlas: Agent, space: str) -> None:
    atlas.save("found-note", "about a quokka")
    atlas.save("other-note", "about nothing")
    atlas.done("create_post", type="OFFER", title="Quokka wanted", body="text")
    page = opened(mira, at(atlas, "/search?q=quokka"))
    assert at(atlas, "/memory/found-note") in page.links()
    assert at(atlas, "/memory/other-note") not in page.links()
    assert "Quokka wanted" in page.main.words
    assert at(atlas, f"/spaces/{space}?q=quokka") in page.links()
    assert "Words are looked for" in opened(mira, at(atlas, "/search")).main.words


@pytest.mark.parametrize("query", ["q=%00", "q=%ff", "q=" + "a" * 5_000, "q='", "cursor=abc", "kind=x", "door=%00"])
def test_no_query_breaks_a_page(mira: Client, atlas: Agent, space: str, query: str) -> None:
    """B53"""
    for path in ("/spaces", f"/spaces/{space}", "/posts", "/activity", "/inbox", "/search"):
        assert mira.get(at(atlas, f"{path}?{query}")).status_code in (200, 400), path
