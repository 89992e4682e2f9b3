"""How settings.py reads the environment: each value checked, each refusal one sentence that names the setting."""

import difflib
import ipaddress
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from agentboard.datafolder import WrongSetting

OURS = "AGENTBOARD_"  # a variable that starts so and isn't known is a misspelling
NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)
HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.ASCII | re.IGNORECASE)
DEFAULT_PORTS = {"http": 80, "https": 443}
ADDRESS = re.compile(r"[^@\s<>,;\"]+@[^@\s<>,;\"]+", re.ASCII)
MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtp+ssl": 465}
POSTGRES_SCHEMES = ("postgres", "postgresql")

Default = TypeVar("Default")


@contextmanager
def refused_in_one_sentence() -> Iterator[None]:
    """End the process with status 2 and the sentence of a WrongSetting on standard error, without a traceback."""
    try:
        yield
    except WrongSetting as wrong:
        print(wrong, file=sys.stderr)
        raise SystemExit(2) from None


class Environment:
    """The variables of one process. Every reader raises WrongSetting where the value is not what it must be."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._env = environ.Env()
        self._env.ENVIRON = variables
        self._known: set[str] = set()

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number from `low` to `high`, in decimal digits."""

        def whole(text: str) -> int:
            if not NUMBER.fullmatch(text) or not low <= int(text) <= high:
                raise WrongSetting(f"{name} must be a whole number from {low} to {high}, not {text!r}.")
            return int(text)

        return self._read(name, default, whole)

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        """One of `choices`, in capitals whatever the case it was given in."""

        def chosen(text: str) -> str:
            if text.upper() not in choices:
                raise WrongSetting(f"{name} must be one of {', '.join(choices)}, not {text!r}.")
            return text.upper()

        return self._read(name, default, chosen)

    def host(self, name: str, default: str) -> str:
        """A host name or an IP address (an IPv6 one without brackets) to listen on."""

        def named(text: str) -> str:
            if not is_host(text):
                raise WrongSetting(f"{name} must be a host name or an IP address, not {text!r}.")
            return text

        return self._read(name, default, named)

    def folder(self, name: str, default: Path) -> Path:
        """A folder's absolute path; a relative one starts where the process was started."""
        return self._read(name, default, lambda text: Path(text).expanduser()).absolute()

    def origin(self, name: str, default: str) -> str:
        """A web origin (RFC 6454, section 6.2): scheme, host, and the port where it isn't the scheme's own."""

        def parsed(text: str) -> str:
            origin = origin_of(text)
            if origin is None:
                raise WrongSetting(f"{name} must be http:// or https:// with a host, an optional port and no path.")
            return origin

        return self._read(name, default, parsed)

    def origins(self, name: str) -> frozenset[str]:
        """Web origins, separated by commas; none where the variable isn't set."""

        def parsed(text: str) -> frozenset[str]:
            found = {part.strip(): origin_of(part.strip()) for part in text.split(",") if part.strip()}
            if wrong := [part for part, origin in found.items() if origin is None]:
                raise WrongSetting(
                    f"{name} must list origins like https://app.example, by commas; {wrong[0]!r} is none."
                )
            return frozenset(origin for origin in found.values() if origin)

        return self._read(name, frozenset(), parsed)

    def database(self, name: str, sqlite_at: Path) -> dict[str, Any]:
        """Django's ENGINE, NAME, USER, PASSWORD, HOST, PORT and OPTIONS from a URL; without one, the file `sqlite_at`.

        Refusals never repeat the URL: it may hold a password.
        """
        sqlite: dict[str, Any] = {"ENGINE": "django.db.backends.sqlite3", "NAME": sqlite_at}
        return self._read(name, sqlite, lambda text: database_of(name, text))

    def redis(self, name: str) -> str | None:
        """A Redis URL, or None where the variable isn't set; refusals never repeat the URL."""

        def located(text: str) -> str | None:
            url = _split(text)
            if url is None or url.scheme not in ("redis", "rediss") or not url.hostname:
                raise WrongSetting(f"{name} must be a URL like redis://host:6379/0 (or rediss:// for TLS).")
            return text

        return self._read(name, None, located)

    def mail(self, name: str) -> dict[str, Any] | None:
        """Django's EMAIL_BACKEND, EMAIL_HOST and so on from a URL, or None where no mail is sent.

        Refusals never repeat the URL: it may hold a password.
        """
        return self._read(name, None, lambda text: mail_of(name, text))

    def address(self, name: str, default: str) -> str:
        """An email address (RFC 5321, section 4.1.2), without a display name."""

        def valid(text: str) -> str:
            if not ADDRESS.fullmatch(text):
                raise WrongSetting(f"{name} must be an email address like board@example.org, not {text!r}.")
            return text

        return self._read(name, default, valid)

    def refuse_unknown(self) -> None:
        """Raise WrongSetting for a variable that starts as ours do and that nobody has read."""
        for name in sorted(self._variables):
            if name.startswith(OURS) and name not in self._known:
                ours = [known.removeprefix(OURS) for known in sorted(self._known) if known.startswith(OURS)]
                close = difflib.get_close_matches(name.removeprefix(OURS), ours, n=1)
                hint = f"; did you mean {OURS}{close[0]}?" if close else "."
                raise WrongSetting(f"{name} is not a setting of AgentBoard{hint}")

    def _read(self, name: str, default: Default, parse: Callable[[str], Default]) -> Default:
        self._known.add(name)
        if name not in self._env:
            return default
        try:
            text = self._env.str(name).strip()
        except (ImproperlyConfigured, RecursionError):  # a value that starts with $ names another variable
            raise WrongSetting(f"{name} refers to a variable that is not set.") from None
        if not text:
            raise WrongSetting(f"{name} is empty: give it a value, or leave it out for the default.")
        return parse(text)


