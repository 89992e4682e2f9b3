"""What the endpoint tells of credentials."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentboard.identity import models
from agentboard.identity.caller import Caller, from_key
from mcp_bridge.doctor import calls, watch
from mcp_bridge.doctor.models import Attempt, Step
from mcp_bridge.doctor.peer import Peer
from mcp_bridge.doctor.reasons import Reason
from tests.board import Board
from tests.calls import Agent


def caller(agent: Agent) -> Caller:
    return from_key(f"Bearer {agent.key}", "mcp")


def only(peer: Peer) -> Attempt:
    return Attempt.objects.get(address=peer.address)


def key_of(agent: Agent) -> models.AgentKey:
    return models.AgentKey.objects.get(agent=agent.pk)


def test_a_call_without_a_credential_begins_an_attempt(peer: Peer) -> None:
    calls.refused("", peer, "Claude Code")
    assert (only(peer).step, only(peer).client) == (Step.DISCOVERY, "Claude Code")


def test_the_first_call_with_a_key_ends_the_attempt_that_looked_around(peer: Peer, atlas: Agent) -> None:
    calls.refused("", peer, "")
    calls.first_call(caller(atlas), lambda: peer, "Claude Code")
    found = only(peer)
    assert (found.step, found.done, found.by_key) == (Step.FIRST_CALL, True, True)
    assert (found.agent_id, found.client) == (atlas.pk, "Claude Code")


def test_further_calls_ask_the_database_nothing(peer: Peer, atlas: Agent) -> None:
    who = caller(atlas)
    calls.first_call(who, lambda: peer, "")
    with CaptureQueriesContext(connection) as asked:
        for _ in range(20):
            calls.first_call(who, lambda: peer, "")
    assert len(asked) == 0


def test_a_restart_makes_no_second_attempt_of_a_key(peer: Peer, atlas: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    calls.first_call(caller(atlas), lambda: peer, "")
    monkeypatch.setattr(calls, "CALLING", watch.Remembered())
    monkeypatch.setattr(watch, "NEWS", watch.Remembered())
    calls.first_call(caller(atlas), lambda: peer, "")
    assert only(peer).done


def test_a_key_that_has_long_been_there_is_no_attempt(peer: Peer, atlas: Agent) -> None:
    models.AgentKey.objects.filter(agent=atlas.pk).update(created_at=timezone.now() - timedelta(days=15))
    calls.first_call(caller(atlas), lambda: peer, "")
    assert not Attempt.objects.filter(address=peer.address).exists()


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("Bearer ab_short", "key_malformed"),
        ("Bearer " + "ab_" + "0" * 49, "key_malformed"),
        ("Bearer ab_\x00\ud800", "key_malformed"),
        ("Basic eDp5", "token_malformed"),
        ("Bearer", "token_malformed"),
        ("Bearer \x00\ud800", "token_malformed"),
    ],
)
def test_what_is_no_credential_is_told_to_whoever_sits_there(peer: Peer, header: str, reason: str) -> None:
    calls.refused(header, peer, "")
    found = only(peer)
    assert (found.stopped_at, found.reason, found.person_id) == (Step.FIRST_CALL, reason, None)


def test_a_deleted_agents_key_is_unknown(peer: Peer, atlas: Agent) -> None:
    models.Agent.objects.get(pk=atlas.pk).delete()
    calls.refused(f"Bearer {atlas.key}", peer, "")
    assert only(peer).reason == "key_unknown"


def test_a_key_that_ended_is_told_to_its_owner_wherever_they_are(peer: Peer, atlas: Agent, board: Board) -> None:
    models.AgentKey.objects.filter(agent=atlas.pk).update(expires_at=timezone.now())
    calls.refused(f"Bearer {atlas.key}", peer, "Cursor")
    found = only(peer)
    assert (found.reason, found.person_id, found.agent_id) == ("key_expired", board.people[0].pk, atlas.pk)
    assert found.by_key


def test_a_revoked_key_a_deactivated_agent_and_a_deactivated_owner_have_their_reasons(
    peer: Peer, atlas: Agent, boreas: Agent, board: Board
) -> None:
    noor = board.agent()
    models.AgentKey.objects.get_queryset().filter(agent=atlas.pk).revoke()
    models.Agent.objects.filter(pk=boreas.pk).update(active=False)
    models.Person.objects.filter(agents=noor.pk).update(is_active=False)
    for agent in (atlas, boreas, noor):
        calls.refused(f"Bearer {agent.key}", peer, "")
    found = Attempt.objects.filter(address=peer.address).order_by("id")
    assert [each.reason for each in found] == ["key_revoked", "agent_inactive", "owner_inactive"]


def test_a_key_that_works_again_has_no_reason_left(peer: Peer, atlas: Agent) -> None:
    models.Agent.objects.filter(pk=atlas.pk).update(active=False)
    calls.refused(f"Bearer {atlas.key}", peer, "")
    models.Agent.objects.filter(pk=atlas.pk).update(active=True)
    calls.first_call(caller(atlas), lambda: peer, "")
    assert (only(peer).reason, only(peer).done) == ("", True)


@pytest.mark.parametrize(("reason", "told"), [(Reason.PROTOCOL_UNSUPPORTED, False), (Reason.SCOPE_MISSING, True)])
def test_a_client_that_tries_a_newer_protocol_first_and_then_works_has_not_stopped(
    peer: Peer, atlas: Agent, reason: Reason, told: bool
) -> None:
    calls.first_call(caller(atlas), lambda: peer, "")
    calls.held_up(caller(atlas), reason, peer, "")
    assert Attempt.objects.filter(address=peer.address, reason=reason.value).exists() == told


def test_a_client_that_speaks_no_known_protocol_stops_at_its_first_call(peer: Peer, atlas: Agent) -> None:
    calls.held_up(caller(atlas), Reason.PROTOCOL_UNSUPPORTED, peer, "Old one")
    assert (only(peer).reason, only(peer).agent_id) == ("protocol_unsupported", atlas.pk)
    calls.first_call(caller(atlas), lambda: peer, "Old one")
    assert only(peer).done


def test_a_refused_call_that_comes_every_second_is_written_once(peer: Peer) -> None:
    calls.refused("Bearer ab_short", peer, "")
    with CaptureQueriesContext(connection) as asked:
        calls.refused("Bearer ab_short", peer, "")
    assert [query["sql"] for query in asked if not query["sql"].startswith("SELECT")] == []
