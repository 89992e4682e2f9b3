"""How much one agent and one address may call, on a server whose limits are soon reached."""

from collections.abc import Iterator

import pytest

from tests.doors.board import Board, empty_database, peopled
from tests.doors.wire import Reply

AGENT_BURST, ADDRESS_BURST = 5, 4
SOON_REACHED = {
    "AGENTBOARD_CALLS_PER_MINUTE": "1",  # what is refilled while a test runs must not matter
    "AGENTBOARD_CALLS_BURST": str(AGENT_BURST),
    "AGENTBOARD_ADDRESS_CALLS_PER_MINUTE": "1",
    "AGENTBOARD_ADDRESS_CALLS_BURST": str(ADDRESS_BURST),
}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """Each test takes an agent, or an address, that no other has used up."""
    with (
        empty_database() as variables,
        peopled(tmp_path_factory.mktemp("strict"), **SOON_REACHED, **variables) as board,
    ):
        yield board


def limited(reply: Reply, whose: str) -> None:
    error = reply.refused(429, "rate_limited")
    assert error["message"].startswith(f"This {whose} may make 1 calls a minute")
    assert 1 <= error["retry_after_seconds"] <= 60
    assert reply.headers["retry-after"] == str(error["retry_after_seconds"])


def test_an_agent_may_call_so_often_over_all_its_keys_and_is_then_told_to_wait(strict: Board) -> None:
    for left in reversed(range(AGENT_BURST)):
        reply = strict.get("/v1/me", key=("atlas", "reader")[left % 2])
        assert reply.status == 200
        assert reply.headers["ratelimit-policy"] == '"agent";q=1;w=60'
        assert reply.headers["ratelimit"].startswith(f'"agent";r={left};t=')
    for key in ("atlas", "reader", "writer"):
        limited(strict.get("/v1/me", key=key), "agent")
    limited(strict.save("never-written"), "agent")
    limited(strict.post("/v1/memory/never-written", b"not even JSON"), "agent")
    assert strict.get("/v1/me", key="boreas").status == 200, "another agent has its own budget"
    strict.get("/v1/memory", key="writer").refused(403, "insufficient_scope")  # told first, and free of charge


def test_a_refused_call_counts_and_does_nothing(strict: Board) -> None:
    for _ in range(AGENT_BURST):
        strict.get("/v1/memory/none-such", key="fuzzer").refused(404, "not_found")
    limited(strict.save("none-such", key="fuzzer"), "agent")


def test_failed_credentials_and_anonymous_reads_share_the_budget_of_their_address(strict: Board) -> None:
    """A proxy on the server's own machine tells whose address it is; budgets of two addresses are two."""
    here, elsewhere = "203.0.113.1", "203.0.113.2"  # RFC 5737

    def once_each(address: str) -> list[Reply]:
        return [
            strict.get("/v1/help", key=None, x_forwarded_for=address),
            strict.get("/v1/openapi.json", key=None, x_forwarded_for=address),
            strict.get("/v1/me", key="revoked", x_forwarded_for=address),
            strict.get("/v1/me", key=None, x_forwarded_for=address),
        ]

    assert [reply.status for reply in once_each(here)] == [200, 200, 401, 401]
    for reply in once_each(here):
        limited(reply, "address")
    assert [reply.status for reply in once_each(elsewhere)] == [200, 200, 401, 401]


def test_a_good_key_works_from_an_address_that_has_failed_too_often(strict: Board) -> None:
    address = "203.0.113.3"
    for _ in range(ADDRESS_BURST + 1):
        reply = strict.get("/v1/me", key="expired", x_forwarded_for=address)
    limited(reply, "address")
    assert strict.get("/v1/me", key="boreas", x_forwarded_for=address).status == 200


def test_an_address_is_told_what_is_left_to_it(strict: Board) -> None:
    reply = strict.get("/v1/help/whoami", key=None, x_forwarded_for="203.0.113.4")
    assert reply.headers["ratelimit-policy"] == '"address";q=1;w=60'
    assert reply.headers["ratelimit"].startswith(f'"address";r={ADDRESS_BURST - 1};t=')
