"""One-time links, and `manage.py person link`."""

from datetime import timedelta
from io import StringIO
from threading import Barrier, Thread

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from agentboard.identity import links
from agentboard.identity.models import AccountLink, Person
from agentboard.identity.people import register_person

pytestmark = pytest.mark.django_db
PASSWORD = "violet harbour 27"


def token(path: str | None) -> str:
    assert path is not None
    start, _, last = path.rpartition("/")
    assert start == "/account/start"
    return last


def link(name: str) -> str:
    out = StringIO()
    call_command("person", "link", name, stdout=out)
    return out.getvalue()


def refused(name: str) -> str:
    with pytest.raises(CommandError) as error:
        link(name)
    return str(error.value)


@override_settings(PUBLIC_URL="https://board.example")
def test_the_command_prints_the_whole_url_and_nothing_else(person: Person) -> None:
    printed = link("mira")
    assert printed.startswith("https://board.example/account/start/")
    found = links.live(printed.strip().rpartition("/")[2])
    assert found is not None
    assert found.person == person


@pytest.mark.parametrize("name", ["nobody", "mi\0ra", "\udcff"])
def test_the_command_makes_nobody(name: str) -> None:
    assert "`manage.py agent create HANDLE --owner NAME` makes one" in refused(name)
    assert not Person.objects.exists()


def test_the_command_is_no_way_around_a_password(operator: Person) -> None:
    assert refused("root") == "The person root has a password already; an operator can set another at /admin/."
    assert not AccountLink.objects.exists()


def test_the_command_lets_no_deactivated_person_in(person: Person) -> None:
    Person.objects.update(is_active=False)
    assert "is deactivated" in refused("mira")


def test_a_token_is_stored_as_its_digest_only(person: Person) -> None:
    secret = token(links.person_link(person))
    assert len(secret) >= 43
    assert secret not in str(AccountLink.objects.values_list())


def test_a_link_is_used_up_by_its_first_use(person: Person) -> None:
    secret = token(links.person_link(person))
    used = links.consume(secret)
    assert used is not None
    assert used.person == person
    assert links.live(secret) is links.consume(secret) is None


@pytest.mark.parametrize("secret", ["", "unknown", "a\0b", "\ud800"])
def test_an_unknown_token_is_dead(secret: str) -> None:
    assert links.live(secret) is links.consume(secret) is None
    assert links.redeem(secret, password=PASSWORD) is None


def test_a_link_works_for_24_hours_and_not_longer(person: Person) -> None:
    secret = token(links.person_link(person))
    row = AccountLink.objects.get()
    assert row.expires_at - row.created_at == timedelta(hours=24)
    AccountLink.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    assert links.live(secret) is not None
    AccountLink.objects.update(expires_at=timezone.now())
    assert links.live(secret) is links.consume(secret) is None


@pytest.mark.parametrize("change", [{"is_active": False}, {"password": "md5$a$b"}])
def test_a_persons_link_dies_when_they_are_deactivated_or_have_a_password(
    person: Person, change: dict[str, object]
) -> None:
    secret = token(links.person_link(person))
    Person.objects.filter(pk=person.pk).update(**change)
    assert links.live(secret) is links.consume(secret) is None


def test_a_newer_link_ends_the_older_ones_of_the_same_person_only(person: Person) -> None:
    other = token(links.person_link(register_person("other")))
    first_account = token(links.first_account_link())
    old, new = token(links.person_link(person)), token(links.person_link(person))
    assert links.live(old) is None
    assert None not in (links.live(new), links.live(other), links.live(first_account))


def test_a_newer_link_for_the_first_account_ends_the_older_one() -> None:
    old, new = token(links.first_account_link()), token(links.first_account_link())
    assert links.consume(old) is None
    assert links.consume(new) is not None


def test_once_there_is_an_operator_no_link_for_the_first_account_is_made_or_works() -> None:
    secret = token(links.first_account_link())
    Person.objects.create_superuser("root", password=PASSWORD)
    assert links.first_account_link() is None
    assert links.live(secret) is links.consume(secret) is None


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_superuser": False}, {"password": "!x"}])
def test_who_cannot_sign_in_as_superuser_is_no_operator(operator: Person, change: dict[str, object]) -> None:
    Person.objects.update(**change)
    assert links.first_account_link() is not None


def test_redeeming_the_first_link_makes_an_operator() -> None:
    made = links.redeem(token(links.first_account_link()), username="root", password=PASSWORD)
    assert made is not None
    made = Person.objects.get(username="root")
    assert made.is_staff
    assert made.is_superuser
    assert made.check_password(PASSWORD)


def test_a_person_without_a_password_may_become_the_first_operator_and_keeps_their_agents(person: Person) -> None:
    made = links.redeem(token(links.first_account_link()), username="mira", password=PASSWORD)
    assert made == person
    assert Person.objects.get().is_superuser


def test_a_name_that_cannot_be_had_leaves_the_link_usable() -> None:
    Person.objects.create_user("mira", password=PASSWORD)
    secret = token(links.first_account_link())
    for name in ("mira", "MIRA", "mi ra", ""):
        with pytest.raises(ValidationError):
            links.redeem(secret, username=name, password=PASSWORD)
    assert links.live(secret) is not None
    assert Person.objects.count() == 1


def test_redeeming_a_persons_link_sets_their_password_and_gives_no_powers(person: Person) -> None:
    links.redeem(token(links.person_link(person)), password=PASSWORD, username="root")
    person.refresh_from_db()
    assert person.check_password(PASSWORD)
    assert (person.username, person.is_staff, person.is_superuser) == ("mira", False, False)


@pytest.mark.django_db(transaction=True)
def test_of_many_uses_at_once_exactly_one_wins() -> None:
    secret = token(links.first_account_link())
    together, won = Barrier(4), []

    def use(name: str) -> None:
        together.wait()
        if links.redeem(secret, username=name, password=PASSWORD):
            won.append(name)
        connection.close()

    threads = [Thread(target=use, args=(f"root{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [person.username for person in Person.objects.all()] == won
    assert len(won) == 1
