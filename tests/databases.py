"""`make test`: every test on SQLite and, side by side, on PostgreSQL those that the database makes a difference to.

TEST_POSTGRES_URL names a server on which this user may create databases. Without one the run there is left out and
says so; with CI=true that is a failure. Arguments go to pytest, both times. What the run on PostgreSQL tells is shown
when the other is over.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import psycopg
import pytest

DEFAULT_URL = "postgres://postgres@127.0.0.1:5432/postgres"
# A memory of its own for what failed last: of two runs that write one, the other's would be lost.
ON_POSTGRESQL = ("-m", "not sqlite_only and not no_database", "-o", "cache_dir=.pytest_cache/postgresql")
LOOK_SECONDS = 0.2


def main(arguments: Sequence[str]) -> int:
    """The exit status: the first of pytest's two that is not 0, or what the absence of a server amounts to."""
    url = os.environ.get("TEST_POSTGRES_URL", DEFAULT_URL)
    reason = why_not(url)
    if reason:
        status = started("", arguments).wait()
        print(f"Not tested on PostgreSQL: TEST_POSTGRES_URL names no server that can be used ({reason}).", flush=True)
        return status or (1 if os.environ.get("CI") == "true" else 0)
    with tempfile.TemporaryDirectory(prefix="agentboard-tests-") as folder:
        return both(url, arguments, Path(folder) / "told")


def both(url: str, arguments: Sequence[str], told: Path) -> int:
    """The exit status of the two runs, of which the one on PostgreSQL writes to the file `told`."""
    with told.open("wb") as out:
        postgresql = started(url, [*ON_POSTGRESQL, *arguments], out)
    sqlite = started("", arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both runs, which tell what they were at and end
    sqlite.wait()
    print("On PostgreSQL:", flush=True)
    show(told, postgresql)
    if postgresql.returncode == pytest.ExitCode.NO_TESTS_COLLECTED:  # ARGS may name such tests alone
        return sqlite.returncode
    return sqlite.returncode or postgresql.returncode


def why_not(url: str) -> str:
    """Why the server cannot be used; nothing where it can."""
    try:
        psycopg.connect(url, connect_timeout=5).close()  # seconds
    except psycopg.OperationalError as error:
        return str(error).splitlines()[0]
    return ""


def started(url: str, arguments: Sequence[str], out: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """A run of pytest on the PostgreSQL server of this URL, or on SQLite where there is none."""
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        env={**os.environ, "TEST_DATABASE_URL": url},
        stdout=out,
        stderr=subprocess.STDOUT if out else None,
    )


def show(told: Path, run: subprocess.Popen[bytes]) -> None:
    """Write what a run has told and tells until it ends."""
    with told.open("rb") as read:
        over = False
        while not over:
            over = run.poll() is not None
            shutil.copyfileobj(read, sys.stdout.buffer)
            sys.stdout.flush()
            time.sleep(0 if over else LOOK_SECONDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
