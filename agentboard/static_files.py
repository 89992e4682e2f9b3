"""Static files from where they lie in the source, answered by the server itself, named by what they hold."""

import gzip
import hashlib
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseMiddleware

DIGITS = 12  # of a content's hash in a name
# Named by style sheets, which are served as they were written: under one name here and another there, a browser would
# load them twice.
AS_WRITTEN = {".woff2"}
COMPRESSED = {".css", ".js", ".svg", ".txt"}
COMPRESSED_FROM = 500  # bytes; below that a packet is not shortened
KEPT = 256  # compressed files


class NamedByContent(StaticFilesStorage):
    """Addresses that change with the file: a browser asks for each content once, and never for an old one."""

    def url(self, name: str | None) -> str:
        """The address of a file, as in `/static/agentboard/tokens.0f1e2d3c4b5a.css`."""
        return super().url(named(name) if name else name)


@cache
def named(name: str) -> str:
    """The name with the first digits of the content's SHA-256 in it; as it is where there is no such file."""
    path = finders.find(name)
    if not isinstance(path, str) or PurePosixPath(name).suffix in AS_WRITTEN:
        return name
    suffix = PurePosixPath(name).suffix
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:DIGITS]
    return f"{name.removesuffix(suffix)}.{digest}{suffix}"


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no types
    """WhiteNoise, answering a whole body: under ASGI Django would gather its streamed one anyway, with a warning."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The file of this address, which may hold its content's hash; else what comes after this middleware."""
        self._learn(request.path_info)
        answer: HttpResponse = super().__call__(request)
        return answer

    def _learn(self, address: str) -> None:
        """Know the file by the address that its content gives it; any other hash is no address."""
        plain = self.get_name_without_hash(address)
        if address in self.files or plain not in self.files or not self.immutable_file_test(None, address):
            return
        path = finders.find(plain.removeprefix(self.static_prefix))
        self.files[address] = self.get_static_file(path, address)

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        """The file, a part of it, 304 or 405, as WhiteNoise decides; a whole text compressed for who takes that."""
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file:
                body = found.file.read()
        response = HttpResponse(body, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return compressed(request, response)


def compressed(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """The response, shorter where that is worth it and the browser takes gzip (RFC 9110, section 12.5.3)."""
    if PurePosixPath(request.path_info).suffix not in COMPRESSED:
        return response
    patch_vary_headers(response, ["Accept-Encoding"])
    whole = response.status_code == HttpResponse.status_code and len(response.content) >= COMPRESSED_FROM
    if whole and takes_gzip(request.headers.get("accept-encoding", "")):
        response.content = zipped(response.content)
        response["Content-Encoding"] = "gzip"
        response["Content-Length"] = str(len(response.content))
        response["ETag"] = f"W/{response['ETag']}"  # the same file in other bytes (RFC 9110, section 8.8.1)
    return response


def takes_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding header names gzip and does not weigh it with nothing."""
    for part in accepted.lower().split(","):
        coding, _, weight = part.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


@lru_cache(maxsize=KEPT)
def zipped(content: bytes) -> bytes:
    """The content under gzip, without a time in it."""
    return gzip.compress(content, mtime=0)
