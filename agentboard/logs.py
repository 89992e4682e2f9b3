"""What a log line is: one JSON object on one line, with the request it belongs to and never a text somebody wrote."""

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import orjson

from agentboard.tally import CALLS

# What no line shows is not asked for: Python's Logging HOWTO, section "Optimization".
logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
logging._srcfile = None

CAUSES_MAX = 5  # exceptions described in one line, the logged one first
NO_ROUTE = "(no route)"

request_id: ContextVar[str] = ContextVar("request_id", default="-")  # each door sets it for the time of one request


class JsonLines(logging.Formatter):
    """Formats a record as time (RFC 3339, UTC), level, logger, message and request_id, then `extra={"fields": {…}}`.

    Exceptions appear as class and frames. Their own words don't: a database driver's message quotes the values it was
    given. For the same reason an exception among a message's arguments is named by its class, and the path in Django's
    messages about a request gives way to its route (a path may hold a one-time token).
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="microseconds")
            .removesuffix("+00:00")
            + "Z",
            "level": record.levelname,
            "logger": record.name,
            "message": message_of(record),
            "request_id": request_id.get(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1]:
            line["exception"] = [described(error) for error in causes(record.exc_info[1])]
        return _json(line)


def write_call(logger: logging.Logger, fields: dict[str, Any]) -> None:
    """The line of one finished call. As an ordinary record it would cost three times as much, a tenth of a read."""
    CALLS.count(logger.name, fields["status"])
    if logger.isEnabledFor(logging.INFO):
        line = {
            "time": datetime.now(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z",
            "level": "INFO",
            "logger": logger.name,
            "message": "call",
            "request_id": request_id.get(),
        }
        sys.stderr.write(_json(line | fields) + "\n")


def message_of(record: logging.LogRecord) -> str:
    """The record's message without exceptions' words and request paths; asyncio's, which hold both, end at line one."""
    args: Any = record.args
    if isinstance(args, tuple):
        args = tuple(_safe(argument, record) for argument in args)
    message = str(record.msg) % args if args else str(record.msg)
    return message.partition("\n")[0] if record.name == "asyncio" else message


def causes(error: BaseException) -> Iterator[BaseException]:
    """`error`, then what it was raised from or while handling, as a traceback would show them."""
    seen: BaseException | None = error
    for _ in range(CAUSES_MAX):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


def described(error: BaseException) -> dict[str, Any]:
    """Class, SQLSTATE where a database gave one, and frames (innermost last) as `file:line function: source`."""
    found: dict[str, Any] = {"type": f"{type(error).__module__}.{type(error).__qualname__}"}
    if sqlstate := getattr(error, "sqlstate", None):
        found["sqlstate"] = sqlstate
    if isinstance(error, BaseExceptionGroup):
        found["exceptions"] = [described(part) for part in error.exceptions]
    frames = traceback.extract_tb(error.__traceback__)
    return found | {"frames": [f"{frame.filename}:{frame.lineno} {frame.name}: {frame.line}" for frame in frames]}


def _safe(argument: object, record: logging.LogRecord) -> object:
    if isinstance(argument, BaseException):
        return type(argument).__name__
    request = getattr(record, "request", None)  # Django's loggers add it
    path = getattr(request, "path", None)
    if path is not None and argument in (path, path.encode("unicode_escape").decode()):
        match = getattr(request, "resolver_match", None)
        return f"/{match.route}" if match else NO_ROUTE
    return argument


def _json(line: dict[str, Any]) -> str:
    try:
        return orjson.dumps(line, default=_type_name, option=orjson.OPT_NON_STR_KEYS).decode()
    except orjson.JSONEncodeError:  # a lone surrogate, an integer past 64 bits: the slow module knows them
        return json.dumps(line, default=_type_name)


def _type_name(value: object) -> str:
    return type(value).__name__
