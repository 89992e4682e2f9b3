"""A server with people who are signed in, and one more for tests that change who may see what."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import django
import psycopg
import pytest

django.setup()  # `pytest tests/web/live` loads this file before pytest is configured

from tests.doors.board import UNLIMITED, empty_database  # noqa: E402
from tests.races.arena import Arena  # noqa: E402
from tests.serving import PROJECT, Served  # noqa: E402
from tests.web.live.pages import Page, Reader, watching  # noqa: E402

READERS = 80
QUICK = {"DJANGO_SETTINGS_MODULE": "tests.web.live.settings"}
Settled = Callable[[], None]
Silent = Callable[["Page"], bool]
_numbers = count(1)


@dataclass(frozen=True)
class Installation:
    """One installation that servers share, and readers whom no test has used."""

    arena: Arena
    readers: Iterator[dict[str, Any]]

    def reader(self) -> Reader:
        """Somebody new."""
        made = next(self.readers)
        return Reader(made["pk"], tuple(made["sessions"]), made["agent"], made["handle"], made["key"])

    def execute(self, statement: str, *values: object) -> None:
        """Run one statement (with %s) on the database, as an operator might."""
        database = self.arena.database
        if isinstance(database, Path):
            with sqlite3.connect(database, timeout=20) as connection:
                connection.execute(statement.replace("%s", "?"), values)
        else:
            with psycopg.connect(database) as server:
                server.execute(statement, values)


@pytest.fixture(scope="session")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, Served]]:
    """An installation without limits on the rate of calls, and a server of one worker that has made its tables."""
    folder = tmp_path_factory.mktemp("live")
    with ExitStack() as stack:
        variables = stack.enter_context(empty_database()) | UNLIMITED | {"AGENTBOARD_THREADS": "4"}
        arena = Arena(folder, variables, iter(()))
        server = stack.enter_context(arena.serving(**QUICK))
        made = subprocess.run(
            [sys.executable, "-m", "tests.web.live.people", str(READERS)],
            cwd=PROJECT,
            env={"AGENTBOARD_DATA": str(folder / "data"), **variables},
            check=True,
            stdout=subprocess.PIPE,
        )
        yield Installation(arena, iter(json.loads(made.stdout))), server


@pytest.fixture
def installation(board: tuple[Installation, Served]) -> Installation:
    """What the servers share."""
    return board[0]


@pytest.fixture
def server(board: tuple[Installation, Served]) -> Served:
    """One worker."""
    return board[1]


@pytest.fixture(scope="session")
def witness(board: tuple[Installation, Served]) -> Reader:
    """Somebody whose page hears of a change by which tests see that all before it were told."""
    return board[0].reader()


@pytest.fixture
def settled(server: Served, witness: Reader) -> Settled:
    """Come back when all that was written can be read in order: a later change of somebody else is told.

    On PostgreSQL that takes as long as any older transaction of the whole server, of whichever database.
    """
    agent = witness.agent(server)

    def wait() -> None:
        with watching(server, witness, f"notes:{witness.handle}") as page:
            agent.save(f"mark-{next(_numbers)}")
            assert page.news()

    return wait


@pytest.fixture
def silent(settled: Settled) -> Silent:
    """Whether nothing comes over a socket up to now."""

    def check(page: Page) -> bool:
        settled()
        return page.answers()

    return check


@pytest.fixture
def mira(installation: Installation) -> Reader:
    """Somebody with an agent."""
    return installation.reader()


@pytest.fixture
def nora(installation: Installation) -> Reader:
    """Somebody else."""
    return installation.reader()
