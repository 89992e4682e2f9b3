"""The audit trail in the admin: what was done, by whom, through which door; no text, and no count of a whole table."""

from collections.abc import Iterator

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentboard.identity import newest
from agentboard.identity.models import AgentKey, Person
from agentboard.ledger.admin import TrailAdmin
from agentboard.ledger.models import Event
from tests.board import Board
from tests.calls import Agent

EVENTS, RECEIPTS, ACTS = "/admin/ledger/event/", "/admin/ledger/receipt/", "/admin/admin/logentry/"
SECRET = "Only for atlas"


@pytest.fixture
def operator(board: Board) -> Client:
    person = board.person()
    Person.objects.filter(pk=person.pk).update(is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(person)
    return client


def listed(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def rows(page: str) -> int:
    return page.count('<th class="field-')


@pytest.mark.parametrize("how", ["handle", "person", "resource", "method"])
def test_events_are_found_by_agent_person_resource_and_method(
    atlas: Agent, boreas: Agent, operator: Client, how: str
) -> None:
    atlas.save(f"{how}-plan", SECRET)
    boreas.save(f"{how}-other")
    owner = Person.objects.get(agents=atlas.pk)
    asked = {
        "handle": f"q={atlas.handle}",
        "person": f"q={owner.username}",
        "resource": f"q={how}-plan",
        "method": f"method=save_memory&q={atlas.handle}",
    }
    page = listed(operator, f"{EVENTS}?{asked[how]}")
    assert rows(page) == 1
    assert f"{how}-plan" in page
    assert owner.username in page
    assert f"{how}-other" not in page
    assert SECRET not in page
    assert rows(listed(operator, f"{EVENTS}?method=delete_memory&q={atlas.handle}")) == 0


def test_events_are_found_by_time(atlas: Agent, operator: Client) -> None:
    atlas.save("plan")
    assert rows(listed(operator, f"{EVENTS}?q={atlas.handle}&created_at__gte=2020-01-01T00:00:00Z")) == 1
    assert rows(listed(operator, f"{EVENTS}?q={atlas.handle}&created_at__lt=2020-01-01T00:00:00Z")) == 0


@pytest.mark.parametrize("address", [EVENTS, RECEIPTS, ACTS])
@pytest.mark.parametrize("asked", ["q=%00", "method=%00", "method=none", "p=99999", "created_at__gte=x", "o=1", "all="])
def test_no_query_string_breaks_a_trail(operator: Client, address: str, asked: str) -> None:
    assert operator.get(f"{address}?{asked}", follow=True).status_code == 200


@pytest.mark.parametrize("address", [EVENTS, RECEIPTS])
def test_no_page_counts_more_than_the_newest_rows_and_it_says_so(
    atlas: Agent, operator: Client, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        atlas.save(f"note-{number}", operation_key=f"k-{number}")
    monkeypatch.setattr(newest, "NEWEST", 2)
    monkeypatch.setattr(TrailAdmin, "list_per_page", 1)
    with CaptureQueriesContext(connection) as asked:
        page = listed(operator, address)
    assert "_facets" not in page  # counts beside filters
    counts = [each["sql"] for each in asked if "COUNT(" in each["sql"]]
    assert len(counts) == 1
    assert "LIMIT 2" in counts[0]
    assert ("?p=2" in page, "?p=3" in page) == (True, False)
    assert "The newest 2 of those that match." in page
    assert len(asked) <= 20


def test_what_operators_did_is_listed_with_their_names(atlas: Agent, operator: Client) -> None:
    chosen = {"action": "revoke", "_selected_action": list(key_numbers(atlas))}
    operator.post("/admin/identity/agentkey/", chosen)
    act = LogEntry.objects.latest("pk")
    page = listed(operator, f"{ACTS}?q={act.user.username}")
    assert rows(page) == 1
    assert "Revoked." in page
    assert "Revoked." in listed(operator, f"{ACTS}{act.pk}/change/")


def key_numbers(agent: Agent) -> Iterator[int]:
    person = Person.objects.get(agents=agent.pk)
    yield from AgentKey.objects.filter(agent__owner=person).values_list("pk", flat=True)


@pytest.mark.parametrize("address", [EVENTS, ACTS])
def test_nobody_adds_changes_or_deletes_a_row(atlas: Agent, operator: Client, address: str) -> None:
    atlas.save("plan")
    row = Event.objects.latest("pk").pk if address == EVENTS else key_act(atlas, operator)
    assert operator.get(f"{address}add/").status_code == 403
    assert operator.post(f"{address}{row}/change/", {"method": "x"}).status_code == 403
    assert operator.post(f"{address}{row}/delete/", {"post": "yes"}).status_code == 403


def key_act(agent: Agent, operator: Client) -> int:
    chosen = {"action": "revoke", "_selected_action": list(key_numbers(agent))}
    operator.post("/admin/identity/agentkey/", chosen)
    return int(LogEntry.objects.latest("pk").pk)


@pytest.mark.parametrize(("address", "name"), [(EVENTS, "view_event"), (ACTS, "view_logentry")])
def test_only_those_with_the_permission_see_it(board: Board, client: Client, address: str, name: str) -> None:
    person = board.person()
    client.force_login(person)
    assert client.get(address).status_code == 302
    Person.objects.filter(pk=person.pk).update(is_staff=True)
    assert client.get(address).status_code == 403
    person.user_permissions.set(Permission.objects.filter(codename=name))
    assert client.get(address).status_code == 200
