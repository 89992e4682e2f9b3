"""`manage.py serve`, as a process of its own on either database."""

import os
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from cryptography.fernet import Fernet

from tests.serving import PROJECT, READY, STOP_SECONDS, Served, free_port, served

FIRST_ACCOUNT = "First account (an operator): "


@pytest.fixture
def database() -> Iterator[dict[str, str]]:
    """The variables that name an empty database of the kind this run is about; none for SQLite in the data folder."""
    url = os.environ.get("TEST_DATABASE_URL")
    if not url:
        yield {}
        return
    name = f"agentboard_serve_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield {"DATABASE_URL": f"{url.rpartition('/')[0]}/{name}"}
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def ended(folder: Path, **variables: str) -> tuple[int, str, str]:
    """The exit status, output and error output of a server that doesn't get ready."""
    server = Served(folder, **variables)
    return server.process.wait(STOP_SECONDS), server.out, server.err


def answer(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as response:  # seconds
        body: bytes = response.read()
    return body


def test_an_empty_folder_becomes_a_server_that_names_the_first_account_and_then_says_once_that_it_is_ready(
    tmp_path: Path, database: dict[str, str]
) -> None:
    with served(tmp_path, **database) as server:
        first, ready = server.out.splitlines()
        assert first.startswith(f"{FIRST_ACCOUNT}{server.url}/account/start/")
        assert ready == f"{READY}{server.url}"
        assert answer(f"{server.url}/healthz") == answer(f"{server.url}/readyz") == b'{"status":"ok"}'
        assert b"first account" in answer(first.removeprefix(FIRST_ACCOUNT))
    assert server.err == ""


def test_the_data_folder_is_its_owners_alone(tmp_path: Path, database: dict[str, str]) -> None:
    with served(tmp_path, **database):
        folder = tmp_path / "data"
        modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert (stat.S_IMODE(folder.stat().st_mode), modes) == (0o700, {0o600})


def test_the_second_start_takes_less_than_three_seconds(tmp_path: Path, database: dict[str, str]) -> None:
    with served(tmp_path, **database):
        pass
    second = Served(tmp_path, **database)
    try:
        assert second.ready() < 3
    finally:
        second.stop()


def test_once_an_operator_can_sign_in_no_first_account_is_offered(tmp_path: Path, database: dict[str, str]) -> None:
    with served(tmp_path, **database):
        pass
    variables = {"DJANGO_SUPERUSER_USERNAME": "anna", "DJANGO_SUPERUSER_PASSWORD": "long enough"}
    subprocess.run(
        [sys.executable, "manage.py", "createsuperuser", "--noinput", "--email", "anna@example.org"],
        cwd=PROJECT,
        env={"AGENTBOARD_DATA": str(tmp_path / "data"), **database, **variables},
        check=True,
        capture_output=True,
    )
    with served(tmp_path, **database) as server:
        assert server.out == f"{READY}{server.url}\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_signal_stops_it_with_status_0_and_without_a_word(
    tmp_path: Path, database: dict[str, str], workers: str, number: int
) -> None:
    with served(tmp_path, WORKERS=workers, **database) as server:
        assert server.out.count(READY) == 1
        assert server.stop(number) == 0
    assert server.err == ""


def test_servers_that_start_at_once_on_an_empty_database_all_get_ready(
    tmp_path: Path, database: dict[str, str]
) -> None:
    servers = [Served(tmp_path, **database) for _ in range(3)]
    try:
        for server in servers:
            server.ready()
    finally:
        statuses = [server.stop() for server in servers if server.process.poll() is None]
    assert statuses == [0, 0, 0]
    assert [server.err for server in servers] == ["", "", ""]


@pytest.mark.no_database
def test_a_port_that_is_taken_ends_in_one_sentence_and_touches_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        sentence = f"PORT {port} is taken by another program: stop that one, or set PORT to a free one.\n"
        assert ended(tmp_path, PORT=port) == (2, "", sentence)
    assert (tmp_path / "data" / "agentboard.sqlite3").stat().st_size == 0


@pytest.mark.no_database
def test_a_host_of_another_machine_ends_in_one_sentence(tmp_path: Path) -> None:
    status, out, err = ended(tmp_path, HOST="203.0.113.9")  # RFC 5737: nobody's
    assert (status, out) == (2, "")
    assert err.startswith("HOST must be an address of this machine, and 203.0.113.9 is not")


@pytest.mark.no_database
def test_a_database_that_cannot_be_reached_ends_in_one_sentence_without_its_password(tmp_path: Path) -> None:
    port = free_port()
    status, out, err = ended(tmp_path, DATABASE_URL=f"postgres://anna:s3cret@127.0.0.1:{port}/board")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"DATABASE_URL: the database board at 127.0.0.1:{port} can't be used: ")
    assert "s3cret" not in err


@pytest.mark.no_database
def test_a_database_file_that_is_none_ends_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("Dear Anna, " * 99)
    status, out, err = ended(tmp_path, DATABASE_URL=f"sqlite:///{tmp_path}/letter")
    assert (status, out) == (2, "")
    assert err == f"DATABASE_URL: the database {tmp_path}/letter can't be used: file is not a database.\n"


@pytest.mark.no_database
def test_redis_that_cannot_be_reached_ends_in_one_sentence_without_its_password(tmp_path: Path) -> None:
    port = free_port()
    status, out, err = ended(tmp_path, REDIS_URL=f"redis://:s3cret@127.0.0.1:{port}/0")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"REDIS_URL: the Redis server at 127.0.0.1:{port} can't be used: ")
    assert "s3cret" not in err


def test_keys_that_do_not_open_what_is_stored_end_in_one_sentence(tmp_path: Path, database: dict[str, str]) -> None:
    with served(tmp_path, **database):
        pass
    (tmp_path / "data" / "encryption.keys").write_text(Fernet.generate_key().decode())
    status, out, err = ended(tmp_path, **database)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "put that key back into encryption.keys" in err
