"""/account/security: authenticator app, recovery codes, passkeys (in a real browser: see browser/)."""

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client

from agentboard.identity.models import Person
from tests.web.account.reading import Page, confirm, is_in, sign_in

pytestmark = pytest.mark.django_db


def code(secret: str, steps: int = 0) -> str:
    """What an app shows, so many half minutes from now."""
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps)))


def add_app(client: Client) -> str:
    """The secret of an app that was added just now."""
    confirm(client)
    found = re.search(
        r"<code class=\"secret-text\"[^>]*>([A-Z2-7]+)</code>", Page(client.get("/account/security/app")).text
    )
    assert found
    answer = client.post("/account/security/app", {"code": code(found[1])})
    assert (answer.status_code, answer["Location"]) == (302, "/account/security/recovery")
    return found[1]


def recovery_codes(client: Client) -> list[str]:
    return re.findall(r"<li><code>([0-9]{8})</code></li>", Page(client.get("/account/security/recovery")).text)


def test_an_app_is_added_only_after_the_person_has_shown_again_that_it_is_them(browser: Client) -> None:
    answer = browser.get("/account/security/app")
    assert answer["Location"] == "/account/confirm?next=%2Faccount%2Fsecurity%2Fapp"
    assert Page(browser.post("/account/confirm", {"password": "wrong"})).status == 422
    answer = browser.post("/account/confirm", {"password": "violet harbour 27", "next": "/account/security/app"})
    assert answer["Location"] == "/account/security/app"
    assert browser.get("/account/security/app").status_code == 200


def test_the_secret_is_a_picture_without_inline_style_and_a_text(browser: Client) -> None:
    confirm(browser)
    page = Page(browser.get("/account/security/app"))
    assert '<svg class="qr"' in page.text
    assert "otpauth://totp/mira?secret=" in page.text
    assert " style=" not in page.text


def test_a_wrong_code_adds_no_app(browser: Client) -> None:
    confirm(browser)
    browser.get("/account/security/app")
    assert Page(browser.post("/account/security/app", {"code": "000000"})).status == 422
    assert not Authenticator.objects.exists()


def test_once_an_app_is_added_the_password_alone_gets_nobody_in(browser: Client, visitor: Client) -> None:
    secret = add_app(browser)
    answer = sign_in(visitor, next="/docs")
    assert answer["Location"] == "/account/sign-in/code"
    assert not is_in(visitor)
    assert Page(visitor.post("/account/sign-in/code", {"code": "000000"})).status == 422
    assert not is_in(visitor)
    answer = visitor.post("/account/sign-in/code", {"code": code(secret)})
    assert answer["Location"] == "/docs"
    assert is_in(visitor)


def test_a_code_works_once(browser: Client, visitor: Client) -> None:
    secret = add_app(browser)
    now = code(secret)
    sign_in(visitor)
    assert visitor.post("/account/sign-in/code", {"code": now}).status_code == 302
    other = Client()
    sign_in(other)
    assert other.post("/account/sign-in/code", {"code": now}).status_code == 422


def test_after_ten_wrong_codes_the_right_one_is_refused_too(browser: Client, visitor: Client) -> None:
    secret = add_app(browser)
    sign_in(visitor)
    for _ in range(10):
        visitor.post("/account/sign-in/code", {"code": "000000"})
    page = Page(visitor.post("/account/sign-in/code", {"code": code(secret)}))
    assert "too many failed tries" in page.text
    assert not is_in(visitor)


def test_the_second_step_has_no_page_without_the_first(visitor: Client) -> None:
    assert visitor.get("/account/sign-in/code")["Location"] == "/account/sign-in"


def test_ten_recovery_codes_come_with_the_app_and_each_gets_in_once(browser: Client, visitor: Client) -> None:
    add_app(browser)
    codes = recovery_codes(browser)
    assert len(set(codes)) == 10
    for client, expected in ((visitor, 302), (Client(), 422)):
        sign_in(client)
        assert client.post("/account/sign-in/code", {"code": codes[0]}).status_code == expected
    assert "9 left" in Page(browser.get("/account/security")).text


