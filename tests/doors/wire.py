"""HTTP/1.1 by hand: bytes into a socket and the answers out of it, for what no client library would send."""

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SECONDS = 30  # far more than any answer takes, on a machine that does much else
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Reply:
    """One answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def refused(self, status: int, code: str) -> dict[str, Any]:
        """The error object, after everything that holds for every refusal was checked."""
        assert self.status == status, (self.status, self.body[:500])
        self.is_ours()
        assert self.json.keys() == {"error"}
        error: dict[str, Any] = self.json["error"]
        assert error["code"] == code
        assert error["help"] == f"/docs/errors#{code}"
        assert all(isinstance(error[name], str) and error[name].strip() for name in ("message", "next_action"))
        assert ("retry_after_seconds" in error) == ("retry-after" in self.headers) == (status in (429, 503))
        assert (code == "invalid_arguments") <= all(
            problem.keys() == {"path", "message"} for problem in error.get("details", [])
        )
        return error

    def is_ours(self) -> None:
        """The headers that every answer of the REST door carries."""
        assert self.headers["content-type"] == "application/json"
        assert self.headers["cache-control"] == "no-store"
        assert self.headers["x-content-type-options"] == "nosniff"
        assert self.headers["x-request-id"]
        assert "server" not in self.headers
        assert "set-cookie" not in self.headers


def request(verb: str, path: str | bytes, headers: Mapping[str, str], body: bytes | None = None) -> bytes:
    """One request. Content-Length is counted unless `headers` say how the body comes; the path goes as it is."""
    given = {name.lower() for name in headers}
    lines = [f"{verb} ".encode() + (path if isinstance(path, bytes) else path.encode()) + b" HTTP/1.1"]
    if "host" not in given:
        lines.append(f"Host: {HOST}".encode())
    if body is not None and not given & {"content-length", "transfer-encoding"}:
        lines.append(b"Content-Length: %d" % len(body))
    lines += [f"{name}: {value}".encode("latin-1") for name, value in headers.items()]
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")


class Connection:
    """One TCP connection to a server."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), SECONDS)
        self._stream = self._socket.makefile("rb")

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._socket.close()

    def send(self, sent: bytes) -> None:
        self._socket.sendall(sent)

    def finish_sending(self) -> None:
        """Say that no more comes; the other direction stays open."""
        self._socket.shutdown(socket.SHUT_WR)

    def reply(self, verb: str = "GET") -> Reply:
        """The next answer; `verb` is the request's, since an answer to HEAD has no body."""
        status = int(self._stream.readline().split(b" ", 2)[1])
        headers = {}
        while line := self._stream.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            assert name.lower() not in headers, f"{name} twice"
            headers[name.lower()] = value.strip()
        length = 0 if verb == "HEAD" else int(headers["content-length"])
        return Reply(status, headers, self._stream.read(length))

    def interim(self) -> bytes:
        """The status line of an interim answer, such as 100 Continue."""
        line = self._stream.readline()
        assert self._stream.readline() == b"\r\n"
        return line

    def rest(self) -> bytes:
        """All that still comes until the server closes the connection."""
        return self._stream.read()


def ask(port: int, verb: str, path: str | bytes, headers: Mapping[str, str], body: bytes | None = None) -> Reply:
    """One request on a connection of its own."""
    with Connection(port) as connection:
        connection.send(request(verb, path, headers, body))
        return connection.reply(verb)
