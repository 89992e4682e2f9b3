"""What every answer carries beside its content, and what every call leaves in the log."""

import json
import re
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from agentboard.contract import limits
from tests.calls import over_socket
from tests.doors.board import JSON, UNLIMITED, Board, empty_database, fresh_name, peopled, spelled
from tests.mcp_bridge.speaking import Client, failed

PLAIN = ("abc-1", "A.b_c:d-9", "0", "x" * 80)
ODD = ("", " ", "a b", "x" * 81, "é", "a;b", 'a"b', "a,b", "<script>", "{}")


def everywhere(board: Board, **headers: str) -> list[tuple[int, str]]:
    """Status and request id of one answer of each kind."""
    large = b" " * (limits.REQUEST_MAX + 1)
    replies = [
        board.get("/v1/me", **headers),
        board.post(f"/v1/memory/{fresh_name()}", {"body": "text", "expected_version": 0}, **headers),
        board.get("/v1/help", key=None, **headers),
        board.get("/v1/openapi.json", key=None, **headers),
        board.get("/v1/memory?limit=0", **headers),
        board.get("/v1/me", key=None, **headers),
        board.post("/v1/memory/x", {}, key="reader", **headers),
        board.get("/v1/nothing", **headers),
        board.ask("PUT", "/v1/me", headers=spelled(headers)),
        board.get("/v1/me", accept="text/html", **headers),
        board.post("/v1/memory/x", b"{}", **{"Content-Type": "text/plain"}, **headers),
        board.post("/v1/memory/x", large, **headers),
        board.get("/v1/me", host="evil.example", **headers),
    ]
    for reply in replies:
        reply.is_ours()
    return [(reply.status, reply.headers["x-request-id"]) for reply in replies]


def test_every_answer_has_a_request_id_of_its_own(board: Board) -> None:
    found = everywhere(board)
    assert {200, 201, 400, 401, 403, 404, 405, 406, 413, 415} <= {status for status, _ in found}
    assert len({request_id for _, request_id in found}) == len(found)


@pytest.mark.parametrize("given", PLAIN)
def test_a_plain_request_id_comes_back(board: Board, given: str) -> None:
    for status, request_id in everywhere(board, x_request_id=given):
        assert request_id == given, status


@pytest.mark.parametrize("given", ODD)
def test_any_other_request_id_gives_way_to_a_fresh_one(board: Board, given: str) -> None:
    assert re.fullmatch("[0-9a-f]{16}", board.get("/v1/me", x_request_id=given).headers["x-request-id"])


def test_a_call_of_an_agent_tells_what_is_left_to_it(board: Board) -> None:
    reply = board.get("/v1/me")
    assert reply.headers["ratelimit-policy"] == '"agent";q=10000000;w=60'
    assert re.fullmatch(r'"agent";r=\d+;t=\d+', reply.headers["ratelimit"])


def test_an_anonymous_call_tells_what_is_left_to_its_address(board: Board) -> None:
    reply = board.get("/v1/help", key=None)
    assert reply.headers["ratelimit-policy"] == '"address";q=10000000;w=60'
    assert re.fullmatch(r'"address";r=\d+;t=\d+', reply.headers["ratelimit"])


def test_each_call_is_one_line_of_json_with_its_request_id(board: Board, name: str) -> None:
    before = len(board.lines())
    replies = [
        board.save(name),
        board.get(f"/v1/memory/{name}?detail=summary"),
        board.get("/v1/nothing"),
        board.get("/v1/me", key=None),
    ]
    lines = board.lines()[before:]
    assert [line["request_id"] for line in lines] == [reply.headers["x-request-id"] for reply in replies]
    assert [(line["method"], line["agent"], line["verb"], line["status"]) for line in lines] == [
        ("save_memory", "atlas", "POST", 201),
        ("get_memory", "atlas", "GET", 200),
        (None, None, "GET", 404),
        ("whoami", None, "GET", 401),
    ]
    for line in lines:
        assert line.keys() == {
            "time",
            "level",
            "logger",
            "message",
            "request_id",
            "method",
            "agent",
            "verb",
            "status",
            "ms",
        }
        assert (line["level"], line["logger"], line["message"]) == ("INFO", "agentboard.rest_door", "call")
        assert 0 <= line["ms"] < 60_000


