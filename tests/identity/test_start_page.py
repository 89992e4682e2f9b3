"""/account/start/…: the pages on which a one-time link sets a first password."""

import re
from html.parser import HTMLParser
from threading import Barrier, Thread

import pytest
from django.db import connection
from django.http.response import HttpResponseBase
from django.test import Client

from agentboard.identity import links
from agentboard.identity.models import AccountLink, Person

pytestmark = pytest.mark.django_db
PASSWORD = "violet harbour 27"
FORM = {"username": "root", "password": PASSWORD, "again": PASSWORD}


class Inputs(HTMLParser):
    """The input elements of a page, by name, and all ids in it."""

    def __init__(self, page: HttpResponseBase) -> None:
        super().__init__()
        self.inputs: dict[str, dict[str, str | None]] = {}
        self.ids: set[str] = set()
        self.feed(b"".join(page).decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if "id" in known:
            self.ids.add(known["id"] or "")
        if tag == "input" and "name" in known:
            self.inputs[known["name"] or ""] = known


@pytest.fixture
def path(db: None) -> str:
    return links.first_account_link() or ""


@pytest.fixture
def persons_path(person: Person) -> str:
    return links.person_link(person)


def unused() -> bool:
    return AccountLink.objects.filter(used_at__isnull=True).count() == 1


def test_the_form_for_the_first_account_asks_for_a_name_and_a_password_twice(client: Client, path: str) -> None:
    inputs = Inputs(client.get(path)).inputs
    assert set(inputs) == {"csrfmiddlewaretoken", "username", "password", "again"}
    assert inputs["username"]["autocomplete"] == "username"
    assert [inputs[name]["autocomplete"] for name in ("password", "again")] == ["new-password"] * 2
    assert [inputs[name]["type"] for name in ("password", "again")] == ["password"] * 2


def test_a_persons_form_shows_their_name_and_asks_for_the_password_only(client: Client, persons_path: str) -> None:
    page = client.get(persons_path)
    assert set(Inputs(page).inputs) == {"csrfmiddlewaretoken", "password", "again"}
    assert "mira" in page.content.decode()


@pytest.mark.parametrize("method", ["get", "head", "options", "put"])
def test_looking_at_the_form_does_not_use_the_link_up(client: Client, path: str, method: str) -> None:
    getattr(client, method)(path)
    assert unused()


def test_the_first_account_is_an_operator_and_goes_on_to_the_admin(client: Client, path: str) -> None:
    answer = client.post(path, FORM)
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
    assert client.get("/admin/").status_code == 200
    assert Person.objects.get().is_superuser


def test_a_person_goes_on_to_a_page_that_says_the_password_is_set(client: Client, persons_path: str) -> None:
    answer = client.post(persons_path, FORM)
    assert (answer.status_code, answer["Location"]) == (302, "/account/start/done")
    assert "signed in as mira" in client.get("/account/start/done").content.decode()
    assert client.get("/admin/").status_code == 302
    assert not Person.objects.get().is_staff


def test_the_done_page_tells_a_stranger_that_nobody_is_signed_in(client: Client) -> None:
    page = client.get("/account/start/done").content.decode()
    assert "Not signed in" in page
    assert "Password set" not in page


def test_signing_in_gives_the_session_a_new_key(client: Client, path: str) -> None:
    client.session.save()  # a session from before, as a fixation attack would plant
    session = client.session
    session["planted"] = "yes"
    session.save()
    client.cookies["sessionid"] = before = session.session_key or ""
    client.post(path, FORM)
    assert client.cookies["sessionid"].value != before


def test_a_used_link_is_dead(client: Client, path: str) -> None:
    client.post(path, FORM)
    for answer in (client.get(path), client.post(path, {**FORM, "username": "second"})):
        assert answer.status_code == 410
    assert Person.objects.count() == 1


@pytest.mark.parametrize("token", ["unknown", "%00", "%ff", "a" * 5_000])
def test_a_dead_link_says_how_to_get_another(client: Client, token: str) -> None:
    for answer in (client.get(f"/account/start/{token}"), client.post(f"/account/start/{token}", FORM)):
        page = answer.content.decode()
        assert answer.status_code == 410
        assert "make run" in page
        assert "manage.py person link NAME" in page


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"username": ""}, "username", "required"),
        ({"username": "ro ot"}, "username", "Enter a valid username"),
        ({"username": "r\0t"}, "username", "Null characters"),
        ({"username": "r" * 151}, "username", "at most 150"),
        ({"username": "mira"}, "username", "name is taken"),
        ({"username": "MIRA"}, "username", "name is taken"),
        ({"password": "", "again": ""}, "password", "required"),
        ({"password": "short1x", "again": "short1x"}, "password", "too short"),
        ({"password": "password1234", "again": "password1234"}, "password", "too common"),
        (
            {"username": "harbourmaster", "password": "harbourmaster", "again": "harbourmaster"},
            "password",
            "too similar",
        ),
        ({"password": "p" * 1_001, "again": "p" * 1_001}, "password", "at most 1000"),
        ({"password": PASSWORD + "\0", "again": PASSWORD + "\0"}, "password", "Null characters"),
        ({"again": PASSWORD + " "}, "again", "two passwords differ"),
        ({"again": ""}, "again", "required"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_the_link_stays_usable(
    client: Client, path: str, changed: dict[str, str], field: str, words: str
) -> None:
    Person.objects.create_user("mira", password=PASSWORD)
    answer = client.post(path, {**FORM, **changed})
    page, found = answer.content.decode(), Inputs(answer)
    faulty = found.inputs[field]
    assert answer.status_code == 422
    assert re.search("<title>Error: ", page)
    assert faulty["aria-invalid"] == "true"
    assert f"id_{field}_error" in (faulty["aria-describedby"] or "")
    assert set((faulty["aria-describedby"] or "").split()) <= found.ids
    assert re.search(rf'id="id_{field}_error">.*?<span>[^<]*{words}', page)
    assert f'href="#id_{field}"' in page
    assert unused()
    assert Person.objects.count() == 1


def test_the_typed_name_comes_back_and_the_passwords_do_not(client: Client, path: str) -> None:
    answer = client.post(path, {**FORM, "username": 'ro"ot', "again": "something else"})
    inputs = Inputs(answer).inputs
    assert inputs["username"]["value"] == 'ro"ot'
    assert "value" not in inputs["password"]
    assert PASSWORD not in answer.content.decode()


def test_a_name_that_is_taken_between_the_look_and_the_write_is_told_at_the_field(
    client: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentboard.web.account.start.check_first_operator", lambda name: None)
    Person.objects.create_user("root", password=PASSWORD)
    answer = client.post(path, FORM)
    assert answer.status_code == 422
    assert "taken just now" in answer.content.decode()
    assert unused()


def test_a_post_without_the_csrf_token_is_refused_and_the_link_stays_usable(path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.post(path, FORM).status_code == 403
    token = Inputs(client.get(path)).inputs["csrfmiddlewaretoken"]["value"]
    assert unused()
    assert client.post(path, {**FORM, "csrfmiddlewaretoken": token}).status_code == 302


def test_no_page_is_kept_in_a_cache_or_tells_its_address_to_another_site(client: Client, path: str) -> None:
    pages = {
        "form": client.get(path),
        "errors": client.post(path, {}),
        "redirect": client.post(path, FORM),
        "dead": client.get(path),
        "done": client.get("/account/start/done"),
    }
    assert {page["Cache-Control"] for page in pages.values()} == {"no-store"}
    told = {name: page["Referrer-Policy"] for name, page in pages.items()}
    # no-referrer on the form itself would have browsers post it with `Origin: null`, which the CSRF check refuses.
    assert told == dict.fromkeys(pages, "no-referrer") | {"form": "same-origin", "errors": "same-origin"}


@pytest.mark.parametrize("which", ["form", "errors", "dead", "done"])
def test_a_page_has_no_inline_script_and_no_inline_style(client: Client, path: str, which: str) -> None:
    answers = {
        "form": lambda: client.get(path),
        "errors": lambda: client.post(path, {}),
        "dead": lambda: client.get("/account/start/unknown"),
        "done": lambda: client.get("/account/start/done"),
    }
    page = answers[which]().content.decode()
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", page)
    assert page.count("<h1>") == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_posts_at_once_one_wins_and_the_other_gets_the_dead_link_page() -> None:
    path = links.first_account_link() or ""
    together, statuses = Barrier(2), []

    def post(name: str) -> None:
        together.wait()
        statuses.append(Client().post(path, {**FORM, "username": name}).status_code)
        connection.close()

    threads = [Thread(target=post, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [302, 410]
    assert Person.objects.count() == 1
