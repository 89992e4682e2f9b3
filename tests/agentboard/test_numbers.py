"""The operators' page of numbers: who sees it, what it counts, and that it stays cheap."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from agentboard import numbers, tally
from agentboard.identity.models import Person
from agentboard.rate import Buckets
from agentboard.tally import Tally
from tests.board import Board
from tests.calls import Agent

NUMBERS = "/admin/numbers"


@pytest.fixture
def operator(board: Board, client: Client, tmp_path: Path, settings: Any) -> Client:
    settings.DATA_FOLDER = tmp_path
    person = board.person()
    Person.objects.filter(pk=person.pk).update(is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename="view_event"))
    client.force_login(person)
    return client


def shown(client: Client) -> dict[str, Any]:
    answer = client.get(NUMBERS)
    assert answer.status_code == 200
    return {name: answer.context[name] for name in ("stored", "database", "keys")}


def test_only_staff_who_may_see_the_audit_trail_see_it(board: Board, client: Client) -> None:
    assert client.get(NUMBERS).status_code == 302
    person = board.person()
    client.force_login(person)
    assert client.get(NUMBERS).status_code == 302
    Person.objects.filter(pk=person.pk).update(is_staff=True)
    assert client.get(NUMBERS).status_code == 403
    person.user_permissions.set(Permission.objects.filter(codename="view_event"))
    assert client.get(NUMBERS).status_code == 200
    assert client.post(NUMBERS).status_code == 405


def test_it_counts_what_is_stored_and_tells_no_secret(atlas: Agent, operator: Client, settings: Any) -> None:
    before = dict(shown(operator)["stored"])
    atlas.save("plan", "Only for atlas")
    context = shown(operator)
    assert dict(context["stored"])["notes"] == before["notes"] + 1
    assert context["database"]["size"] > 0
    assert context["keys"]["held"] == 1
    page = operator.get(NUMBERS).content.decode()
    for secret in (*settings.FIELD_ENCRYPTION_KEY, settings.SECRET_KEY, "Only for atlas"):
        assert secret not in page


def test_it_takes_few_queries(
    atlas: Agent, operator: Client, django_assert_max_num_queries: Callable[[int], AbstractContextManager[Any]]
) -> None:
    with django_assert_max_num_queries(20):
        operator.get(NUMBERS)


def test_it_says_when_the_last_backup_was_made_or_how_to_make_one(operator: Client, tmp_path: Path) -> None:
    assert "manage.py backup FILE" in operator.get(NUMBERS).content.decode()
    (tmp_path / "last-backup.json").write_text('{"at": "2026-11-30T04:05:06+00:00", "size": 2048}')
    assert "30 November 2026, 04:05 UTC, 2.0\xa0KB" in operator.get(NUMBERS).content.decode()


def test_calls_are_counted_by_door_and_status_for_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    minute, calls = 100, Tally()
    monkeypatch.setattr(tally, "_minute", lambda: minute)
    monkeypatch.setattr(numbers, "CALLS", calls)
    for status in (200, 201, 404, 429, 503):
        calls.count("agentboard.rest_door", status)
    calls.count("mcp_bridge.endpoint", 200)
    minute = 101
    calls.count("agentboard.rest_door", 200)  # of a minute that is not over yet
    rest, mcp = numbers.doors()
    assert rest == {"name": "REST", "minute": 5, "hour": 5, "refused": 2, "failed": 1}
    assert mcp["hour"] == 1
    minute = 160
    assert [each["minute"] for each in numbers.doors()] == [0, 0]
    assert [each["hour"] for each in numbers.doors()] == [6, 1]
    minute = 162
    calls.count("agentboard.rest_door", 200)
    assert [each["hour"] for each in numbers.doors()] == [0, 0]


def test_a_call_at_a_door_is_counted_whatever_the_log_level(atlas: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[tuple[str, int]] = []
    monkeypatch.setattr(tally.CALLS, "count", lambda door, status: counted.append((door, status)))
    atlas.save("plan")
    atlas.refused("not_found", "get_memory", "none")
    assert counted == [("agentboard.rest_door", 201), ("agentboard.rest_door", 404)]


def test_calls_over_the_rate_are_counted() -> None:
    few = Buckets("agent", 1, 1, 1)
    few.take(1)
    for _ in range(2):
        with pytest.raises(Exception, match="used them up"):
            few.take(1)
    assert few.refused == 2
