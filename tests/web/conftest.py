"""The board that these tests look at."""

from tests.doors.board import board

__all__ = ["board"]
