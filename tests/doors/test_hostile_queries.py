"""Words that look like syntax, cursors of elsewhere, limits out of bounds, broken encodings (B53)."""

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.doors.board import Board

pytestmark = pytest.mark.usefixtures("no_faults")

LISTS = ("/v1/memory?", "/v1/memory-search?q=text&", "/v1/memory/hostile-page-00/revisions?", "/v1/help?")
NOTES = 30


@pytest.fixture(scope="module")
def pages(board: Board) -> None:
    """Notes of atlas and of boreas, more than a page of them; one with many revisions."""
    for key in ("atlas", "boreas"):
        for number in range(NOTES):
            reply = board.save(
                f"hostile-page-{number:02}",
                key=key,
                body=f"text {number} multi-agent don't POL-358 a:b",
                tags=["paged"],
            )
            assert reply.status == 201
        for version in range(1, 4):
            reply = board.save(
                "hostile-page-00", key=key, body=f"text {version}", expected_version=version, tags=["paged"]
            )
            assert reply.status == 200


def cursor_of(board: Board, path: str, key: str = "atlas") -> str:
    found: str = board.get(f"{path}limit=2", key=key).json["next_cursor"]
    return found


# Words


@pytest.mark.parametrize(
    "words",
    [
        *(
            "POL-358",
            "multi-agent",
            "don't",
            '"',
            "*",
            "a AND",
            "(x",
            "a:b",
            "a* OR b",
            "NEAR(a b)",
            "^a",
            "-text",
            "{x}",
        ),
        *(
            "'; DROP TABLE x; --",
            "%",
            "_",
            "\\",
            "a%00b"[:1],
            "\u2028",
            "\U0001f600",
            "text\ntext",
            "NOT text",
            "col:text",
        ),
        *("' OR 1=1", "[a]", "?", "$1", ":a", "%s", "{}", "\x01", "é", "字"),
    ],
)
def test_words_are_words_and_never_syntax(board: Board, pages: None, words: str) -> None:
    reply = board.get(f"/v1/memory-search?q={quote(words)}")
    reply.is_ours()
    assert reply.status == 200
    assert reply.json["items"] == [] or reply.json["items"][0]["snippet"]


@pytest.mark.parametrize("words", ["multi-agent", "don't", "POL-358", "a:b", "MULTI AGENT", "pol-35"])
def test_words_with_signs_in_them_are_found(board: Board, pages: None, words: str) -> None:
    found = board.get(f"/v1/memory-search?q={quote(words)}&tag=paged&limit=100").json["items"]
    assert len(found) == NOTES - 1  # one was overwritten with other words


def test_a_note_is_found_by_its_name(board: Board, pages: None) -> None:
    found = board.get("/v1/memory-search?q=hostile-page-07").json["items"]
    assert found[0]["name"] == "hostile-page-07"


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("", "q"),
        ("q=", "q"),
        ("q=%00", "q"),
        ("q=a%00b", "q"),
        ("q=" + "a" * 10_000, "q"),
        ("q=" + quote("字" * 342), "q"),
        ("q=%ff", "query"),
        ("q=%ed%a0%80", "query"),
        ("q=a&q=b", "q"),
        ("q=a&Q=b", "Q"),
        ("q=a&status=gone", "status"),
        ("q=a&tag=No+Slug", "tag"),
        ("q=a&tag=", "tag"),
        ("q=a&detail=all", "detail"),
        ("q[]=a", "q[]"),
        ("q=a&", ""),
        ("q=" + "+".join(f"w{n}" for n in range(200)), "q"),
    ],
)
def test_a_search_that_cannot_be_is_refused_by_its_argument(board: Board, query: str, path: str) -> None:
    reply = board.get(f"/v1/memory-search?{query}")
    if not path:
        assert reply.status == 200
        return
    assert path in {detail["path"] for detail in reply.refused(400, "invalid_arguments")["details"]}


# Limits and other arguments of a read


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "limit", ["0", "-1", "abc", "1.5", "101", "1000000", "", "1e2", "+5", "0x5", "%00", "٣", "9" * 400, "true", "null"]
)
def test_a_limit_out_of_bounds_is_refused_and_never_bent(board: Board, pages: None, path: str, limit: str) -> None:
    error = board.get(f"{path}limit={quote(limit, safe='%')}").refused(400, "invalid_arguments")
    assert {detail["path"] for detail in error["details"]} == {"limit"}


@pytest.mark.parametrize(
    ("query", "path"),
    [
        *(
            ("offset=5", "offset"),
            ("page=2", "page"),
            ("data=%7B%7D", "data"),
            ("detail=", "detail"),
            ("=", ""),
            ("&&", None),
        ),
        *(("review_due=1", "review_due"), ("review_due=True", "review_due"), ("review_due=", "review_due")),
        *(
            ("order=-name", "order"),
            ("updated_since=yesterday", "updated_since"),
            ("status=active&status=active", "status"),
        ),
        *(
            ("updated_since=2026-01-01T00:00:00+00:00", "updated_since"),
            ("%74ag=a&tag=a", "tag"),
            ("tag=a;limit=5", "tag"),
        ),
        *(
            ("detail=%ff", "query"),
            ("&".join(f"x{n}=1" for n in range(1_500)), "query"),
            ("x" * 60_000, "xxxxxxxxxxxx…"),
        ),
        *(("%00=1", "\x00"), ("tag%00=1", "tag\x00"), ("a%0Ab=1", "a\nb"), ("access_token=x", "access_token")),
    ],
)
def test_a_query_is_taken_whole_or_refused(board: Board, query: str, path: str | None) -> None:
    reply = board.get(f"/v1/memory?{query}", accept=f"{query[:20].encode('unicode_escape').decode()}/x, */*")
    if path is None:
        assert reply.status == 200
        return
    error = reply.refused(400, "invalid_arguments")
    assert path in {detail["path"] for detail in error["details"]}
    assert len(reply.body) < 2_000


