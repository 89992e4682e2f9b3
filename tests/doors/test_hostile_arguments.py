"""Arguments that comparable systems lost, changed or choked on, through the REST door and back out of the database."""

from typing import Any

import pytest

from agentboard.contract import limits
from agentboard.identity.keys import ACCESS_TOKEN, REFRESH_TOKEN, new_key, new_secret
from tests.doors.board import Board, fresh_name

pytestmark = pytest.mark.usefixtures("no_faults")

SMILE = "\U0001f600"  # four bytes in UTF-8, one character, two units of UTF-16


def paths_of(error: dict[str, Any]) -> set[str]:
    return {detail["path"] for detail in error["details"]}


# Texts that databases differ about


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "\ud800", "a\udc00", "\udc00\ud800"])
@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("body", lambda text: {"body": text}),
        ("summary", lambda text: {"summary": text}),
        ("use_when", lambda text: {"use_when": text}),
        ("tags.1", lambda text: {"tags": ["fine", text]}),
        ("status", lambda text: {"status": text}),
        ("superseded_by", lambda text: {"superseded_by": text}),
        ("review_after", lambda text: {"review_after": text}),
        ("operation_key", lambda text: {"operation_key": text}),
        ("memory_references.0.name", lambda text: {"memory_references": [{"name": text, "version": 1}]}),
        ("supersedes.name", lambda text: {"supersedes": {"name": text, "expected_version": 1}}),
        ("supersedes.name.0.deep", lambda text: {"supersedes": {"name": [{"deep": text}], "expected_version": 1}}),
        ("unknown", lambda text: {"unknown": text}),
        (None, lambda text: {text: 1}),
        (None, lambda text: {"supersedes": {"name": "a", text: 1}}),
    ],
)
def test_nul_and_lone_surrogates_are_refused_in_every_text_and_nothing_is_written(
    board: Board, name: str, text: str, path: str | None, place: Any
) -> None:
    """B01."""
    error = board.save(name, **place(text)).refused(400, "invalid_arguments")
    assert path is None or path in paths_of(error)
    board.get(f"/v1/memory/{name}").refused(404, "not_found")


@pytest.mark.parametrize("text", ["\x00", "\ud800"])
def test_nul_and_lone_surrogates_are_refused_in_every_other_method(board: Board, text: str) -> None:
    """B01."""
    for path, sent in (
        ("edit", {"expected_version": 1, "append": text}),
        ("edit", {"expected_version": 1, "edits": [{"old": text, "new": "x"}]}),
        ("edit", {"expected_version": 1, "edits": [{"old": "x", "new": text}]}),
        ("restore", {"expected_version": 1, "version": 1, "operation_key": text}),
        ("review", {"expected_version": 1, "review_after": text}),
        ("delete", {"expected_version": 1, "operation_key": text}),
    ):
        board.post(f"/v1/memory/some-note/{path}", sent).refused(400, "invalid_arguments")


@pytest.mark.parametrize(
    "text",
    [
        "    code block\n\ntext\n",  # B05: indentation and the last newline mean something in Markdown
        "\n\n x \t\r\n\r",
        "\ufeffbom",
        "e\u0301 é ﬁ ①",  # nothing is normalised
        "\u200b\u200e\u202e\u2028\u2029\x85\x1f\x7f\x01",
        "\\u0000 \\ud800 %00 &amp; <script> '; DROP TABLE x; --",
        "\ufffe\uffff\U0010ffff\ue000",
        SMILE * 3 + "👩‍👩‍👧‍👦",
        "null",
        "0",
    ],
)
def test_a_text_comes_back_exactly_as_it_was_sent(board: Board, name: str, text: str) -> None:
    """B05, in all three texts; and the repeat of the same call is a replay."""
    sent = {"body": text, "summary": text, "use_when": text, "operation_key": name}
    saved = board.save(name, **sent)
    assert saved.status == 201
    read = board.get(f"/v1/memory/{name}").json
    assert (read["body"], read["summary"], read["use_when"]) == (text, text, text)
    assert read["bytes"] == saved.json["bytes"]
    again = board.save(name, **sent)
    assert (again.status, again.json["replayed"]) == (200, True)
    assert board.get(f"/v1/memory/{name}").json["version"] == 1


@pytest.mark.parametrize("blank", ["", " ", "   ", "\n", " \t\r\n\u2003\u00a0"])
def test_a_body_of_white_space_alone_is_refused(board: Board, name: str, blank: str) -> None:
    """B05."""
    error = board.save(name, body=blank).refused(400, "invalid_arguments")
    assert paths_of(error) == {"body"}
    board.get(f"/v1/memory/{name}").refused(404, "not_found")


# Limits


