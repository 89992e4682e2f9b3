"""Where clients find this server: the origin they reached it by, the endpoint as an OAuth resource, its metadata."""

from urllib.parse import urlsplit

from django.conf import settings

from agentboard.environment import origin_of

ENDPOINT = "/mcp"
RESOURCE = f"{settings.PUBLIC_URL}{ENDPOINT}"  # the one that tokens are bound to, however the client spelled it
METADATA = f"/.well-known/oauth-protected-resource{ENDPOINT}"  # RFC 9728, section 3.1


def own_origin(scheme: str, host: str) -> str:
    """The origin by which a request with this Host header reached the server, if it is one of its own, else PUBLIC_URL.

    A client compares the metadata's names with the URL it was given (RFC 9728, section 3.3; RFC 8414, section 3.3), and
    the same server may be known to it as localhost and as 127.0.0.1.
    """
    reached = origin_of(f"{scheme}://{host}")
    return reached if reached is not None and is_own(reached) else settings.PUBLIC_URL


def is_own(origin: str) -> bool:
    """Whether an origin (in its one form) is this server's: the public one, or the port it listens on at loopback."""
    if origin == settings.PUBLIC_URL:
        return True
    parts = urlsplit(origin)
    return parts.scheme == "http" and parts.port == settings.PORT and parts.hostname in LOOPBACK


LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_own_resource(uri: str) -> bool:
    """Whether a resource indicator (RFC 8707) means the endpoint: a query and one trailing slash don't matter."""
    try:
        parts = urlsplit(uri)
        origin = origin_of(f"{parts.scheme}://{parts.netloc}")
    except ValueError:
        return False
    return origin is not None and is_own(origin) and not parts.fragment and parts.path.removesuffix("/") == ENDPOINT
