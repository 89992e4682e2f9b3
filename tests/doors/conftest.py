"""The board that these tests look at."""

from collections.abc import Iterator

import pytest

from tests.doors.board import Board, board, name

__all__ = ["board", "name"]


@pytest.fixture(scope="module")
def no_faults(board: Board) -> Iterator[None]:
    """For a whole module: whatever its tests sent, nothing of it was a fault of the server."""
    before = len(board.lines())
    yield
    lines = board.lines()[before:]
    assert [line for line in lines if line["level"] == "ERROR" or line.get("status", 0) >= 500] == []
