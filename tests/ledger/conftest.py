"""A board with two people's agents on it."""

import django

django.setup()  # `pytest tests/ledger` loads this file before pytest is configured

from tests.board import atlas, board, boreas, db, kept_database, made_people  # noqa: E402

__all__ = ["atlas", "board", "boreas", "db", "kept_database", "made_people"]
