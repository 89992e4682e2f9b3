"""Who gets in at REST: an agent key in the Authorization header, and nothing else."""

from collections.abc import Mapping

import pytest

from agentboard.catalog import CATALOG
from agentboard.contract.document import contract
from agentboard.contract.method import Method
from agentboard.identity.keys import ACCESS_TOKEN, REFRESH_TOKEN, new_key, new_secret
from tests.doors.board import JSON, Board
from tests.doors.wire import Connection, Reply, request

pytestmark = pytest.mark.usefixtures("no_faults")

REALM = 'Bearer realm="AgentBoard"'
INVALID = f'{REALM}, error="invalid_token"'
TOKEN, REFRESH, STRANGER = new_secret(ACCESS_TOKEN), new_secret(REFRESH_TOKEN), new_key()
PUBLIC = [method for method in CATALOG.values() if method.public]
CLOSED = [method for method in CATALOG.values() if not method.public]


def example(board: Board, method: Method, headers: Mapping[str, str]) -> Reply:
    """The method's first example request with these headers."""
    first = contract(method)["rest"]["requests"][0]
    body = b"" if first["method"] == "POST" else None
    return board.ask(first["method"], first["path"], body, key=None, headers={**JSON, **headers})


def unauthenticated(reply: Reply, challenge: str) -> str:
    """The message, where the refusal carries this challenge (RFC 6750, section 3)."""
    error = reply.refused(401, "unauthenticated")
    assert reply.headers["www-authenticate"] == challenge
    return f"{error['message']} {error['next_action']}"


@pytest.mark.parametrize("method", CLOSED, ids=[method.name for method in CLOSED])
def test_without_a_credential_no_method_answers(board: Board, method: Method) -> None:
    assert "Bearer <agent_key>" in unauthenticated(example(board, method, {}), REALM)


@pytest.mark.parametrize("method", PUBLIC, ids=[method.name for method in PUBLIC])
def test_help_answers_anybody_whatever_credential_comes_along(board: Board, method: Method) -> None:
    for headers in ({}, {"Authorization": "Bearer nonsense"}, board.bearer("revoked")):
        assert example(board, method, headers).status == 200


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("Bearer", "has nothing after Bearer"),
        ("Bearer ", "has nothing after Bearer"),
        ("Basic abc", "does not begin with the scheme Bearer"),
        ("Digest username=x", "does not begin with the scheme Bearer"),
        (STRANGER, "does not begin with the scheme Bearer"),
        ("Token " + STRANGER, "does not begin with the scheme Bearer"),
        ("Bearer nonsense", "is not an agent key"),
        ("Bearer null", "is not an agent key"),
        ("Bearer \xe9\xff", "is not an agent key"),
        ("Bearer " + "x" * 50_000, "is not an agent key"),
        ("Bearer <agent_key>", "is not an agent key"),
        (f"Bearer {STRANGER[:-1]}", "mistyped or cut"),
        (f"Bearer {STRANGER}0", "mistyped or cut"),
        (f"Bearer {STRANGER[:10]}{'A' if STRANGER[10] != 'A' else 'B'}{STRANGER[11:]}", "mistyped or cut"),
        (f"Bearer {STRANGER.lower()}", "mistyped or cut"),
        (f"Bearer {STRANGER}", "does not know this agent key"),
        (f"Bearer {STRANGER} {STRANGER}", "more than one word"),
        (f"Bearer {STRANGER}, Bearer {STRANGER}", "more than one credential"),
        (f"Bearer {STRANGER},Basic abc", "more than one credential"),
        (f"Bearer {TOKEN}", "OAuth access tokens are accepted only at /mcp"),
        (f"Bearer {REFRESH}", "OAuth access tokens are accepted only at /mcp"),
    ],
)
def test_a_credential_that_is_none_is_told_what_is_wrong_and_never_repeated(
    board: Board, header: str, told: str
) -> None:
    reply = board.ask("GET", "/v1/me", key=None, headers={"Authorization": header})
    assert told in unauthenticated(reply, INVALID)
    assert len(reply.body) < 800
    for secret in (STRANGER, TOKEN, REFRESH):
        assert secret[15:].encode() not in reply.body


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("revoked", "was revoked"),
        ("expired", "has expired"),
        ("asleep", "The agent asleep is deactivated"),
        ("orphan", "The person who owns the agent orphan is deactivated"),
    ],
)
def test_a_key_that_has_ended_is_told_so_to_its_holder(board: Board, key: str, told: str) -> None:
    assert told in unauthenticated(board.get("/v1/me", key=key), INVALID)


