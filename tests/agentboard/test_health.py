"""The two questions of a supervisor: /healthz and /readyz."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from django.db import OperationalError, connections

from agentboard import health
from agentboard.health import Readiness, healthz, readyz


@pytest.fixture
def readiness(monkeypatch: pytest.MonkeyPatch) -> Iterator[Readiness]:
    """A Readiness of this test's own."""
    fresh = Readiness()
    monkeypatch.setattr(health, "readiness", fresh)
    yield fresh
    fresh.close()


class Answer:
    """What an ASGI callable sent."""

    def __init__(self, asked: Any, method: str = "GET") -> None:
        self.sent: list[dict[str, Any]] = []
        asyncio.run(asked({"type": "http", "method": method}, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def _send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])


def test_healthz_answers_without_a_database() -> None:
    answer = Answer(healthz)
    assert (answer.status, orjson.loads(answer.body)) == (200, {"status": "ok"})
    assert answer.headers[b"cache-control"] == b"no-store"


@pytest.mark.django_db(transaction=True)
def test_readyz_is_ok_where_the_database_answers_and_has_every_migration(readiness: Readiness) -> None:
    answer = Answer(readyz)
    assert (answer.status, orjson.loads(answer.body)) == (200, {"status": "ok"})
    assert answer.headers[b"cache-control"] == b"no-store"


@pytest.mark.django_db(transaction=True)
def test_readyz_says_when_migrations_are_missing(readiness: Readiness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "migrations_pending", lambda: True)
    assert orjson.loads(Answer(readyz).body)["reason"] == "the database lacks migrations of this version"
    monkeypatch.setattr(health, "migrations_pending", lambda: False)
    assert Answer(readyz).status == 200


@pytest.mark.django_db(transaction=True)
def test_readyz_says_when_the_database_does_not_answer_and_recovers(
    readiness: Readiness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise OperationalError("server at 10.0.0.1 is gone")

    with monkeypatch.context() as gone:
        gone.setattr(type(connections["default"]), "create_cursor", refuse)
        answer = Answer(readyz)
    assert answer.status == 503
    assert orjson.loads(answer.body) == {"status": "unavailable", "reason": "the database does not answer"}
    assert Answer(readyz).status == 200


@pytest.mark.django_db(transaction=True)
def test_readyz_does_not_wait_for_a_database_that_hangs(readiness: Readiness, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(health, "ANSWER_SECONDS", 0.01)
    monkeypatch.setattr(health, "migrations_pending", released.wait)
    answer = Answer(readyz)
    released.set()
    assert answer.status == 503
    assert orjson.loads(answer.body)["reason"] == "the database has not answered for 0.01 seconds"


@pytest.mark.parametrize("asked", [healthz, readyz])
def test_only_reading_is_allowed(asked: Any) -> None:
    answer = Answer(asked, "POST")
    assert (answer.status, answer.headers[b"allow"]) == (405, b"GET, HEAD")


def test_head_has_the_headers_of_get_and_no_body() -> None:
    head, get = Answer(healthz, "HEAD"), Answer(healthz)
    assert (head.status, head.headers, head.body) == (get.status, get.headers, b"")
