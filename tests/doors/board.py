"""A real AgentBoard with people, agents and keys, on the database that this run is about."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.doors.wire import Reply, ask
from tests.serving import PROJECT, Served, served

UNLIMITED = {
    "AGENTBOARD_CALLS_PER_MINUTE": "10000000",
    "AGENTBOARD_CALLS_BURST": "1000000",
    "AGENTBOARD_ADDRESS_CALLS_PER_MINUTE": "10000000",
    "AGENTBOARD_ADDRESS_CALLS_BURST": "1000000",
    "AGENTBOARD_REGISTRATIONS_PER_HOUR": "1000000",
}
JSON = {"Content-Type": "application/json"}
_names = count(1)


class Board:
    """A server that is ready, and the keys of people.py by their names."""

    def __init__(self, server: Served, keys: Mapping[str, str]) -> None:
        self.server, self.keys, self.port, self.url = server, keys, server.port, server.url

    def get(self, path: str, *, key: str | None = "atlas", **headers: str) -> Reply:
        """A read; `headers` by their names with _ for -."""
        return ask(self.port, "GET", path, {**self.bearer(key), **spelled(headers)})

    def post(self, path: str, sent: Any = None, *, key: str | None = "atlas", **headers: str) -> Reply:
        """A write of `sent`: bytes as they are, else as JSON (which may hold lone surrogates, escaped)."""
        body = sent if isinstance(sent, bytes) else json.dumps({} if sent is None else sent).encode()
        return ask(self.port, "POST", path, {**self.bearer(key), **JSON, **spelled(headers)}, body)

    def ask(
        self,
        verb: str,
        path: str | bytes,
        body: bytes | None = None,
        *,
        key: str | None = "atlas",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Any request, with no header but these and the credential."""
        return ask(self.port, verb, path, {**self.bearer(key), **(headers or {})}, body)

    def bearer(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {self.keys[key]}"}

    def save(self, name: str, /, *, key: Any = "atlas", **arguments: Any) -> Reply:
        """save_memory, creating unless told otherwise."""
        return self.post(f"/v1/memory/{name}", {"body": "text", "expected_version": 0, **arguments}, key=key)

    def lines(self) -> list[dict[str, Any]]:
        """The log so far."""
        return [json.loads(line) for line in self.server.err.splitlines()]


def spelled(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def fresh_name() -> str:
    """A note's name that no other test of this run uses."""
    return f"note-{next(_names)}"


@contextmanager
def empty_database() -> Iterator[dict[str, str]]:
    """The variables that name an empty database of the kind this run is about; none for SQLite in the data folder."""
    url = os.environ.get("TEST_DATABASE_URL")
    if not url:  # `make test` sets it to nothing
        yield {}
        return
    name = f"agentboard_doors_{os.getpid()}_{next(_names)}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        server.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")  # nobody cuts PostgreSQL's power here
        try:
            yield {"DATABASE_URL": f"{url.rpartition('/')[0]}/{name}"}
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def peopled(folder: Path, **variables: str) -> Iterator[Board]:
    """A server of its own with people, agents and keys."""
    with served(folder, **variables) as server:
        made = subprocess.run(
            [sys.executable, "-m", "tests.doors.people"],
            cwd=PROJECT,
            env={"AGENTBOARD_DATA": str(folder / "data"), **variables},
            check=True,
            stdout=subprocess.PIPE,
        )
        yield Board(server, json.loads(made.stdout))


_BOARD = pytest.StashKey[Board]()


@pytest.fixture(scope="session")
def board(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Board:
    """The one board of this run, whichever folder of tests asks for it first. Its limits never bind."""
    if _BOARD not in pytestconfig.stash:
        stack = ExitStack()
        pytestconfig.add_cleanup(stack.close)
        variables = stack.enter_context(empty_database())
        folder = tmp_path_factory.mktemp("board")
        pytestconfig.stash[_BOARD] = stack.enter_context(peopled(folder, **UNLIMITED, **variables))
    return pytestconfig.stash[_BOARD]


@pytest.fixture
def name() -> str:
    """The name of a note that does not exist."""
    return fresh_name()
