"""Paths, verbs, hosts, media types and bodies that no well-meaning client sends: a JSON refusal each, never a 500."""

import json
import re
import time

import pytest

from agentboard.contract import limits
from tests.doors.board import JSON, Board
from tests.doors.wire import Connection, request

pytestmark = pytest.mark.usefixtures("no_faults")

SAVE = b'{"body":"text","expected_version":0}'
KNOWN_VERBS = ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "MKCOL", "REPORT", "PURGE", "LINK")


def nothing_was_written(board: Board, name: str) -> None:
    board.get(f"/v1/memory/{name}").refused(404, "not_found")


# Paths


@pytest.mark.parametrize(
    "path",
    [
        *("/v1", "/v1/", "/v1/nothing", "/v1/me/", "/v1/me/more", "/v1/memory/a/", "/v1/memory/a/restore/"),
        *("/v1//me", "//v1/me", "/v1/memory//restore", "/v1/memory/a/b/c", "/v1/../v1/me", "/v1/./me", "/v1/ME"),
        *("/v1/me;x=1", "/v1/me%2F", "/v1/memory/a%2Fb%2Fc", "/v1/me%0A", "/v1/%00", "/v1/%ff", "/v1/%zz", "/v1/%"),
        *("/v1/me%3Fx=1", "/v1/openapi.json/", "/v1/help/", "/v1/openapi", "/v1/me.json", "/v1/" + "a/" * 500),
    ],
)
@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_an_unknown_path_is_not_found_without_redirect_and_without_a_list_of_routes(
    board: Board, verb: str, path: str
) -> None:
    """B15: neither spelling of a slash leads elsewhere."""
    reply = board.ask(verb, path, SAVE if verb == "POST" else None, headers=JSON)
    error = reply.refused(404, "not_found")
    assert error["message"] == "There is no such path."
    assert "location" not in reply.headers


@pytest.mark.parametrize(
    "name",
    ["Upper", "a_b", "a--b", "-a", "a-", "a.b", "%20", "a%20b", "%C3%A9", "%ff", "%zz", "%", "a%0A", "%00", "a" * 81],
)
def test_a_name_in_the_path_that_is_no_slug_is_an_invalid_argument(board: Board, name: str) -> None:
    for reply in (board.get(f"/v1/memory/{name}"), board.post(f"/v1/memory/{name}", SAVE)):
        error = reply.refused(400, "invalid_arguments")
        assert {detail["path"] for detail in error["details"]} == {"id"}
        assert len(error["message"]) < 300


def test_a_name_of_the_greatest_length_is_taken(board: Board, name: str) -> None:
    longest = name + "-" + "a" * (limits.SLUG_MAX - len(name) - 1)
    assert board.save(longest).status == 201
    assert board.get(f"/v1/memory/{longest}").json["name"] == longest


def test_a_path_with_percent_encoded_letters_is_the_same_path(board: Board) -> None:
    assert board.get("/v%31/m%65").status == 200


# Verbs


@pytest.mark.parametrize("verb", KNOWN_VERBS)
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/me", "GET, HEAD"),
        ("/v1/memory/some-note", "POST, GET, HEAD"),
        ("/v1/memory/some-note/restore", "POST"),
        ("/v1/help", "GET, HEAD"),
        ("/v1/openapi.json", "GET, HEAD"),
    ],
)
def test_a_verb_that_a_path_does_not_take_is_refused_with_those_it_takes(
    board: Board, verb: str, path: str, allowed: str
) -> None:
    for key in ("atlas", None):
        reply = board.ask(verb, path, SAVE, key=key, headers=JSON)
        reply.refused(405, "method_not_allowed")
        assert {*reply.headers["allow"].split(", ")} == {*allowed.split(", ")}


@pytest.mark.parametrize(
    ("verb", "path", "allowed"),
    [
        ("POST", "/v1/me", "GET, HEAD"),
        ("POST", "/v1/openapi.json", "GET, HEAD"),
        ("POST", "/v1/help/whoami", "GET, HEAD"),
        ("GET", "/v1/memory/some-note/edit", "POST"),
        ("GET", "/v1/memory/some-note/delete", "POST"),
    ],
)
def test_reading_and_writing_are_not_each_other(board: Board, verb: str, path: str, allowed: str) -> None:
    reply = board.ask(verb, path, SAVE if verb == "POST" else None, headers=JSON)
    reply.refused(405, "method_not_allowed")
    assert reply.headers["allow"] == allowed


def test_head_on_a_path_for_writing_is_refused_without_a_body(board: Board) -> None:
    reply = board.ask("HEAD", "/v1/memory/some-note/edit")
    assert (reply.status, reply.headers["allow"], reply.body) == (405, "POST", b"")


