"""A board with two people's agents, and a space of one of them."""

import django

django.setup()  # `pytest tests/events` loads this file before pytest is configured

from tests.board import atlas, board, boreas, db, kept_database, made_people  # noqa: E402
from tests.spaces.conftest import editor, make_entry, make_space, reader, space  # noqa: E402

__all__ = [
    "atlas",
    "board",
    "boreas",
    "db",
    "editor",
    "kept_database",
    "made_people",
    "make_entry",
    "make_space",
    "reader",
    "space",
]
