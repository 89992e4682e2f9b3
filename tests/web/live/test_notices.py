"""What an open page hears of: ids and versions of what it shows, after the commit, and of what it has missed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.calls import Agent
from tests.serving import Served
from tests.web.live.conftest import Settled, Silent
from tests.web.live.pages import SECONDS, Page, Reader, Told, opened, polled, watching

UPDATES = 20
INBOX_SECONDS = 15  # it is asked for again and again


@pytest.fixture
def atlas(server: Served, mira: Reader) -> Agent:
    """The agent of mira."""
    return mira.agent(server)


@pytest.fixture
def boreas(server: Served, nora: Reader) -> Agent:
    """The agent of nora."""
    return nora.agent(server)


def space_of(agent: Agent, **more: str) -> str:
    """A new space of the agent; private unless told otherwise."""
    made = agent.done("create_space", request_id="space", name="space", title="Space", **more)
    return str(made["id"])


def entry_in(agent: Agent, space: str) -> str:
    """A new entry in the space."""
    return str(agent.done("create_space_entry", space, kind="NOTE", title="Entry", body="Text")["id"])


def join(owner: Agent, guest: Agent, space: str) -> None:
    """Let another person's agent in."""
    owner.done("set_space_member", space, agent=guest.handle, role="editor")
    guest.done("respond_to_invitation", space, accept=True)


def post_of(agent: Agent, body: str = "Text") -> str:
    """A new post."""
    return str(agent.done("create_post", type="QUESTION", title="Post", body=body, topic="general")["id"])


def news_after(page: Page, sent: set[Told]) -> set[Told]:
    """All notices up to and with those that were sent."""
    heard: set[Told] = set()
    while not sent <= heard:
        heard |= {*page.news()}
    return heard


# ---- own things


def test_a_page_hears_the_topic_the_id_and_the_version_of_a_change_and_nothing_else(
    server: Served, mira: Reader, atlas: Agent, silent: Silent
) -> None:
    with watching(server, mira, f"note:{mira.handle}:plan") as page:
        atlas.save("plan", "Secret words", summary="Secret words")
        told = page.heard()
        assert told.keys() == {"news", "at"}
        assert told["news"] == [{"topic": f"note:{mira.handle}:plan", "id": "plan", "version": 1}]
        assert silent(page)


def test_each_topic_of_a_page_hears_what_concerns_it(
    server: Served, mira: Reader, atlas: Agent, settled: Settled, silent: Silent
) -> None:
    settled()
    handle = mira.handle
    topics = [f"note:{handle}:plan", f"note:{handle}:other", f"notes:{handle}", f"agent:{handle}", f"spaces:{handle}"]
    with watching(server, mira, *topics) as page:
        atlas.save("plan")
        sent = {(topic, "plan", 1) for topic in (f"note:{handle}:plan", f"notes:{handle}", f"agent:{handle}")}
        assert news_after(page, sent) == sent
        assert silent(page)


def test_changes_that_come_together_are_told_with_their_latest_version(
    server: Served, mira: Reader, atlas: Agent
) -> None:
    with watching(server, mira, f"notes:{mira.handle}") as page:
        for version in range(UPDATES):
            atlas.save("plan", f"Text {version}", version)
        heard = [*page.news()]
        while heard[-1][2] < UPDATES:
            heard += page.news()
        versions = [version for _, _, version in heard]
        assert versions == sorted({*versions})


def test_a_refused_write_is_heard_of_by_nobody(
    server: Served, mira: Reader, atlas: Agent, settled: Settled, silent: Silent
) -> None:
    atlas.save("plan")
    settled()
    with watching(server, mira, f"notes:{mira.handle}") as page:
        atlas.refused("version_conflict", "save_memory", "plan", body="Text", expected_version=0)
        assert silent(page)
        atlas.save("mark")
        assert page.news() == [(f"notes:{mira.handle}", "mark", 1)]


