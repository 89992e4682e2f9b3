"""The newer release's scenarios for authorization servers: a client that a person lets in, up to its token."""

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

from tests.conformance.suites import NEWER, SECONDS, VERSIONS, Scenario, ended, program
from tests.mcp_bridge.person import somebody
from tests.node import Node
from tests.serving import Served, free_port

NAMES = {"authorization-server-metadata-endpoint", "authorization-code-grant"}
LINK = "/oauth/authorize?"


def authorization(node: Node, server: Served, folder: Path) -> Iterator[tuple[str, str, list[Scenario]]]:
    """Run the scenarios against the server, whose data lie beside `folder`."""
    port = free_port()  # where the suite waits for the person's browser
    command = [
        *(*program(node, NEWER), "authorization", "--url", server.url, "--resource", f"{server.url}/mcp"),
        *("--client-id", _registered(server, port), "--port", str(port), "--output-dir", str(folder)),
    ]
    person, _ = somebody(server, folder.parent)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as running:
        limit = threading.Timer(SECONDS, running.kill)
        limit.start()
        try:
            assert running.stdout is not None
            for line in running.stdout:
                if LINK in line:
                    person.allow(line.strip())
        finally:
            limit.cancel()
            running.kill()
    yield VERSIONS[NEWER], "authorization server", ended(folder, NAMES)


def _registered(server: Served, port: int) -> str:
    """The client id of a client whose person comes back to this port."""
    about = {"client_name": "Conformance", "redirect_uris": [f"http://127.0.0.1:{port}/callback"]}
    body = json.dumps({**about, "token_endpoint_auth_method": "none"}).encode()
    asked = Request(f"{server.url}/oauth/register", body, {"Content-Type": "application/json"})
    with build_opener(ProxyHandler({})).open(asked, timeout=SECONDS) as response:
        return str(json.load(response)["client_id"])
