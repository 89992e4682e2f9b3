"""Running one client to its end, with a key or with a person who lets it in."""

import json
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mcp_bridge.clients.installs import Programs
from tests.mcp_bridge.person import Person

SECONDS = 60  # far more than any client takes, on a machine that does much else
PROGRAMS = Path(__file__).parent / "programs"
_LINK = re.compile(r"http://\S+/oauth/authorize\?\S+")

Told = dict[str, Any]


@dataclass(frozen=True)
class Client:
    """A client program: `command` is what runs it, and `speaks` the revision of the protocol that it settles on."""

    name: str
    command: Callable[[Programs], Sequence[str | Path]]
    arguments: tuple[str, ...] = ()
    speaks: str = "2025-11-25"

    def run(self, programs: Programs, url: str, note: str, way: str | Person) -> Told:
        """What the client says of its story with the note `note`. `way` is the key that it shows, or who lets it in."""
        shown = {"AGENT_KEY": way} if isinstance(way, str) else {}
        with tempfile.TemporaryDirectory() as home:
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": home,  # so that no two runs share tokens, and none opens a real browser
                "BROWSER": "true",
                "NODE": str(programs.node.program),
                "NODE_PATH": str(programs.node.modules),
                "MCP_REMOTE_CONFIG_DIR": home,
                **shown,
            }
            command = [*self.command(programs), url, note, *self.arguments]
            told: Told = json.loads(output(command, environment, way if isinstance(way, Person) else None))
            return told


def output(command: Sequence[str | Path], environment: Mapping[str, str], person: Person | None = None) -> str:
    """What the program printed. A link to the consent page among its words on standard error is given to the person."""
    said: list[str] = []
    with (
        tempfile.TemporaryFile("w+") as out,
        subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True
        ) as running,
        killed(running),
    ):
        assert running.stderr is not None
        for line in running.stderr:
            said.append(line)
            link = _LINK.search(line)
            if person is not None and link is not None:
                person.allow(link[0])
        status = running.wait()
        out.seek(0)
        assert status == 0, f"{command} ended with {status}: {''.join(said)}"
        return out.read()


@contextmanager
def killed(running: subprocess.Popen[str]) -> Iterator[None]:
    """End the program when this is left, and when its time is over."""
    limit = threading.Timer(SECONDS, running.kill)
    limit.start()
    try:
        yield
    finally:
        limit.cancel()
        running.kill()


def python(kind: str, program: str) -> Callable[[Programs], Sequence[str | Path]]:
    """A program of ours on one of the clients' Pythons."""
    return lambda programs: [programs.current if kind == "current" else programs.former, PROGRAMS / program]


def javascript(program: str) -> Callable[[Programs], Sequence[str | Path]]:
    """A program of ours on Node."""
    return lambda programs: [programs.node.program, PROGRAMS / program]
