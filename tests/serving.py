"""A real server for tests: `manage.py serve` in a process of its own, on a free port, with its own data folder."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle, islice
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
START_SECONDS = 60  # far more than it takes, on a machine that does much else
STOP_SECONDS = 30
READY = "AgentBoard ready at "
PORTS, PORTS_EACH = range(10_000, 32_000), 100
_ports = cycle(PORTS[os.getpid() * PORTS_EACH % len(PORTS) :][:PORTS_EACH])


class Served:
    """One server process and what it has written so far."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.port = int(variables.setdefault("PORT", str(free_port())))
        self.url = f"http://127.0.0.1:{self.port}"
        self._out, self._err = folder / f"{self.port}.out", folder / f"{self.port}.err"
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=PROJECT,
                env={"AGENTBOARD_DATA": str(folder / "data"), **variables},
                stdout=out,
                stderr=err,
            )

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def ready(self) -> None:
        """Wait until it says that it is ready."""
        wait_for(lambda: READY in self.out or self.process.poll() is not None, START_SECONDS)
        assert READY in self.out, f"ended with {self.process.returncode}: {self.err}"

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send it a signal and wait; the exit status."""
        self.process.send_signal(number)
        return self.process.wait(STOP_SECONDS)


@contextmanager
def served(folder: Path, **variables: str) -> Iterator[Served]:
    """A server that is ready, stopped at the end; `variables` are its whole environment beside AGENTBOARD_DATA."""
    server = Served(folder, **variables)
    try:
        server.ready()
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()


def free_port() -> int:
    """A port of this machine that nothing listens on, and that nothing else will ask for meanwhile.

    It lies below those that the system gives to whoever asks for any, in a hundred that are this process's own: runs
    of the tests side by side have neighbouring process ids. Raises LookupError where all of them are taken.
    """
    for port in islice(_ports, PORTS_EACH):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise LookupError("no port is free")


def wait_for(holds: Callable[[], bool], seconds: float) -> None:
    """Come back as soon as `holds` does. Raises TimeoutError after so many seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"still not after {seconds} seconds")
        time.sleep(0.02)
