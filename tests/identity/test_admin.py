"""The operators' pages."""

from urllib.parse import unquote

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from agentboard.identity.models import Agent, AgentKey, Person

pytestmark = pytest.mark.django_db
Issued = tuple[AgentKey, str]
KEYS = "/admin/identity/agentkey/"
AGENTS = "/admin/identity/agent/"
PEOPLE = "/admin/identity/person/"


@pytest.fixture
def signed_in(client: Client, operator: Person) -> Client:
    client.force_login(operator)
    return client


def revoke(client: Client, *rows: AgentKey) -> int:
    chosen = {"action": "revoke", "_selected_action": [row.pk for row in rows]}
    return client.post(KEYS, chosen).status_code


ASKED = [
    "q=%00",
    "q='",
    "q=%22",
    "q=a%00b&p=1",
    "%00=1",
    "id=%00",
    "handle=%00",
    "name=%00",
    "q=%ed%a0%80",
    "q=" + "a+" * 99,
]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("page", [KEYS, AGENTS, PEOPLE])
def test_no_query_string_breaks_a_list(signed_in: Client, issued: Issued, page: str, asked: str) -> None:
    assert signed_in.get(f"{page}?{asked}", follow=True).status_code == 200


@pytest.mark.parametrize("asked", ["owner__username=%00", "owner__id__exact=%00", "active__exact=%00"])
def test_no_filter_breaks_the_list_of_agents(signed_in: Client, issued: Issued, asked: str) -> None:
    assert signed_in.get(f"{AGENTS}?{asked}", follow=True).status_code in (200, 400)


@pytest.mark.parametrize("term", ["%00", "'", "mira"])
def test_no_term_breaks_the_choice_of_an_owner(signed_in: Client, agent: Agent, term: str) -> None:
    asked = f"/admin/autocomplete/?app_label=identity&model_name=agent&field_name=owner&term={term}"
    answer = signed_in.get(asked)
    assert answer.status_code == 200
    assert ("mira" in [found["text"] for found in answer.json()["results"]]) == ("\0" not in unquote(term))


def test_a_search_with_nul_finds_nothing(signed_in: Client, issued: Issued) -> None:
    assert "atlas" in signed_in.get(f"{AGENTS}?q=atlas").content.decode()
    assert "0 agents" in signed_in.get(f"{AGENTS}?q=atlas%00").content.decode()


@pytest.mark.parametrize("page", [AGENTS, PEOPLE, KEYS])
@pytest.mark.parametrize("number", ["%00", "x", "9" * 30, "-1"])
def test_an_address_of_nothing_breaks_no_page(signed_in: Client, page: str, number: str) -> None:
    assert signed_in.get(f"{page}{number}/change/").status_code == 302


@pytest.mark.parametrize(
    "page", [KEYS, f"{KEYS}{{key}}/change/", f"{AGENTS}{{agent}}/change/", f"{KEYS}{{key}}/history/"]
)
def test_no_page_shows_a_key_or_its_digest(signed_in: Client, issued: Issued, page: str) -> None:
    row, key = issued
    answer = signed_in.get(page.format(key=row.pk, agent=row.agent.pk))
    assert answer.status_code == 200
    assert row.hint in answer.content.decode()
    assert row.digest not in answer.content.decode()
    assert key not in answer.content.decode()


def test_a_key_can_be_neither_made_nor_changed_nor_deleted(signed_in: Client, issued: Issued) -> None:
    row = issued[0]
    assert signed_in.get(f"{KEYS}add/").status_code == 403
    assert signed_in.post(f"{KEYS}{row.pk}/change/", {"name": "other", "scopes": "memory:read"}).status_code == 403
    assert signed_in.post(f"{KEYS}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    signed_in.post(KEYS, chosen)
    assert AgentKey.objects.values_list("name", "scopes").get() == (row.name, row.scopes)


def test_revoking_ends_the_selected_keys_and_leaves_a_trace(signed_in: Client, agent: Agent) -> None:
    first, _, third = (AgentKey.objects.issue(agent)[0] for _ in range(3))
    before = timezone.now()
    AgentKey.objects.filter(pk=third.pk).update(revoked_at=before)
    assert revoke(signed_in, first, third) == 302
    assert [row.state for row in agent.keys.all()] == ["revoked", "active", "revoked"]
    assert AgentKey.objects.get(pk=third.pk).revoked_at == before
    assert [entry.object_id for entry in LogEntry.objects.all()] == [str(first.pk)]


def test_who_may_only_look_at_keys_cannot_revoke_them(client: Client, issued: Issued) -> None:
    looker = Person.objects.create_user("looker", is_staff=True)
    looker.user_permissions.add(Permission.objects.get(codename="view_agentkey"))
    client.force_login(looker)
    assert client.get(KEYS).status_code == 200
    revoke(client, issued[0])
    assert AgentKey.objects.get().state == "active"


def agent_form(agent: Agent, **changed: str) -> dict[str, str]:
    inline = {"keys-TOTAL_FORMS": "0", "keys-INITIAL_FORMS": "0"}
    return {"display_name": "Atlas", "purpose": "", "owner": str(agent.owner.pk), "active": "on", **inline, **changed}


def test_an_agents_handle_stays_as_it_was_made(signed_in: Client, agent: Agent) -> None:
    answer = signed_in.post(f"{AGENTS}{agent.pk}/change/", agent_form(agent, handle="other"))
    assert answer.status_code == 302
    assert Agent.objects.values_list("handle", "display_name").get() == ("atlas", "Atlas")


def test_an_agent_can_be_deactivated(signed_in: Client, agent: Agent) -> None:
    form = agent_form(agent)
    del form["active"]
    signed_in.post(f"{AGENTS}{agent.pk}/change/", form)
    assert not Agent.objects.get().active


@pytest.mark.parametrize("handle", ["Atlas", "atlas", "a\0b", "a--b", "a" * 81])
def test_a_handle_that_cannot_be_is_refused_by_the_form(signed_in: Client, agent: Agent, handle: str) -> None:
    assert signed_in.post(f"{AGENTS}add/", agent_form(agent, handle=handle)).status_code == 200
    assert Agent.objects.count() == 1


def test_deleting_an_agent_takes_its_keys_along(signed_in: Client, issued: Issued) -> None:
    row = issued[0]
    assert signed_in.post(f"{AGENTS}{row.agent.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not AgentKey.objects.exists()


def test_deleting_a_person_takes_their_agents_along(signed_in: Client, issued: Issued, person: Person) -> None:
    assert signed_in.post(f"{PEOPLE}{person.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Agent.objects.exists()


def test_an_operator_makes_people(signed_in: Client) -> None:
    password = "violet harbour 27"
    form = {"username": "nora", "usable_password": "true", "password1": password, "password2": password}
    assert signed_in.get(f"{PEOPLE}add/").status_code == 200
    assert signed_in.post(f"{PEOPLE}add/", form).status_code == 302
    assert Person.objects.get(username="nora").check_password(password)
    assert signed_in.post(f"{PEOPLE}add/", {**form, "username": "NORA"}).status_code == 200


def test_links_have_no_page(signed_in: Client) -> None:
    assert signed_in.get("/admin/identity/accountlink/").status_code == 404
    assert "accountlink" not in signed_in.get("/admin/").content.decode()