def reached_at(host: str) -> str:
    """Where this machine reaches a server that listens on `host`: a wildcard address answers at loopback."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def bracketed(host: str) -> str:
    """`host` as it stands in a URL and in a Host header (RFC 3986, section 3.2.2): an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def is_host(text: str) -> bool:
    """Whether `text` is an IP address or a name of at most 253 characters (RFC 1123, section 2.1)."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return len(text) <= 253 and HOST_NAME.fullmatch(text) is not None
    return True


def origin_of(text: str) -> str | None:
    """`text` as an origin in its one form (lower case, no default port, no trailing slash), or None if it isn't one."""
    url = _split(text)
    if url is None or url.scheme not in DEFAULT_PORTS or not url.hostname or not is_host(url.hostname):
        return None
    if url.path not in ("", "/") or "?" in text or "#" in text or "@" in url.netloc or url.port == 0:
        return None
    port = "" if url.port in (None, DEFAULT_PORTS[url.scheme]) else f":{url.port}"
    return f"{url.scheme}://{bracketed(url.hostname)}{port}"


def database_of(name: str, text: str) -> dict[str, Any]:
    """Django's description of the database at the URL `text`; raises WrongSetting naming `name`."""
    url = _split(text)
    if url is None or url.scheme not in ("sqlite", *POSTGRES_SCHEMES):
        raise WrongSetting(
            f"{name} must be a URL like sqlite:////folder/file or postgres://user:password@host:5432/name."
        )
    if url.scheme == "sqlite" and (url.netloc or url.query or url.path in ("", "/", "/:memory:")):
        raise WrongSetting(f"{name} must name a file, as in sqlite:////folder/file (four slashes: absolute).")
    if url.scheme in POSTGRES_SCHEMES and url.path in ("", "/"):
        raise WrongSetting(f"{name} must end in the name of a database, as in postgres://user:password@host:5432/name.")
    found: dict[str, Any] = environ.Env.db_url_config(text)
    return found | {"NAME": Path(found["NAME"]).absolute()} if url.scheme == "sqlite" else found


def _split(text: str) -> Any:
    """The parts of a URL, or None where it has no readable ones (a port out of range included)."""
    try:
        url = urlsplit(text)
        url.port  # noqa: B018  (reading it is the check)
    except ValueError:
        return None
    return None if re.search(r"\s", text) else url


def mail_of(name: str, text: str) -> dict[str, Any]:
    """Django's settings for the mail server of a URL, or (`filemail:///folder`) for a folder that mail is put into."""
    url = _split(text)
    if url is not None and url.scheme == "filemail" and not url.netloc and url.path.strip("/"):
        return {"EMAIL_BACKEND": "django.core.mail.backends.filebased.EmailBackend", "EMAIL_FILE_PATH": url.path}
    if url is None or url.scheme not in MAIL_PORTS or not url.hostname or url.path.strip("/") or url.query:
        raise WrongSetting(
            f"{name} must be a URL like smtp+tls://user:password@host:587 (or smtp+ssl://; smtp:// does not encrypt)."
        )
    found = environ.Env.email_url_config(text)
    found.pop("EMAIL_FILE_PATH")
    return {**found, "EMAIL_PORT": url.port or MAIL_PORTS[url.scheme]}