def test_neither_log_nor_database_holds_what_somebody_wrote_or_a_key(tmp_path: Path) -> None:
    """B49: note, revisions, receipts, events, search, refusals; the log at its most talkative."""
    marker, tag = "MARKER-7f3a", "tag-of-the-note"
    texts = {"body": f"# {marker}\nfirst", "summary": f"{marker} in short", "use_when": f"when {marker}", "tags": [tag]}
    with (
        empty_database() as variables,
        peopled(tmp_path, AGENTBOARD_LOG_LEVEL="DEBUG", **UNLIMITED, **variables) as board,
    ):
        assert board.save("kept", **texts, operation_key="first").status == 201
        assert board.save("kept", expected_version=1, body=f"{marker} second", operation_key="second").status == 200
        restored = board.post(
            "/v1/memory/kept/restore", {"version": 1, "expected_version": 2, "operation_key": "third"}
        )
        assert marker in restored.json["body"]
        assert board.post("/v1/memory/kept/edit", {"expected_version": 3, "append": marker}).status == 200
        supersedes = {"name": "kept", "expected_version": 4}
        assert board.save("newer", **texts, supersedes=supersedes, operation_key="fourth").status == 201
        assert board.get(f"/v1/memory-search?q={marker}").json["items"]
        assert marker in board.save("kept", body=marker, expected_version=1).refused(409, "version_conflict")["diff"]
        board.save("kept", body=marker, expected_version="x").refused(400, "invalid_arguments")
        board.post("/v1/memory/kept", f'{{"{marker}'.encode()).refused(400, "invalid_json")
        board.get(f"/v1/memory?{marker}={marker}").refused(400, "invalid_arguments")
        board.get(f"/v1/memory/{marker}").refused(400, "invalid_arguments")
        board.get(f"/v1/{marker}").refused(404, "not_found")
        board.ask("POST", "/v1/memory/kept", b"{}", key=None, headers={**JSON, "Authorization": f"Bearer {marker}"})
        board.get(f"/docs/method/{marker}?{marker}", key=None)
        asked_over_mcp(board, marker)
        stored = everything_stored(tmp_path, variables)
        keys = board.keys.values()
        assert board.server.stop() == 0
        stored += everything_stored(tmp_path, variables)
        log = board.server.out + board.server.err
    assert tag.encode() in stored  # it does look into the rows
    assert "save_memory" in log
    for secret in (marker, *keys):
        assert secret.encode() not in stored
        assert secret not in log
    for line in board.server.err.splitlines():
        assert json.loads(line)["request_id"]


def asked_over_mcp(board: Board, marker: str) -> None:
    """The marker in every place of a request that a client fills in."""
    save = {"name": "save_memory", "arguments": {"id": "kept", "data": {"body": marker, "expected_version": 0}}}
    for modern in (False, True):
        client = Client(board.keys["atlas"], modern, over_socket(board.url))
        told: dict[str, str | None] = {"mcp-session-id": marker, "last-event-id": marker}
        assert failed(client.result("tools/call", save, changes=told), "version_conflict")
        for method, params in (
            ("tools/call", {"name": marker, "arguments": {marker: marker}}),
            ("tools/call", {"name": "whoami", "arguments": {marker: marker}}),
            ("tools/call", {"name": "whoami", "arguments": {"id": marker, "data": {marker: marker}}}),
            ("resources/read", {"uri": f"agentboard://memory/{marker}"}),
            ("resources/list", {"cursor": marker}),
            ("prompts/get", {"name": marker}),
            ("prompts/get", {"name": "start_session", "arguments": {marker: marker}}),
            ("completion/complete", {"ref": {"type": marker}, "argument": {"name": marker, "value": marker}}),
            ("subscriptions/listen", {"notifications": marker}),
            (marker, {marker: marker}),
        ):
            client.ask(method, params, id=marker, changes={"mcp-session-id": marker})
        assert client.ask("tools/list", path=f"/mcp?toolsets={marker}&{marker}").status == 400
        client.ask("tools/list", changes={"mcp-protocol-version": marker, "x-request-id": f"{marker} "})
        client.ask("tools/list", changes={"authorization": f"Bearer {marker}"})
        client.ask("tools/list", changes={"origin": f"https://{marker}.example"})
        client.post(f'{{"{marker}'.encode(), client.message("tools/list")[1])


def test_each_request_over_mcp_is_one_line_that_names_the_method_and_no_other_word(board: Board) -> None:
    client = Client(board.keys["atlas"], modern=False, exchange=over_socket(board.url))
    before = len(board.lines())
    replies = [
        client.ask("tools/call", {"name": "whoami"}),
        client.ask("tools/call", {"name": "something-else"}),
        client.ask("tools/list"),
        client.ask("something/else"),
        Client("", modern=True, exchange=over_socket(board.url)).ask("tools/list"),
    ]
    lines = board.lines()[before:]
    assert [line["request_id"] for line in lines] == [reply.headers["x-request-id"] for reply in replies]
    assert [(line["method"], line["mcp"], line["agent"], line["verb"], line["status"]) for line in lines] == [
        ("whoami", "tools/call", "atlas", "POST", 200),
        (None, "tools/call", "atlas", "POST", 200),
        (None, "tools/list", "atlas", "POST", 200),
        (None, None, "atlas", "POST", 200),
        (None, None, None, "POST", 401),
    ]
    for line in lines:
        assert line.keys() - {"mcp"} == {*COMMON, "method", "agent", "verb", "status", "ms"}
        assert (line["level"], line["logger"], line["message"]) == ("INFO", "mcp_bridge.endpoint", "call")


COMMON = ("time", "level", "logger", "message", "request_id")


def everything_stored(folder: Path, variables: dict[str, str]) -> bytes:
    """Every byte of the data folder, and every cell of every table where the rows lie elsewhere."""
    found = b"".join(
        path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix not in (".out", ".err")
    )
    if variables:
        found += b"".join(rows_of(variables["DATABASE_URL"]))
    return found


def rows_of(url: str) -> list[bytes]:
    with psycopg.connect(url) as database:
        tables = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        queries = [sql.SQL("SELECT row_to_json(t)::text FROM {} t").format(sql.Identifier(name)) for (name,) in tables]
        return [row.encode() for query in queries for (row,) in database.execute(query).fetchall()]
