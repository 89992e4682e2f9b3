"""Changing a password, and setting a new one by a link in a mail."""

import re

import pytest
from django.core import mail
from django.test import Client, override_settings

from agentboard.identity.models import Person
from tests.web.account.reading import PASSWORD, Page, is_in, sign_in

pytestmark = pytest.mark.django_db
NEW = "copper lantern 81"
CHANGE = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
MAIL = override_settings(MAIL_IS_SENT=True, ACCOUNT_EMAIL_NOTIFICATIONS=True)
RESET = "/account/password/reset"


def confirmed(person: Person, email: str = "mira@mail.example", verified: bool = True) -> None:
    person.emailaddress_set.create(email=email, verified=verified, primary=True)  # type: ignore[attr-defined]


def link() -> str:
    """The path of the link in the latest mail."""
    found = re.search(r"http://127\.0\.0\.1:8000(/account/password/reset/\S+)", str(mail.outbox[-1].body))
    assert found
    return found[1]


def test_changing_the_password_ends_all_other_sessions_and_not_this_one(mira: Person, browser: Client) -> None:
    other = Client()
    sign_in(other)
    assert browser.post("/account/password", CHANGE)["Location"] == "/account/security"
    assert (is_in(browser), is_in(other)) == (True, False)
    mira.refresh_from_db()
    assert mira.check_password(NEW)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"oldpassword": "wrong"}, "oldpassword"),
        ({"password1": "short", "password2": "short"}, "password1"),
        ({"password2": "another one"}, "password2"),
        ({"password1": "p" * 1_001, "password2": "p" * 1_001}, "password1"),
    ],
)
def test_a_refused_change_leaves_the_password_as_it_was(
    mira: Person, browser: Client, changed: dict[str, str], field: str
) -> None:
    page = Page(browser.post("/account/password", {**CHANGE, **changed}))
    assert (page.status, page.inputs[field].get("aria-invalid")) == (422, "true")
    mira.refresh_from_db()
    assert mira.check_password(PASSWORD)


def test_where_no_mail_is_sent_the_page_says_whom_to_ask(visitor: Client) -> None:
    for answer in (visitor.get(RESET), visitor.post(RESET, {"email": "mira@mail.example"})):
        assert "This server sends no mail" in answer.content.decode()
    assert mail.outbox == []


@MAIL
def test_a_link_in_a_mail_sets_a_new_password_once(mira: Person, visitor: Client) -> None:
    confirmed(mira)
    assert visitor.post(RESET, {"email": "MIRA@mail.example"})["Location"] == f"{RESET}/sent"
    path = link()
    form = visitor.get(path)["Location"]
    assert path.rpartition("-")[2] not in form  # the secret does not stay in the address
    answer = visitor.post(form, {"password1": NEW, "password2": NEW})
    assert answer["Location"] == f"{RESET}/done"
    assert not is_in(visitor)
    assert sign_in(visitor, "mira", NEW)["Location"] == "/account"
    assert "no longer works" in Client().get(path, follow=True).content.decode()


@MAIL
def test_a_known_and_an_unknown_address_are_answered_alike_and_each_gets_a_mail(mira: Person, visitor: Client) -> None:
    confirmed(mira)
    answers = [visitor.post(RESET, {"email": f"{name}@mail.example"}) for name in ("mira", "nobody")]
    assert {(answer.status_code, answer["Location"]) for answer in answers} == {(302, f"{RESET}/sent")}
    assert [sent.to for sent in mail.outbox] == [["mira@mail.example"], ["nobody@mail.example"]]
    assert "/account/password/reset/" not in str(mail.outbox[1].body)


@MAIL
def test_an_address_that_nobody_confirmed_leads_to_no_account(mira: Person, visitor: Client) -> None:
    confirmed(mira, verified=False)
    visitor.post(RESET, {"email": "mira@mail.example"})
    assert "confirmed at no account" in str(mail.outbox[0].body).replace("\n", " ")


@MAIL
def test_a_link_names_this_server_whatever_the_request_calls_it(mira: Person, visitor: Client) -> None:
    confirmed(mira)
    visitor.post(RESET, {"email": "mira@mail.example"}, headers={"host": "localhost:9999"})
    assert "localhost:9999" not in str(mail.outbox[0].body)


@MAIL
def test_the_owner_hears_of_a_changed_password(mira: Person, browser: Client) -> None:
    confirmed(mira)
    browser.post("/account/password", CHANGE)
    (sent,) = mail.outbox
    assert "The password was changed for your account mira" in str(sent.body)


@MAIL
@override_settings(EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend", EMAIL_HOST="127.0.0.1", EMAIL_PORT=1)
def test_a_mail_server_that_is_down_breaks_no_page(mira: Person, visitor: Client) -> None:
    confirmed(mira)
    assert "could not be sent" in visitor.post(RESET, {"email": "mira@mail.example"}, follow=True).content.decode()


@pytest.mark.parametrize("key", ["1-2", "zzzzzzzzzzzzz-x", "1-set-password", "0-0-0"])
def test_a_link_that_never_was_says_so(visitor: Client, key: str) -> None:
    answer = visitor.get(f"{RESET}/{key}", follow=True)
    assert "no longer works" in answer.content.decode()


@MAIL
def test_addresses_are_added_confirmed_made_the_main_one_and_removed(mira: Person, browser: Client) -> None:
    from tests.web.account.reading import confirm

    confirm(browser)
    browser.post("/account/email", {"action_add": "1", "email": "one@mail.example"})
    found = re.search(r"8000(/account/email/confirm/\S+)", str(mail.outbox[-1].body))
    assert found
    assert "Confirm the address" in browser.get(found[1]).content.decode()
    assert browser.post(found[1])["Location"] == "/account/email"
    assert "confirmed" in browser.get("/account/email").content.decode()
    browser.post("/account/email", {"action_add": "1", "email": "two@mail.example"})
    mira.emailaddress_set.filter(email="two@mail.example").update(verified=True)  # type: ignore[attr-defined]
    browser.post("/account/email", {"action_primary": "1", "email": "two@mail.example"})
    browser.post("/account/email", {"action_remove": "1", "email": "one@mail.example"})
    left = mira.emailaddress_set.values_list("email", "primary")  # type: ignore[attr-defined]
    assert list(left) == [("two@mail.example", True)]


@MAIL
def test_changing_addresses_asks_who_it_is(browser: Client, mira: Person) -> None:
    answer = browser.post("/account/email", {"action_add": "1", "email": "one@mail.example"})
    assert answer["Location"].startswith("/account/confirm")
    assert not mira.emailaddress_set.exists()  # type: ignore[attr-defined]
