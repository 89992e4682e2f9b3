"""The Inspector's command line: one request to the board a run."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.calls import Object
from tests.mcp_bridge.clients.installs import Programs
from tests.mcp_bridge.clients.running import SECONDS

TOOL_FAILED = 5  # its exit status for a result with isError


@dataclass(frozen=True)
class Inspected:
    """How a run ended."""

    status: int
    result: Object
    said: str


@dataclass(frozen=True)
class Inspector:
    """The Inspector with one key, speaking one era of the protocol: legacy or modern."""

    programs: Programs
    url: str
    key: str
    era: str

    def ask(self, method: str, *more: str) -> Inspected:
        """Send one request."""
        program = self.programs.node.modules / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        shown = ("--header", f"Authorization: Bearer {self.key}", "--protocol-era", self.era, "--format", "json")
        command: list[str | Path] = [
            self.programs.node.program,
            program,
            "--cli",
            self.url,
            *shown,
            "--method",
            method,
            *more,
        ]
        with tempfile.TemporaryDirectory() as home:
            environment = {"PATH": os.environ["PATH"], "HOME": home}
            ran = subprocess.run(
                command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
            )
        return Inspected(ran.returncode, json.loads(ran.stdout)["result"] if ran.stdout else {}, ran.stderr)

    def call(self, name: str, **arguments: object) -> Inspected:
        """Call a tool."""
        return self.ask("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))
