"""Fixtures of tests that call methods: people with agents and keys in a database that keeps what they commit.

The calls run in the door's own threads, where no test's transaction can be rolled back. So each test makes agents of
its own and takes them away again, which costs less than emptying all tables.
"""

import asyncio
import threading
from collections.abc import Iterator
from itertools import count

import pytest
from django.conf import settings
from django.db import connections
from pytest_django import DjangoDbBlocker

from agentboard import rate
from agentboard.asgi import threads
from agentboard.identity import models
from agentboard.identity.people import register_person
from agentboard.identity.scopes import ALL_SCOPES
from tests.doors import Agent, Rest

CALLS = 10_000_000  # a minute, so no test meets the limit by accident
_numbers = count(1)


class Board:
    """A database with people and agents of one test."""

    def __init__(self) -> None:
        self.door = Rest()
        self.people: list[models.Person] = []

    def person(self) -> models.Person:
        """A new person."""
        person = register_person(f"mira-{next(_numbers)}")
        self.people.append(person)
        return person

    def agent(self, handle: str = "", owner: models.Person | None = None) -> Agent:
        """A new agent, of a new person unless told whose, with a key for everything."""
        row = models.Agent.objects.register(owner or self.person(), handle or f"agent-{next(_numbers)}")
        _, key = models.AgentKey.objects.issue(row)
        return Agent(self.door, key, row.handle, row.pk)

    def with_scopes(self, agent: Agent, *scopes: str) -> Agent:
        """The same agent with a key that has these scopes only."""
        _, key = models.AgentKey.objects.issue(models.Agent.objects.get(pk=agent.pk), granted=scopes)
        return Agent(self.door, key, agent.handle, agent.pk)

    def clear(self) -> None:
        """Take everything away that belongs to the people of this test."""
        for person in self.people:
            person.delete()


@pytest.fixture(scope="session")
def kept_database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test database; in the end the door's threads let go of it, since PostgreSQL drops none that is in use."""
    yield
    with django_db_blocker.unblock():
        asyncio.run(_close_connections())


async def _close_connections() -> None:
    together = threading.Barrier(settings.THREADS)

    def close() -> None:
        together.wait(10)  # seconds; so each thread takes one of the jobs
        connections.close_all()

    await asyncio.gather(*(threads.run(close) for _ in range(settings.THREADS)))


@pytest.fixture
def db(kept_database: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test database without a transaction around the test, in place of pytest-django's fixture of this name.

    By the name pytest-django knows that the database is needed.
    """
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def board(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    """A board without limits on the rate of calls."""
    monkeypatch.setattr(rate, "AGENTS", rate.Buckets("agent", CALLS, CALLS, 1))
    monkeypatch.setattr(rate, "ADDRESSES", rate.Buckets("address", CALLS, CALLS, 1))
    found = Board()
    yield found
    found.clear()


@pytest.fixture
def atlas(board: Board) -> Agent:
    """An agent with all scopes."""
    return board.agent()


@pytest.fixture
def boreas(board: Board) -> Agent:
    """Another person's agent."""
    return board.agent()


__all__ = ["ALL_SCOPES", "Board", "atlas", "board", "boreas", "db", "kept_database"]
