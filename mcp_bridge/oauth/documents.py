"""Client ID metadata documents: an application whose client_id is the URL of a document that describes it."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from django.utils import timezone
from oauth2_provider import cimd
from oauth2_provider.settings import oauth2_settings

from mcp_bridge.oauth import names, redirects
from mcp_bridge.oauth.models import Application

URIS_MAX = 20  # redirect URIs of a document that are kept
HTTPS = 443
ACCEPT = {"Accept": "application/json, application/*+json"}

Document = dict[str, Any]


class Fetcher(cimd.SafeMetadataFetcher):
    """The toolkit's fetcher (public addresses only, no redirects, bounded in bytes), here bounded in time as well.

    The toolkit waits for each piece of an answer by itself, so a site that sends one byte now and then would hold a
    thread for hours. What was fetched is narrowed.
    """

    def fetch(self, client_id: str) -> tuple[Document, int]:
        """The document, and for how many seconds it counts. Raises CIMDError."""
        if reason := redirects.problem(client_id):  # a host in other letters than ASCII could imitate another one
            raise cimd.CIMDError(f"the URL {reason}")
        site = cimd._validate_client_id_url(client_id)
        port = site.port or HTTPS
        end = time.monotonic() + oauth2_settings.CIMD_FETCH_TIMEOUT_SECONDS
        target = site.path + (f"?{site.query}" if site.query else "")
        failure: Exception | None = None
        for address in cimd._resolve_and_validate(site.hostname, port):
            try:
                with _asked(Pinned(site.hostname, port, address), target, end) as response:
                    document, seconds = self._read_document(response)  # type: ignore[no-untyped-call]
                return narrowed(document, client_id), seconds
            except (OSError, HTTPException, ValueError) as failed:
                failure = failed
            except RecursionError:
                raise cimd.CIMDError("the document nests too deep") from None
        raise cimd.CIMDError(f"the document could not be fetched: {type(failure).__name__}")


class Pinned(HTTPSConnection):
    """A connection to one address of a host, which TLS and the Host header know by its name."""

    def __init__(self, host: str, port: int, address: str) -> None:
        self._tls = ssl.create_default_context()
        super().__init__(host, port, context=self._tls)
        self._address = address
        self._line: socket.socket | None = None  # http.client lets go of `sock` while the answer is still read from it

    def connect(self) -> None:
        """Connect to the address, checked once, so that no second look-up can lead elsewhere."""
        reached = socket.create_connection((self._address, self.port), self.timeout)
        self.sock = self._tls.wrap_socket(reached, server_hostname=self.host, do_handshake_on_connect=False)
        self._line = self.sock
        self.sock.do_handshake()

    def hang_up(self) -> None:
        """End whatever another thread waits for on this connection."""
        if self._line is not None:
            with suppress(OSError):
                socket.socket.shutdown(self._line, socket.SHUT_RDWR)  # past TLS, which the other thread is using


@contextmanager
def _asked(connection: Pinned, target: str, end: float) -> Iterator[HTTPResponse]:
    """The answer to a GET, hung up on at `end` (by time.monotonic) wherever it is then. Raises OSError and others."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.timeout = left
    watch = threading.Timer(left, connection.hang_up)
    watch.daemon = True
    watch.start()
    try:
        connection.request("GET", target, headers=ACCEPT)
        yield connection.getresponse()
    finally:
        watch.cancel()
        connection.close()


def known(client_id: str) -> Application | None:
    """The application of this client_id, blocked or not."""
    return Application.objects.filter(client_id=client_id).first()


def due(client_id: str, application: Application | None) -> bool:
    """Whether a document is to be fetched: at first sight, and when what is known of it has grown old."""
    if application is None:
        return bool(cimd.is_cimd_client_id(client_id))
    return application.cimd_expires_at is not None and application.cimd_expires_at < timezone.now()


def fetched(client_id: str, application: Application | None, request: object) -> Application | None:
    """The application as its document describes it now; as it was known where the document cannot be read.

    Waits for the network, CIMD_FETCH_TIMEOUT_SECONDS at most, so never in a transaction.
    """
    return cimd.resolve_cimd_application(client_id, request) or application


def narrowed(document: Document, client_id: str) -> Document:
    """The document with no more than what is served here (RFC 7591, section 2, allows that).

    Widespread documents list further grants, or name a way to authenticate beside `none`.
    """
    kept = dict(document)
    if "authorization_code" in _texts(kept.get("grant_types", ["authorization_code"])):
        kept["grant_types"] = ["authorization_code"]
    if "none" in _texts(kept.get("token_endpoint_auth_methods_supported")):
        kept["token_endpoint_auth_method"] = "none"
    usable = [uri for uri in _texts(kept.get("redirect_uris")) if redirects.problem(uri) is None]
    kept["redirect_uris"] = usable[:URIS_MAX]
    name = kept.get("client_name")
    kept["client_name"] = names.shown(name if isinstance(name, str) else "", urlsplit(client_id).hostname or "")
    return kept


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