def test_what_is_read_after_a_notice_is_never_older_than_it_says(server: Served, mira: Reader, atlas: Agent) -> None:
    entry = entry_in(atlas, space := space_of(atlas))
    with watching(server, mira, f"entry:{mira.handle}:{entry}", f"space:{mira.handle}:{space}") as page:
        for version in range(1, UPDATES + 1):
            atlas.done("update_space_entry", entry, expected_version=version, title="Entry", body=f"Text {version}")
            told = max(number for _, _, number in page.news())
            assert atlas.done("get_space_entry", entry)["version"] >= told
        assert told == UPDATES + 1


def test_the_inbox_tells_how_much_is_unread(server: Served, mira: Reader, boreas: Agent) -> None:
    topic = f"inbox:{mira.handle}"
    with watching(server, mira, topic) as page:
        post_of(boreas, f"A word to @{mira.handle}")
        [(told, newest, unread)] = page.news(INBOX_SECONDS)
        assert (told, newest[:3], unread) == (topic, "in_", 1)
        mira.agent(server).done("mark_inbox_read", ids=[newest])
        assert page.news(INBOX_SECONDS) == [(topic, newest, 0)]


def test_a_page_that_shows_too_few_items_of_an_inbox_hears_of_it_at_once(
    server: Served, mira: Reader, boreas: Agent
) -> None:
    post_of(boreas, f"A word to @{mira.handle}")
    with opened(server, mira) as page:
        page.send({"watch": {f"inbox:{mira.handle}": 0}})
        assert [version for _, _, version in page.news()] == [1]
    with opened(server, mira) as page:
        page.send({"watch": {f"inbox:{mira.handle}": 1}})
        assert page.news() == []


# ---- shared and public things


def test_members_hear_of_entries_evidence_and_each_other(
    server: Served, mira: Reader, nora: Reader, atlas: Agent, boreas: Agent, silent: Silent
) -> None:
    space = space_of(atlas)
    join(atlas, boreas, space)
    topic, about = f"space:{nora.handle}:{space}", f"agent:{nora.handle}"
    with watching(server, nora, topic, about) as page:
        entry = entry_in(atlas, space)
        assert news_after(page, {(topic, entry, 1), (about, entry, 1)})
    with watching(server, nora, entry_topic := f"entry:{nora.handle}:{entry}") as page:
        proof = atlas.done("add_evidence", entry, body="Proof")["id"]
        assert page.news() == [(entry_topic, proof, 1)]
        entry_in(atlas, space)
        assert silent(page)


def test_the_list_of_spaces_hears_of_spaces_alone(server: Served, mira: Reader, atlas: Agent, settled: Settled) -> None:
    space = space_of(atlas)
    settled()
    with watching(server, mira, topic := f"spaces:{mira.handle}") as page:
        entry_in(atlas, space)
        atlas.done("update_space", space, expected_version=1, title="New title")
        assert page.news() == [(topic, space, 2)]


def test_an_agent_hears_of_spaces_that_it_has_joined_since(
    server: Served, mira: Reader, nora: Reader, atlas: Agent, boreas: Agent
) -> None:
    space = space_of(atlas)
    with watching(server, nora, topic := f"agent:{nora.handle}") as page:
        join(atlas, boreas, space)
        heard = False
        for number in range(SECONDS):  # the rights are looked at again and again
            atlas.done("create_space_entry", space, kind="NOTE", title=f"Entry {number}", body="Text")
            try:
                heard = topic == page.news(1)[0][0]
                break
            except TimeoutError:
                continue
        assert heard


def test_anybody_hears_of_a_public_space_and_of_posts(
    server: Served, atlas: Agent, boreas: Agent, settled: Settled
) -> None:
    space, post = space_of(atlas, visibility="public"), post_of(atlas)
    settled()
    with watching(server, None, f"public:{space}", "posts", f"post:{post}") as page:
        entry = entry_in(atlas, space)
        reply = boreas.done("reply_to_post", post, body="Reply")["id"]
        other = post_of(atlas)
        sent = {(f"public:{space}", entry, 1), ("posts", reply, 1), (f"post:{post}", reply, 1), ("posts", other, 1)}
        assert news_after(page, sent) == sent


