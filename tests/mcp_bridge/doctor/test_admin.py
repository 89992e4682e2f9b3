"""Attempts as operators see them."""

import pytest
from django.test import Client
from django.utils import timezone

from agentboard.identity.models import Person
from mcp_bridge.doctor.models import Attempt, Step
from tests.board import Board

LIST = "/admin/doctor/attempt/"


@pytest.fixture
def attempt(board: Board) -> Attempt:
    about = {"client": "Cursor", "client_id": "c", "address": "0123456789abcdef", "step": Step.CONSENT}
    return Attempt.objects.create(person=board.person(), started_at=timezone.now(), updated_at=timezone.now(), **about)


@pytest.fixture
def operator(board: Board) -> Client:
    """A browser of an operator."""
    person = board.person()
    Person.objects.filter(pk=person.pk).update(is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(Person.objects.get(pk=person.pk))
    return client


def test_operators_see_attempts_and_change_none(operator: Client, attempt: Attempt) -> None:
    one = f"{LIST}{attempt.pk}/change/"
    for path in (LIST, f"{LIST}?q=Cursor", f"{LIST}?q=%00", one):
        answer = operator.get(path)
        assert answer.status_code == 200
        assert attempt.address not in answer.content.decode()
    assert "Cursor" in operator.get(LIST).content.decode()
    assert 'type="submit" value="Save"' not in operator.get(one).content.decode()
    assert operator.get(f"{LIST}add/").status_code == 403
    assert operator.post(f"{LIST}{attempt.pk}/delete/", {"post": "yes"}).status_code == 403


def test_a_person_can_be_deleted_with_their_attempts(operator: Client, attempt: Attempt) -> None:
    answer = operator.post(f"/admin/identity/person/{attempt.person_id}/delete/", {"post": "yes"})
    assert answer.status_code == 302
    assert not Attempt.objects.filter(pk=attempt.pk).exists()