@pytest.mark.parametrize(
    ("argument", "text", "fits"),
    [
        ("body", SMILE * 5_120, True),
        ("body", SMILE * 5_120 + "a", False),
        ("body", SMILE * 20_480, False),
        ("body", "a" * 20_480, True),
        ("body", "a" * 20_481, False),
        ("body", "é" * 10_240, True),
        ("body", "é" * 10_240 + "a", False),
        ("summary", "é" * 1_024, True),
        ("summary", "é" * 1_025, False),
        ("summary", "a" * 2_049, False),
        ("use_when", "é" * 1_024, True),
        ("use_when", "é" * 1_025, False),
        ("use_when", "字" * 682, True),
        ("use_when", "字" * 683, False),
    ],
)
def test_texts_are_limited_in_bytes_of_utf8(board: Board, name: str, argument: str, text: str, fits: bool) -> None:
    """B03."""
    reply = board.save(name, **{argument: text})
    if fits:
        assert reply.status == 201
        assert board.get(f"/v1/memory/{name}").json[argument] == text
        return
    error = reply.refused(400, "invalid_arguments")
    assert (
        error["message"]
        == f"{argument} has {len(text.encode())} bytes in UTF-8; at most {limit(argument)} are allowed."
    )
    board.get(f"/v1/memory/{name}").refused(404, "not_found")


def limit(argument: str) -> int:
    return limits.BODY_MAX if argument == "body" else limits.SUMMARY_MAX


def test_an_edit_cannot_grow_a_body_over_its_limit(board: Board, name: str) -> None:
    """B03: the limit holds for what comes of it, not for what was sent."""
    assert board.save(name, body=SMILE * 5_119).status == 201
    path = f"/v1/memory/{name}/edit"
    assert board.post(path, {"expected_version": 1, "append": SMILE}).status == 200
    board.post(path, {"expected_version": 2, "append": "a"}).refused(400, "invalid_arguments")
    board.post(path, {"expected_version": 2, "append": "a" * 30_000}).refused(400, "invalid_arguments")
    many = [{"old": SMILE * 5_120, "new": "a" * 200_000}]
    board.post(path, {"expected_version": 2, "edits": many}).refused(400, "invalid_arguments")
    assert board.get(f"/v1/memory/{name}").json["bytes"] == limits.BODY_MAX


@pytest.mark.parametrize(
    ("sent", "paths"),
    [
        ({"tags": [f"t{n}" for n in range(11)]}, {"tags"}),
        ({"tags": ["a", "a"]}, {"tags"}),
        ({"tags": ["a" * 81]}, {"tags.0"}),
        ({"tags": ["A"]}, {"tags.0"}),
        ({"tags": ["a\n"]}, {"tags.0"}),
        ({"tags": "a"}, {"tags"}),
        ({"tags": {"0": "a"}}, {"tags"}),
        ({"tags": [["a"]]}, {"tags.0"}),
        ({"memory_references": [{"name": "a", "version": n} for n in range(1, 22)]}, {"memory_references"}),
        ({"memory_references": [{"name": "a", "version": 1}, {"name": "a", "version": 2}]}, {"memory_references"}),
        ({"memory_references": [{"name": "a", "version": 0}]}, {"memory_references.0.version"}),
        ({"memory_references": [{"name": "A", "version": 1}]}, {"memory_references.0.name"}),
        ({"memory_references": [{"name": "a"}]}, {"memory_references.0.version"}),
        ({"memory_references": ["a"]}, {"memory_references.0"}),
        ({"operation_key": ""}, {"operation_key"}),
        ({"operation_key": "a" * 81}, {"operation_key"}),
        ({"operation_key": "K"}, {"operation_key"}),
        ({"operation_key": 5}, {"operation_key"}),
        ({"review_after": "tomorrow"}, {"review_after"}),
        ({"review_after": "2027-01-01"}, {"review_after"}),
        ({"review_after": "2027-01-01T00:00:00"}, {"review_after"}),
        ({"review_after": "0001-01-01T00:00:00+14:00"}, {"review_after"}),
        ({"review_after": "9999-12-31T23:59:59-14:00"}, {"review_after"}),
        ({"review_after": 1_800_000_000}, {"review_after"}),
        ({"status": "deleted"}, {"status"}),
        ({"superseded_by": ""}, {"superseded_by"}),
        ({"data": {"body": "x"}}, {"data"}),
        ({"id": "x"}, {"id"}),
        ({"name": "x"}, {"name"}),
    ],
)
def test_what_is_outside_its_limits_is_refused_by_its_path(
    board: Board, name: str, sent: dict[str, Any], paths: set[str]
) -> None:
    error = board.save(name, **sent).refused(400, "invalid_arguments")
    assert paths <= paths_of(error)
    board.get(f"/v1/memory/{name}").refused(404, "not_found")


# Types


@pytest.mark.parametrize(
    "version", [True, False, "1", "0", "", 1.5, -1, [1], {}, 2**31, 2**63, 10**30, 1e300, -1e300, 0.1]
)
def test_what_is_no_version_neither_creates_nor_overwrites(board: Board, name: str, version: Any) -> None:
    """B09."""
    assert board.save(name).status == 201
    other = fresh_name()
    for written in (name, other):
        error = board.save(written, body="X", expected_version=version).refused(400, "invalid_arguments")
        assert paths_of(error) == {"expected_version"}
    for path in (f"{name}/restore", f"{name}/delete", f"{name}/review", f"{name}/edit"):
        sent = {"expected_version": version} | ({"version": 1} if path.endswith("restore") else {})
        board.post(f"/v1/memory/{path}", sent).refused(400, "invalid_arguments")
    assert board.get(f"/v1/memory/{name}").json["version"] == 1
    board.get(f"/v1/memory/{other}").refused(404, "not_found")


