"""What a websocket finds where none is served."""

import pytest

from tests.doors.board import Board
from tests.doors.wire import Connection, request

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.mark.parametrize("path", ["/v1/me", "/", "/nothing"])
def test_an_upgrade_that_nobody_serves_is_refused_without_a_fault(board: Board, path: str) -> None:
    before = len(board.lines())
    with Connection(board.port) as connection:
        connection.send(request("GET", path, {**board.bearer("atlas"), **UPGRADE}))
        assert 400 <= connection.reply().status < 500
    assert [line for line in board.lines()[before:] if line["level"] == "ERROR"] == []


def test_an_upgrade_to_anything_else_is_ignored(board: Board) -> None:
    headers = {
        **board.bearer("atlas"),
        "Connection": "Upgrade, HTTP2-Settings",
        "Upgrade": "h2c",
        "HTTP2-Settings": "AAMA",
    }
    with Connection(board.port) as connection:
        connection.send(request("GET", "/v1/me", headers))
        assert connection.reply().status == 200
