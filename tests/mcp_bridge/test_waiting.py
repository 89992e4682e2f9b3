"""list_events with wait_seconds as a tool: it is answered when something comes, and holds nothing until then."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentboard.asgi import threads
from agentboard.contract.errors import Refusal
from agentboard.identity import models
from agentboard.ledger import notices
from agentboard.ledger.models import own_stream
from mcp_bridge import endpoint
from tests.board import Board
from tests.calls import Agent, Object
from tests.events.reading import settled, told, unshared
from tests.mcp_bridge.here import Here, Stream, here
from tests.mcp_bridge.speaking import Client, done, failed, result
from tests.serving import wait_for

LONG = 25  # seconds, the most that can be asked for
Wait = Callable[..., "Call"]
SOON = 10  # seconds: far more than a notice takes, far less than the time that is waited for


@pytest.fixture(scope="module")
def served() -> Iterator[Here]:
    with here() as found:
        yield found


@pytest.fixture
def agent(board: Board, atlas: Agent) -> Agent:
    """One that reads no posts, which are other tests' too."""
    return unshared(board, atlas)


@pytest.fixture
def client(agent: Agent, modern: bool) -> Client:
    return Client(agent.key, modern)


class Call:
    """A call that waits for events after those that there are."""

    def __init__(self, port: int, client: Client, agent: Agent, seconds: int = LONG, **meta: Any) -> None:
        settled()
        cursor = agent.done("list_events", limit=100)["next_cursor"]
        arguments = {"data": {"wait_seconds": seconds, "cursor": cursor}}
        params: Object = {"name": "list_events", "arguments": arguments, **({"_meta": meta} if meta else {})}
        self._pool = ThreadPoolExecutor(1)
        self._begun = self._pool.submit(Stream, port, client, "tools/call", params)
        wait_for(lambda: own_stream(agent.pk) in notices.awaited(), SOON)

    @property
    def stream(self) -> Stream:
        """The answer, of which at least the headers have come."""
        return self._begun.result(SOON)

    @property
    def streamed(self) -> bool:
        return self.stream.headers["content-type"] == "text/event-stream"

    def answer(self) -> Object:
        """The JSON-RPC answer, past any progress."""
        if not self.streamed:
            found: Object = json.loads(self.stream.rest())
            return found
        while "id" not in (message := self.stream.message()):
            assert message["method"] == "notifications/progress"
        assert self.stream.ended()
        return message

    def result(self) -> Object:
        """What the tool has answered."""
        return done(self.answer()["result"])

    def hang_up(self) -> None:
        self.stream.hang_up()
        self._pool.shutdown()


@pytest.fixture
def wait(served: Here, client: Client, agent: Agent) -> Iterator[Wait]:
    """Begins to wait: `wait(seconds, **meta)`."""
    open: list[Call] = []

    def begin(seconds: int = LONG, **meta: Any) -> Call:
        open.append(Call(served.port, client, agent, seconds, **meta))
        return open[-1]

    yield begin
    for each in open:
        each.hang_up()
    served.idle()


@pytest.fixture(params=["progressToken", ""], ids=["with progress", "without"])
def meta(request: pytest.FixtureRequest) -> Object:
    """What a client says that wants to hear of progress, and one that does not."""
    return {request.param: "p"} if request.param else {}


# What ends the wait


def test_an_event_that_comes_ends_the_wait(wait: Wait, agent: Agent, meta: Object) -> None:
    call = wait(**meta)
    started = time.monotonic()
    agent.save("plan")
    assert told(call.result()["items"]) == [("save_memory", "plan", 1)]
    assert time.monotonic() - started < SOON
    assert call.streamed == bool(meta)


def test_so_does_the_end_of_the_time(wait: Wait, meta: Object) -> None:
    started = time.monotonic()
    answer = wait(1, **meta).result()
    assert answer["items"] == []
    assert answer["next_cursor"]
    assert 1 <= time.monotonic() - started < 1 + SOON


def test_where_there_is_something_nobody_waits(client: Client, agent: Agent) -> None:
    agent.save("plan")
    settled()
    started = time.monotonic()
    assert told(done(client.tool("list_events", wait_seconds=LONG))["items"]) == [("save_memory", "plan", 1)]
    assert time.monotonic() - started < SOON


def test_nobody_waits_longer_than_may_be_asked_for(client: Client) -> None:
    failed(client.tool("list_events", wait_seconds=LONG + 1), "invalid_arguments")


def test_a_key_that_is_revoked_meanwhile_ends_it_with_a_refusal(wait: Wait, agent: Agent, meta: Object) -> None:
    call = wait(**meta)
    models.AgentKey.objects.filter(agent=agent.pk).revoke()  # type: ignore[attr-defined]
    notices.publish([own_stream(agent.pk)])
    assert call.answer()["error"]["data"]["error"]["code"] == "unauthenticated"
    assert call.stream.status == (200 if meta else 401)


def test_a_client_that_hangs_up_is_waited_for_no_longer(wait: Wait, agent: Agent) -> None:
    call = wait(progressToken="p")
    assert call.stream.message()["params"]["progress"] == 0
    call.hang_up()
    wait_for(lambda: own_stream(agent.pk) not in notices.awaited(), SOON)


def test_where_no_thread_is_free_it_is_told_to_come_again(
    wait: Wait, agent: Agent, meta: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = wait(**meta)

    async def full(*_: object) -> None:
        raise Refusal("unavailable", "Too many calls are waiting for this server.", retry_after_seconds=1)

    monkeypatch.setattr(threads, "run", full)
    notices.publish([own_stream(agent.pk)])
    answer = call.answer()
    assert answer["id"] == 1
    assert answer["error"]["data"]["error"]["code"] == "unavailable"
    assert call.stream.status == (200 if meta else 503)


# Progress


def test_a_client_that_wants_to_hears_how_long_it_has_waited(
    wait: Wait, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "PROGRESS_SECONDS", 1)
    call = wait(3, progressToken="p")
    first, second = call.stream.message(), call.stream.message()
    assert first["method"] == second["method"] == "notifications/progress"
    words = {"message": first["params"]["message"]}
    assert first["params"] == {"progressToken": "p", "progress": 0, "total": 3, **words}
    assert second["params"] == {"progressToken": "p", "progress": 1, "total": 3, **words}
    agent.save("plan")
    assert call.result()["items"]


@pytest.mark.parametrize("token", ["", 7, "é\n", 2**63 - 1])
def test_its_token_comes_back_as_it_was(wait: Wait, agent: Agent, token: str | int) -> None:
    call = wait(progressToken=token)
    assert call.stream.message()["params"]["progressToken"] == token
    agent.save("plan")
    assert call.result()["items"]


@pytest.mark.parametrize("token", [None, True, 1.5, [], {}, 10**30, "\ud800"])
def test_what_can_mark_no_progress_is_passed_over(wait: Wait, agent: Agent, token: Any) -> None:
    call = wait(progressToken=token)
    agent.save("plan")
    assert call.result()["items"]
    assert not call.streamed


def test_a_client_that_takes_no_stream_hears_of_none(client: Client) -> None:
    arguments = {"data": {"wait_seconds": 1}}
    params = {"name": "list_events", "arguments": arguments, "_meta": {"progressToken": "p"}}
    reply = client.ask("tools/call", params, changes={"accept": "application/json"})
    assert done(result(reply, client.modern))["items"] is not None
