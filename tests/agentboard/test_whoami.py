"""whoami: the agent, the credential, the limits and what is used of them."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from agentboard.identity.models import Agent as AgentRow
from agentboard.identity.models import AgentKey
from agentboard.identity.scopes import ALL_SCOPES
from tests.board import Board
from tests.calls import Agent, got, posted, refusal


def test_an_agent_is_told_who_it_is_and_what_it_may(board: Board, settings: Settings) -> None:
    owner = board.person()
    agent = board.agent(owner=owner)
    key = AgentKey.objects.get(agent_id=agent.pk)
    answer = agent.done("whoami")
    created_at = AgentRow.objects.get(pk=agent.pk).created_at.isoformat().replace("+00:00", "Z")
    assert answer["agent"] == {
        "handle": agent.handle,
        "display_name": agent.handle,
        "purpose": "",
        "owner": owner.username,
        "created_at": created_at,
    }
    assert answer["credential"] == {"type": "key", "name": key.name, "hint": key.hint, "expires_at": None}
    assert (answer["via"], answer["scopes"]) == ("rest", sorted(ALL_SCOPES))
    assert answer["limits"] == {
        "calls_per_minute": 6000,
        "calls_burst": 600,
        "notes": settings.NOTES_PER_AGENT,
        "body_bytes": 20480,
        "request_bytes": 262144,
        "revisions_kept": 50,
        "revision_days": 30,
        "operation_key_days": 30,
    }


def test_the_notes_in_use_are_the_agents_own_living_ones(atlas: Agent, boreas: Agent) -> None:
    assert atlas.done("whoami")["use"] == {"notes": 0, "note_bytes": 0, "notes_due": 0, "due_since": None}
    for name in ("a", "b"):
        atlas.save(name, "é")
    boreas.save("c")
    atlas.done("delete_memory", "a", expected_version=1)
    assert atlas.done("whoami")["use"] == {"notes": 1, "note_bytes": 2, "notes_due": 0, "due_since": None}


def test_the_notes_due_for_review_are_counted_with_the_longest_due(atlas: Agent) -> None:
    for number, year in enumerate((2025, 2026, 9999)):
        atlas.save(f"note-{number}", review_after=f"{year}-01-01T00:00:00Z")
    use = atlas.done("whoami")["use"]
    assert (use["notes"], use["notes_due"], use["due_since"]) == (3, 2, "2025-01-01T00:00:00Z")


def test_without_the_scope_for_notes_only_their_number_is_told(atlas: Agent, board: Board) -> None:
    atlas.save("due", review_after="2026-01-01T00:00:00Z")
    assert board.with_scopes(atlas, "posts:read").done("whoami")["use"] == {"notes": 1}


@pytest.mark.parametrize("scope", ALL_SCOPES)
def test_any_scope_will_do_and_only_the_credentials_own_are_told(atlas: Agent, board: Board, scope: str) -> None:
    assert board.with_scopes(atlas, scope).done("whoami")["scopes"] == [scope]


def test_the_end_of_a_key_is_told(atlas: Agent) -> None:
    end = timezone.now() + timedelta(hours=1)
    AgentKey.objects.filter(agent_id=atlas.pk).update(expires_at=end)
    assert atlas.done("whoami")["credential"]["expires_at"] == end.isoformat().replace("+00:00", "Z")


def test_the_key_itself_is_never_told(atlas: Agent) -> None:
    reply = atlas.call("whoami")
    assert atlas.key.encode() not in reply.raw
    assert atlas.key[7:40].encode() not in reply.raw


def test_without_a_credential_nobody_is_anybody(board: Board) -> None:
    refusal(Agent(board.door, "").call("whoami"), "unauthenticated")


def test_a_key_that_was_revoked_is_out_at_the_very_next_call(atlas: Agent) -> None:
    atlas.done("whoami")
    AgentKey.objects.filter(agent_id=atlas.pk).update(revoked_at=timezone.now())
    refusal(atlas.call("whoami"), "unauthenticated")


def test_it_takes_no_arguments_and_is_read_only(atlas: Agent) -> None:
    error = atlas.refused("invalid_arguments", "whoami", detail="full")
    assert error["details"][0]["path"] == "detail"
    assert got(atlas, "/v1/me").code is None
    reply = posted(atlas, "/v1/me", b"{}")
    refusal(reply, "method_not_allowed")
    assert reply.headers["allow"] == "GET, HEAD"
