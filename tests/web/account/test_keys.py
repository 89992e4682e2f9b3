"""Keys of my agents: shown once, replaced with an overlap, ended."""

import re
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from agentboard.identity import keys
from agentboard.identity.caller import from_key
from agentboard.identity.models import Agent, AgentKey, Person
from agentboard.identity.scopes import ALL_SCOPES
from tests.web.account.reading import Page

pytestmark = pytest.mark.django_db
NEW = "/account/agents/atlas/keys/new"
ALL = {"scopes": [*ALL_SCOPES]}


def shown(text: str) -> str:
    """The key that a page shows."""
    found = set(re.findall(r"ab_[0-9A-Za-z]{49}", text))
    assert len(found) == 1
    return str(found.pop())


def made(browser: Client, **form: object) -> str:
    """The key that a form makes."""
    answer = browser.post(NEW, {**ALL, **form})
    assert answer.status_code == 200
    return shown(answer.content.decode())


def test_a_key_is_shown_by_the_answer_that_makes_it_in_no_cache_and_works(browser: Client, atlas: Agent) -> None:
    answer = browser.post(NEW, {"name": "night job", "ends": "90", "scopes": ["memory:read", "posts:read"]})
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    caller = from_key(f"Bearer {shown(answer.content.decode())}", "rest")
    assert (caller.handle, caller.scopes) == ("atlas", frozenset({"memory:read", "posts:read"}))
    row = AgentKey.objects.get()
    assert row.name == "night job"
    assert row.expires_at is not None
    assert abs(row.expires_at - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)


def test_no_later_page_shows_a_key_or_its_digest(browser: Client, atlas: Agent) -> None:
    key = made(browser)
    row = AgentKey.objects.get()
    for path in ("/account", "/account/agents/atlas", NEW, f"/account/agents/atlas/keys/{row.pk}/end"):
        text = browser.get(path).content.decode()
        assert key not in text
        assert row.digest not in text
    assert row.hint in browser.get("/account/agents/atlas").content.decode()


def test_a_form_sent_again_makes_no_second_key_and_shows_none(browser: Client, atlas: Agent) -> None:
    mark = Page(browser.get(NEW)).value("mark")
    key = made(browser, mark=mark)
    again = browser.post(NEW, {**ALL, "mark": mark})
    text = again.content.decode()
    assert again.status_code == 409
    assert key not in text
    assert "has made its key already" in text
    assert f"/account/agents/atlas/keys/{AgentKey.objects.get().pk}/replace" in Page(again).links


def test_a_refused_form_keeps_what_was_typed_and_its_mark(browser: Client, atlas: Agent) -> None:
    mark = Page(browser.get(NEW)).value("mark")
    page = Page(browser.post(NEW, {"name": "night job", "mark": mark}))
    assert page.status == 422
    assert "Tick at least one" in page.text
    assert (page.value("name"), page.value("mark")) == ("night job", mark)


@pytest.mark.parametrize(
    "odd",
    [
        {"scopes": ["memory:everything"]},
        {"ends": "0"},
        {"ends": "-1"},
        {"ends": "99999999999"},
        {"name": "n" * 81},
        {"name": "a\0b"},
    ],
)
def test_what_the_form_does_not_offer_makes_no_key(browser: Client, atlas: Agent, odd: dict[str, object]) -> None:
    assert browser.post(NEW, {**ALL, **odd}).status_code == 422
    assert not AgentKey.objects.exists()


@pytest.mark.parametrize("mark", ["", "x", "' OR 1", "A" * 32, "0" * 33, "\0"])
def test_a_mark_that_no_page_made_stands_for_nothing(browser: Client, atlas: Agent, mark: str) -> None:
    assert {browser.post(NEW, {**ALL, "mark": mark}).status_code for _ in range(2)} <= {200, 422}


def test_the_file_holds_the_key_and_where_it_belongs(browser: Client, atlas: Agent) -> None:
    key = made(browser)
    answer = browser.post("/account/agents/atlas/keys/env", {"key": key})
    assert answer["Content-Disposition"] == 'attachment; filename="atlas.env"'
    assert answer["Cache-Control"] == "no-store"
    assert answer.content.decode() == f"AGENTBOARD_URL=http://127.0.0.1:8000\nAGENT_KEY={key}\n"


def test_no_file_is_made_of_what_is_not_a_key_of_this_agent(browser: Client, atlas: Agent, boreas: Agent) -> None:
    theirs = AgentKey.objects.issue(boreas)[1]
    for text in (theirs, keys.new_key(), "x", ""):
        assert browser.post("/account/agents/atlas/keys/env", {"key": text}).status_code == 404


