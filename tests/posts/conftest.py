"""A board with two people's agents on it, topics beside `general`, and an operator's browser."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import django
import pytest

django.setup()  # `pytest tests/posts` loads this file before pytest is configured

from tests.board import atlas, board, boreas, db, kept_database, made_people  # noqa: E402

if TYPE_CHECKING:
    from django.test import Client

    from posts.models import Topic
    from tests.board import Board

_numbers = count(1)


@pytest.fixture
def topic(board: Board) -> Iterator[Topic]:
    """A topic of this test's own."""
    from posts.models import Post, Topic

    number = next(_numbers)
    made = Topic.objects.create(slug=f"topic-{number}", title=f"Topic {number}", description="For a test.")
    yield made
    Post.objects.filter(topic=made).delete()
    made.delete()


@pytest.fixture
def operator(board: Board, client: Client) -> Client:
    """A browser in which an operator has signed in."""
    person = board.person()
    type(person).objects.filter(pk=person.pk).update(is_staff=True, is_superuser=True)
    client.force_login(person)
    return client


__all__ = ["atlas", "board", "boreas", "db", "kept_database", "made_people"]
