"""What closes an open page: its reader or its rights have gone, by whatever way; other pages stay open."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from urllib.parse import urlencode

import pytest

from tests.calls import Agent
from tests.serving import Served
from tests.web.live.conftest import Installation, Settled, Silent
from tests.web.live.pages import Page, Reader, got, watching

SIGNED_OUT, FORBIDDEN = 4401, 4403
ENDING_SECONDS = 10  # it takes two at most, on a machine that has nothing else to do
TOKEN = "a" * 32


@pytest.fixture
def atlas(server: Served, mira: Reader) -> Agent:
    return mira.agent(server)


@pytest.fixture
def boreas(server: Served, nora: Reader) -> Agent:
    return nora.agent(server)


def press(server: Served, reader: Reader, path: str, session: int = 0, **fields: str) -> int:
    """The status of a form that the reader sends."""
    cookie = f"sessionid={reader.sessions[session]}; csrftoken={TOKEN}"
    return got(server, path, cookie, "POST", urlencode({"csrfmiddlewaretoken": TOKEN, **fields}))[0]


def ends(page: Page, code: int) -> None:
    """The socket is closed with this code, in time."""
    started = time.monotonic()
    assert page.code() == code
    assert time.monotonic() - started < ENDING_SECONDS


def test_signing_out_closes_all_pages_of_that_session_alone(
    server: Served, mira: Reader, nora: Reader, atlas: Agent
) -> None:
    topic = f"notes:{mira.handle}"
    with (
        watching(server, mira, topic) as page,
        watching(server, mira, "posts") as public,
        watching(server, mira, topic, session=1) as elsewhere,
        watching(server, nora, "posts") as other,
        watching(server, None, "posts") as anybody,
    ):
        assert press(server, mira, "/account/sign-out") == 302
        ends(page, SIGNED_OUT)
        ends(public, SIGNED_OUT)
        atlas.save("plan")
        assert elsewhere.news() == [(topic, "plan", 1)]
        assert other.answers()
        assert anybody.answers()


def test_a_session_that_is_ended_from_another_browser_closes_its_pages(server: Served, mira: Reader) -> None:
    for session in mira.sessions:  # both are noted by a page
        got(server, "/account", f"sessionid={session}")
    with watching(server, mira, "posts", session=0) as page, watching(server, mira, "posts", session=1) as own:
        assert press(server, mira, "/account/sessions/others/end", session=1) == 302
        ends(page, SIGNED_OUT)
        assert own.answers()


def test_a_deactivated_person_another_password_and_a_session_that_expires_close_all_pages(
    server: Served, installation: Installation, mira: Reader, nora: Reader
) -> None:
    third, past = installation.reader(), "2020-01-01 00:00:00"
    changes: list[tuple[Reader, str, tuple[object, ...]]] = [
        (mira, "UPDATE identity_person SET is_active = %s WHERE id = %s", (False, mira.pk)),
        (nora, "UPDATE identity_person SET password = %s WHERE id = %s", ("!other", nora.pk)),
        (third, "UPDATE django_session SET expire_date = %s WHERE session_key = %s", (past, third.sessions[0])),
    ]
    with ExitStack() as stack:
        topics = [(reader, topic) for reader, *_ in changes for topic in (f"notes:{reader.handle}", "posts")]
        pages = [stack.enter_context(watching(server, *each)) for each in topics]
        for _, statement, values in changes:
            installation.execute(statement, *values)
        for page in pages:
            ends(page, SIGNED_OUT)


def test_a_session_that_only_changes_stays(server: Served, mira: Reader, atlas: Agent) -> None:
    topic = f"notes:{mira.handle}"
    with watching(server, mira, topic) as page:
        assert got(server, "/account", mira.cookie)[0] == 200  # notes in the session when it was seen
        with watching(server, mira, f"agent:{mira.handle}", session=1) as other:
            assert press(server, mira, "/account/sign-out", session=1) == 302
            ends(other, SIGNED_OUT)  # by then the rights of both were looked at
        atlas.save("plan")
        assert page.news() == [(topic, "plan", 1)]


def test_a_deactivated_agent_closes_the_pages_that_show_it(server: Served, mira: Reader) -> None:
    with watching(server, mira, f"notes:{mira.handle}") as page, watching(server, mira, "posts") as public:
        assert press(server, mira, f"/account/agents/{mira.handle}/deactivate") == 302
        ends(page, FORBIDDEN)
        assert public.answers()


def test_who_is_removed_from_a_space_hears_nothing_of_what_comes_after(
    server: Served, mira: Reader, nora: Reader, atlas: Agent, boreas: Agent
) -> None:
    space = atlas.done("create_space", request_id="space", name="space", title="Space")["id"]
    atlas.done("set_space_member", space, agent=nora.handle, role="editor")
    boreas.done("respond_to_invitation", space, accept=True)
    with (
        watching(server, nora, f"space:{nora.handle}:{space}") as removed,
        watching(server, mira, topic := f"space:{mira.handle}:{space}") as owner,
    ):
        atlas.done("remove_space_member", space, agent=nora.handle)
        entry = atlas.done("create_space_entry", space, kind="NOTE", title="Entry", body="Text")["id"]
        ends(removed, FORBIDDEN)
        assert not any(entry in str(text) for text in removed.texts)
        heard = owner.news()
        while (topic, entry, 1) not in heard:
            heard += owner.news()


def test_a_public_space_that_becomes_private_closes_the_pages_of_outsiders(
    server: Served, mira: Reader, nora: Reader, atlas: Agent, settled: Settled
) -> None:
    space = atlas.done("create_space", request_id="space", name="space", title="Space", visibility="public")["id"]
    settled()
    with (
        watching(server, nora, f"space:{nora.handle}:{space}") as outsider,
        watching(server, None, f"public:{space}") as anybody,
        watching(server, mira, topic := f"space:{mira.handle}:{space}") as owner,
    ):
        atlas.done("update_space", space, expected_version=1, visibility="private")
        ends(outsider, FORBIDDEN)
        ends(anybody, FORBIDDEN)
        assert owner.news() == [(topic, space, 2)]


def test_a_post_that_an_operator_hides_closes_its_pages(
    server: Served, installation: Installation, atlas: Agent, nora: Reader
) -> None:
    post = atlas.done("create_post", type="QUESTION", title="Post", body="Text", topic="general")["id"]
    with watching(server, nora, f"post:{post}") as page, watching(server, nora, "posts") as others:
        hidden = "UPDATE posts_post SET hidden_at = created_at WHERE ref = %s"
        installation.execute(hidden, post)
        ends(page, FORBIDDEN)
        assert others.answers()


def test_an_agents_pages_are_deaf_to_everybody_else(
    server: Served, mira: Reader, nora: Reader, atlas: Agent, settled: Settled, silent: Silent
) -> None:
    settled()
    topics = [f"note:{nora.handle}:plan", f"notes:{nora.handle}", f"inbox:{nora.handle}", f"spaces:{nora.handle}"]
    with watching(server, nora, *topics, f"agent:{nora.handle}") as page:
        atlas.save("plan", "Text")
        atlas.done("create_space", request_id="space", name="space", title="Space")
        assert silent(page)


def test_the_sessions_page_shows_no_socket_as_a_session(server: Served, mira: Reader) -> None:
    got(server, "/account", mira.cookie)
    with watching(server, mira, "posts"):
        text = got(server, "/account/sessions", mira.cookie)[1]
    assert len(re.findall(r"/account/sessions/\d+/end", text)) <= 1
