"""Who a key is, and what is said about one that is refused."""

import logging
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread

import pytest
from django.db import OperationalError
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from agentboard.contract.errors import Refusal
from agentboard.identity import caller, keys, last_use
from agentboard.identity.caller import Caller, from_key
from agentboard.identity.last_use import LastUse
from agentboard.identity.models import Agent, AgentKey, Person

pytestmark = pytest.mark.django_db
Issued = tuple[AgentKey, str]


def refusal(header: str) -> Refusal:
    with pytest.raises(Refusal) as refused:
        from_key(header, "rest")
    assert refused.value.code == "unauthenticated"
    assert refused.value.next_action
    return refused.value


def test_a_key_is_its_agent_with_the_scopes_of_the_key(agent: Agent) -> None:
    row, key = AgentKey.objects.issue(agent, granted=["posts:read", "memory:read"])
    assert from_key(f"Bearer {key}", "rest") == Caller(
        agent_id=agent.pk,
        handle="atlas",
        owner_id=agent.owner.pk,
        scopes=frozenset({"memory:read", "posts:read"}),
        via="rest",
        credential="key",
        credential_id=row.pk,
    )


@pytest.mark.parametrize("form", ["bearer {}", "BEARER {}", "  Bearer \t  {}  ", "Bearer\t{}"])
def test_the_scheme_counts_in_any_case_and_with_any_white_space(issued: Issued, form: str) -> None:
    assert from_key(form.format(issued[1]), "rest").handle == "atlas"


def test_a_check_is_one_query(
    issued: Issued, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(caller, "note_use", lambda key_id: None)
    with django_assert_num_queries(1):
        from_key(f"Bearer {issued[1]}", "rest")


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("", "no Authorization header"),
        ("   ", "no Authorization header"),
        ("Bearer", "nothing after Bearer"),
        ("Bearer  ", "nothing after Bearer"),
        ("Basic bWlyYTpzZWNyZXQ=", "does not begin with the scheme Bearer"),
        ('Digest username="mira", realm="x"', "does not begin with the scheme Bearer"),
        ("Bearer one two", "more than one word after Bearer"),
        ("Bearer one, Bearer two", "more than one credential"),
        ("Bearer one,Basic two", "more than one credential"),
        ("Basic one, bearer two", "more than one credential"),
        ("Bearer <agent_key>", "not an agent key"),
        ("Bearer é\ud800", "not an agent key"),
        ("Bearer ab_tooshort", "mistyped or cut"),
    ],
)
def test_a_header_without_one_whole_key_is_refused_with_the_reason(header: str, words: str) -> None:
    assert words in refusal(header).message


def test_a_key_with_a_wrong_checksum_is_called_mistyped_and_never_repeated(issued: Issued) -> None:
    wrong = issued[1][:-1] + ("0" if issued[1][-1] != "0" else "1")
    refused = refusal(f"Bearer {wrong}")
    assert "mistyped or cut" in refused.message
    assert wrong[3:] not in str(refused.as_json())


def test_a_key_without_its_scheme_is_not_repeated(issued: Issued) -> None:
    assert issued[1] not in str(refusal(issued[1]).as_json())


@pytest.mark.parametrize("prefix", [keys.ACCESS_TOKEN, keys.REFRESH_TOKEN])
def test_an_oauth_token_is_told_where_it_belongs(prefix: str) -> None:
    assert "only at /mcp" in refusal(f"Bearer {keys.new_secret(prefix)}").message


def test_an_unknown_key_is_told_so() -> None:
    assert "does not know this agent key" in refusal(f"Bearer {keys.new_key()}").message


def test_the_key_of_a_deleted_agent_is_unknown(issued: Issued, agent: Agent) -> None:
    agent.delete()
    assert "does not know this agent key" in refusal(f"Bearer {issued[1]}").message


def test_a_revoked_key_is_out_at_the_very_next_call(issued: Issued, agent: Agent) -> None:
    row, key = issued
    from_key(f"Bearer {key}", "rest")
    assert AgentKey.objects.get_queryset().filter(pk=row.pk).revoke() == 1
    assert "was revoked" in refusal(f"Bearer {key}").message


def test_a_key_works_until_it_expires_and_not_after(issued: Issued) -> None:
    row, key = issued
    AgentKey.objects.filter(pk=row.pk).update(expires_at=timezone.now() + timedelta(minutes=1))
    from_key(f"Bearer {key}", "rest")
    AgentKey.objects.filter(pk=row.pk).update(expires_at=timezone.now())
    assert "has expired" in refusal(f"Bearer {key}").message


