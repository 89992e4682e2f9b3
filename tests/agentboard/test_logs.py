"""What a log line holds, and what it never holds."""

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import ResolverMatch
from django.utils.log import log_response

from agentboard.logs import JsonLines, request_id

pytestmark = pytest.mark.no_database

TEXT = "a text somebody wrote"


class Lines:
    """A logger of its own, and what it has written."""

    def __init__(self, name: str) -> None:
        self.stream = StringIO()
        self.handler = logging.StreamHandler(self.stream)
        self.handler.setFormatter(JsonLines())
        self.logger = logging.getLogger(name)
        self.logger.addHandler(self.handler)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def line(self) -> dict[str, Any]:
        (only,) = self.text.splitlines()
        found: dict[str, Any] = json.loads(only)
        return found


@pytest.fixture
def written(request: pytest.FixtureRequest) -> Iterator[Lines]:
    lines = Lines(getattr(request, "param", "agentboard.test"))
    yield lines
    lines.logger.removeHandler(lines.handler)


def test_a_line_is_one_json_object_with_time_level_logger_message_and_request(written: Lines) -> None:
    token = request_id.set("req-7")
    written.logger.warning("%d notes\nkept", 3, extra={"fields": {"agent": "atlas", "milliseconds": 12.5}})
    request_id.reset(token)
    line = written.line
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", line.pop("time"))
    assert line == {
        "level": "WARNING",
        "logger": "agentboard.test",
        "message": "3 notes\nkept",
        "request_id": "req-7",
        "agent": "atlas",
        "milliseconds": 12.5,
    }


def test_a_line_outside_a_request_says_so(written: Lines) -> None:
    written.logger.warning("started")
    assert written.line["request_id"] == "-"


def test_an_exception_is_its_class_its_causes_and_its_frames_without_their_words(written: Lines) -> None:
    def refuse() -> None:
        raise psycopg.errors.InvalidTextRepresentation(TEXT)

    try:
        try:
            refuse()
        except psycopg.Error as error:
            raise ValueError(TEXT) from error
    except ValueError:
        written.logger.exception("it failed")
    outer, inner = written.line["exception"]
    assert (outer["type"], inner["type"]) == ("builtins.ValueError", "psycopg.errors.InvalidTextRepresentation")
    assert inner["sqlstate"] == "22P02"
    assert "refuse: raise psycopg.errors.InvalidTextRepresentation(TEXT)" in inner["frames"][-1]
    assert TEXT not in written.text


def test_each_exception_of_a_group_is_described(written: Lines) -> None:
    written.logger.error("several", exc_info=ExceptionGroup(TEXT, [ValueError(TEXT), KeyError(TEXT)]))
    (group,) = written.line["exception"]
    assert [part["type"] for part in group["exceptions"]] == ["builtins.ValueError", "builtins.KeyError"]
    assert TEXT not in written.text


def test_an_exception_among_the_arguments_is_named_by_its_class(written: Lines) -> None:
    written.logger.warning("ignored in rollback: %s", ValueError(TEXT))
    assert written.line["message"] == "ignored in rollback: ValueError"


@pytest.mark.parametrize("written", ["asyncio"], indirect=True)
def test_what_asyncio_says_of_a_lost_task_leaves_out_the_task(written: Lines) -> None:
    async def fail() -> None:
        raise ValueError(TEXT)

    async def lose() -> None:
        task = asyncio.create_task(fail())
        await asyncio.wait([task])

    asyncio.run(lose())
    assert written.line["message"] == "Task exception was never retrieved"
    assert TEXT not in written.text


@pytest.mark.parametrize("written", ["django.request"], indirect=True)
@pytest.mark.parametrize(
    ("route", "named"), [("account/start/<str:token>", "/account/start/<str:token>"), (None, "(no route)")]
)
def test_a_request_is_named_by_its_route_not_by_its_path_or_query(
    written: Lines, route: str | None, named: str
) -> None:
    request = HttpRequest()
    request.path = "/account/start/s3cret-ü"
    request.META["QUERY_STRING"] = "key=hidden"
    if route:
        request.resolver_match = ResolverMatch(print, (), {}, route=route)
    log_response("%s: %s", "Not Found", request.path, request=request, response=HttpResponse(status=404))
    assert written.line["message"] == f"Not Found: {named}"
    assert "s3cret" not in written.text
    assert "hidden" not in written.text


def test_a_line_survives_what_json_has_no_word_for(written: Lines) -> None:
    written.logger.warning(
        "lone \ud800", extra={"fields": {"large": 2**70, "thing": ValueError(TEXT), 3: float("nan")}}
    )
    assert written.line["thing"] == "ValueError"
    assert written.line["large"] == 2**70
