"""The databases a benchmark runs on: made for it, filled, and removed."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from tests.bench.cells import Database
from tests.databases import DEFAULT_URL
from tests.serving import PROJECT


@dataclass(frozen=True)
class Store:
    """A filled database. `folder` holds the installation's secrets in `data`, and logs; `keys` are its agents' keys."""

    database: Database
    folder: Path
    url: str
    keys: list[str]

    @property
    def encryption_key(self) -> str:
        """The Fernet key that both sides seal with."""
        lines = (self.folder / "data" / "encryption.keys").read_text().splitlines()
        return next(line for line in lines if line and not line.startswith("#"))

    def backends(self) -> list[int]:
        """The processes of a PostgreSQL server on this machine that serve this database."""
        if self.database == "sqlite":
            return []
        with psycopg.connect(self.url, autocommit=True) as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            return [pid for (pid,) in rows if is_postgres(pid)]


def is_postgres(pid: int) -> bool:
    """Whether the process is one of PostgreSQL's: on another machine's server the number means nothing here."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == "postgres"
    except OSError:
        return False


def server_url() -> str:
    """The PostgreSQL server that the databases are made on, as `make test` names it."""
    return os.environ.get("TEST_POSTGRES_URL", DEFAULT_URL)


def why_not(database: Database) -> str | None:
    """Why the database can't be measured here, or None when it can."""
    if database == "sqlite":
        return None
    try:
        psycopg.connect(server_url(), connect_timeout=5).close()  # seconds
    except psycopg.OperationalError as error:
        return f"TEST_POSTGRES_URL names no server that can be used ({str(error).splitlines()[0]})"
    return None


@contextmanager
def filled(database: Database) -> Iterator[Store]:
    """A database with agents and notes, gone at the end."""
    with tempfile.TemporaryDirectory(prefix="agentboard-bench-") as name:
        folder = Path(name)
        with _sqlite(folder) if database == "sqlite" else _postgresql() as url:
            keys = _fill(folder, url)
            if database == "postgresql":
                _settle(url)
            yield Store(database, folder, url, keys)


@contextmanager
def _sqlite(folder: Path) -> Iterator[str]:
    (folder / "data").mkdir(mode=0o700)
    yield f"sqlite:///{folder}/data/bench.sqlite3"


@contextmanager
def _postgresql() -> Iterator[str]:
    parts = urlsplit(server_url())
    name = f"agentboard_bench_{os.getpid()}"
    with psycopg.connect(server_url(), autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield parts._replace(path=f"/{name}").geturl()
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _fill(folder: Path, url: str) -> list[str]:
    environment = {"AGENTBOARD_DATA": str(folder / "data"), "DATABASE_URL": url}
    command = [sys.executable, "-m", "tests.bench.fill"]
    done = subprocess.run(command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, check=True)
    keys: list[str] = json.loads(done.stdout)
    return keys


def _settle(url: str) -> None:
    """Statistics now, instead of at some time during the rounds."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