def test_a_deactivated_agent_is_out_and_named(issued: Issued, agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(active=False)
    assert "agent atlas is deactivated" in refusal(f"Bearer {issued[1]}").message


def test_an_agent_of_a_deactivated_person_is_out(issued: Issued, person: Person) -> None:
    Person.objects.filter(pk=person.pk).update(is_active=False)
    assert "person who owns the agent atlas is deactivated" in refusal(f"Bearer {issued[1]}").message


def test_a_transferred_agent_calls_for_its_new_owner(issued: Issued, agent: Agent, operator: Person) -> None:
    Agent.objects.filter(pk=agent.pk).update(owner=operator)
    assert from_key(f"Bearer {issued[1]}", "rest").owner_id == operator.pk


def test_a_stored_scope_that_is_no_longer_one_grants_nothing(issued: Issued) -> None:
    AgentKey.objects.filter(pk=issued[0].pk).update(scopes="memory:read wishes:read")
    assert from_key(f"Bearer {issued[1]}", "rest").scopes == {"memory:read"}


def last_used(row: AgentKey) -> datetime | None:
    return AgentKey.objects.get(pk=row.pk).last_used_at


def moment(minute: int) -> datetime:
    return datetime(2026, 11, 30, 12, minute, 0, 250_000, tzinfo=UTC)


def test_a_call_notes_the_use_of_its_key(issued: Issued) -> None:
    before = timezone.now()
    from_key(f"Bearer {issued[1]}", "rest")
    caller.flush_last_used()
    assert before <= (last_used(issued[0]) or before - timedelta(1)) <= timezone.now()


def test_uses_within_a_minute_are_written_by_one_statement(
    agent: Agent, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    rows = [AgentKey.objects.issue(agent)[0] for _ in range(3)]
    uses = LastUse()
    uses.note(rows[0].pk, moment(0))  # the first is written at once
    with django_assert_num_queries(0):
        for minute, row in enumerate(rows, start=1):
            uses.note(row.pk, moment(minute))
    with django_assert_num_queries(3):  # savepoint, update, release
        uses.flush()
    assert [last_used(row) for row in rows] == [moment(1), moment(2), moment(3)]
    with django_assert_num_queries(0):
        uses.flush()


def test_the_first_call_after_a_minute_writes_what_waits(issued: Issued, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr("agentboard.identity.last_use.time.monotonic", lambda: now)
    uses = LastUse()
    uses.note(issued[0].pk, moment(0))
    uses.note(issued[0].pk, moment(1))
    assert last_used(issued[0]) == moment(0)
    now += last_use.FLUSH_SECONDS
    uses.note(issued[0].pk, moment(2))
    assert last_used(issued[0]) == moment(2)


def test_an_older_use_never_overwrites_a_newer_one(issued: Issued) -> None:
    here, elsewhere = LastUse(), LastUse()
    here.note(issued[0].pk, moment(5))
    elsewhere.note(issued[0].pk, moment(4))
    assert last_used(issued[0]) == moment(5)
    here.note(issued[0].pk, moment(7))
    here.note(issued[0].pk, moment(6))
    here.flush()
    assert last_used(issued[0]) == moment(7)


def test_a_failed_flush_is_logged_and_made_up_for_and_fails_no_call(
    issued: Issued, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    uses = LastUse()

    def broken(model: object, uses: dict[int, datetime]) -> None:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patched, caplog.at_level(logging.ERROR):
        patched.setattr(last_use, "_write", broken)
        uses.note(issued[0].pk, moment(3))
    assert "the next flush tries again" in caplog.text
    assert last_used(issued[0]) is None
    uses.flush()
    assert last_used(issued[0]) == moment(3)


def test_a_flush_within_a_transaction_that_the_database_refuses_leaves_the_transaction_usable(
    issued: Issued, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AgentKey._meta.get_field("last_used_at"), "column", "no_such_column")
    LastUse().note(issued[0].pk, moment(3))
    monkeypatch.undo()
    assert last_used(issued[0]) is None


def test_uses_noted_by_many_threads_at_once_are_all_kept(agent: Agent) -> None:
    rows = [AgentKey.objects.issue(agent)[0] for _ in range(4)]
    uses = LastUse()
    uses.note(rows[0].pk, moment(0))
    together = Barrier(len(rows))

    def note(row: AgentKey) -> None:
        together.wait()
        for minute in range(60):
            uses.note(row.pk, moment(minute))

    threads = [Thread(target=note, args=(row,)) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    uses.flush()
    assert {last_used(row) for row in rows} == {moment(59)}
