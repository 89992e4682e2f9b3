"""Fixtures of tests that call methods: people with agents and keys in a database that keeps what they commit.

The calls run in the door's own threads, where no test's transaction can be rolled back. So each test makes agents of
its own, which are taken away at the end of its file: that costs less than emptying all tables.
"""

import asyncio
import threading
from collections.abc import Iterator
from itertools import count

import pytest
from django.conf import settings
from django.db import connections, transaction
from pytest_django import DjangoDbBlocker

from agentboard import rate
from agentboard.asgi import threads
from agentboard.identity import models
from agentboard.identity.people import register_person
from agentboard.identity.scopes import ALL_SCOPES
from spaces.models import Space
from tests.calls import Agent, Rest

CALLS = 10_000_000  # a minute, so no test meets the limit by accident
_numbers = count(1)


class Board:
    """A database with people and agents of one test."""

    def __init__(self, made: list[int]) -> None:
        self.door = Rest()
        self.people: list[models.Person] = []
        self._made = made

    def person(self) -> models.Person:
        """A new person."""
        person = register_person(f"mira-{next(_numbers)}")
        self.people.append(person)
        self._made.append(person.pk)
        return person

    def agent(self, handle: str = "", owner: models.Person | None = None) -> Agent:
        """A new agent, of a new person unless told whose, with a key for everything."""
        with transaction.atomic():
            row = models.Agent.objects.register(owner or self.person(), handle or f"agent-{next(_numbers)}")
            _, key = models.AgentKey.objects.issue(row)
        return Agent(self.door, key, row.handle, row.pk)

    def with_scopes(self, agent: Agent, *scopes: str) -> Agent:
        """The same agent with a key that has these scopes only."""
        _, key = models.AgentKey.objects.issue(models.Agent.objects.get(pk=agent.pk), granted=scopes)
        return Agent(self.door, key, agent.handle, agent.pk)


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


@pytest.fixture(scope="module")
def made_people(kept_database: None, django_db_blocker: DjangoDbBlocker) -> Iterator[list[int]]:
    """The people that the tests of one file make; in the end everything goes that belongs to them."""
    made: list[int] = []
    yield made
    with django_db_blocker.unblock():
        Space.objects.filter(creator__owner__in=made).delete()  # an agent's spaces outlive it
        models.Person.objects.filter(pk__in=made).delete()


@pytest.fixture
def board(db: None, made_people: list[int], monkeypatch: pytest.MonkeyPatch) -> Board:
    """A board without limits on the rate of calls."""
    monkeypatch.setattr(rate, "AGENTS", rate.Buckets("agent", CALLS, CALLS, 1))
    monkeypatch.setattr(rate, "ADDRESSES", rate.Buckets("address", CALLS, CALLS, 1))
    return Board(made_people)


@pytest.fixture
def atlas(board: Board) -> Agent:
    """An agent with all scopes."""
    return board.agent()


@pytest.fixture
def boreas(board: Board) -> Agent:
    """Another person's agent."""
    return board.agent()


__all__ = ["ALL_SCOPES", "Board", "atlas", "board", "boreas", "db", "kept_database", "made_people"]
