"""Many clients that listen for changes at one worker: what they cost while nothing happens, and that all are told."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from tests.calls import Object
from tests.doors.board import UNLIMITED, Board, empty_database, peopled
from tests.serving import Served

LISTENERS = 200
THREADS = 4
MEMORY_MAX = 100 * 1024  # KiB, for all of them
SECONDS = 30
URI = "agentboard://memory/watched"
MODERN = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}


class Listener:
    """A `subscriptions/listen` that was acknowledged."""

    def __init__(self, board: Board) -> None:
        self._connection = HTTPConnection("127.0.0.1", board.port, timeout=SECONDS)
        self._connection.request("POST", "/mcp", json.dumps(_listen()), {**board.bearer("atlas"), **HEADERS})
        self._stream: HTTPResponse = self._connection.getresponse()
        assert self._stream.status == 200, self._stream.read()
        assert self.told()["method"] == "notifications/subscriptions/acknowledged"

    def told(self) -> Object:
        """The next notification."""
        while True:
            line = self._stream.readline()
            assert line, "the stream has ended"
            if line.startswith(b"data: "):
                message: Object = json.loads(line.removeprefix(b"data: "))
                return message

    def hang_up(self) -> None:
        self._stream.close()
        self._connection.close()


HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": MODERN,
    "Mcp-Method": "subscriptions/listen",
}


def _listen() -> Object:
    wishes = {"resourceSubscriptions": [URI]}
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "subscriptions/listen",
        "params": {"_meta": META, "notifications": wishes},
    }


def measured(server: Served, name: str) -> int:
    """A number that Linux tells of the server's process: VmRSS in KiB, or Threads."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


@pytest.fixture(scope="module")
def quiet_board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """A board at which nobody else calls."""
    with empty_database() as variables:
        folder = tmp_path_factory.mktemp("listeners")
        with peopled(folder, **UNLIMITED, **variables, AGENTBOARD_THREADS=str(THREADS)) as board:
            yield board


@pytest.fixture
def listening(quiet_board: Board) -> Iterator[tuple[list[Listener], int, int]]:
    """All of them, with the KiB and the threads that they have taken."""
    server = quiet_board.server
    quiet_board.save("watched")
    with ExitStack() as stack:

        def listen() -> Listener:
            listener = Listener(quiet_board)
            stack.callback(listener.hang_up)
            return listener

        listen()  # loads what the first of them needs
        memory, threads = measured(server, "VmRSS"), measured(server, "Threads")
        listeners = [listen() for _ in range(LISTENERS)]
        yield listeners, measured(server, "VmRSS") - memory, measured(server, "Threads") - threads


def test_idle_listeners_cost_little_memory_and_no_thread_each_and_all_hear_of_a_change(
    quiet_board: Board, listening: tuple[list[Listener], int, int]
) -> None:
    listeners, memory, threads = listening
    assert memory < MEMORY_MAX
    assert threads <= THREADS
    assert quiet_board.save("watched", expected_version=1).status == 200
    for listener in listeners:
        told = listener.told()
        assert (told["method"], told["params"]["uri"]) == ("notifications/resources/updated", URI)