def test_a_write_takes_nothing_from_the_query(board: Board, name: str) -> None:
    for query in ("?expected_version=0", "?body=x", "?x", "?operation_key=a"):
        error = board.post(f"/v1/memory/{name}{query}", {"body": "text", "expected_version": 0}).refused(
            400, "invalid_arguments"
        )
        assert error["details"][0]["path"] == "query"
    board.get(f"/v1/memory/{name}").refused(404, "not_found")
    assert board.post(f"/v1/memory/{name}?", {"body": "text", "expected_version": 0}).status == 201


def test_a_method_without_arguments_takes_none(board: Board) -> None:
    error = board.get("/v1/me?x=1").refused(400, "invalid_arguments")
    assert error["message"] == "x is not an argument of whoami; it takes none."


# Cursors


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    "made_up",
    [
        *("abc", "%00", "", "AAAA", "=", "....", "-1", "0", "null", "é", "a" * 1_024, "a" * 1_025, "%F0%9F%98%80"),
        *(base64.urlsafe_b64encode(text).decode() for text in (b'{"o":-1}', b'{"o":"1"}', b"[0]", b"\0" * 12 + b"[1]")),
    ],
)
def test_a_cursor_made_up_is_refused(board: Board, pages: None, path: str, made_up: str) -> None:
    error = board.get(f"{path}cursor={quote(made_up, safe='%')}").refused(400, "invalid_arguments")
    assert {detail["path"] for detail in error["details"]} == {"cursor"}


@pytest.mark.parametrize("path", LISTS)
def test_a_cursor_cut_or_changed_is_refused(board: Board, pages: None, path: str) -> None:
    cursor = cursor_of(board, path)
    for other in (
        cursor[:-1],
        cursor[1:],
        cursor + "A",
        cursor[:5] + ("A" if cursor[5] != "A" else "B") + cursor[6:],
        cursor.swapcase(),
    ):
        board.get(f"{path}cursor={other}").refused(400, "invalid_arguments")
    assert board.get(f"{path}cursor={cursor}").status == 200


def test_a_cursor_of_another_list_or_question_is_refused(board: Board, pages: None) -> None:
    cursors = {path: cursor_of(board, path) for path in LISTS}
    for path in LISTS:
        for other, cursor in cursors.items():
            if other != path:
                board.get(f"{path}cursor={cursor}").refused(400, "invalid_arguments")
    for more in ("status=active", "tag=paged", "order=updated", "detail=full", "review_due=false"):
        board.get(f"/v1/memory?{more}&cursor={cursors['/v1/memory?']}").refused(400, "invalid_arguments")
    board.get(f"/v1/memory-search?q=texts&cursor={cursors[LISTS[1]]}").refused(400, "invalid_arguments")
    board.get(f"/v1/memory/hostile-page-01/revisions?cursor={cursors[LISTS[2]]}").refused(400, "invalid_arguments")


@pytest.mark.parametrize("path", LISTS[:3])
def test_a_cursor_of_another_agent_is_refused(board: Board, pages: None, path: str) -> None:
    board.get(f"{path}cursor={cursor_of(board, path, 'boreas')}").refused(400, "invalid_arguments")


def test_a_cursor_may_go_on_with_another_limit(board: Board, pages: None) -> None:
    cursor = cursor_of(board, "/v1/memory?tag=paged&")
    assert len(board.get(f"/v1/memory?tag=paged&limit=5&cursor={cursor}").json["items"]) == 5


def walked(board: Board, path: str, meanwhile: Iterator[Any]) -> list[str]:
    """The names on all pages of 7, something else happening between each two."""
    found: list[str] = []
    cursor = ""
    while True:
        page = board.get(f"{path}limit=7{cursor}").json
        found += [item["name"] for item in page["items"]]
        if "next_cursor" not in page:
            return found
        cursor = f"&cursor={page['next_cursor']}"
        next(meanwhile)


@pytest.mark.parametrize("order", ["name", "updated"])
def test_each_note_that_was_there_throughout_is_met_once_while_others_come_and_go(
    board: Board, pages: None, order: str
) -> None:
    """Other notes are created before and behind the reader, and some ahead of it are deleted."""

    def meanwhile() -> Iterator[None]:
        for number in range(100):
            for name in (f"hostile-aaa-{order}-{number}", f"zzz-{order}-{number}"):
                assert board.save(name, tags=["paged"]).status == 201
            if number:
                path = f"/v1/memory/zzz-{order}-{number - 1}/delete"
                assert board.post(path, {"expected_version": 1}).status == 200
            yield

    found = walked(board, f"/v1/memory?tag=paged&order={order}&", meanwhile())
    stayed = [name for name in found if name.startswith("hostile-page-")]
    assert sorted(stayed) == [f"hostile-page-{number:02}" for number in range(NOTES)]
    assert len(set(found)) == len(found)
