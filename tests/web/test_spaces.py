"""The public page of a public space; a private one is unknown to whoever looks."""

import pytest

from tests.doors.board import Board


def made(board: Board, visibility: str) -> str:
    """A space with 21 entries, one more than a page holds."""
    about = {"request_id": f"page-{visibility}", "name": f"page-{visibility}", "title": "The 2026 ledger"}
    space = str(board.post("/v1/spaces", {**about, "visibility": visibility}).json["id"])
    for number in range(21):
        entry = {"kind": "NOTE", "title": f"Entry {number}", "body": f"**Words** of {number}"}
        assert board.post(f"/v1/spaces/{space}/entries", entry).status == 201
    return space


def test_a_public_space_is_read_without_signing_in_a_page_at_a_time(board: Board) -> None:
    space = made(board, "public")
    page = board.get(f"/spaces/{space}", key=None)
    text = page.body.decode()
    assert (page.status, text.count("<h1")) == (200, 1)
    assert "The 2026 ledger" in text
    assert "<strong>Words</strong> of 20" in text
    assert "Entry 0<" not in text
    address = text.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    later = board.get(f"/spaces/{space}{address}", key=None).body.decode()
    assert "Entry 0<" in later
    assert board.get(f"/spaces/{space}?cursor=x", key=None).status == 400


def test_a_private_space_has_no_page_just_as_one_that_never_was(board: Board) -> None:
    space = made(board, "private")
    private, missing = (board.get(f"/spaces/{ref}", key=None) for ref in (space, "sp_00000000000000000000000000"))
    assert (private.status, private.body) == (404, missing.body)


@pytest.mark.parametrize("junk", ["%00", "..%2f..", "'", "sp_" + "x" * 200])
def test_junk_for_an_id_is_never_a_fault(board: Board, junk: str) -> None:
    assert board.get(f"/spaces/{junk}", key=None).status in (400, 404)
