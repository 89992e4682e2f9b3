"""A TCP proxy that a test can cut: what a network or a restarting database does to a server."""

import socket
import threading
from contextlib import suppress

from tests.serving import free_port


class Proxy:
    """Passes bytes from a port of this machine to `target` and back, while it is open."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.port, self._target = free_port(), target
        self._listener: socket.socket | None = None
        self._sockets: list[socket.socket] = []
        self.open()

    def open(self) -> None:
        """Take connections, on the same port each time."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """End every connection there is; new ones are taken."""
        while self._sockets:
            with suppress(OSError):  # its other side may have closed it
                self._sockets.pop().shutdown(socket.SHUT_RDWR)

    def ended(self) -> bool:
        """Whether every connection that there was has ended, and its other side has been told."""
        return all(each.fileno() == -1 for each in self._sockets)

    def close(self) -> None:
        """End every connection and refuse new ones."""
        assert self._listener is not None
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        self.cut()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._target)
            self._sockets += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=_pass, args=pair, daemon=True).start()


def _pass(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError), source:
        while received := source.recv(65_536):
            sink.sendall(received)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)
