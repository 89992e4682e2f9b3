"""Requests that no well-meaning client sends, and spellings that some do: the right JSON-RPC error, never a 500."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from agentboard.catalog import CATALOG
from agentboard.contract import limits
from tests.calls import MODERN, Agent, Object, Reply
from tests.doors.wire import Connection, request
from tests.mcp_bridge.speaking import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    PREFIX,
    Client,
    answered,
    coded,
    done,
    failed,
    fault,
    messages,
    refused,
    result,
)
from tests.serving import Served

pytestmark = pytest.mark.no_database  # what is refused before a method runs is the same on each

LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
SAVE: Object = {"name": "save_memory", "arguments": {"id": "hostile", "data": {"body": "Text", "expected_version": 0}}}
EXAMPLES = 60  # of each random kind


def posted(client: Client, body: bytes) -> Reply:
    """The reply to these bytes, with headers as for tools/list."""
    return client.post(body, client.message("tools/list")[1])


def nothing_was_written(client: Client, name: str = "hostile") -> None:
    failed(client.tool("get_memory", name), "not_found")


# What cannot be read (B07)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"  \n", b"{", b"]", b"{'a':1}", b'{"a":1,}', b"{}{}", b"\x00", b"a=b", b"nul", b"\xef\xbb\xbf{}"),
        *(b'{"a":NaN}', b'{"a":-Infinity}', b'{"a":1e400}', b'{"a":' + b"9" * 5_000 + b"}", b'{"a":1,"a":2}'),
        *(b'{"a":"\xff"}', b'{"a":"\xed\xa0\x80"}', b"\xff\xfe{\x00}\x00", b"{\x00}\x00", b'{"id":1,"x":"\x01"}'),
        *(b"[" * 100_000 + b"]" * 100_000, b"[" * 100_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + b'{"a":' * 900 + b"1" + b"}" * 901,
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":NaN}}',
    ],
    ids=range(27),
)
def test_a_body_that_cannot_be_read_is_a_parse_error_without_an_id(client: Client, body: bytes) -> None:
    error = fault(posted(client, body), 400, PARSE_ERROR, "invalid_json", None)
    assert len(error["message"]) < 200


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"5", b"null", b"true", b"{}", b'{"method":"ping"}'])
def test_what_is_json_but_no_message_is_an_invalid_request(client: Client, body: bytes) -> None:
    fault(posted(client, body), 400, INVALID_REQUEST, "invalid_arguments", None)


@pytest.mark.parametrize("number", [1, 2])
def test_a_batch_is_an_invalid_request_and_does_nothing(client: Client, number: int) -> None:
    """Later revisions took them away, and no client of the first one sent any."""
    save, headers = client.message("tools/call", SAVE)
    reply = client.post(json.dumps([save] * number).encode(), headers)
    fault(reply, 400, INVALID_REQUEST, "invalid_arguments", None)
    nothing_was_written(client)


@pytest.mark.parametrize("wrong", [None, True, 1.5, 1e3, [], {}, [1], 2**63, -(2**63), 10**40, "\ud800", "a\udfff"])
def test_an_id_that_is_neither_text_nor_a_whole_number_is_refused_without_one(client: Client, wrong: Any) -> None:
    reply = client.ask("tools/call", SAVE, id=wrong)
    error = fault(reply, 400, INVALID_REQUEST, "invalid_arguments", None)
    assert "id must be" in error["message"]
    nothing_was_written(client)


@pytest.mark.parametrize("id", [0, -1, 7, 2**53 + 1, 2**63 - 1, "", "1", "é\n\u2028😀", "x" * 10_000])
def test_any_other_id_comes_back_as_it_was(client: Client, id: Any) -> None:
    assert result(client.ask("tools/list", id=id), client.modern, id)
    unknown = client.ask("nope/nope", id=id)
    fault(unknown, client.status_of(404), METHOD_NOT_FOUND, "not_found", id)


@pytest.mark.parametrize(
    "changed",
    [{"jsonrpc": "1.0"}, {"jsonrpc": 2.0}, {"jsonrpc": None}, {"method": 5}, {"method": None}, {"method": []}],
)
def test_a_malformed_message_is_an_invalid_request_under_its_id(client: Client, changed: Object) -> None:
    message, headers = client.message("tools/call", SAVE)
    reply = client.post(json.dumps({**message, "id": "mine", **changed}).encode(), headers)
    fault(reply, 400, INVALID_REQUEST, "invalid_arguments", "mine")
    nothing_was_written(client)


@pytest.mark.parametrize("wrong", ["x", [], 5, True, [{"name": "whoami"}]])
def test_params_that_are_no_object_are_invalid_params_under_the_id(client: Client, wrong: Any) -> None:
    message, headers = client.message("tools/list")
    reply = client.post(json.dumps({**message, "id": 7, "params": wrong}).encode(), headers)
    fault(reply, 400, INVALID_PARAMS, "invalid_arguments", 7)


@pytest.mark.parametrize("wrong", ["x", [], 5, True])
def test_meta_that_is_no_object_is_too(client: Client, wrong: Any) -> None:
    message, headers = client.message("tools/list")
    reply = client.post(json.dumps({**message, "params": {"_meta": wrong}}).encode(), headers)
    fault(reply, client.status_of(400) if client.modern else 400, INVALID_PARAMS, "invalid_arguments")


@pytest.mark.parametrize("method", ["nope/nope", "", "tools/List", "tools/call ", "x" * 10_000, "\ud800", "é", "rpc.x"])
def test_an_unknown_method_is_not_found(client: Client, method: str) -> None:
    reply = client.ask(method)
    if client.modern and method == "\ud800":
        fault(reply, 400, HEADER_MISMATCH, "invalid_arguments")
    else:
        fault(reply, client.status_of(404), METHOD_NOT_FOUND, "not_found")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": 5}),
        ("tools/call", {"name": None}),
        ("tools/call", {"name": "nope"}),
        ("tools/call", {"name": "save_memory\n"}),
        ("tools/call", {"name": "whoami", "arguments": []}),
        ("tools/call", {"name": "whoami", "arguments": "x"}),
        ("tools/call", {"name": "whoami", "arguments": 5}),
        ("tools/call", {"name": "whoami", "arguments": False}),
        ("resources/read", {}),
        ("resources/read", {"uri": 5}),
        ("resources/list", {"cursor": 5}),
        ("resources/list", {"cursor": ""}),
        ("resources/list", {"cursor": "x"}),
        ("resources/list", {"cursor": "0.x"}),
        ("resources/list", {"cursor": "7."}),
        ("prompts/get", {}),
        ("prompts/get", {"name": 5}),
        ("prompts/get", {"name": "nope"}),
        ("prompts/get", {"name": "start_session", "arguments": "x"}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": []}, "argument": {"name": "a", "value": ""}}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": {}}, "argument": {"name": "a", "value": ""}}),
        ("completion/complete", {"ref": {"type": "x"}, "argument": {"name": "a", "value": ""}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "hand_over"}, "argument": {"name": "agent"}}),
        ("completion/complete", {"ref": [], "argument": []}),
    ],
)
def test_params_that_make_no_sense_are_invalid_params_under_the_id(client: Client, method: str, params: Object) -> None:
    """B35: the client hears of it; nothing of it is an internal error or a method that is not there."""
    reply = client.ask(method, params, id="a")
    fault(reply, client.status_of(400), INVALID_PARAMS, "invalid_arguments", "a")


def test_a_name_with_a_lone_surrogate_is_repeated_as_the_escape_it_came_as(atlas: Agent) -> None:
    client = Client(atlas.key)
    error = fault(client.ask("tools/call", {"name": "a\ud800"}), 200, INVALID_PARAMS, "invalid_arguments")
    assert "a\ud800" in error["message"]
    uri = "agentboard://nothing/\ud800"
    reply = client.ask("resources/read", {"uri": uri})
    assert reply.json["error"]["data"]["uri"] == uri
    assert b"\\ud800" in reply.raw


def test_a_text_with_a_lone_surrogate_is_an_argument_to_be_corrected(client: Client) -> None:
    found = client.tool("save_memory", "hostile", body="a\ud800", expected_version=0)
    assert failed(found, "invalid_arguments")["details"][0]["path"] == "body"
    nothing_was_written(client)


# What wants no answer (B29)


@pytest.mark.parametrize(
    "message",
    [
        {"method": "notifications/initialized"},
        {"method": "notifications/initialized", "params": {}},
        {"method": "notifications/cancelled", "params": {"requestId": "unknown"}},
        {"method": "notifications/does-not-exist"},
        {"method": "notifications/progress", "params": {"progressToken": 10**40, "progress": "x"}},
        {"method": "tools/call", "params": SAVE},
        {"id": "s1", "result": {}},
        {"id": None, "error": {"code": -32700, "message": "x"}},
        {"id": 1, "result": None},
    ],
)
@pytest.mark.parametrize("version", [None, "2025-11-25", MODERN])
def test_a_notification_and_a_response_are_accepted_without_a_body_and_do_nothing(
    atlas: Agent, message: Object, version: str | None
) -> None:
    client = Client(atlas.key)
    _, headers = client.message("x")
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    reply = client.post(body, {**headers, "mcp-protocol-version": version})
    assert (reply.status, reply.raw, reply.headers["content-length"]) == (202, b"", "0")
    assert reply.headers["x-request-id"]
    nothing_was_written(client)


def test_a_notification_without_a_method_is_refused(client: Client) -> None:
    for body in (b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","method":5}', b'{"jsonrpc":"2.0","result":{}}'):
        fault(posted(client, body), 400, INVALID_REQUEST, "invalid_arguments", None)


# What the newest revision asks for in body and headers


@pytest.mark.parametrize(
    ("meta", "lacks"),
    [
        ({f"{PREFIX}clientCapabilities": {}}, "protocolVersion"),
        ({f"{PREFIX}protocolVersion": MODERN}, "clientCapabilities"),
        ({}, "protocolVersion"),
        (None, "protocolVersion"),
        ({f"{PREFIX}protocolVersion": 5, f"{PREFIX}clientCapabilities": {}}, "protocolVersion"),
        ({f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": []}, "clientCapabilities"),
        ({f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": None}, "clientCapabilities"),
    ],
)
def test_a_request_that_does_not_describe_its_client_is_told_what_is_missing(
    atlas: Agent, meta: Object | None, lacks: str
) -> None:
    client = Client(atlas.key, modern=True)
    message, headers = client.message("tools/list")
    message["params"] = {} if meta is None else {"_meta": meta}
    error = fault(client.post(json.dumps(message).encode(), headers), 400, INVALID_PARAMS, "invalid_arguments")
    assert lacks in error["message"]


def test_the_body_alone_may_say_that_a_request_is_of_the_newest_revision(atlas: Agent) -> None:
    reply = Client(atlas.key, modern=True).ask("tools/list", changes={"mcp-protocol-version": None})
    error = fault(reply, 400, HEADER_MISMATCH, "invalid_arguments")
    assert "MCP-Protocol-Version" in error["message"]


@pytest.mark.parametrize("client_info", [None, "x", [], {}, {"name": 5}, {"name": ""}, {"name": "\ud800\x00\n"}])
def test_who_the_client_is_may_be_missing_or_nonsense(atlas: Agent, client_info: Any) -> None:
    params = {**SAVE, "_meta": {f"{PREFIX}clientInfo": client_info}}
    client = Client(atlas.key, modern=True)
    assert done(client.result("tools/call", params))["version"] == 1
    assert done(client.tool("get_memory", "hostile"))["via"] == "mcp"


def test_a_client_is_named_by_its_own_word_cut_short_and_without_what_is_no_letter(atlas: Agent) -> None:
    for modern, changes in ((True, {}), (False, {"user-agent": "A client " + "x" * 500 + "/1.0 (y)"})):
        name = f"named-{modern}".lower()
        params = {"name": "save_memory", "arguments": {**SAVE["arguments"], "id": name}}
        if modern:
            params["_meta"] = {f"{PREFIX}clientInfo": {"name": "A\x00 cli\nent " + "x" * 500}}
        done(Client(atlas.key, modern).result("tools/call", params, changes=changes))
        via = done(Client(atlas.key).tool("get_memory", name))["via"]
        assert via == "mcp (A client " + "x" * 51 + ")"


MISSING_OR_WRONG = [
    {"mcp-protocol-version": None},
    {"mcp-protocol-version": "2025-11-25"},
    {"mcp-protocol-version": ""},
    {"mcp-method": None},
    {"mcp-method": "tools/list"},
    {"mcp-method": "TOOLS/CALL"},
    {"mcp-method": ""},
    {"mcp-method": "=?base64?dG9vbHMvbGlzdA==?="},
    {"mcp-name": None},
    {"mcp-name": "get_memory"},
    {"mcp-name": "save_memory, save_memory"},
    {"mcp-name": ""},
    {"mcp-name": "=?base64?"},
    {"mcp-name": "=?base64?c2F2ZV9tZW1vcnk=?=x"},
    {"mcp-name": "=?base64?c2F2ZV9tZW1vcnk?="},
    {"mcp-name": "=?base64?c2F2ZV9tZW1vcnk===?="},
    {"mcp-name": "=?base64?c2F2 ZV9tZW1vcnk=?="},
    {"mcp-name": "=?base64?/w==?="},
    {"mcp-name": "=?utf-8?B?c2F2ZV9tZW1vcnk=?="},
    {"Mcp-Name": "save_memory"},
    {"Mcp-Method": "tools/call"},
    {"MCP-Protocol-Version": MODERN},
]


@pytest.mark.parametrize("changes", MISSING_OR_WRONG)
def test_a_header_that_is_missing_wrong_or_there_twice_is_a_mismatch_and_nothing_is_done(
    atlas: Agent, changes: dict[str, str | None]
) -> None:
    """A name with capitals stands for a second header: in this process each spelling is one of its own."""
    client = Client(atlas.key, modern=True)
    fault(client.ask("tools/call", SAVE, changes=changes), 400, HEADER_MISMATCH, "invalid_arguments")
    nothing_was_written(client)


@pytest.mark.parametrize(
    "changes",
    [
        {"mcp-name": "=?base64?c2F2ZV9tZW1vcnk=?="},
        {"mcp-name": "save_memory \t"},
        {"mcp-name": " =?base64?c2F2ZV9tZW1vcnk=?= "},
        {"mcp-method": "=?base64?dG9vbHMvY2FsbA==?="},
        {"mcp-method": "tools/call  "},
        {"mcp-protocol-version": f"{MODERN}\t "},
    ],
)
def test_a_header_may_be_coded_and_have_white_space_around_it(atlas: Agent, changes: dict[str, str | None]) -> None:
    assert done(Client(atlas.key, modern=True).result("tools/call", SAVE, changes=changes))["version"] == 1


def test_the_header_ladder_is_climbed_for_each_method_that_names_something(atlas: Agent) -> None:
    client = Client(atlas.key, modern=True)
    done(client.tool("save_memory", "plan", body="Text", expected_version=0))
    for method, params in (
        ("resources/read", {"uri": "agentboard://memory/plan"}),
        ("prompts/get", {"name": "start_session"}),
    ):
        assert client.result(method, params)
        for wrong in (None, "other"):
            reply = client.ask(method, params, changes={"mcp-name": wrong})
            fault(reply, 400, HEADER_MISMATCH, "invalid_arguments")
    assert client.result("tools/list", changes={"mcp-name": "whatever"})


# Verbs, hosts, paths


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "TRACE"])
def test_another_verb_is_refused_with_those_there_are_whoever_asks(client: Client, verb: str) -> None:
    _, headers = client.message("tools/list")
    for who in (client, Client("", client.modern), Client("nonsense", client.modern)):
        reply = who.post(LIST, headers, verb=verb)
        fault(reply, 405, INVALID_REQUEST, "method_not_allowed", None)
        assert reply.headers["allow"] == "POST, OPTIONS"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil", "", "a b", "[::1", "é"])
def test_a_host_that_this_server_is_not_is_refused(client: Client, host: str) -> None:
    error = fault(client.ask("tools/list", changes={"host": host}), 400, INVALID_PARAMS, "invalid_arguments", None)
    assert "Host" in error["message"]
    assert not host or host not in error["message"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1", "[::1]", "LOCALHOST"])
def test_a_host_of_this_machine_is_answered(client: Client, host: str) -> None:
    assert client.result("tools/list", changes={"host": host})


def test_a_slash_at_the_end_is_the_same_endpoint(client: Client) -> None:
    """B15: neither spelling leads elsewhere."""
    for path in ("/mcp", "/mcp/"):
        assert client.result("tools/list", path=path)
        reply = Client("", client.modern).ask("tools/list", path=path)
        assert reply.status == 401
        assert "location" not in reply.headers


# Media types


@pytest.mark.parametrize(
    "kind",
    [
        *("application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON"),
        *("application/json; charset=iso-8859-1", "application/json ; x=y", "application/json;", " application/json "),
    ],
)
def test_json_is_taken_however_its_media_type_is_spelt(client: Client, kind: str) -> None:
    """B11."""
    saved = client.result("tools/call", SAVE, changes={"content-type": kind})
    assert done(saved)["version"] == 1


@pytest.mark.parametrize(
    "kind",
    [
        *(None, "", ";", "text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data", "json"),
        *("application/jsonp", "application/*", "*/*", "application/json, text/plain", "application/json-rpc", "\xe9"),
    ],
)
def test_another_media_type_is_refused_and_nothing_is_done(client: Client, kind: str | None) -> None:
    """B11: also what a browser could send to another site unasked."""
    reply = client.ask("tools/call", SAVE, changes={"content-type": kind})
    fault(reply, 415, INVALID_REQUEST, "unsupported_media_type", None)
    nothing_was_written(client)


@pytest.mark.parametrize(
    "accept",
    [
        *(None, "", "application/json", "*/*", "application/*", "APPLICATION/JSON", "application/json, */*;q=0"),
        *("application/json, text/event-stream", "text/event-stream, application/json;q=0.5", "text/html, */*;q=0.1"),
        *("application/json; charset=utf-8", "text/event-stream;q=0, application/json"),
    ],
)
def test_the_answer_is_json_wherever_that_may_be(client: Client, accept: str | None) -> None:
    """B31."""
    for reply in (
        client.ask("tools/list", changes={"accept": accept}),
        client.ask("tools/call", {"name": "nope"}, changes={"accept": accept}),
    ):
        answered(reply)
        assert reply.headers["content-type"] == "application/json"
        assert reply.status in (200, 400)


@pytest.mark.parametrize("accept", ["text/event-stream", "text/*", "text/event-stream, application/json;q=0"])
def test_it_is_a_stream_of_one_event_where_only_that_may_be(client: Client, accept: str) -> None:
    reply = client.ask("tools/list", changes={"accept": accept})
    assert reply.headers["content-type"] == "text/event-stream"
    assert len(messages(reply.raw)) == 1
    assert result(reply, client.modern)["tools"]
    reply = client.ask("tools/call", {"name": "nope"}, changes={"accept": accept})
    fault(reply, client.status_of(400), INVALID_PARAMS, "invalid_arguments")
    assert (reply.headers["content-type"] == "text/event-stream") == (reply.status == 200)


@pytest.mark.parametrize(
    "accept", ["text/html", "image/*", "application/xml", "application/json;q=0", ",", "x/y," * 50]
)
def test_where_neither_is_acceptable_the_refusal_is_json_all_the_same(client: Client, accept: str) -> None:
    reply = client.ask("tools/call", SAVE, changes={"accept": accept})
    fault(reply, 406, INVALID_REQUEST, "not_acceptable", None)
    nothing_was_written(client)


# Toolsets in the query


@pytest.mark.parametrize(
    "query", ["toolsets=nope", "toolsets=memory,nope", "toolsets=%ff", "&" * 5 + "x=1" * 3 + "&a=1" * 70]
)
def test_a_query_that_makes_no_sense_is_refused_under_the_id(client: Client, query: str) -> None:
    reply = client.ask("tools/call", SAVE, path=f"/mcp?{query}", id=9)
    fault(reply, 400, INVALID_PARAMS, "invalid_arguments", 9)
    nothing_was_written(client)


# Sizes


def padded(client: Client, size: int) -> tuple[bytes, dict[str, str]]:
    """A save of so many bytes, white space for the most part."""
    message, headers = client.message("tools/call", SAVE)
    body = json.dumps(message).encode()
    return body + b" " * (size - len(body)), headers


def test_a_body_of_the_greatest_size_is_read(client: Client) -> None:
    reply = client.post(*padded(client, limits.REQUEST_MAX))
    assert done(result(reply, client.modern))["version"] == 1


@pytest.mark.parametrize("size", [limits.REQUEST_MAX + 1, 3_000_000])
def test_a_body_that_is_too_large_is_refused_with_the_limit(client: Client, size: int) -> None:
    """B13."""
    error = fault(client.post(*padded(client, size)), 413, INVALID_REQUEST, "payload_too_large", None)
    assert "262144 bytes" in error["message"]
    nothing_was_written(client)


# Over a socket


def wired(server: Served, agent: Agent, modern: bool, **more: str) -> tuple[bytes, dict[str, str], bytes]:
    """A save as it goes over the wire: all of it, its headers, its body."""
    message, headers = Client(agent.key, modern).message("tools/call", SAVE)
    body, sent = json.dumps(message).encode(), {**headers, "authorization": f"Bearer {agent.key}", **more}
    return request("POST", "/mcp", sent, body), sent, body


def chunked(body: bytes, size: int) -> bytes:
    parts = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def test_a_body_may_come_in_chunks_and_in_pieces(server: Served, stranger: Agent, modern: bool) -> None:
    whole, headers, body = wired(server, stranger, modern)
    with Connection(server.port) as connection:
        connection.send(request("POST", "/mcp", {**headers, "transfer-encoding": "chunked"}) + chunked(body, 7))
        assert done(connection.reply().json["result"])["version"] == 1
        for part in (whole[:20], whole[20:-20], whole[-20:-1], whole[-1:]):
            connection.send(part)
        assert failed(connection.reply().json["result"], "version_conflict")["current_version"] == 1


def test_a_body_that_is_too_large_is_refused_however_it_comes_and_the_connection_lives_on(
    server: Served, stranger: Agent, modern: bool
) -> None:
    """B13."""
    whole, headers, body = wired(server, stranger, modern)
    large = body + b" " * 3_000_000
    with Connection(server.port) as connection:
        connection.send(request("POST", "/mcp", headers, large))
        assert connection.reply().status == 413
        head = request("POST", "/mcp", {**headers, "transfer-encoding": "chunked"})
        connection.send(head + chunked(large, 65_536))
        reply = connection.reply()
        assert (reply.status, reply.headers["content-type"]) == (413, "application/json")
        assert refused(reply.json["error"]["data"])["code"] == "payload_too_large"
        connection.send(whole)
        assert done(connection.reply().json["result"])["version"] == 1


def test_a_body_that_is_cut_off_does_nothing_and_holds_nobody_up(server: Served, stranger: Agent, modern: bool) -> None:
    whole, headers, body = wired(server, stranger, modern, **{"content-length": "3000000"})
    with Connection(server.port) as connection:
        connection.send(request("POST", "/mcp", headers) + body[:-1])
    with Connection(server.port) as connection:
        connection.send(whole[: len(whole) - 10])
        connection.finish_sending()
        assert connection.rest() == b""
    whole, *_ = wired(server, stranger, modern)
    with Connection(server.port) as connection:
        connection.send(whole)
        assert done(connection.reply().json["result"])["version"] == 1
    assert '"level":"ERROR"' not in server.err


def test_headers_that_come_twice_over_the_wire_are_refused(server: Served, stranger: Agent) -> None:
    whole, *_ = wired(server, stranger, modern=True)
    for header in ("Mcp-Name: save_memory", "Mcp-Method: tools/call", f"MCP-Protocol-Version: {MODERN}"):
        with Connection(server.port) as connection:
            connection.send(whole.replace(b"\r\n", f"\r\n{header}\r\n".encode(), 1))
            error = connection.reply().json["error"]
            assert error["code"] == HEADER_MISMATCH
            assert "more than once" in error["message"]


def test_white_space_that_the_parser_leaves_behind_a_value_does_not_count(server: Served, stranger: Agent) -> None:
    whole, *_ = wired(server, stranger, modern=True)
    with Connection(server.port) as connection:
        connection.send(whole.replace(b"mcp-name: save_memory", b"mcp-name:\tsave_memory \t "))
        assert done(connection.reply().json["result"])["version"] == 1


# Anything at all

texts = st.text(st.characters(exclude_categories=()), max_size=20)
numbers = st.integers() | st.floats() | st.just(2**63) | st.just(10**30)
anything = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
METHODS = [
    *("initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read"),
    *("resources/templates/list", "prompts/list", "prompts/get", "completion/complete", "notifications/initialized"),
]
NAMES = [*CATALOG, "start_session", "hand_over", "agentboard://memory/x", "agentboard://spaces/x/y", "ref/prompt"]
known = st.sampled_from([*NAMES, "agentboard://memory/{name}", "hostile", "1.", ""])
wishes = st.recursive(
    anything | known,
    lambda inner: st.dictionaries(
        st.sampled_from(
            ["name", "arguments", "uri", "cursor", "ref", "argument", "value", "type", "id", "data", "_meta"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=6,
)
requests = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "id": st.integers(0, 9) | anything,
        "method": st.sampled_from(METHODS) | anything,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "name": known | anything,
                "uri": known | anything,
                "arguments": wishes,
                "cursor": anything,
                "ref": wishes,
                "argument": wishes,
                "requestState": anything,
                "inputResponses": anything,
                "protocolVersion": anything,
                "clientInfo": anything,
                "_meta": anything
                | st.fixed_dictionaries({"progressToken": anything, f"{PREFIX}clientCapabilities": anything}),
            },
        )
        | anything,
    },
)


def sound(reply: Reply) -> None:
    """Whatever was asked, it is answered by JSON-RPC, and no fault of the server."""
    assert reply.status < 500, reply.raw
    if reply.status == 202:
        assert reply.raw == b""
        return
    answered(reply)
    assert reply.json.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    if "error" in reply.json:
        refused(reply.json["error"]["data"])
        assert reply.json["error"]["code"] in range(-32768, -31999)


random = bounds(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@random
@given(message=requests | anything)
def test_whatever_json_comes_is_answered(client: Client, message: Any) -> None:
    described, headers = client.message("tools/list")
    params = message.get("params") if isinstance(message, dict) else None
    if client.modern and isinstance(params, dict):  # so that it comes past the headers and the description
        meta = params.get("_meta")
        params["_meta"] = {**described["params"]["_meta"], **(meta if isinstance(meta, dict) else {})}
        named = {"mcp-method": message.get("method"), "mcp-name": params.get("name", params.get("uri"))}
        headers |= {header: coded(value) for header, value in named.items() if isinstance(value, str)}
    sound(client.post(json.dumps(message).encode(), headers))


@random
@given(body=st.binary(max_size=300) | st.text(max_size=100).map(lambda text: text.encode()))
def test_whatever_bytes_come_are_answered(client: Client, body: bytes) -> None:
    sound(posted(client, body))


@random
@given(
    headers=st.dictionaries(
        st.sampled_from(
            [
                "accept",
                "content-type",
                "mcp-protocol-version",
                "mcp-method",
                "mcp-name",
                "mcp-session-id",
                "origin",
                "host",
            ]
        ),
        st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=30),
        max_size=4,
    ),
    query=st.text(st.sampled_from("toolsets=memory&,%ff+x1"), max_size=30),
)
def test_whatever_headers_and_query_come_are_answered(client: Client, headers: dict[str, str], query: str) -> None:
    sound(client.ask("tools/call", {"name": "whoami"}, changes=dict(headers), path=f"/mcp?{query}"))
