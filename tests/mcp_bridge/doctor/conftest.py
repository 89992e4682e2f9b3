"""A board, an address that nobody else browses from, and a doctor who has heard nothing yet."""

import django

django.setup()  # `pytest tests/mcp_bridge/doctor` loads this file before pytest is configured

from collections.abc import Iterator  # noqa: E402
from itertools import count  # noqa: E402

import pytest  # noqa: E402
from pytest_django import DjangoDbBlocker  # noqa: E402

from agentboard.rate import Buckets  # noqa: E402
from mcp_bridge.doctor import calls, watch  # noqa: E402
from mcp_bridge.doctor.models import Attempt  # noqa: E402
from mcp_bridge.doctor.peer import Peer, hashed  # noqa: E402
from mcp_bridge.oauth.models import Application  # noqa: E402
from tests.board import atlas, board, boreas, db, kept_database, made_people  # noqa: E402

_numbers = count(1)


@pytest.fixture(autouse=True)
def nothing_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was told in another test is news in this one."""
    monkeypatch.setattr(watch, "NEWS", watch.Remembered())
    monkeypatch.setattr(calls, "CALLING", watch.Remembered())
    monkeypatch.setattr(watch, "NEW_ROWS", Buckets("attempts", 1_000, 1_000, 1))


@pytest.fixture(autouse=True, scope="module")
def no_applications_left(made_people: list[int], django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What registers itself in a file's tests goes with them; people take only their connections along."""
    yield
    with django_db_blocker.unblock():
        Application.objects.all().delete()


@pytest.fixture
def peer(db: None) -> Iterator[Peer]:
    """A program at an address of its own; its attempts go at the end."""
    found = Peer(hashed(f"203.0.113.{next(_numbers)}"), "claude-code/2.1")
    yield found
    Attempt.objects.filter(address=found.address).delete()


__all__ = ["atlas", "board", "boreas", "db", "kept_database", "made_people", "nothing_heard", "peer"]