def test_several_authorization_headers_are_refused_even_where_one_is_good(board: Board) -> None:
    good = board.bearer("atlas")["Authorization"]
    for first, second in ((good, good), (good, "Basic abc"), ("Bearer nonsense", good), ("", good)):
        head = request("GET", "/v1/me", {"Authorization": first}).removesuffix(b"\r\n")
        with Connection(board.port) as connection:
            connection.send(head + f"Authorization: {second}\r\n\r\n".encode())
            unauthenticated(connection.reply(), INVALID)


@pytest.mark.parametrize(
    "spelling", ["Bearer {}", "bearer {}", "BEARER {}", "BeArEr {}", "Bearer  {}", " Bearer {} ", "Bearer\t{}"]
)
def test_the_scheme_may_be_spelt_as_the_standard_allows(board: Board, spelling: str) -> None:
    """RFC 9110, section 11.1: a scheme is case-insensitive."""
    header = spelling.format(board.keys["atlas"])
    assert board.ask("GET", "/v1/me", key=None, headers={"authorization": header}).status == 200


@pytest.mark.parametrize("parameter", ["key", "api_key", "access_token", "token", "agent_key", "Authorization"])
def test_a_key_in_the_query_or_the_body_is_no_credential(board: Board, parameter: str) -> None:
    key = board.keys["atlas"]
    for reply in (
        board.get(f"/v1/me?{parameter}={key}", key=None),
        board.post("/v1/memory/some-note", {parameter: key, "body": "x", "expected_version": 0}, key=None),
    ):
        unauthenticated(reply, REALM)
        assert key[15:].encode() not in reply.body


@pytest.mark.parametrize("header", ["Cookie", "X-Api-Key", "Proxy-Authorization", "X-Authorization", "X-Agent-Key"])
def test_no_other_header_is_a_credential(board: Board, header: str) -> None:
    key = board.keys["atlas"]
    for value in (key, f"Bearer {key}", f"sessionid={key}; csrftoken=x"):
        unauthenticated(board.ask("GET", "/v1/me", key=None, headers={header: value}), REALM)


def test_a_cookie_beside_a_key_changes_nothing_and_none_is_set(board: Board) -> None:
    reply = board.get("/v1/me", cookie="sessionid=x; csrftoken=y")
    reply.is_ours()
    assert reply.json["agent"]["handle"] == "atlas"


@pytest.mark.parametrize("method", CLOSED, ids=[method.name for method in CLOSED])
def test_a_scope_that_is_missing_is_named_before_anything_is_read(board: Board, method: Method) -> None:
    held = {"reader": "memory:read", "writer": "memory:write"}
    for key, scope in held.items():
        reply = example(board, method, board.bearer(key))
        if method.scope in (None, scope):
            assert reply.status in (200, 400, 404)
            continue
        error = reply.refused(403, "insufficient_scope")
        assert error["message"] == f"{method.name} needs the scope {method.scope}; this credential has {scope}."
        assert "www-authenticate" not in reply.headers


def test_each_agent_has_its_own_names(board: Board, name: str) -> None:
    assert board.save(name, body="of atlas").status == 201
    there, nowhere = board.get(f"/v1/memory/{name}", key="boreas"), board.get("/v1/memory/no-such", key="boreas")
    assert there.refused(404, "not_found")["message"].replace(name, "no-such") == nowhere.json["error"]["message"]
    assert board.save(name, key="boreas", body="of boreas").status == 201
    assert board.get(f"/v1/memory/{name}").json["body"] == "of atlas"


def test_one_operation_key_is_two_agents_two_keys(board: Board, name: str) -> None:
    for key in ("atlas", "boreas"):
        reply = board.save(name, key=key, operation_key=name)
        assert (reply.status, reply.json["replayed"], reply.json["author"]) == (201, False, key)
