"""The load: a process of its own that speaks HTTP/1.1 over lasting connections and checks every answer.

A client sends its next request when the last one is answered. What it reads and writes are the notes of its own agents.
"""

import asyncio
import gc
import itertools
import json
import re
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Protocol

import orjson
import uvloop

from tests.bench import cpus, stock
from tests.bench.cells import SIDES, Door, Side, Work

WARM_SECONDS = 0.3  # before anything counts
STUCK_SECONDS = 30  # after the time is over, an answer will not come any more
CREATED = 10  # one save in so many makes a new note
BODIES = 16
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_OPERATIONS = itertools.count(1)


@dataclass(frozen=True)
class Order:
    """What to do for so many seconds."""

    side: Side
    port: int
    work: Work
    door: Door
    clients: int
    seconds: float


@dataclass(frozen=True)
class Sample:
    """What came of it. `answered` counts all, `counted` those after warming up; latencies are in milliseconds."""

    answered: int
    counted: int
    seconds: float
    p50: float
    p99: float
    cpu_seconds: float  # of the load itself


@dataclass
class Note:
    """A stored note and the version it is at; `key` is whose it is."""

    key: str
    name: str
    version: int = 1


def http(verb: str, path: str, key: str, body: bytes = b"") -> bytes:
    """The bytes of a request."""
    head = (
        f"{verb} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nAccept: */*\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Form(Protocol):
    """How work goes through a door."""

    def request(self, note: Note, save: bytes | None) -> bytes:
        """A save of these arguments, or a read."""
        ...

    def answer(self, content: bytes) -> Any:
        """The method's answer in what came back."""
        ...


class OverRest:
    """REST, and the limit program."""

    def request(self, note: Note, save: bytes | None) -> bytes:
        """The arguments are the body."""
        return http("GET" if save is None else "POST", f"/v1/memory/{note.name}", note.key, save or b"")

    def answer(self, content: bytes) -> Any:
        """The answer is the body."""
        return orjson.loads(content)


class OverMcp:
    """A call of a tool, as clients of the older revisions send it."""

    def request(self, note: Note, save: bytes | None) -> bytes:
        """The arguments are in the call."""
        name, given = ("get_memory", b"") if save is None else ("save_memory", b',"data":' + save)
        call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%b","arguments":{"id":"%b"%b}}}'
        return http("POST", "/mcp", note.key, call % (name.encode(), note.name.encode(), given))

    def answer(self, content: bytes) -> Any:
        """The answer is the structured content."""
        return orjson.loads(content)["result"]["structuredContent"]


FORMS: dict[Door, Form] = {"rest": OverRest(), "mcp": OverMcp()}


class Script(Protocol):
    """What one client does."""

    def request(self) -> bytes:
        """The next request."""
        ...

    def check(self, status: int, content: bytes) -> None:
        """Raise AssertionError for an answer that isn't right."""
        ...


class Gets:
    """Reads notes in turn."""

    def __init__(self, notes: list[Note], form: Form) -> None:
        self._turn, self._form = itertools.cycle(notes), form
        self._note = notes[0]

    def request(self) -> bytes:
        """The next read."""
        self._note = next(self._turn)
        return self._form.request(self._note, None)

    def check(self, status: int, content: bytes) -> None:
        """The version as last written, and the whole body."""
        note = self._form.answer(content)
        right = status == 200 and note["version"] == self._note.version and len(note["body"]) == stock.BODY_BYTES
        assert right, (status, content, self._note)


class Saves:
    """Saves notes in turn, each with the version it is at; every tenth save makes a new note."""

    bodies = [json.dumps(stock.text(seed)).encode() for seed in range(BODIES)]

    def __init__(self, notes: list[Note], form: Form) -> None:
        self._turn, self._texts, self._form = itertools.cycle(notes), itertools.cycle(self.bodies), form
        self._note = notes[0]

    def request(self) -> bytes:
        """The next save."""
        number = next(_OPERATIONS)
        self._note = next(self._turn)
        if number % CREATED == 0:
            self._note = Note(self._note.key, f"new-{number}", 0)
        body = b'{"body":%b,"expected_version":%d,"operation_key":"save-%d"}'
        return self._form.request(self._note, body % (next(self._texts), self._note.version, number))

    def check(self, status: int, content: bytes) -> None:
        """The next version."""
        wanted = self._note.version + 1
        right = status in (200, 201) and self._form.answer(content)["version"] == wanted
        assert right, (status, content, self._note)
        self._note.version = wanted


@dataclass
class Clock:
    """When counting begins and when the work ends, by time.perf_counter, and what was counted."""

    begin: float
    end: float
    answered: int = 0
    latencies: list[float] = field(default_factory=list)

    def note(self, sent: float, now: float) -> None:
        """One answer."""
        self.answered += 1
        if sent >= self.begin and now <= self.end:
            self.latencies.append(now - sent)


class Client(asyncio.Protocol):
    """One connection, which has one request at a time on its way."""

    def __init__(self, script: Script, clock: Clock) -> None:
        self._script, self._clock = script, clock
        self._received, self._sent = b"", 0.0
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def work(self, port: int) -> None:
        """Connect and work until the time is over. Raises what goes wrong."""
        await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", port)
        await self._done

    def connection_made(self, transport: Any) -> None:
        """Send the first request."""
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """Check the answer when it is whole, and send the next request."""
        self._received += data
        end = self._received.find(b"\r\n\r\n") + 4
        length = _LENGTH.search(self._received, 0, end)
        if end < 4 or length is None or len(self._received) < end + int(length[1]):
            return
        now = time.perf_counter()
        self._clock.note(self._sent, now)
        answer, self._received = self._received, b""
        try:
            self._script.check(int(answer[9:12]), answer[end:])
        except Exception as error:
            self._settle(error)
        else:
            self._send() if now < self._clock.end else self._settle(None)

    def connection_lost(self, error: Exception | None) -> None:
        """Nobody hangs up but this client, when it is done."""
        self._settle(error or ConnectionError("the server hung up"))

    def _send(self) -> None:
        request = self._script.request()
        self._sent = time.perf_counter()
        self._transport.write(request)

    def _settle(self, error: Exception | None) -> None:
        if self._done.done():
            return
        if error is None:
            self._done.set_result(None)
        else:
            self._done.set_exception(error)
        self._transport.close()


class Load:
    """The notes of both sides, as far as they have been written, and the clients that go on from there."""

    def __init__(self, keys: list[str]) -> None:
        self._notes: dict[Side, list[list[Note]]] = {side: list(_stored(side, keys)) for side in SIDES}

    async def run(self, order: Order) -> Sample:
        """Do what is ordered."""
        start = time.perf_counter() + WARM_SECONDS
        clock = Clock(start, start + order.seconds)
        cpu = _cpu_seconds()
        clients = [Client(script, clock) for script in self._scripts(order)]
        async with asyncio.timeout(order.seconds + STUCK_SECONDS):
            await asyncio.gather(*(client.work(order.port) for client in clients))
        latencies = sorted(clock.latencies)
        p50, p99 = (latencies[int(len(latencies) * share)] * 1000 for share in (0.5, 0.99))
        return Sample(clock.answered, len(latencies), order.seconds, p50, p99, _cpu_seconds() - cpu)

    def _scripts(self, order: Order) -> Iterator[Script]:
        """A script for each client: agents are dealt out among them, so all notes are in use whatever their number."""
        agents, form = self._notes[order.side], FORMS["rest" if order.side == "limit" else order.door]
        for number in range(order.clients):
            notes = [note for agent in agents[number :: order.clients] for note in agent]
            yield Saves(notes, form) if order.work == "save" else Gets(notes, form)


def _stored(side: Side, keys: list[str]) -> Iterator[list[Note]]:
    for key in keys:
        yield [Note(key, stock.note_name(side, number)) for number in range(stock.NOTES_EACH)]


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def serve(orders: Connection, keys: list[str], cpu: int | None) -> None:
    """The process: one Sample for each Order, until the other end is closed."""
    with cpus.pinned(cpu):
        load = Load(keys)
        gc.freeze()
        gc.disable()  # its pauses would count as the server's
        while True:
            try:
                order: Order = orders.recv()
            except EOFError:
                return
            orders.send(uvloop.run(load.run(order)))
            gc.collect()
