"""The REST door without a socket: what cannot be provoked from outside is the same JSON refusal all the same."""

import asyncio
import json
import logging
import threading
from typing import Any

import pytest
from rest_framework.response import Response

from agentboard import door as shared
from agentboard import rest
from agentboard.contract.errors import Refusal
from agentboard.rest_door import RestDoor
from agentboard.threads import Threads
from tests.doors.wire import Reply

pytestmark = pytest.mark.no_database

SECRET = "words of an exception"
Messages = list[dict[str, Any]]


def asked(door: RestDoor, path: str = "/v1/help", messages: Messages | None = None, **scope: Any) -> Reply | None:
    """The door's answer to one request, or None where it sends none."""
    sent: Messages = []
    coming = iter(messages or [{"type": "http.request", "body": b""}])

    async def receive() -> dict[str, Any]:
        if (message := next(coming, None)) is None:
            await asyncio.Event().wait()  # nothing more comes, as from a client that dawdles
        assert message is not None
        return message

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    whole = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [(b"host", b"127.0.0.1")]}
    asyncio.run(door({**whole, **scope}, receive, send))
    if not sent:
        return None
    start, *rest_of_it = sent
    headers = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return Reply(start["status"], headers, b"".join(message["body"] for message in rest_of_it))


@pytest.fixture(scope="module")
def door() -> RestDoor:
    return RestDoor(Threads(1))


def refused(reply: Reply | None, status: int, code: str) -> dict[str, Any]:
    assert reply is not None
    return reply.refused(status, code)


def test_what_nobody_foresaw_is_logged_under_its_request_id_and_says_nothing(
    door: RestDoor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(rest.MethodView, "_act", fail)
    with caplog.at_level(logging.ERROR):
        reply = asked(door)
    error = refused(reply, 500, "internal_error")
    assert error["message"] == "The server failed at this call."
    assert reply is not None
    assert SECRET.encode() not in reply.body
    (record,) = caplog.records
    assert (record.name, record.getMessage()) == ("agentboard.door", "a call failed")
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], RuntimeError)


def test_an_answer_that_cannot_be_written_is_a_fault_of_the_server(
    door: RestDoor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rest.MethodView, "_act", lambda *_: Response({"text": "\ud800"}))
    with caplog.at_level(logging.ERROR):
        refused(asked(door), 500, "internal_error")


def test_a_server_with_more_calls_than_it_can_queue_turns_them_away() -> None:
    error = refused(asked(RestDoor(Threads(1, waiting=-1))), 503, "unavailable")
    assert error["retry_after_seconds"] == 1


def test_a_body_that_does_not_arrive_is_not_waited_for(door: RestDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "BODY_SECONDS", 0.01)
    piece = {"type": "http.request", "body": b"{", "more_body": True}
    error = refused(asked(door, "/v1/memory/x", [piece], method="POST"), 400, "invalid_json")
    assert "had not arrived" in error["message"]


def test_nothing_is_answered_to_a_client_that_has_hung_up(door: RestDoor) -> None:
    piece = {"type": "http.request", "body": b"{", "more_body": True}
    assert asked(door, "/v1/memory/x", [piece, {"type": "http.disconnect"}], method="POST") is None


def test_a_body_without_end_is_read_only_so_far(door: RestDoor) -> None:
    """What is too large is read on for a while, so that its sender hears the answer, and then no further."""
    piece = {"type": "http.request", "body": b" " * 65_536, "more_body": True}
    count = shared.DRAINED_MAX // 65_536 + 1
    refused(asked(door, "/v1/memory/x", [piece] * count, method="POST"), 413, "payload_too_large")


@pytest.mark.parametrize("query", [b"\xff", b"limit=\xff", b"\xed\xa0\x80"])
def test_a_query_that_is_no_text_is_an_invalid_argument(door: RestDoor, query: bytes) -> None:
    """Uvicorn's parser lets none through; another server may."""
    refused(asked(door, query_string=query), 400, "invalid_arguments")
    kind = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json; a*=nonsense''b")]
    refused(asked(door, query_string=query, headers=kind), 400, "invalid_arguments")


# Threads


def test_work_is_done_in_a_thread_and_what_it_raises_comes_back() -> None:
    async def both() -> None:
        threads = Threads(2)
        assert await threads.run(lambda: threading.current_thread().name) in ("call-0", "call-1")
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 // 0)
        assert await threads.run(lambda a, b: a + b, 1, b=2) == 3

    asyncio.run(both())


def test_only_so_many_calls_wait_and_those_are_done_in_their_turn() -> None:
    async def three() -> None:
        threads, release = Threads(1, waiting=1), threading.Event()
        done: list[str] = []
        first = asyncio.create_task(threads.run(release.wait, 30))
        second = asyncio.create_task(threads.run(done.append, "second"))
        await asyncio.sleep(0)
        with pytest.raises(Refusal) as caught:
            await threads.run(done.append, "third")
        assert json.loads(json.dumps(caught.value.as_json()))["error"]["code"] == "unavailable"
        release.set()
        await asyncio.gather(first, second)
        await threads.run(done.append, "fourth")
        assert done == ["second", "fourth"]

    asyncio.run(three())


def test_a_call_that_was_given_up_while_it_waited_is_not_done() -> None:
    async def given_up() -> None:
        threads, release = Threads(1), threading.Event()
        done: list[str] = []
        first = asyncio.create_task(threads.run(release.wait, 30))
        second = asyncio.create_task(threads.run(done.append, "second"))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        release.set()
        await first
        await threads.run(done.append, "third")
        assert done == ["third"]

    asyncio.run(given_up())
