"""What a server stands on, checked before it answers; WrongSetting says in one sentence which setting is at fault."""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection

from agentboard.datafolder import WrongSetting
from agentboard.encryption import keys
from agentboard.health import migrations_pending

BACKLOG = 2048  # connections that wait to be accepted
START_LOCK = 0x4167656E74426F61  # "AgentBoa": any 64 bits that all machines on one database agree on
REDIS_SECONDS = 5


def bound(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of `host`, bound to `port` and not yet listening."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise WrongSetting(f"HOST must be a name or an address of this machine; {host!r} can't be resolved.") from None
    addresses = dict.fromkeys((family, address) for family, _, _, _, address in found)
    return [_bound(family, address) for family, address in addresses]


def listen(sockets: list[socket.socket], port: int) -> None:
    """Let connections in; of two servers that bound the same port only one gets past here."""
    for each in sockets:
        try:
            each.listen(BACKLOG)
        except OSError:
            raise _port_taken(port) from None


def check_redis(url: str | None) -> None:
    """Ask the Redis server for a sign of life, where there is to be one."""
    if url is None:
        return
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=REDIS_SECONDS, socket_timeout=REDIS_SECONDS) as server:
            server.ping()
    except (redis.RedisError, ValueError) as error:
        parts = urlsplit(url)
        server_at, reason = f"{parts.hostname}:{parts.port or 6379}", _reason(error, parts.password)
        raise WrongSetting(f"REDIS_URL: the Redis server at {server_at} can't be used: {reason}.") from None


def prepare_database() -> None:
    """Connect, and apply the migrations that are missing; several servers may start on one database at once."""
    with _alone():
        if migrations_pending():
            call_command("migrate", interactive=False, verbosity=0)


def check_keys() -> None:
    """See that the encryption keys open what is stored, and record the one that will be written with."""
    try:
        keys.verify()
    except keys.WrongKeys as wrong:
        raise WrongSetting(str(wrong)) from None
    keys.register_primary()


def _bound(family: int, address: Any) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port left a second ago may be taken again
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        made.bind(address)
    except OSError as error:
        made.close()
        raise _refused(error, *address[:2]) from None
    return made


def _refused(error: OSError, host: str, port: int) -> WrongSetting:
    if error.errno == errno.EADDRINUSE:
        return _port_taken(port)
    if error.errno == errno.EACCES:
        return WrongSetting(f"PORT must be one this process may listen on, and {port} is not: choose one from 1024 on.")
    return WrongSetting(f"HOST must be an address of this machine, and {host} is not: {error.strerror}.")


def _port_taken(port: int) -> WrongSetting:
    return WrongSetting(f"PORT {port} is taken by another program: stop that one, or set PORT to a free one.")


@contextmanager
def _alone() -> Iterator[None]:
    """A connection, and with it what only one process on this database can hold; the others wait."""
    with _file_lock() if connection.vendor == "sqlite" else _advisory_lock():
        yield


@contextmanager
def _file_lock() -> Iterator[None]:
    lock = os.open(settings.DATA_FOLDER / "start.lock", os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _connect()  # the first connection turns WAL on, and of two at once one would fail as locked
        yield
    finally:
        os.close(lock)


@contextmanager
def _advisory_lock() -> Iterator[None]:
    _connect()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [START_LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [START_LOCK])


def _connect() -> None:
    database = connection.settings_dict
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        reason = _reason(error, database["PASSWORD"])
        raise WrongSetting(f"DATABASE_URL: the database {_place(database)} can't be used: {reason}.") from None


def _place(database: dict[str, Any]) -> str:
    if not database["HOST"]:
        return str(database["NAME"])
    return f"{database['NAME']} at {database['HOST']}:{database['PORT'] or 5432}"


def _reason(error: Exception, password: str | None) -> str:
    """The first line of a driver's message, without its full stop and without the password, should it be there."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(". ")
    return line.replace(password, "…") if password else line
