"""`manage.py agent`."""

import json
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from agentboard.identity import keys
from agentboard.identity.caller import from_key
from agentboard.identity.models import Agent, AgentKey, Person
from agentboard.identity.scopes import ALL_SCOPES

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("agent", *arguments, stdout=out)
    return out.getvalue()


def answer(*arguments: str) -> Any:
    """The one line of JSON."""
    out = run(*arguments, "--json")
    assert out.count("\n") == 1
    return json.loads(out)


def refused(*arguments: str) -> str:
    with pytest.raises(CommandError) as error:
        run(*arguments)
    return str(error.value)


def test_create_makes_the_agent_and_its_owner_and_prints_one_line_of_json() -> None:
    made = answer("create", "atlas", "--owner", "mira", "--display-name", "Atlas", "--purpose", "Reads maps")
    created_at = made["agent"].pop("created_at")
    assert set(made) == {"agent", "key"}
    assert made["agent"] == {
        "handle": "atlas",
        "display_name": "Atlas",
        "purpose": "Reads maps",
        "owner": "mira",
        "active": True,
    }
    assert created_at.endswith("Z")
    assert abs(datetime.fromisoformat(created_at) - timezone.now()) < timedelta(minutes=1)
    assert not Person.objects.get(username="mira").has_usable_password()
    assert from_key(f"Bearer {made['key']}", "rest").scopes == set(ALL_SCOPES)


def test_create_takes_an_owner_who_exists(operator: Person) -> None:
    run("create", "atlas", "--owner", "root")
    assert Agent.objects.get(handle="atlas").owner == operator
    assert operator.has_usable_password()


def test_the_display_name_defaults_to_the_handle() -> None:
    assert answer("create", "atlas", "--owner", "mira")["agent"]["display_name"] == "atlas"


def test_the_key_is_the_last_line_for_people_and_stored_nowhere() -> None:
    key = run("create", "atlas", "--owner", "mira").splitlines()[-1]
    row = AgentKey.objects.get()
    assert keys.well_formed(key)
    assert (row.digest, row.hint) == (keys.digest(key), keys.hint(key))
    assert key not in run("list") + run("list", "--json")


def test_a_key_gets_the_scopes_name_and_end_that_were_asked_for() -> None:
    run(
        "create",
        "atlas",
        "--owner",
        "mira",
        "--scopes",
        "posts:read memory:read",
        "--key-name",
        "cron",
        "--expires-days",
        "7",
    )
    row = AgentKey.objects.get()
    assert (row.scopes, row.name) == ("memory:read posts:read", "cron")
    assert row.expires_at is not None
    assert timedelta(days=6.9) < row.expires_at - timezone.now() <= timedelta(days=7)


def test_key_makes_a_further_key_and_the_first_goes_on(agent: Agent) -> None:
    first, second = answer("key", "atlas"), answer("key", "atlas", "--scopes", "memory:read")
    assert set(second) == {"agent", "key"}
    assert [row.name for row in agent.keys.all()] == ["key 1", "key 2"]
    assert {from_key(f"Bearer {made['key']}", "rest").handle for made in (first, second)} == {"atlas"}


