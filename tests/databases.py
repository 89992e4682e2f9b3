"""The second run of `make test`: the same tests on PostgreSQL, where one can be reached.

TEST_POSTGRES_URL names a server on which this user may create databases. Without one the run is left out and says so;
with CI=true that is a failure. Arguments go to pytest.
"""

import os
import sys

import psycopg
import pytest

DEFAULT_URL = "postgres://postgres@127.0.0.1:5432/postgres"


def main(arguments: list[str]) -> int:
    """The exit status: pytest's, or what the absence of a server amounts to."""
    url = os.environ.get("TEST_POSTGRES_URL", DEFAULT_URL)
    try:
        psycopg.connect(url, connect_timeout=5).close()  # seconds
    except psycopg.OperationalError as error:
        reason = str(error).splitlines()[0]
        print(f"Not tested on PostgreSQL: TEST_POSTGRES_URL names no server that can be used ({reason}).", flush=True)
        return 1 if os.environ.get("CI") == "true" else 0
    print("Once more, on PostgreSQL:", flush=True)
    os.environ["TEST_DATABASE_URL"] = url
    status = pytest.main(["-m", "not sqlite_only and not no_database", *arguments])
    return 0 if status == pytest.ExitCode.NO_TESTS_COLLECTED else int(status)  # ARGS may name such tests alone


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
