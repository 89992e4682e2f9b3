"""A person who lets clients in: signs in, and allows what their consent page asks."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from tests.doors.board import UNLIMITED
from tests.mcp_bridge.oauth.flow import Browser, over_socket, sign_in
from tests.serving import PROJECT, Served, wait_for

SECONDS = 30


class Person:
    """Somebody with an account at a server. `allow` may be called from several threads."""

    def __init__(self, url: str, username: str, password: str) -> None:
        self._web, self._username, self._password = over_socket(url), username, password
        self._browser: Browser | None = None
        self._lock = threading.Lock()

    def allow(self, url: str) -> None:
        """Follow the link that a client shows, and press Allow on the consent page as it is.

        The browser ends where the client waits for it.
        """
        with self._lock:
            self._browser = self._browser or sign_in(self._web, self._username, self._password)
            answer = self._browser.consent(url.removeprefix(self._web.url))
        assert urlsplit(answer.location).netloc, (answer.status, answer.text)
        wait_for(lambda: _opens(answer.location), SECONDS)  # some clients show their link before they listen


def _opens(url: str) -> bool:
    """Whether something listens there, which then has been sent the request."""
    try:
        build_opener(ProxyHandler({})).open(url, timeout=SECONDS).close()
    except HTTPError:
        raise
    except URLError:
        return False
    return True


def somebody(server: Served, folder: Path) -> tuple[Person, str]:
    """A new person of a server whose data folder lies in `folder`, and a key of their agent."""
    made = subprocess.run(
        [sys.executable, "-m", "tests.mcp_bridge.people"],
        cwd=PROJECT,
        env={"AGENTBOARD_DATA": str(folder / "data"), "PORT": str(server.port), **UNLIMITED},
        check=True,
        stdout=subprocess.PIPE,
    )
    told = json.loads(made.stdout)
    return Person(server.url, told["username"], told["password"]), told["key"]
