"""The rounds: each cell measured several times, product and limit in turn, and what their medians say."""

import multiprocessing
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from tests.bench import cpus, load
from tests.bench.cells import SIDES, Cell, Side
from tests.bench.load import Order, Sample
from tests.bench.servers import Server
from tests.bench.stores import Store


@dataclass(frozen=True)
class Measured:
    """One round of one side. CPU times are microseconds a request.

    `load` is how busy the load kept its CPU, `others` how many CPUs were busy with neither load, server nor backends.
    """

    throughput: float
    p50: float
    p99: float
    cpu: float
    database_cpu: float
    load: float
    others: float


@dataclass(frozen=True)
class Line:
    """A cell with the rounds of both sides, in the order they were measured."""

    cell: Cell
    rounds: dict[Side, list[Measured]]

    def median(self, side: Side, what: str) -> float:
        """The median of a field of Measured over a side's rounds."""
        return statistics.median(_field(measured, what) for measured in self.rounds[side])

    def share(self, what: str) -> float:
        """The product's part of the limit's: the median over the rounds, each comparing two neighbours in time."""
        pairs = zip(self.rounds["product"], self.rounds["limit"], strict=True)
        return statistics.median(_field(product, what) / (_field(limit, what) or 1) for product, limit in pairs)

    @property
    def missed(self) -> bool:
        """Whether there is a target and the product is below it."""
        return self.cell.target is not None and self.share("throughput") < self.cell.target


def _field(measured: Measured, what: str) -> float:
    return float(getattr(measured, what))


class Bench:
    """Servers of both sides on one database, and the load."""

    def __init__(self, store: Store, servers: dict[Side, Server], orders: Connection) -> None:
        self._store, self._servers, self._orders = store, servers, orders

    def line(self, cell: Cell, rounds: int, seconds: float) -> Line:
        """Measure a cell; every other round begins with the limit."""
        found: dict[Side, list[Measured]] = {side: [] for side in SIDES}
        for number in range(rounds):
            for side in SIDES if number % 2 == 0 else reversed(SIDES):
                found[side].append(self._round(cell, side, seconds))
        return Line(cell, found)

    def _round(self, cell: Cell, side: Side, seconds: float) -> Measured:
        server, backends = self._servers[side], self._store.backends()
        all_before, before, database_before = cpus.busy(), cpus.used([server.pid]), cpus.used(backends)
        self._orders.send(Order(side, server.port, cell.work, cell.door, cell.clients, seconds))
        sample: Sample = self._orders.recv()
        cpu = cpus.used([server.pid]) - before
        database_cpu = cpus.used(self._store.backends()) - database_before
        others = cpus.busy() - all_before - cpu - database_cpu - sample.cpu_seconds
        return _measured(sample, cpu, database_cpu, others)


def _measured(sample: Sample, cpu: float, database_cpu: float, others: float) -> Measured:
    whole = sample.seconds + load.WARM_SECONDS
    return Measured(
        throughput=sample.counted / sample.seconds,
        p50=sample.p50,
        p99=sample.p99,
        cpu=cpu / sample.answered * 1e6,
        database_cpu=database_cpu / sample.answered * 1e6,
        load=sample.cpu_seconds / whole,
        others=others / whole,
    )


@contextmanager
def loading(keys: list[str], cpu: int | None) -> Iterator[Connection]:
    """A process that makes the load on `cpu`; orders go in, samples come out. Raises EOFError where a load failed."""
    processes = multiprocessing.get_context("spawn")
    ours, theirs = processes.Pipe()
    process = processes.Process(target=load.serve, args=(theirs, keys, cpu), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join(10)  # seconds
