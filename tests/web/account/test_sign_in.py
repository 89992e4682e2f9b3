"""/account/sign-in and /account/sign-out."""

import pytest
from django.test import Client
from django.urls import reverse

from agentboard.identity.models import Person
from tests.web.account.reading import PASSWORD, Page, is_in, sign_in

pytestmark = pytest.mark.django_db


def test_name_and_password_sign_in_and_lead_to_the_account(mira: Person, visitor: Client) -> None:
    answer = sign_in(visitor)
    assert (answer.status_code, answer["Location"]) == (302, "/account")
    assert is_in(visitor)


def test_the_case_of_the_name_does_not_matter(mira: Person, visitor: Client) -> None:
    assert sign_in(visitor, "MiRa").status_code == 302


def test_the_form_helps_password_managers_and_asks_for_nothing_else(visitor: Client) -> None:
    page = Page(visitor.get("/account/sign-in"))
    assert set(page.inputs) == {"csrfmiddlewaretoken", "login", "password", "credential"}
    assert page.inputs["login"]["autocomplete"] == "username"
    assert page.inputs["password"]["autocomplete"] == "current-password"


def test_signing_in_gives_the_session_a_new_id(mira: Person, visitor: Client) -> None:
    planted = visitor.session
    planted["by"] = "somebody else"
    planted.save()
    visitor.cookies["sessionid"] = before = planted.session_key or ""
    sign_in(visitor)
    assert visitor.cookies["sessionid"].value != before
    assert not is_in(Client(headers={"cookie": f"sessionid={before}"}))


def test_a_wrong_password_and_an_unknown_name_are_answered_alike(mira: Person, visitor: Client) -> None:
    wrong, unknown = (Page(sign_in(visitor, name, "not the password")) for name in ("mira", "nobody"))
    assert wrong.status == unknown.status == 422
    assert "do not belong together" in wrong.text
    assert "<title>Error: " in wrong.text
    hidden = [page.text.replace(page.value("csrfmiddlewaretoken"), "") for page in (wrong, unknown)]
    assert hidden[0].replace("mira", "nobody") == hidden[1]


def test_the_name_comes_back_and_the_password_does_not(mira: Person, visitor: Client) -> None:
    page = Page(sign_in(visitor, "mira", "not the password"))
    assert page.value("login") == "mira"
    assert "not the password" not in page.text


@pytest.mark.parametrize("name", ["mi\0ra", "m" * 500, "", " ", "\ud800"[:0]])
@pytest.mark.parametrize("password", ["\0", "p" * 5_000, "x"])
def test_odd_input_is_refused_and_breaks_nothing(visitor: Client, name: str, password: str) -> None:
    assert sign_in(visitor, name, password).status_code == 422


def test_ten_failures_for_a_name_close_it_for_a_while_even_to_the_right_password(mira: Person, visitor: Client) -> None:
    answers = [Page(sign_in(visitor, "mira", "wrong")) for _ in range(10)]
    assert "too many failed tries" in answers[-1].text
    assert "too many failed tries" in Page(sign_in(visitor)).text
    assert not is_in(visitor)


def test_too_many_posts_from_an_address_are_answered_with_429_and_when_to_go_on(visitor: Client) -> None:
    answers = [visitor.post("/account/sign-in", {"login": f"n{number}", "password": "x"}) for number in range(31)]
    assert {answer.status_code for answer in answers[:30]} == {422}
    assert (answers[30].status_code, answers[30]["Retry-After"]) == (429, "60")
    assert "Too many tries" in answers[30].content.decode()


@pytest.mark.parametrize(
    "path", ["/workspace?method=save_memory&agent=atlas", "/oauth/authorize?client_id=a&scope=b%20c", "/account/data"]
)
def test_next_is_kept_through_the_form_where_it_is_a_path_of_this_site(
    mira: Person, visitor: Client, path: str
) -> None:
    page = Page(visitor.get("/account/sign-in", {"next": path}))
    assert page.value("next") == path
    assert sign_in(visitor, next=path)["Location"] == path


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/x",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "http:evil.example",
        "evil.example",
        "http://localhost/account",
        "http://testserver/account",
        "/a\0b",
        " //evil.example",
        "https:///evil.example",
    ],
)
def test_next_leads_to_no_other_origin(mira: Person, visitor: Client, elsewhere: str) -> None:
    assert sign_in(visitor, next=elsewhere)["Location"] == "/account"


def test_whoever_is_signed_in_is_sent_on_from_the_form(browser: Client) -> None:
    assert browser.get("/account/sign-in", {"next": "/docs"})["Location"] == "/docs"
    assert browser.get("/account/sign-in", {"next": "//evil.example"})["Location"] == "/account"


def test_a_deactivated_person_is_told_so_by_the_right_password_alone(mira: Person, visitor: Client) -> None:
    Person.objects.update(is_active=False)
    assert sign_in(visitor)["Location"] == "/account/inactive"
    assert "deactivated" in Page(visitor.get("/account/inactive")).text
    assert "do not belong together" in Page(sign_in(visitor, "mira", "wrong")).text
    assert not is_in(visitor)


def test_a_person_who_is_deactivated_is_out_at_the_next_page(browser: Client) -> None:
    assert is_in(browser)
    Person.objects.update(is_active=False)
    assert not is_in(browser)


def test_a_person_without_a_password_cannot_sign_in(visitor: Client, mira: Person) -> None:
    mira.set_unusable_password()
    mira.save()
    assert sign_in(visitor, "mira", "!").status_code == 422


def test_signing_out_takes_a_post(browser: Client) -> None:
    assert browser.get("/account/sign-out").status_code == 200
    assert is_in(browser)
    answer = browser.post("/account/sign-out")
    assert (answer.status_code, answer["Location"]) == (302, "/account/sign-in")
    assert not is_in(browser)


@pytest.mark.parametrize("path", ["/account/sign-in", "/account/sign-up", "/account/sign-out", "/appearance"])
def test_a_form_without_its_token_does_nothing(mira: Person, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post(path, {"login": "mira", "password": PASSWORD, "theme": "dark"})
    assert answer.status_code == 403
    assert "Nothing was done" in answer.content.decode()
    assert "theme" not in client.cookies


@pytest.mark.parametrize("path", ["/accounts/login/", "/account/login/", "/account/signup/", "/account/2fa/"])
def test_allauths_own_addresses_lead_nowhere(visitor: Client, path: str) -> None:
    assert visitor.get(path).status_code == 404


def test_operators_come_in_through_the_same_form(visitor: Client) -> None:
    Person.objects.create_superuser("root", password=PASSWORD)
    answer = visitor.get("/admin/", follow=True)
    assert answer.redirect_chain[-1][0] == "/account/sign-in?next=%2Fadmin%2F"
    assert visitor.post("/admin/login/", {"username": "root", "password": PASSWORD}).status_code == 302
    assert not is_in(visitor)
    assert sign_in(visitor, "root", next="/admin/")["Location"] == "/admin/"
    assert visitor.get("/admin/").status_code == 200


def test_whoever_is_no_operator_is_told_so_in_our_own_page(browser: Client) -> None:
    answer = browser.get("/admin/", follow=True)
    assert answer.status_code == 403
    assert "You may not do this here" in answer.content.decode()


def test_the_names_that_allauth_goes_by_are_all_there() -> None:
    for name in ("account_login", "account_signup", "account_logout", "account_email", "mfa_index"):
        assert reverse(name).startswith("/account/")