LONG = "a" * 81


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create", "Atlas", "--owner", "mira"], "HANDLE 'Atlas' is not a handle; use lowercase letters"),
        (["create", "atlas\n", "--owner", "mira"], "HANDLE 'atlas\\n' is not a handle"),
        (["create", LONG, "--owner", "mira"], "at most 80 characters"),
        (["create", "a\0b", "--owner", "mira"], "HANDLE 'a\\x00b' holds a character that cannot be stored"),
        (["create", "atlas", "--owner", "mira mira"], "--owner 'mira mira': Enter a valid username"),
        (["create", "atlas", "--owner", "mi\0ra"], "--owner 'mi\\x00ra' holds a character that cannot be stored"),
        (["create", "atlas", "--owner", "m" * 151], "at most 150 characters"),
        (["create", "atlas", "--owner", "mira", "--display-name", "a" * 201], "has 201 characters; at most 200"),
        (["create", "atlas", "--owner", "mira", "--display-name", "a\0"], "--display-name 'a\\x00' holds NUL"),
        (["create", "atlas", "--owner", "mira", "--purpose", "é" * 1_025], "has 2050 bytes in UTF-8; at most 2048"),
        (["create", "atlas", "--owner", "mira", "--purpose", "\udcff"], "--purpose '\\udcff' holds NUL or a character"),
        (["create", "atlas", "--owner", "mira", "--key-name", LONG], "The name of the key 'aaa"),
        (["create", "atlas", "--owner", "mira", "--scopes", "memory:red"], "names 'memory:red', which is not a scope"),
        (["create", "atlas", "--owner", "mira", "--scopes", ""], "--scopes '' names no scope"),
        (["create", "atlas", "--owner", "mira", "--expires-days", "0"], "--expires-days '0' is not a whole number"),
        (["create", "atlas", "--owner", "mira", "--expires-days", "1e3"], "--expires-days '1e3' is not a whole number"),
        (["create", "atlas", "--owner", "mira", "--expires-days", "9" * 99], "from 1 to 36500"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence_and_nothing_is_written(arguments: list[str], words: str) -> None:
    sentence = refused(*arguments)
    assert words in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert [model.objects.count() for model in (Person, Agent, AgentKey)] == [0, 0, 0]


def test_2048_bytes_of_purpose_are_taken() -> None:
    assert len(answer("create", "atlas", "--owner", "mira", "--purpose", "é" * 1_024)["agent"]["purpose"]) == 1_024


def test_an_owner_whose_name_differs_only_in_case_is_refused(person: Person) -> None:
    assert "perhaps in other letter case" in refused("create", "atlas", "--owner", "Mira")
    assert Person.objects.count() == 1


def test_an_existing_handle_points_to_agent_key(agent: Agent) -> None:
    assert "`manage.py agent key atlas` makes a further key" in refused("create", "atlas", "--owner", "other")
    assert not Person.objects.filter(username="other").exists()


@pytest.mark.parametrize("act", [["key", "nobody"], ["revoke-key", "nobody", "--all"]])
def test_an_unknown_handle_is_refused_and_the_list_named(act: list[str]) -> None:
    assert refused(*act) == "There is no agent 'nobody'; `manage.py agent list` shows the handles there are."
    assert "cannot be stored" in refused(act[0], "a\0", *act[2:])


def states(agent: Agent) -> list[str]:
    return [row.state for row in agent.keys.all()]


@pytest.fixture
def three(agent: Agent) -> list[AgentKey]:
    return [AgentKey.objects.issue(agent)[0] for _ in range(3)]


def test_revoke_key_ends_the_key_of_that_hint_only(agent: Agent, three: list[AgentKey]) -> None:
    assert run("revoke-key", "atlas", "--hint", three[1].hint) == "Revoked 1 key of atlas.\n"
    assert states(agent) == ["active", "revoked", "active"]


def test_a_hint_may_be_typed_with_three_dots(agent: Agent, three: list[AgentKey]) -> None:
    run("revoke-key", "atlas", "--hint", three[2].hint.replace("…", "..."))
    assert states(agent) == ["active", "active", "revoked"]


def test_revoke_key_ends_the_key_of_that_id_only(agent: Agent, three: list[AgentKey]) -> None:
    run("revoke-key", "atlas", "--id", str(three[0].pk))
    assert states(agent) == ["revoked", "active", "active"]


def test_revoking_all_counts_those_that_were_revoked_before(agent: Agent, three: list[AgentKey]) -> None:
    run("revoke-key", "atlas", "--id", str(three[0].pk))
    first = AgentKey.objects.get(pk=three[0].pk).revoked_at
    assert run("revoke-key", "atlas", "--all") == "Revoked 2 keys of atlas; 1 had been revoked before.\n"
    assert states(agent) == ["revoked"] * 3
    assert AgentKey.objects.get(pk=three[0].pk).revoked_at == first


def test_a_key_of_another_agent_is_not_revoked(agent: Agent, three: list[AgentKey], person: Person) -> None:
    Agent.objects.register(person, "other")
    assert f"The agent other has no key with the id {three[0].pk}" in refused(
        "revoke-key", "other", "--id", str(three[0].pk)
    )
    assert "has no key with the hint" in refused("revoke-key", "other", "--hint", three[0].hint)
    assert "has no key;" in refused("revoke-key", "other", "--all")
    assert states(agent) == ["active"] * 3


@pytest.mark.parametrize("number", ["x", "-1", "9" * 30, "٣"])
def test_an_id_that_is_no_number_is_refused(agent: Agent, number: str) -> None:
    assert "is not a whole number" in refused("revoke-key", "atlas", f"--id={number}")


def test_list_shows_each_agent_with_its_keys(agent: Agent) -> None:
    row, key = AgentKey.objects.issue(agent, name="cron", granted=["memory:read"])
    from_key(f"Bearer {key}", "rest")
    listed = answer("list")["agents"]
    assert [item["handle"] for item in listed] == ["atlas"]
    shown = listed[0]["keys"][0]
    assert set(shown) == {
        *("id", "name", "hint", "scopes", "state", "created_at", "last_used_at", "expires_at", "revoked_at"),
    }
    assert (shown["id"], shown["name"], shown["hint"], shown["state"]) == (row.pk, "cron", row.hint, "active")
    assert row.hint in run("list")
    assert row.digest not in run("list") + run("list", "--json")


def test_list_can_be_narrowed_to_one_owner(agent: Agent, operator: Person) -> None:
    Agent.objects.register(operator, "ledger")
    assert [item["handle"] for item in answer("list", "--owner", "mira")["agents"]] == ["atlas"]
    assert "There is no person 'nobody'" in refused("list", "--owner", "nobody")


def test_list_without_agents_says_how_one_is_made() -> None:
    assert "agent create" in run("list")
    assert answer("list") == {"agents": []}