def test_an_agent_that_is_no_member_hears_of_a_public_space(
    server: Served, nora: Reader, atlas: Agent, settled: Settled
) -> None:
    entry = entry_in(atlas, space := space_of(atlas, visibility="public"))
    settled()
    topics = f"space:{nora.handle}:{space}", f"entry:{nora.handle}:{entry}"
    with watching(server, nora, *topics) as page:
        atlas.done("update_space_entry", entry, expected_version=1, title="Entry", body="New")
        assert news_after(page, {(topic, entry, 2) for topic in topics})


# ---- what was missed


@contextmanager
def missed(server: Served, reader: Reader, since: str | None, *topics: str) -> Iterator[tuple[Page, list[Told]]]:
    """A page that comes back, and what it is told first."""
    with opened(server, reader) as page:
        yield page, page.watch(*topics, since=since)


def test_a_page_that_comes_back_is_told_what_it_has_missed_once(
    server: Served, mira: Reader, atlas: Agent, settled: Settled, silent: Silent
) -> None:
    topic = f"notes:{mira.handle}"
    atlas.save("before")
    settled()
    with watching(server, mira, topic) as page:
        at = page.at
    atlas.save("plan")
    atlas.save("plan", "More", 1)
    atlas.done("delete_memory", "before", expected_version=1)
    settled()
    with missed(server, mira, at, topic) as (page, told):
        assert {*told} == {(topic, "plan", 2), (topic, "before", 2)}
        assert silent(page)
        at = page.at
    with missed(server, mira, at, topic) as (page, told):
        assert told == []


def test_what_comes_before_a_page_was_made_is_no_news(
    server: Served, mira: Reader, atlas: Agent, settled: Settled, silent: Silent
) -> None:
    atlas.save("before")
    settled()
    with watching(server, mira, f"agent:{mira.handle}") as page:
        assert silent(page)


def test_too_many_missed_changes_are_told_as_one_of_unknown_things(
    server: Served, mira: Reader, atlas: Agent, settled: Settled
) -> None:
    topic = f"notes:{mira.handle}"
    with watching(server, mira, topic) as page:
        at = page.at
    atlas.save("plan")
    for version in range(1, 205):
        atlas.done("edit_memory", "plan", expected_version=version, append=".")
    settled()
    with missed(server, mira, at, topic, "posts") as (_, told):
        assert {*told} == {(topic, "", 0), ("posts", "", 0)}


@pytest.mark.parametrize("since", ["nothing", "x" * 81, "é", "AAAAAAAAAAAAAAAAWzAsMV0"])
def test_a_cursor_that_cannot_be_read_may_have_missed_anything(server: Served, mira: Reader, since: str) -> None:
    topic = f"notes:{mira.handle}"
    with missed(server, mira, since, topic) as (page, told):
        assert told == [(topic, "", 0)]
        assert page.at


# ---- the same without a socket


def test_whoever_asks_over_http_is_told_the_same(
    server: Served, mira: Reader, atlas: Agent, boreas: Agent, settled: Settled
) -> None:
    notes, inbox = f"notes:{mira.handle}", f"inbox:{mira.handle}"
    status, told = polled(server, mira, {notes: 0, inbox: 0})
    assert (status, told["news"]) == (200, [])
    atlas.save("plan")
    post_of(boreas, f"A word to @{mira.handle}")
    settled()
    status, told = polled(server, mira, {notes: 0, inbox: 0}, told["at"])
    assert status == 200
    [note, item] = told["news"]
    assert note == {"topic": notes, "id": "plan", "version": 1}
    assert (item["topic"], item["version"]) == (inbox, 1)
    status, told = polled(server, mira, {notes: 0, inbox: 1}, told["at"])
    assert (status, told["news"]) == (200, [])


def test_over_http_anybody_may_ask_for_public_topics_alone(server: Served, mira: Reader, nora: Reader) -> None:
    own = {f"notes:{mira.handle}": 0}
    assert polled(server, None, {"posts": 0})[0] == 200
    assert polled(server, None, own) == (401, {"refused": "signed_out"})
    assert polled(server, nora, own) == (403, {"refused": "forbidden"})
    assert polled(server, nora, {"notes:nobody": 0}) == (403, {"refused": "forbidden"})
    assert polled(server, nora, {}) == (400, {"refused": "malformed"})
    assert polled(server, nora, {"nothing": 0}) == (400, {"refused": "malformed"})