def test_replacing_makes_one_like_it_and_lets_the_old_one_go_on_for_a_while(
    browser: Client, atlas: Agent, key: AgentKey
) -> None:
    AgentKey.objects.update(scopes="memory:read")
    answer = browser.post(f"/account/agents/atlas/keys/{key.pk}/replace", {"overlap": "1440"})
    new = from_key(f"Bearer {shown(answer.content.decode())}", "rest")
    assert new.scopes == {"memory:read"}
    old, row = AgentKey.objects.order_by("pk")
    assert (row.name, row.expires_at, old.state) == ("night job", None, "active")
    assert old.expires_at is not None
    assert abs(old.expires_at - timezone.now() - timedelta(hours=24)) < timedelta(minutes=1)


def test_replacing_at_once_ends_the_old_one(browser: Client, atlas: Agent, key: AgentKey) -> None:
    answer = browser.post(f"/account/agents/atlas/keys/{key.pk}/replace", {"overlap": "0"})
    assert "has stopped working" in answer.content.decode()
    key.refresh_from_db()
    assert key.state == "expired"


def test_an_overlap_never_lengthens_a_life_and_the_new_key_lives_as_long_as_the_old_was_to(
    browser: Client, atlas: Agent, key: AgentKey
) -> None:
    soon = timezone.now() + timedelta(hours=1)
    AgentKey.objects.update(created_at=soon - timedelta(days=30), expires_at=soon)
    browser.post(f"/account/agents/atlas/keys/{key.pk}/replace", {"overlap": "10080"})
    old, new = AgentKey.objects.order_by("pk")
    assert old.expires_at == soon
    assert new.expires_at is not None
    assert abs(new.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)


def test_a_replacement_sent_twice_makes_one_key(browser: Client, atlas: Agent, key: AgentKey) -> None:
    path = f"/account/agents/atlas/keys/{key.pk}/replace"
    mark = Page(browser.get(path)).value("mark")
    answers = [browser.post(path, {"overlap": "60", "mark": mark}).status_code for _ in range(2)]
    assert (answers, AgentKey.objects.count()) == ([200, 409], 2)


def test_a_key_that_has_ended_is_not_replaced(browser: Client, atlas: Agent, key: AgentKey) -> None:
    AgentKey.objects.update(revoked_at=timezone.now())
    answer = browser.post(f"/account/agents/atlas/keys/{key.pk}/replace", {"overlap": "60"})
    assert "nothing to replace" in answer.content.decode()
    assert AgentKey.objects.count() == 1


def test_ending_takes_a_post_and_works_at_once(browser: Client, atlas: Agent, key: AgentKey) -> None:
    path = f"/account/agents/atlas/keys/{key.pk}/end"
    assert "stops working now" in browser.get(path).content.decode()
    assert AgentKey.objects.get().state == "active"
    assert browser.post(path)["Location"] == "/account/agents/atlas"
    ended = AgentKey.objects.get().revoked_at
    assert browser.post(path).status_code == 302
    assert AgentKey.objects.get().revoked_at == ended is not None


@pytest.mark.parametrize("act", ["replace", "end"])
@pytest.mark.parametrize("whose", ["theirs", "another agent of mine", "nobody's"])
def test_a_key_that_is_not_this_agents_is_unknown(
    browser: Client, mira: Person, atlas: Agent, boreas: Agent, act: str, whose: str
) -> None:
    others = {"theirs": boreas, "another agent of mine": Agent.objects.register(mira, "cirrus")}
    row = AgentKey.objects.issue(others[whose])[0] if whose in others else None
    path = f"/account/agents/atlas/keys/{row.pk if row else 10**30}/{act}"
    assert (browser.get(path).status_code, browser.post(path, {"overlap": "0"}).status_code) == (404, 404)
    assert row is None or AgentKey.objects.get(pk=row.pk).state == "active"


@pytest.mark.django_db(transaction=True)
def test_of_one_form_sent_twice_at_once_one_key_comes(mira: Person, atlas: Agent) -> None:
    mark, together, statuses = "0" * 32, Barrier(2), []

    def send() -> None:
        client = Client()
        client.force_login(mira)
        together.wait()
        statuses.append(client.post(NEW, {**ALL, "mark": mark}).status_code)
        connection.close()

    threads = [Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 409]
    assert AgentKey.objects.count() == 1
