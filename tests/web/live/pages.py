"""Open pages as tests use them: a socket with a person's session, and what comes over it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.calls import Agent, Rest, over_socket
from tests.serving import Served

SECONDS = 30  # far more than anything takes, on a machine that does much else
Told = tuple[str, str, int]


@dataclass(frozen=True)
class Reader:
    """A person who is signed in, with an agent."""

    pk: int
    sessions: tuple[str, str]
    agent_id: int
    handle: str
    key: str

    def agent(self, server: Served) -> Agent:
        """The agent at this server."""
        return Agent(Rest(over_socket(server.url)), self.key, self.handle, self.agent_id)

    @property
    def cookie(self) -> str:
        """The session of the first browser."""
        return f"sessionid={self.sessions[0]}"


class Page:
    """An open socket."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.at: str | None = None
        self.texts: list[str | bytes] = []  # all that came

    def send(self, message: Any) -> None:
        """A message: bytes and texts as they are, else as JSON."""
        self.connection.send(message if isinstance(message, (bytes, str)) else json.dumps(message))

    def heard(self, seconds: float = SECONDS) -> dict[str, Any]:
        """The next message. Raises TimeoutError or ConnectionClosed."""
        self.texts.append(self.connection.recv(seconds))
        found: dict[str, Any] = json.loads(self.texts[-1])
        self.at = found.get("at", self.at)
        return found

    def news(self, seconds: float = SECONDS) -> list[Told]:
        """The notices of the next message."""
        return [(each["topic"], each["id"], each["version"]) for each in self.heard(seconds)["news"]]

    def watch(self, *topics: str, since: str | None = None, **shown: int) -> list[Told]:
        """Say what the page shows; the notices of what it has missed."""
        wanted = dict.fromkeys(topics, 0) | {name.replace("__", ":"): version for name, version in shown.items()}
        self.send({"watch": wanted, **({"since": since} if since else {})})
        return self.news()

    def answers(self) -> bool:
        """Whether the next thing that comes is the answer to a sign of life."""
        self.send({"ping": 1})
        return self.heard() == {"pong": 1}

    def code(self, seconds: float = SECONDS) -> int | None:
        """What the socket is closed with, whatever comes before."""
        try:
            while True:
                self.heard(seconds)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None


@contextmanager
def opened(
    server: Served, reader: Reader | None = None, *, origin: str | None = None, session: int = 0, path: str = "/live"
) -> Iterator[Page]:
    """A socket that is open and has said nothing yet, with the reader's session."""
    cookies = {} if reader is None else {"Cookie": f"sessionid={reader.sessions[session]}"}
    headers = {"Origin": server.url if origin is None else origin, **cookies}
    address = f"ws://127.0.0.1:{server.port}{path}"
    with connect(address, additional_headers=headers, proxy=None, compression=None, open_timeout=SECONDS) as connection:
        yield Page(connection)


@contextmanager
def watching(server: Served, reader: Reader | None, *topics: str, session: int = 0) -> Iterator[Page]:
    """A page that shows these topics and has missed nothing."""
    with opened(server, reader, session=session) as page:
        assert page.watch(*topics) == []
        yield page


def got(server: Served, path: str, cookie: str = "", verb: str = "GET", body: str = "") -> tuple[int, str]:
    """Status and text of an answer to a page's request; a body is sent as a form."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    headers = {"Cookie": cookie} if cookie else {}
    if body:
        headers |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": server.url}
    connection.request(verb, path, body or None, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def polled(server: Served, reader: Reader | None, topics: Mapping[str, int], since: str = "") -> tuple[int, Any]:
    """Status and object of the same asked over HTTP."""
    asked = [("topic", f"{topic}={version}") for topic, version in topics.items()] + (
        [("since", since)] if since else []
    )
    status, text = got(server, f"/live?{urlencode(asked)}", reader.cookie if reader else "")
    return status, json.loads(text)