def test_a_whole_number_with_a_point_is_that_number(board: Board, name: str) -> None:
    """B09."""
    assert board.post(f"/v1/memory/{name}", b'{"body":"a","expected_version":0.0}').status == 201
    assert board.post(f"/v1/memory/{name}", b'{"body":"b","expected_version":1.0}').json["version"] == 2
    assert board.post(f"/v1/memory/{name}", b'{"body":"c","expected_version":2e0}').json["version"] == 3
    assert board.post(f"/v1/memory/{name}", b'{"body":"d","expected_version":-0.0}').refused(409, "version_conflict")


@pytest.mark.parametrize("wrong", [5, True, [], {}, ["x"], 1.5])
def test_what_is_no_text_is_no_body(board: Board, name: str, wrong: Any) -> None:
    for argument in ("body", "summary", "use_when"):
        assert paths_of(board.save(name, **{argument: wrong}).refused(400, "invalid_arguments")) == {argument}


# Null


OPTIONAL = ("summary", "use_when", "tags", "status", "memory_references", "review_after", "superseded_by", "supersedes")


def test_null_for_what_is_optional_is_the_same_as_leaving_it_out(board: Board, name: str) -> None:
    """B33: no empty texts, no key that two calls share."""
    other = fresh_name()
    nulls = dict.fromkeys((*OPTIONAL, "operation_key"))
    first, second = board.save(name, **nulls), board.save(other, **nulls)
    assert (first.status, second.status) == (201, 201)
    assert "operation" not in first.json
    bare = board.save(fresh_name()).json
    differing = {"name", "created_at", "updated_at"}
    assert {k: v for k, v in first.json.items() if k not in differing} == {
        k: v for k, v in bare.items() if k not in differing
    }
    assert (bare["summary"], bare["tags"], bare["superseded_by"]) == (None, [], None)


@pytest.mark.parametrize("tags", [None, "absent", []])
def test_a_save_without_tags_clears_them_however_they_are_left_out(board: Board, name: str, tags: Any) -> None:
    """B33."""
    assert board.save(name, tags=["kept"]).json["tags"] == ["kept"]
    more = {} if tags == "absent" else {"tags": tags}
    assert board.save(name, expected_version=1, **more).json["tags"] == []


@pytest.mark.parametrize("argument", ["body", "expected_version"])
def test_null_for_what_is_required_is_told_as_missing(board: Board, name: str, argument: str) -> None:
    """B33."""
    error = board.save(name, **{argument: None}).refused(400, "invalid_arguments")
    assert error["details"] == [{"path": argument, "message": "is required"}]


def test_a_retry_may_put_null_where_the_first_call_had_nothing(board: Board, name: str) -> None:
    """B33 meets operation keys: both are the same call."""
    assert board.save(name, operation_key=name).status == 201
    again = board.save(name, operation_key=name, summary=None, tags=None, status="active")
    assert (again.status, again.json["replayed"]) == (200, True)


# Secrets


@pytest.mark.parametrize(
    "secret", [new_key(), new_secret(ACCESS_TOKEN), new_secret(REFRESH_TOKEN)], ids=["key", "token", "refresh"]
)
def test_a_text_that_holds_a_key_is_refused_and_not_repeated(board: Board, name: str, secret: str) -> None:
    for argument in ("body", "summary", "use_when"):
        reply = board.save(name, **{argument: f"so: {secret}."})
        assert paths_of(reply.refused(400, "invalid_arguments")) == {argument}
        assert secret[15:].encode() not in reply.body
    board.get(f"/v1/memory/{name}").refused(404, "not_found")
    board.post(f"/v1/memory/{name}/edit", {"expected_version": 1, "append": secret}).refused(400, "invalid_arguments")


def test_a_key_in_the_wrong_place_is_not_repeated(board: Board, name: str) -> None:
    secret = board.keys["atlas"]
    replies = (
        board.get(f"/v1/memory/{secret}"),
        board.get(f"/v1/memory?{secret}=1"),
        board.get(f"/v1/memory?tag={secret}"),
        board.get(f"/v1/memory?cursor={secret}"),
        board.get(f"/v1/memory-search?q=a&cursor={secret}"),
        board.save(name, **{secret: 1}),
        board.save(name, status=secret),
        board.save(name, operation_key=secret),
        board.post(f"/v1/memory/{name}", f'{{"{secret}":1,"{secret}":2}}'.encode()),
        board.get(f"/v1/{secret}"),
        board.get(f"/docs/method/{secret}", key=None),
    )
    for reply in replies:
        assert 400 <= reply.status < 500
        assert secret[15:].encode() not in reply.body


def test_a_key_for_the_name_of_a_method_is_not_repeated(board: Board) -> None:
    secret = board.keys["atlas"]
    assert secret[15:].encode() not in board.get(f"/v1/help/{secret}", key=None).body
