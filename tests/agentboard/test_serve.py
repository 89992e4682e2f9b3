"""`manage.py serve`, as a process of its own on either database."""

import resource
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tests.doors.board import empty_database
from tests.serving import PROJECT, READY, STOP_SECONDS, Served, free_port, served

FIRST_ACCOUNT = "First account (an operator): "


@pytest.fixture(scope="module")
def database() -> Iterator[dict[str, str]]:
    """The variables of an empty database of the kind this run is about."""
    with empty_database() as variables:
        yield variables


@dataclass(frozen=True)
class Begun:
    """A folder and a database that were empty, and what their first server showed of itself before it was stopped."""

    folder: Path
    variables: dict[str, str]
    url: str
    out: str
    err: str
    health: tuple[bytes, bytes]
    offered: bytes  # the page of the first account
    modes: tuple[int, set[int]]  # of the data folder, and of all in it


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory, database: dict[str, str]) -> Begun:
    """What the tests that follow start again and again."""
    folder = tmp_path_factory.mktemp("begun")
    with served(folder, **database) as server:
        out = server.out
        health = answer(f"{server.url}/healthz"), answer(f"{server.url}/readyz")
        offered = answer(out.splitlines()[0].removeprefix(FIRST_ACCOUNT))
        kept = folder / "data"
        modes = stat.S_IMODE(kept.stat().st_mode), {stat.S_IMODE(path.stat().st_mode) for path in kept.iterdir()}
    return Begun(folder, database, server.url, out, server.err, health, offered, modes)


def ended(folder: Path, **variables: str) -> tuple[int, str, str]:
    """The exit status, output and error output of a server that doesn't get ready."""
    server = Served(folder, **variables)
    return server.process.wait(STOP_SECONDS), server.out, server.err


def answer(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as response:  # seconds
        body: bytes = response.read()
    return body


def test_an_empty_folder_becomes_a_server_that_names_the_first_account_and_then_says_once_that_it_is_ready(
    begun: Begun,
) -> None:
    first, ready = begun.out.splitlines()
    assert first.startswith(f"{FIRST_ACCOUNT}{begun.url}/account/start/")
    assert ready == f"{READY}{begun.url}"
    assert begun.health == (b'{"status":"ok"}',) * 2
    assert b"first account" in begun.offered
    assert begun.err == ""


def test_the_data_folder_is_its_owners_alone(begun: Begun) -> None:
    assert begun.modes == (0o700, {0o600})


def cpu_seconds() -> float:
    """Of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_further_start_and_its_end_take_less_than_three_seconds_of_a_cpu(begun: Begun) -> None:
    """Of the clock, it is .ci/run that looks at it, where nothing else runs."""
    before = cpu_seconds()
    with served(begun.folder, **begun.variables):
        pass
    assert cpu_seconds() - before < 3


def test_once_an_operator_can_sign_in_no_first_account_is_offered(begun: Begun) -> None:
    variables = {"DJANGO_SUPERUSER_USERNAME": "anna", "DJANGO_SUPERUSER_PASSWORD": "long enough"}
    subprocess.run(
        [sys.executable, "manage.py", "createsuperuser", "--noinput", "--email", "anna@example.org"],
        cwd=PROJECT,
        env={"AGENTBOARD_DATA": str(begun.folder / "data"), **begun.variables, **variables},
        check=True,
        capture_output=True,
    )
    with served(begun.folder, **begun.variables) as server:
        assert server.out == f"{READY}{server.url}\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_signal_stops_it_with_status_0_and_without_a_word(begun: Begun, workers: str, number: int) -> None:
    with served(begun.folder, WORKERS=workers, **begun.variables) as server:
        assert server.out.count(READY) == 1
        assert server.stop(number) == 0
    assert server.err == ""


def test_servers_that_start_at_once_on_an_empty_database_all_get_ready(tmp_path: Path) -> None:
    with empty_database() as variables:
        servers = [Served(tmp_path, **variables) for _ in range(3)]
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


def test_keys_that_do_not_open_what_is_stored_end_in_one_sentence(begun: Begun) -> None:
    file = begun.folder / "data" / "encryption.keys"
    right = file.read_bytes()
    file.write_text(Fernet.generate_key().decode())
    status, out, err = ended(begun.folder, **begun.variables)
    file.write_bytes(right)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "put that key back into encryption.keys" in err
