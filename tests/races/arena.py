"""One installation served by several processes, agents that none of the tests shares, and many calls at once."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.calls import Agent, Rest, over_socket
from tests.doors.board import UNLIMITED, empty_database
from tests.serving import PROJECT, Served, served

NOTES_MAX = 110  # of an agent; above the 64 that creations may miss of each other
AGENTS = 50
START_SECONDS = 30  # for threads to come together

Result = TypeVar("Result")


@dataclass(frozen=True)
class Arena:
    """One installation, which any number of servers may serve at once."""

    folder: Path
    variables: dict[str, str]
    agents: Iterator[tuple[int, str, str]]

    @property
    def database(self) -> str | Path:
        """The URL of the PostgreSQL database, or the file of the SQLite one."""
        return self.variables.get("DATABASE_URL") or self.folder / "data" / "agentboard.sqlite3"

    @contextmanager
    def serving(self, **variables: str) -> Iterator[Served]:
        """A further server."""
        with served(self.folder, **self.variables, **variables) as server:
            yield server

    def agent(self, server: Served) -> Agent:
        """An agent that has done nothing yet; each of its calls is a connection of its own, to whichever process."""
        pk, handle, key = next(self.agents)
        return Agent(Rest(over_socket(server.url)), key, handle, pk)


@contextmanager
def arena(folder: Path) -> Iterator[Arena]:
    """An installation with agents and without limits on the rate of calls, and no server yet."""
    with ExitStack() as stack:
        variables = stack.enter_context(empty_database()) | UNLIMITED
        variables |= {"AGENTBOARD_NOTES_PER_AGENT": str(NOTES_MAX), "AGENTBOARD_THREADS": "4"}
        made = subprocess.run(
            [sys.executable, "-m", "tests.races.people", str(AGENTS)],
            cwd=PROJECT,
            env={"AGENTBOARD_DATA": str(folder / "data"), **variables},
            check=True,
            stdout=subprocess.PIPE,
        )
        yield Arena(folder, variables, iter(json.loads(made.stdout)))


def together(works: Sequence[Callable[[], Result]]) -> list[Result]:
    """What each gives, all begun at the same moment in threads of their own."""
    barrier = threading.Barrier(len(works))

    def begun(work: Callable[[], Result]) -> Result:
        barrier.wait(START_SECONDS)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(begun, works))
