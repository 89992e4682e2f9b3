"""A database that does not serve: 503 with when to come again, and back to work without a restart."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.doors.board import UNLIMITED, Board, empty_database, fresh_name, peopled
from tests.doors.proxy import Proxy
from tests.doors.wire import Reply
from tests.serving import wait_for

postgresql_only = pytest.mark.skipif(not os.environ.get("TEST_DATABASE_URL"), reason="about PostgreSQL")


def unavailable(reply: Reply) -> None:
    error = reply.refused(503, "unavailable")
    assert reply.headers["retry-after"] == str(error["retry_after_seconds"])
    for word in ("postgres", "sqlite", "psycopg", "locked", "127.0.0.1", "connect"):
        assert word not in str(error).lower()


@pytest.mark.sqlite_only
def test_a_sqlite_database_locked_for_too_long_is_unavailable_for_writes_and_then_serves_again(tmp_path: Path) -> None:
    short_wait = {"DJANGO_SETTINGS_MODULE": "tests.doors.short_wait"}
    with (
        peopled(tmp_path, **UNLIMITED, **short_wait) as board,
        closing(sqlite3.connect(tmp_path / "data" / "agentboard.sqlite3", isolation_level=None)) as other,
    ):
        assert board.save("kept").status == 201
        other.execute("BEGIN IMMEDIATE")
        for reply in (board.save("late"), board.post("/v1/memory/kept/delete", {"expected_version": 1})):
            unavailable(reply)
        assert board.get("/v1/memory/kept").status == 200, "readers do not wait for a writer"
        other.execute("ROLLBACK")
        board.get("/v1/memory/late").refused(404, "not_found")
        assert board.save("late").status == 201
        logged = [line for line in board.lines() if line["message"] == "the database does not serve"]
    assert [line["logger"] for line in logged] == ["agentboard.door"] * 2


@pytest.fixture(scope="module")
def behind_a_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Board, Proxy]]:
    """A board that reaches its PostgreSQL through a proxy."""
    folder = tmp_path_factory.mktemp("proxied")
    with empty_database() as variables:
        url = urlsplit(variables["DATABASE_URL"])
        proxy = Proxy((url.hostname or "", url.port or 5432))
        user = url.netloc.rpartition("@")[0]
        proxied = url._replace(netloc=f"{user}@127.0.0.1:{proxy.port}" if user else f"127.0.0.1:{proxy.port}").geturl()
        with peopled(folder, DATABASE_URL=proxied, **UNLIMITED) as board:
            yield board, proxy
        proxy.close()


@postgresql_only
def test_a_database_that_is_gone_is_unavailable_and_serves_again_when_it_is_back(
    behind_a_proxy: tuple[Board, Proxy],
) -> None:
    board, proxy = behind_a_proxy
    name = fresh_name()
    assert board.save(name).status == 201
    proxy.close()
    for _ in range(12):  # every thread meets it, some more than once
        unavailable(board.get(f"/v1/memory/{name}"))
        unavailable(board.save(fresh_name()))
    assert board.get("/v1/help", key=None).status == 200, "what needs no database is answered"
    assert board.get("/healthz", key=None).status == 200
    assert board.get("/readyz", key=None).status == 503
    board.get("/v1/me", key=None).refused(401, "unauthenticated")
    proxy.open()
    for _ in range(12):
        assert board.get(f"/v1/memory/{name}").status == 200
    assert board.save(fresh_name()).status == 201
    assert board.get("/readyz", key=None).status == 200


@postgresql_only
def test_connections_that_ended_while_nobody_called_cost_no_call(behind_a_proxy: tuple[Board, Proxy]) -> None:
    """As after a restart of PostgreSQL: the very next calls are answered, whichever thread takes them."""
    board, proxy = behind_a_proxy
    for _ in range(3):
        assert [board.get("/v1/me").status for _ in range(12)] == [200] * 12
        proxy.cut()
        assert [board.save(fresh_name()).status for _ in range(12)] == [201] * 12


@postgresql_only
def test_connections_that_the_database_ends_cost_no_call(behind_a_proxy: tuple[Board, Proxy]) -> None:
    board, proxy = behind_a_proxy
    assert board.get("/v1/me").status == 200
    with psycopg.connect(os.environ["TEST_DATABASE_URL"], autocommit=True) as server:
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE starts_with(datname, %s)",
            (f"agentboard_doors_{os.getpid()}_",),
        )
    wait_for(proxy.ended, 10)  # seconds; the database hangs up a moment after it has said so
    assert [board.get("/v1/me").status for _ in range(12)] == [200] * 12