def test_recovery_codes_can_be_taken_along_and_made_anew(browser: Client) -> None:
    add_app(browser)
    old = recovery_codes(browser)
    answer = browser.get("/account/security/recovery/download")
    assert (answer["Content-Type"], answer["Cache-Control"]) == ("text/plain", "no-store")
    assert answer.content.decode().split()[-10:] == old
    assert browser.post("/account/security/recovery/new").status_code == 302
    assert not set(recovery_codes(browser)) & set(old)


def test_the_codes_are_shown_only_after_confirming(browser: Client) -> None:
    add_app(browser)
    records = browser.session
    records["account_authentication_methods"] = []
    records.save()
    for path in ("/account/security/recovery", "/account/security/recovery/download"):
        assert browser.get(path)["Location"].startswith("/account/confirm")


def test_an_app_is_removed_and_its_recovery_codes_with_it(browser: Client, visitor: Client) -> None:
    add_app(browser)
    assert browser.post("/account/security/app/remove").status_code == 302
    assert not Authenticator.objects.exists()
    sign_in(visitor)
    assert is_in(visitor)


def test_secrets_are_not_stored_in_the_clear(browser: Client) -> None:
    secret = add_app(browser)
    stored = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored
    assert "gAAAA" in stored


def test_the_second_step_counts_for_operators_too(visitor: Client) -> None:
    root = Person.objects.create_superuser("root", password="violet harbour 27")
    browser = Client()
    browser.force_login(root)
    add_app(browser)
    sign_in(visitor, "root", next="/admin/")
    assert visitor.get("/admin/").status_code == 302


def test_operators_see_who_has_a_second_factor_and_can_remove_it_but_no_secret(browser: Client) -> None:
    secret = add_app(browser)
    operator = Client()
    operator.force_login(Person.objects.create_superuser("root", password="violet harbour 27"))
    row = Authenticator.objects.get(type="totp")
    for path in ("/admin/mfa/authenticator/", f"/admin/mfa/authenticator/{row.pk}/change/"):
        text = operator.get(path).content.decode()
        assert "mira" in text
        assert secret not in text
        assert row.data["secret"] not in text
    assert operator.post(f"/admin/mfa/authenticator/{row.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Authenticator.objects.filter(type="totp").exists()


@pytest.mark.parametrize("act", ["rename", "remove"])
def test_another_persons_passkey_is_unknown(browser: Client, nora: Person, act: str) -> None:
    confirm(browser)
    theirs = Authenticator.objects.create(user=nora, type="webauthn", data={"name": "Theirs", "credential": {}})
    path = f"/account/security/passkeys/{theirs.pk}/{act}"
    assert (browser.get(path).status_code, browser.post(path, {"name": "Mine"}).status_code) == (404, 404)
    theirs.refresh_from_db()
    assert theirs.data["name"] == "Theirs"


@pytest.mark.parametrize(
    "credential", ["", "{}", "[]", "null", '{"id": 1}', '"x"', "{", '{"response": {"userHandle": "AA"}}']
)
def test_what_is_no_passkey_signs_nobody_in_and_breaks_nothing(visitor: Client, credential: str) -> None:
    visitor.get("/account/sign-in/passkey", headers={"accept": "application/json"})
    answer = visitor.post("/account/sign-in/passkey", {"credential": credential})
    assert (answer.status_code, answer["Location"]) == (302, "/account/sign-in")


def test_no_passkey_is_offered_at_an_address_that_is_a_number(browser: Client) -> None:
    confirm(browser)
    by_number = Page(browser.get("/account/security", headers={"host": "127.0.0.1:8000"}))
    by_name = Page(browser.get("/account/security", headers={"host": "localhost:8000"}))
    assert ("/account/security/passkeys/add" in by_number.links, "/account/security/passkeys/add" in by_name.links) == (
        False,
        True,
    )
