"""/account/sign-up."""

import pytest
from django.core import mail
from django.test import Client, override_settings

from agentboard.identity.models import Person
from agentboard.identity.people import register_person
from tests.web.account.reading import PASSWORD, Page, is_in

pytestmark = pytest.mark.django_db
NEW = {"username": "Vera", "password1": PASSWORD}
WITH_MAIL = {
    "MAIL_IS_SENT": True,
    "ACCOUNT_SIGNUP_FIELDS": ["username*", "email", "password1*"],
    "ACCOUNT_EMAIL_VERIFICATION": "optional",
}


def test_a_name_and_a_password_make_an_account_without_powers_and_sign_in(visitor: Client) -> None:
    answer = visitor.post("/account/sign-up", NEW)
    assert (answer.status_code, answer["Location"]) == (302, "/account")
    assert is_in(visitor)
    person = Person.objects.get()
    assert (person.username, person.is_staff, person.is_superuser) == ("Vera", False, False)
    assert person.check_password(PASSWORD)


def test_next_is_kept(visitor: Client) -> None:
    assert visitor.post("/account/sign-up", {**NEW, "next": "/docs"})["Location"] == "/docs"


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"username": "mira"}, "username", "taken"),
        ({"username": "MIRA"}, "username", "taken"),
        ({"username": "waiting"}, "username", "taken"),
        ({"username": "ve ra"}, "username", "valid username"),
        ({"username": "v" * 151}, "username", "at most 150"),
        ({"username": "v\0"}, "username", "Null characters"),
        ({"username": ""}, "username", "required"),
        ({"password1": "short1x"}, "password1", "too short"),
        ({"password1": "password1234"}, "password1", "too common"),
        ({"username": "harbourmaster", "password1": "harbourmaster"}, "password1", "too similar"),
        ({"password1": "p" * 1_001}, "password1", "at most 1000"),
    ],
)
def test_what_is_wrong_stands_at_its_field(
    mira: Person, visitor: Client, changed: dict[str, str], field: str, words: str
) -> None:
    register_person("waiting")  # somebody whom an operator made, and who has no password yet
    page = Page(visitor.post("/account/sign-up", {**NEW, **changed}))
    assert page.status == 422
    assert page.inputs[field]["aria-invalid"] == "true"
    assert words in page.text.partition(f'id="id_{field}_error"')[2].partition("</p>")[0]
    assert Person.objects.count() == 2
    assert not is_in(visitor)


def test_of_the_same_form_sent_twice_one_account_comes(visitor: Client) -> None:
    visitor.post("/account/sign-up", NEW)
    assert "taken" in Page(Client().post("/account/sign-up", NEW)).text
    assert Person.objects.count() == 1


def test_a_name_taken_between_the_look_and_the_write_is_told_at_the_field(
    mira: Person, visitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentboard.web.account.forms.SignUpForm.clean_username", lambda form: "MIRA")
    page = Page(visitor.post("/account/sign-up", NEW))
    assert (page.status, "taken" in page.text) == (422, True)
    assert Person.objects.count() == 1


@override_settings(SIGN_UP="CLOSED")
def test_where_sign_up_is_closed_nobody_makes_an_account_and_the_page_says_whom_to_ask(visitor: Client) -> None:
    for answer in (visitor.get("/account/sign-up"), visitor.post("/account/sign-up", NEW)):
        assert "manage.py person link" in answer.content.decode()
    assert not Person.objects.exists()
    assert "/account/sign-up" not in Page(visitor.get("/account/sign-in")).links


def test_where_no_mail_is_sent_nobody_is_asked_for_an_address(visitor: Client) -> None:
    assert "email" not in Page(visitor.get("/account/sign-up")).inputs
    visitor.post("/account/sign-up", {**NEW, "email": "vera@mail.example"})
    assert Person.objects.get().email == ""


@override_settings(**WITH_MAIL)
def test_where_mail_is_sent_an_address_may_be_given_and_gets_a_link(visitor: Client) -> None:
    answer = visitor.post("/account/sign-up", {**NEW, "email": "Vera@Mail.example"})
    assert answer["Location"] == "/account"
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["vera@mail.example"], "AgentBoard: confirm your address")
    assert "http://127.0.0.1:8000/account/email/confirm/" in str(sent.body)


@override_settings(**WITH_MAIL)
def test_an_address_that_stands_at_another_account_is_not_told(visitor: Client, mira: Person) -> None:
    mira.emailaddress_set.create(email="mira@mail.example", verified=True, primary=True)  # type: ignore[attr-defined]
    answer = visitor.post("/account/sign-up", {**NEW, "email": "mira@mail.example"})
    assert answer["Location"] == "/account"
