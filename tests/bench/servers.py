"""The two servers that are compared, each a process of its own on one CPU: the product as it is run, and the limit."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection

from tests.bench import cpus
from tests.bench.cells import Side
from tests.bench.stores import Store
from tests.serving import PROJECT, START_SECONDS, STOP_SECONDS, free_port, served, wait_for

SHOWN = 3_000  # characters of a server's log, when the load fails
UNLIMITED = {  # the rate is not what is measured
    "WORKERS": "1",
    "AGENTBOARD_CALLS_PER_MINUTE": "10000000",
    "AGENTBOARD_CALLS_BURST": "1000000",
}


@dataclass(frozen=True)
class Server:
    """A server that answers on `port` of this machine."""

    pid: int
    port: int


@contextmanager
def both(store: Store, cpu: int | None) -> Iterator[dict[Side, Server]]:
    """The product and its limit on one database, both on `cpu`, stopped at the end."""
    with ExitStack() as stack:
        with cpus.pinned(cpu):
            limit = stack.enter_context(_limit(store))
            product = stack.enter_context(_product(store))
        try:
            yield {"product": product, "limit": limit}
        except BaseException:
            for log in store.folder.glob("*.err"):  # gone with the folder in a moment
                print(f"{log.name} ends:\n{log.read_text()[-SHOWN:]}", file=sys.stderr)
            raise


@contextmanager
def _product(store: Store) -> Iterator[Server]:
    with served(store.folder, DATABASE_URL=store.url, **UNLIMITED) as server:
        yield Server(server.process.pid, server.port)


@contextmanager
def _limit(store: Store) -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, "-m", "tests.bench.limit", store.url, str(port)]
    environment = {"FIELD_ENCRYPTION_KEY": store.encryption_key}
    with (store.folder / "limit.err").open("w") as errors:
        process = subprocess.Popen(command, cwd=PROJECT, env=environment, stderr=errors)
    try:
        wait_for(lambda: process.poll() is not None or _listens(port), START_SECONDS)
        assert process.poll() is None, (store.folder / "limit.err").read_text()
        yield Server(process.pid, port)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def _listens(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=1)  # second
    try:
        connection.connect()
    except OSError:
        return False
    finally:
        connection.close()
    return True