def test_head_is_get_without_the_body(board: Board) -> None:
    for path in ("/v1/me", "/v1/help", "/v1/openapi.json", "/v1/memory/no-such-note", "/v1/nothing"):
        with Connection(board.port) as connection:
            connection.send(request("HEAD", path, {**board.bearer("atlas"), "Connection": "close"}))
            head = connection.reply("HEAD")
            assert connection.rest() == b""
        get = board.get(path)
        volatile = {"date", "x-request-id", "ratelimit", "connection", "content-length"}
        assert head.status == get.status
        assert {n: v for n, v in head.headers.items() if n not in volatile} == {
            n: v for n, v in get.headers.items() if n not in volatile
        }
        assert head.headers["content-length"] == str(len(get.body))


def test_what_is_no_http_is_refused_and_the_connection_closed(board: Board) -> None:
    """Below the doors: the server's parser answers, in plain text, and nothing of it reaches a method."""
    for nonsense in (
        b"FOO /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /v1/\xff\xfe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nX: \x00\r\n\r\n",
        b"POST /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /v1/memory-search?q=" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01",  # the beginning of TLS
    ):
        with Connection(board.port) as connection:
            connection.send(nonsense)
            reply = connection.reply()
            assert reply.status == 400
            assert reply.headers["content-type"].startswith("text/plain")
            assert connection.rest() == b""
    assert board.get("/v1/me").status == 200


# Hosts


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil", "", "a b", "[::1", "é"])
def test_a_host_that_this_server_is_not_is_refused(board: Board, host: str) -> None:
    error = board.get("/v1/me", host=host).refused(400, "invalid_arguments")
    assert "Host" in error["message"]
    assert host not in error["message"] or not host


def test_two_hosts_are_refused(board: Board) -> None:
    with Connection(board.port) as connection:
        connection.send(b"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n")
        connection.reply().refused(400, "invalid_arguments")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1", "[::1]", "LOCALHOST"])
def test_a_host_of_this_machine_is_answered(board: Board, host: str) -> None:
    assert board.get("/v1/me", host=host).status == 200


def test_a_forwarded_host_changes_nothing(board: Board) -> None:
    assert board.get("/v1/me", x_forwarded_host="evil.example", forwarded="host=evil.example").status == 200


# Media types


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        'application/json ; charset="utf-8"; x=y',
        "Application/JSON",
        "application/json; charset=iso-8859-1",  # JSON is UTF-8 whatever is claimed (RFC 8259, section 8.1)
        "application/json; charset=nonsense",
        "application/json;",
    ],
)
def test_json_is_taken_however_its_media_type_is_spelt(board: Board, name: str, kind: str) -> None:
    """B11."""
    sent = json.dumps({"body": "é", "expected_version": 0}, ensure_ascii=False).encode()
    reply = board.ask("POST", f"/v1/memory/{name}", sent, headers={"Content-Type": kind})
    assert reply.status == 201
    assert board.get(f"/v1/memory/{name}").json["body"] == "é"


@pytest.mark.parametrize(
    "kind",
    [
        *("text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json"),
        *("multipart/form-data", "application/jsonp", "application/vnd.api+json", "application/*", "*/*", "", ";", "/"),
        *("application/json, text/plain", "application/json; a*=nonsense''b", "a" * 70_000, "\xe9"),
    ],
)
def test_another_media_type_is_refused_and_nothing_written(board: Board, name: str, kind: str) -> None:
    """B11: also what a browser could send to another site unasked."""
    reply = board.ask("POST", f"/v1/memory/{name}", SAVE, headers={"Content-Type": kind})
    reply.refused(415, "unsupported_media_type")
    nothing_was_written(board, name)


def test_a_body_without_a_media_type_is_refused_and_nothing_written(board: Board, name: str) -> None:
    """B11."""
    board.ask("POST", f"/v1/memory/{name}", SAVE).refused(415, "unsupported_media_type")
    nothing_was_written(board, name)


def test_a_read_needs_no_media_type_and_minds_none(board: Board) -> None:
    for kind in ("text/plain", "application/json; a*=nonsense''b", "multipart/form-data"):
        assert board.get("/v1/me", content_type=kind).status == 200


@pytest.mark.parametrize(
    "accept",
    [
        *("application/json", "*/*", "application/*", "APPLICATION/JSON", "application/json, text/event-stream", ""),
        *("text/event-stream, application/json;q=0.5", "text/html, */*;q=0.1", "application/json; charset=utf-8"),
        *("text/html, image/gif, *; q=.2, */*; q=.2", ",", "application/json;a*=nonsense''b, */*", "x/y," * 9 + "*/*"),
    ],
)
def test_json_is_answered_wherever_it_may_be(board: Board, accept: str) -> None:
    reply = board.get("/v1/me", accept=accept)
    reply.is_ours()
    assert reply.status == 200


