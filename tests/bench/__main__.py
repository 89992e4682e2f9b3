"""`make bench`: measures the product beside its limit; the exit status is 1 where a target is missed."""

import argparse
import json
import os
import sys
from itertools import product
from pathlib import Path

from tests.bench import cpus
from tests.bench.cells import CLIENTS, DATABASES, DOORS, WORKS, Cell, Database
from tests.bench.rounds import Bench, loading
from tests.bench.servers import both
from tests.bench.stores import filled, why_not
from tests.bench.table import Report


def main(arguments: list[str]) -> int:
    """Measure what was asked for and print it."""
    asked = parser().parse_args(arguments)
    report = Report()
    for database in asked.database or DATABASES:
        if reason := why_not(database):
            report.left_out[database] = reason
        else:
            measure(database, asked, report)
    print(report.text(), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(report.as_json(), indent=1))
    return 1 if report.missed or (report.left_out and os.environ.get("CI") == "true") else 0


def parser() -> argparse.ArgumentParser:
    """What can be asked for."""
    found = argparse.ArgumentParser(prog="make bench ARGS=…", description=__doc__)
    found.add_argument("--only", choices=WORKS, action="append", help="this work alone")
    found.add_argument("--door", choices=DOORS, action="append", help="this door alone")
    found.add_argument("--database", choices=DATABASES, action="append", help="this database alone")
    found.add_argument("--clients", type=int, action="append", help="so many clients alone")
    found.add_argument("--rounds", type=int, default=5, help="of each cell and side")
    found.add_argument("--seconds", type=float, default=2.0, help="a round")
    found.add_argument("--json", type=Path, metavar="FILE", help="write every round there")
    return found


def measure(database: Database, asked: argparse.Namespace, report: Report) -> None:
    """Measure all cells of one database into the report."""
    server_cpu, load_cpu = cpus.places()
    with filled(database) as store, both(store, server_cpu) as servers, loading(store.keys, load_cpu) as orders:
        bench = Bench(store, servers, orders)
        for work, door, clients in product(asked.only or WORKS, asked.door or DOORS, asked.clients or CLIENTS):
            print(f"measuring {work} over {door} on {database}, {clients} clients", file=sys.stderr, flush=True)
            report.lines.append(bench.line(Cell(work, door, database, clients), asked.rounds, asked.seconds))
        mib = cpus.anonymous_mib(servers["product"].pid)
        if mib is not None:
            report.memory[database] = mib


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
