"""Who is at the other end of a request, as far as an attempt keeps it: a hash of the address, and tidy names."""

import hmac
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Self

from django.conf import settings
from django.http import HttpRequest

from agentboard.identity.keys import contains_secret
from mcp_bridge.doctor.models import CLIENT_ID_MAX
from mcp_bridge.oauth.names import shown

LOOKED_AT = 1_000  # characters of a name
HOME_BITS = 64  # of an IPv6 address: one household or machine, whose further bits change by the day


@dataclass(frozen=True)
class Peer:
    """The network address (hashed) and the program (its User-Agent header) that a request came from."""

    address: str
    program: str

    @classmethod
    def at(cls, address: str, user_agent: str) -> Self:
        """The peer of a request from this address with this header (`""` where there is none)."""
        return cls(hashed(address), tidy(user_agent))

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        """The peer of a Django request."""
        return cls.at(str(request.META.get("REMOTE_ADDR") or "unknown"), request.META.get("HTTP_USER_AGENT", ""))


def hashed(address: str) -> str:
    """A keyed hash of the address, 32 hex digits; of an IPv6 address its first 64 bits count."""
    return hmac.digest(_key(), home(address).encode(errors="replace"), "sha256").hex()[:32]


def home(address: str) -> str:
    """What stays the same of an address: all of IPv4, the network of IPv6, one name for this machine."""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(known, IPv6Address) and known.ipv4_mapped:
        known = known.ipv4_mapped
    if known.is_loopback:
        return "this machine"
    return str(ip_network((known, HOME_BITS), strict=False)) if known.version == 6 else str(known)


def tidy(name: str) -> str:
    """A name that somebody gave themselves, made harmless; nothing where a secret stands in it."""
    return "" if contains_secret(name) else shown(name[:LOOKED_AT], "")


def known_id(client_id: str) -> str:
    """The client_id, or nothing where it is none that this server could have given or accepted."""
    fits = len(client_id) <= CLIENT_ID_MAX and client_id.isascii() and client_id.isprintable()
    return client_id if fits and not contains_secret(client_id) else ""


@cache
def _key() -> bytes:
    return hmac.digest(settings.SECRET_KEY.encode(), b"agentboard connection doctor", "sha256")
