"""/account/sessions: where I am signed in, and ending that."""

from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client

from agentboard.identity import links
from agentboard.identity.models import Person
from agentboard.identity.people import register_person
from agentboard.web.account import presence
from tests.web.account.reading import PASSWORD, Page, is_in, sign_in

pytestmark = pytest.mark.django_db
TELEPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605 Version/19.0 Mobile/15E Safari/604.1"
)
EDGE = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36 Edg/156.0"


@pytest.fixture
def telephone(mira: Person) -> Client:
    client = Client(headers={"user-agent": TELEPHONE}, REMOTE_ADDR="192.0.2.7")
    sign_in(client)
    return client


def session_of(client: Client) -> UserSession:
    found: UserSession = UserSession.objects.get(session_key=client.session.session_key)
    return found


def test_the_page_tells_device_address_and_time_and_which_one_this_is(browser: Client, telephone: Client) -> None:
    text = Page(browser.get("/account/sessions", headers={"user-agent": EDGE})).text
    assert "Safari on iPhone" in text
    assert "192.0.2.7" in text
    assert "Edge on Windows" in text
    assert text.count("this one") == 1
    assert text.index("Edge on Windows") < text.index("Safari on iPhone")


@pytest.mark.parametrize("user_agent", ["", "x" * 5_000, "<script>", "\x01"])
def test_odd_programs_are_listed_too(mira: Person, user_agent: str) -> None:
    client = Client(headers={"user-agent": user_agent})
    sign_in(client)
    assert "An unknown program" in Page(client.get("/account/sessions")).text


def test_no_page_shows_a_session_id(browser: Client, telephone: Client) -> None:
    text = Page(browser.get("/account/sessions")).text
    for client in (telephone, browser):
        assert str(client.session.session_key) not in text


def test_one_session_is_ended_from_another_and_is_out_at_its_next_page(browser: Client, telephone: Client) -> None:
    row = session_of(telephone)
    assert browser.post(f"/account/sessions/{row.pk}/end")["Location"] == "/account/sessions"
    assert (is_in(browser), is_in(telephone)) == (True, False)
    assert "iPhone" not in Page(browser.get("/account/sessions")).text


def test_ending_this_very_session_signs_out(browser: Client) -> None:
    browser.get("/account")
    assert browser.post(f"/account/sessions/{session_of(browser).pk}/end")["Location"] == "/account/sign-in"
    assert not is_in(browser)


def test_all_others_are_ended_at_once(browser: Client, telephone: Client) -> None:
    third = Client()
    sign_in(third)
    browser.get("/account")
    browser.post("/account/sessions/others/end")
    assert [is_in(client) for client in (browser, telephone, third)] == [True, False, False]


def test_another_persons_session_is_unknown(browser: Client, nora: Person) -> None:
    theirs = Client()
    sign_in(theirs, "nora")
    row = session_of(theirs)
    assert browser.post(f"/account/sessions/{row.pk}/end").status_code == 404
    assert browser.get("/account/sessions/others/end").status_code == 405
    browser.post("/account/sessions/others/end")
    assert is_in(theirs)


def test_a_session_that_began_with_a_one_time_link_is_listed_too(visitor: Client) -> None:
    path = links.person_link(register_person("vera"))
    visitor.post(path, {"password": PASSWORD, "again": PASSWORD})
    assert "this one" in Page(visitor.get("/account/sessions")).text


def test_a_session_is_noted_at_most_once_in_ten_minutes(browser: Client) -> None:
    browser.get("/account")
    row = session_of(browser)
    UserSession.objects.update(last_seen_at=row.created_at - timedelta(days=1))
    browser.get("/account")
    row.refresh_from_db()
    assert row.last_seen_at < row.created_at
    session = browser.session
    session[presence.NOTED] -= presence.NOTE_SECONDS
    session.save()
    browser.get("/account")
    row.refresh_from_db()
    assert row.last_seen_at >= row.created_at


def test_operators_see_sessions_without_their_ids_and_end_them(telephone: Client) -> None:
    operator = Client()
    operator.force_login(Person.objects.create_superuser("root", password=PASSWORD))
    row = session_of(telephone)
    text = operator.get("/admin/usersessions/usersession/").content.decode()
    text += operator.get(f"/admin/usersessions/usersession/{row.pk}/change/").content.decode()
    assert "192.0.2.7" in text
    assert row.session_key not in text
    operator.post(f"/admin/usersessions/usersession/{row.pk}/delete/", {"post": "yes"})
    assert not is_in(telephone)
