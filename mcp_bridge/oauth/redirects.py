"""Where an authorization may be sent: which redirect URIs a client may have, and how a page's policy names one."""

import re
from urllib.parse import SplitResult, urlsplit

from agentboard.environment import is_host

APP_SCHEMES = ("cursor", "vscode", "vscode-insiders", "windsurf")  # of programs that claim them on the person's device
SCHEMES = ("https", "http", *APP_SCHEMES)
LOOPBACK = ("127.0.0.1", "::1", "localhost")  # RFC 8252, section 7.3; localhost because widespread clients use it
HOPS = ("https:", "http://127.0.0.1:*", "http://localhost:*", *(f"{scheme}:" for scheme in APP_SCHEMES))
URI_MAX = 512  # characters
URIS_MAX = 10

_UNSAFE = re.compile(r"[^!-~]|[\"<>\\^`{|}]")  # what no URI holds (RFC 3986, section 2)


def problem(uri: str) -> str | None:
    """Why nothing may be sent to this URI, as the end of a sentence about it; None where it may."""
    if len(uri) > URI_MAX:
        return f"is longer than {URI_MAX} characters"
    if _UNSAFE.search(uri):
        return "holds a character that a URI cannot hold; write it percent-encoded"
    if "#" in uri:
        return "has a fragment"
    parts = _split(uri)
    if parts is None or not parts.hostname:
        return "is not an absolute URI with a host"
    if "@" in parts.netloc:
        return "has user information before its host"
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        return "uses http for a host other than 127.0.0.1, [::1] and localhost"
    if parts.scheme not in SCHEMES:
        return f"uses a scheme other than {', '.join(SCHEMES)}"
    return None


def is_loopback(uri: str) -> bool:
    """Whether the URI leads to a program on the person's own computer."""
    parts = urlsplit(uri)
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def is_program(uri: str) -> bool:
    """Whether the URI leads to a program by a scheme of its own."""
    return urlsplit(uri).scheme in APP_SCHEMES


def host(uri: str) -> str:
    """The host of a URI that has no `problem`."""
    return urlsplit(uri).hostname or ""


def policy_sources(uri: str) -> list[str]:
    """What a page's `form-action` has to allow so that its form's answer can redirect to the URI.

    Chromium holds every further redirect against it as well, and what waits at a callback often leads on: to a page
    that says it is done, or from a site to a program. So for a callback on the web no place that one may have is shut.
    """
    source = _source(uri)
    return [source] if is_program(uri) else [source, *(each for each in HOPS if each != source)]


def _source(uri: str) -> str:
    """The URI's origin, or its scheme where no source can name that: an IPv6 address, or a program's own scheme."""
    parts = urlsplit(uri)
    if is_program(uri) or ":" in host(uri):
        return f"{parts.scheme}:"
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host(uri)}{port}"


def _split(uri: str) -> SplitResult | None:
    """The parts, or None where scheme, host or port cannot be read."""
    try:
        parts = urlsplit(uri)
        if parts.port == 0 or not is_host(parts.hostname or ""):
            return None
    except ValueError:
        return None
    return parts