def test_json_is_answered_where_nothing_is_said(board: Board) -> None:
    assert board.ask("GET", "/v1/me").status == 200


@pytest.mark.parametrize("accept", ["text/html", "image/*", "application/xml", "text/html;q=0.9, a/b", "x/y," * 5_000])
def test_where_json_is_not_acceptable_the_refusal_is_json_all_the_same(board: Board, name: str, accept: str) -> None:
    board.get("/v1/me", accept=accept).refused(406, "not_acceptable")
    board.post(f"/v1/memory/{name}", SAVE, accept=accept).refused(406, "not_acceptable")
    nothing_was_written(board, name)
    board.get("/v1/nothing", accept=accept).refused(404, "not_found")


def test_a_format_in_the_query_is_an_unknown_argument(board: Board) -> None:
    for accept in ("application/json", "never/seen, */*"):
        error = board.get("/v1/me?format=xml", accept=accept).refused(400, "invalid_arguments")
        assert error["details"][0]["path"] == "format"


# Bodies


@pytest.mark.parametrize("path", ["/v1/memory/hostile", "/v1/memory/hostile/restore", "/v1/memory/hostile/edit"])
@pytest.mark.parametrize(
    "body",
    [
        *(b"[]", b'"x"', b"5", b"null", b"true", b"{", b"{'a':1}", b'{"a":1}{}', b'{"a":1,}', b"\x00", b"a=b&c=d"),
        *(b'{"a":NaN}', b'{"a":-Infinity}', b'{"a":1e400}', b'{"a":' + b"9" * 5_000 + b"}", b'{"a":1,"a":2}'),
        *(b'{"a":"\xff"}', b'{"a":"\xed\xa0\x80"}', b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b"{\x00}\x00"),
        b"[" * 100_000 + b"]" * 100_000,
        b'{"body":"x","tags":' + b"[" * 900 + b"]" * 900 + b',"expected_version":0}',
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b"{" + b",".join(b'"%x":1' % number for number in range(26_000)) + b',"658f":1}',
    ],
    ids=range(25),
)
def test_a_body_that_is_no_json_object_is_refused(board: Board, path: str, body: bytes) -> None:
    """B07: deep nesting and other top levels included; quickly, whatever stands in it."""
    started = time.perf_counter()
    error = board.post(path, body).refused(400, "invalid_json")
    assert time.perf_counter() - started < 5  # seconds; nine were needed where it grew with the square of the size
    assert error["message"].startswith("The body ")
    assert len(error["message"]) < 200


def test_no_body_counts_as_an_empty_object(board: Board, name: str) -> None:
    for body in (b"", b"  \n", b"{}", None):
        reply = board.ask("POST", f"/v1/memory/{name}", body, headers=JSON if body is not None else {})
        error = reply.refused(400, "invalid_arguments")
        assert [detail["path"] for detail in error["details"]] == ["body", "expected_version"]


def test_a_chunked_body_is_read(board: Board, name: str) -> None:
    head = {**board.bearer("atlas"), **JSON, "Transfer-Encoding": "chunked"}
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in re.findall(b".{1,7}", SAVE)) + b"0\r\n\r\n"
    with Connection(board.port) as connection:
        connection.send(request("POST", f"/v1/memory/{name}", head) + chunks)
        assert connection.reply().status == 201
    assert board.get(f"/v1/memory/{name}").json["body"] == "text"


def test_a_body_that_comes_in_pieces_is_read(board: Board, name: str) -> None:
    whole = request("POST", f"/v1/memory/{name}", {**board.bearer("atlas"), **JSON}, SAVE)
    with Connection(board.port) as connection:
        for part in (whole[:20], whole[20:-20], whole[-20:-1], whole[-1:]):
            connection.send(part)
        assert connection.reply().status == 201


def test_a_client_that_asks_before_it_sends_is_told_to_go_on(board: Board, name: str) -> None:
    head = {**board.bearer("atlas"), **JSON, "Expect": "100-continue", "Content-Length": str(len(SAVE))}
    with Connection(board.port) as connection:
        connection.send(request("POST", f"/v1/memory/{name}", head))
        assert connection.interim() == b"HTTP/1.1 100 Continue\r\n"
        connection.send(SAVE)
        assert connection.reply().status == 201


def padded(size: int) -> bytes:
    """A save of exactly so many bytes, white space for the most part."""
    return SAVE + b" " * (size - len(SAVE))


def test_a_body_of_the_greatest_size_is_read(board: Board, name: str) -> None:
    assert board.post(f"/v1/memory/{name}", padded(limits.REQUEST_MAX)).status == 201


