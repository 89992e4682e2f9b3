"""This process's application on a port of its own, so that a test can change its seconds and see what it holds."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection

import uvicorn

from tests.calls import Data, Object
from tests.mcp_bridge.speaking import PREFIX, Client
from tests.serving import wait_for

SECONDS = 30  # far more than anything takes, on a machine that does much else


@dataclass(frozen=True)
class Here:
    """The server and its port."""

    port: int
    _server: uvicorn.Server

    def idle(self) -> None:
        """Come back when nothing that was asked is being worked on any more."""
        wait_for(lambda: not self._server.server_state.tasks, SECONDS)


@contextmanager
def here() -> Iterator[Here]:
    """A server that is ready. Who asks it something waits until it is idle, as long as there is a database for it."""
    from agentboard.asgi import application  # sets Django up, so after conftest.py has

    config = uvicorn.Config(
        application,
        http="httptools",
        ws="none",
        lifespan="off",  # the tests' process has begun long ago
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        wait_for(lambda: server.started, SECONDS)
        yield Here(int(listening.getsockname()[1]), server)
        server.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()


class Stream:
    """A request whose answer is a stream of events, which are read one by one as they come."""

    def __init__(self, port: int, client: Client, method: str, params: Data, id: str | int = 1) -> None:
        message, headers = client.message(method, params, id=id)
        self._connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        sent = {**headers, "authorization": f"Bearer {client.key}"}
        self._connection.request("POST", "/mcp", json.dumps(message), sent)
        self._answer = self._connection.getresponse()
        self.status, self.headers = self._answer.status, {n.lower(): v for n, v in self._answer.getheaders()}

    def event(self) -> str:
        """The next event or comment, or "" at the end."""
        lines: list[bytes] = []
        while line := self._answer.readline():
            if line == b"\r\n":
                return b"".join(lines).decode()
            lines.append(line)
        assert not lines
        return ""

    def message(self) -> Object:
        """The next message, past signs of life."""
        while (event := self.event()).startswith(":"):
            pass
        kind, data = event.splitlines()
        assert kind == "event: message"
        found: Object = json.loads(data.removeprefix("data: "))
        return found

    def ended(self) -> bool:
        """Whether nothing more comes."""
        while (event := self.event()).startswith(":"):
            pass
        return event == ""

    def rest(self) -> bytes:
        """All of an answer that is no stream."""
        return self._answer.read()

    def hang_up(self) -> None:
        self._answer.close()
        self._connection.close()


class Listening(Stream):
    """A listener that was acknowledged."""

    def __init__(self, port: int, key: str, *uris: str, id: str | int = 1, **wishes: object) -> None:
        wanted = {**({"resourceSubscriptions": list(uris)} if uris else {}), **wishes}
        client = Client(key, modern=True)
        super().__init__(port, client, "subscriptions/listen", {"notifications": wanted}, id)
        self._id = id
        assert self.status == 200, self.rest()
        first = self._told()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        self.honoured: Object = first["params"]["notifications"]

    def _told(self) -> Object:
        message = self.message()
        assert message.keys() == {"jsonrpc", "method", "params"}, message
        assert message["params"]["_meta"] == {f"{PREFIX}subscriptionId": self._id}
        return message

    def told(self) -> str:
        """What the next notification is about: the URI of what was updated, or the method of any other."""
        message = self._told()
        if message["method"] != "notifications/resources/updated":
            return str(message["method"])
        return str(message["params"]["uri"])