@pytest.mark.parametrize("size", [limits.REQUEST_MAX + 1, 3_000_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_with_the_limit(board: Board, name: str, size: int, chunked: bool) -> None:
    """B13: with and without a length told beforehand; and the next request works, on this connection too."""
    body, head = padded(size), {**board.bearer("atlas"), **JSON}
    if chunked:
        head["Transfer-Encoding"] = "chunked"
        body = b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in (body[i : i + 65_536] for i in range(0, size, 65_536)))
        body += b"0\r\n\r\n"
    with Connection(board.port) as connection:
        connection.send(request("POST", f"/v1/memory/{name}", head, body))
        assert "262144 bytes" in connection.reply().refused(413, "payload_too_large")["message"]
        connection.send(request("GET", "/v1/me", board.bearer("atlas")))
        assert connection.reply().status == 200
    nothing_was_written(board, name)


def test_a_read_with_a_body_that_is_too_large_is_refused_too(board: Board) -> None:
    board.ask("GET", "/v1/me", b"x" * (limits.REQUEST_MAX + 1)).refused(413, "payload_too_large")


def test_a_body_of_a_megabyte_without_a_credential_is_refused_for_its_size(board: Board) -> None:
    board.ask("POST", "/v1/memory/x", b"x" * 1_000_000, key=None, headers=JSON).refused(413, "payload_too_large")


@pytest.mark.parametrize("finish", [True, False], ids=["half-closed", "closed"])
def test_a_client_that_hangs_up_in_the_middle_leaves_nothing_behind(board: Board, name: str, finish: bool) -> None:
    """B13."""
    before = len(board.lines())
    head = {**board.bearer("atlas"), **JSON, "Content-Length": "3000000"}
    with Connection(board.port) as connection:
        connection.send(request("POST", f"/v1/memory/{name}", head) + b"0123456789")
        if finish:
            connection.finish_sending()
            assert connection.rest() == b""
    nothing_was_written(board, name)
    assert [line["status"] for line in board.lines()[before:]] == [404], "only the look that nothing was written"


def test_an_announced_body_that_stops_early_is_not_written(board: Board, name: str) -> None:
    head = {**board.bearer("atlas"), **JSON, "Content-Length": str(len(SAVE) + 1)}
    with Connection(board.port) as connection:
        connection.send(request("POST", f"/v1/memory/{name}", head) + SAVE)
        connection.finish_sending()
        assert connection.rest() == b""
    nothing_was_written(board, name)


# Connections


def test_requests_sent_at_once_on_one_connection_are_answered_in_order(board: Board, name: str) -> None:
    save = request("POST", f"/v1/memory/{name}", {**board.bearer("atlas"), **JSON, "X-Request-Id": "r1"}, SAVE)
    reads = [
        request("GET", path, {**board.bearer("atlas"), "X-Request-Id": f"r{number}"})
        for number, path in enumerate((f"/v1/memory/{name}", "/v1/nothing", "/v1/me", "/v1/openapi.json"), 2)
    ]
    with Connection(board.port) as connection:
        connection.send(save + b"".join(reads))
        replies = [connection.reply() for _ in range(5)]
    assert [reply.headers["x-request-id"] for reply in replies] == ["r1", "r2", "r3", "r4", "r5"]
    assert [reply.status for reply in replies] == [201, 200, 404, 200, 200]
    assert replies[1].json["body"] == "text"


def test_one_connection_serves_many_callers_and_refusals(board: Board) -> None:
    with Connection(board.port) as connection:
        for key, status in (("atlas", 200), (None, 401), ("boreas", 200), ("revoked", 401), ("atlas", 200)):
            connection.send(request("GET", "/v1/me", board.bearer(key)))
            reply = connection.reply()
            assert reply.status == status
            assert status == 401 or reply.json["agent"]["handle"] == key


def test_http_1_0_is_answered_and_closed(board: Board) -> None:
    with Connection(board.port) as connection:
        connection.send(request("GET", "/v1/me", board.bearer("atlas")).replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert connection.reply().status == 200
        assert connection.rest() == b""


# The order of things


def test_size_comes_before_path_and_path_before_verb_and_verb_before_credential(board: Board) -> None:
    large = b"x" * (limits.REQUEST_MAX + 1)
    board.ask("PUT", "/v1/nothing", large, key=None).refused(413, "payload_too_large")
    board.ask("PUT", "/v1/nothing", b"x", key=None).refused(404, "not_found")
    board.ask("PUT", "/v1/me", b"x", key=None).refused(405, "method_not_allowed")
    board.ask("POST", "/v1/memory/x", b"x", key=None).refused(401, "unauthenticated")
    board.ask("POST", "/v1/memory/x", b"x", key="reader").refused(403, "insufficient_scope")
    board.ask("POST", "/v1/memory/x", b"x").refused(415, "unsupported_media_type")
    board.post("/v1/memory/x", b"x").refused(400, "invalid_json")
