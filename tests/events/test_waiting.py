"""wait_seconds: a call waits for the next change, for the end of its time, or for what ends it meanwhile."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import OperationalError, connection

from agentboard import rest_door
from agentboard.asgi import application, threads
from agentboard.identity import models
from agentboard.ledger import feed, notices
from agentboard.ledger.models import PUBLIC_STREAM, own_stream, space_stream
from agentboard.relay import Relay, since
from tests.board import Board
from tests.calls import Agent, Object, Reply, Request, query
from tests.calls import _scope as scope_of
from tests.events.reading import EventReader, told, unshared, written
from tests.serving import wait_for
from tests.spaces.conftest import MakeEntry, MakeSpace, join

LONG = 25  # seconds, the most that can be asked for
SOON = 5  # seconds: at most what a notice takes on a busy machine, and far less than the next look would


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(12) as made:
        yield made


class Waiting:
    """A call that waits in a thread of its own."""

    def __init__(self, pool: ThreadPoolExecutor, agent: Agent, stream: str, seconds: int = LONG, **data: Any) -> None:
        self.agent, self.stream = agent, stream
        cursor = EventReader(agent)
        cursor.rest(limit=100)
        before = len(notices._waiting.get(stream, ()))
        self._started = time.monotonic()
        self._reply: Future[Reply] = pool.submit(
            agent.call, "list_events", wait_seconds=seconds, cursor=cursor.cursor, **data
        )
        wait_for(lambda: len(notices._waiting.get(stream, ())) > before, 10)  # seconds

    @property
    def over(self) -> bool:
        return self._reply.done()

    def reply(self, seconds: float = SOON) -> Reply:
        """The reply, which comes within so many seconds from now."""
        return self._reply.result(seconds)

    def events(self, seconds: float = SOON) -> list[Object]:
        """The items of the answer."""
        return list(self.reply(seconds).json["items"])


# ---- the time


def test_where_there_is_something_nobody_waits(board: Board, atlas: Agent) -> None:
    atlas.save("plan")
    started = time.monotonic()
    assert len(EventReader(unshared(board, atlas)).page(wait_seconds=LONG)) == 1
    assert time.monotonic() - started < SOON


def test_an_empty_answer_comes_when_the_time_is_over_with_a_cursor_to_go_on_from(board: Board, atlas: Agent) -> None:
    reader = EventReader(unshared(board, atlas))
    started = time.monotonic()
    assert reader.page(wait_seconds=1) == []
    assert 1 <= time.monotonic() - started < 1 + SOON
    atlas.save("plan")
    assert told(reader.page(wait_seconds=1)) == [("save_memory", "plan", 1)]


def test_without_it_nobody_waits(board: Board, atlas: Agent) -> None:
    started = time.monotonic()
    for more in ({}, {"wait_seconds": 0}):
        assert EventReader(unshared(board, atlas)).page(**more) == []
    assert time.monotonic() - started < SOON


@pytest.mark.parametrize("wrong", [26, -1, 1.5, "x", True, 2**31])
def test_more_than_25_seconds_and_what_is_no_number_of_seconds_are_refused(atlas: Agent, wrong: object) -> None:
    error = atlas.refused("invalid_arguments", "list_events", wait_seconds=wrong)
    assert error["details"][0]["path"] == "wait_seconds"


def test_a_credential_that_opens_no_stream_waits_for_nothing_and_ends(board: Board, atlas: Agent) -> None:
    assert EventReader(board.with_scopes(atlas, "memory:write")).page(wait_seconds=1) == []


# ---- what wakes it


def test_a_change_of_the_agents_own_wakes_it(board: Board, atlas: Agent, pool: ThreadPoolExecutor) -> None:
    waiting = Waiting(pool, unshared(board, atlas), own_stream(atlas.pk))
    assert not waiting.over
    atlas.save("plan")
    assert told(waiting.events()) == [("save_memory", "plan", 1)]


def test_a_change_in_a_space_wakes_each_member_and_a_post_each_who_reads_posts(
    board: Board,
    atlas: Agent,
    editor: Agent,
    reader: Agent,
    space: str,
    make_entry: MakeEntry,
    pool: ThreadPoolExecutor,
) -> None:
    members = [Waiting(pool, unshared(board, agent), space_stream(space)) for agent in (atlas, reader)]
    public = Waiting(pool, board.with_scopes(reader, "posts:read"), PUBLIC_STREAM)
    entry = make_entry(editor, space)["id"]
    for waiting in members:
        assert told(waiting.events()) == [("create_space_entry", entry, 1)]
    assert not public.over
    post = editor.done("create_post", type="QUESTION", title="x", body="x")["id"]
    assert ("create_post", post, 1) in told(public.events())


@pytest.mark.parametrize("act", ["memory", "task", "member", "post"])
def test_every_kind_of_write_wakes_it(
    board: Board, atlas: Agent, space: str, make_entry: MakeEntry, pool: ThreadPoolExecutor, act: str
) -> None:
    task = make_entry(atlas, space, kind="TASK")["id"]
    atlas.save("plan")
    streams = {"memory": own_stream(atlas.pk), "post": PUBLIC_STREAM}
    stream = streams.get(act, space_stream(space))
    waiting = Waiting(pool, atlas, stream)
    if act == "memory":
        expected = ("edit_memory", "plan", atlas.done("edit_memory", "plan", expected_version=1, append="!")["version"])
    elif act == "task":
        expected = ("claim_next_task", task, atlas.done("claim_next_task", space)["entry"]["version"])
    elif act == "member":
        made = atlas.done("set_space_member", space, agent=board.agent().handle, role="reader")
        expected = ("set_space_member", space, made["version"])
    else:
        expected = ("create_post", atlas.done("create_post", type="OFFER", title="x", body="x")["id"], 1)
    assert expected in told(waiting.events())


def test_others_changes_do_not(
    board: Board, atlas: Agent, boreas: Agent, make_space: MakeSpace, pool: ThreadPoolExecutor
) -> None:
    waiting = Waiting(pool, unshared(board, atlas), own_stream(atlas.pk), seconds=1)
    boreas.save("plan")
    make_space(boreas)
    boreas.done("create_post", type="QUESTION", title="x", body="x")
    assert waiting.events() == []


def test_a_change_that_is_given_up_does_not(board: Board, atlas: Agent, pool: ThreadPoolExecutor) -> None:
    waiting = Waiting(pool, unshared(board, atlas), own_stream(atlas.pk), seconds=1)
    with pytest.raises(RuntimeError, match="given up"):
        written(atlas, own_stream(atlas.pk), "plan", fail=True)
    assert waiting.events() == []


def test_a_limit_holds_for_what_was_waited_for_too(board: Board, atlas: Agent, pool: ThreadPoolExecutor) -> None:
    waiting = Waiting(pool, unshared(board, atlas), own_stream(atlas.pk), limit=2)
    written(atlas, own_stream(atlas.pk), "a", "b", "c")
    first = waiting.reply().json
    assert told(first["items"]) == [("save_memory", "a", 1), ("save_memory", "b", 1)]
    assert told(EventReader(waiting.agent, first["next_cursor"]).rest()) == [("save_memory", "c", 1)]


def test_a_change_without_a_notice_is_found_at_the_next_look(
    board: Board, atlas: Agent, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_door, "LOOK_SECONDS", 0.1)
    waiting = Waiting(pool, unshared(board, atlas), own_stream(atlas.pk))
    monkeypatch.setattr(notices, "publish", lambda streams: None)
    atlas.save("plan")
    assert told(waiting.events()) == [("save_memory", "plan", 1)]


# ---- what ends meanwhile


def test_a_member_removed_while_it_waits_gets_nothing_more(
    board: Board, atlas: Agent, reader: Agent, space: str, make_entry: MakeEntry, pool: ThreadPoolExecutor
) -> None:
    waiting = Waiting(pool, unshared(board, reader), space_stream(space), seconds=2)
    atlas.done("remove_space_member", space, agent=reader.handle)
    for _ in range(3):
        make_entry(atlas, space)
    assert waiting.events() == []


def test_a_key_revoked_while_it_waits_is_refused_at_the_next_look(
    board: Board, atlas: Agent, pool: ThreadPoolExecutor
) -> None:
    agent = unshared(board, atlas)
    waiting = Waiting(pool, agent, own_stream(atlas.pk))
    models.AgentKey.objects.filter(agent_id=atlas.pk, scopes__contains="memory").order_by("-pk").first().delete()  # type: ignore[union-attr]
    atlas.save("plan")
    assert (waiting.reply().status, waiting.reply().code) == (401, "unauthenticated")


def test_also_where_nothing_else_happens(
    board: Board, atlas: Agent, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_door, "LOOK_SECONDS", 0.1)
    waiting = Waiting(pool, unshared(board, atlas), own_stream(atlas.pk))
    models.AgentKey.objects.filter(agent_id=atlas.pk).revoke()  # type: ignore[attr-defined]
    assert waiting.reply().status == 401


def test_an_agent_that_is_put_to_sleep_while_it_waits_is_refused(
    board: Board, atlas: Agent, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_door, "LOOK_SECONDS", 0.1)
    waiting = Waiting(pool, unshared(board, atlas), own_stream(atlas.pk))
    models.Agent.objects.filter(pk=atlas.pk).update(active=False)
    assert waiting.reply().status == 401


def test_a_space_joined_while_it_waits_is_seen_at_the_next_look(
    board: Board,
    atlas: Agent,
    boreas: Agent,
    space: str,
    pool: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rest_door, "LOOK_SECONDS", 0.1)
    waiting = Waiting(pool, unshared(board, boreas), own_stream(boreas.pk))
    join(atlas, space, boreas, "reader")
    assert "respond_to_invitation" in [event["method"] for event in waiting.events()]


@pytest.mark.parametrize("when", ["at once", "later"])
def test_a_client_that_hangs_up_ends_the_wait_and_is_sent_nothing(board: Board, atlas: Agent, when: str) -> None:
    agent = unshared(board, atlas)
    stream, sent = own_stream(atlas.pk), []
    headers = {"authorization": f"Bearer {agent.key}"}
    scope = scope_of(Request("GET", "/v1/events", query({"wait_seconds": LONG}), headers))

    async def exchange() -> None:
        left = asyncio.Event()
        messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Any:
            for message in messages:
                return message
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        call = asyncio.create_task(application(scope, receive, send))
        if when == "later":
            while stream not in notices.awaited():
                await asyncio.sleep(0.01)
        left.set()
        async with asyncio.timeout(SOON):
            await call

    asyncio.run(exchange())
    assert sent == []
    assert stream not in notices.awaited()


def test_nobody_is_awaited_once_all_are_answered(board: Board, atlas: Agent, pool: ThreadPoolExecutor) -> None:
    agent = unshared(board, atlas)
    calls = [Waiting(pool, agent, own_stream(atlas.pk)) for _ in range(10)]
    atlas.save("plan")
    for waiting in calls:
        assert told(waiting.events()) == [("save_memory", "plan", 1)]
    assert own_stream(atlas.pk) not in notices.awaited()


# ---- what other processes write


def test_a_change_of_another_process_is_seen_in_the_event_table_from_the_first_moment_on(
    atlas: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentboard.relay.alone", lambda: False)
    monkeypatch.setattr("agentboard.relay.LOOK_SECONDS", 0.1)
    monkeypatch.setattr(notices, "publish", lambda streams: None)  # as if another process wrote
    stream = own_stream(atlas.pk)

    async def wait() -> bool:
        relay = Relay(threads)
        relay.start()
        try:
            with notices.waiting((stream,)) as waiter:
                await threads.run(written, atlas, stream, "plan")
                return await waiter.wait(SOON)
        finally:
            relay.stop()

    assert asyncio.run(wait())


def test_each_change_wakes_those_who_wait_on_its_stream_and_no_others(
    atlas: Agent, boreas: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentboard.relay.alone", lambda: False)
    monkeypatch.setattr("agentboard.relay.LOOK_SECONDS", 0.05)
    monkeypatch.setattr(notices, "publish", lambda streams: None)
    streams = [own_stream(atlas.pk), own_stream(boreas.pk)]

    async def wait() -> None:
        relay = Relay(threads)
        relay.start()
        try:
            with notices.waiting(streams[:1]) as mine, notices.waiting(streams[1:]) as others:
                assert await mine.wait(SOON)  # the first look is for all who began before it
                assert await others.wait(SOON)
                for number in range(3):
                    await threads.run(written, atlas, streams[0], f"seen-{number}")
                    assert await mine.wait(SOON)
                assert not await others.wait(0.2)
            for number in range(3):
                await threads.run(written, atlas, streams[0], f"unseen-{number}")
                with notices.waiting(streams[:1]) as mine:
                    await threads.run(written, atlas, streams[0], f"more-{number}")
                    assert await mine.wait(SOON)
        finally:
            relay.stop()

    asyncio.run(wait())


def test_where_no_other_process_can_write_nobody_looks(atlas: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    monkeypatch.setattr("agentboard.relay.LOOK_SECONDS", 0.01)
    monkeypatch.setattr("agentboard.relay.since", lambda position: looked.append(position))

    async def wait() -> None:
        relay = Relay(threads)
        relay.start()
        with notices.waiting((own_stream(atlas.pk),)) as waiter:
            await waiter.wait(0.1)
        relay.stop()

    asyncio.run(wait())
    assert bool(looked) == (connection.vendor == "postgresql")


def test_a_database_that_does_not_answer_is_looked_at_again(atlas: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentboard.relay.alone", lambda: False)
    monkeypatch.setattr("agentboard.relay.LOOK_SECONDS", 0.01)
    looks = iter([OperationalError("gone"), OperationalError("gone")])

    def failing(position: feed.Position | None) -> tuple[set[str], feed.Position]:
        for error in looks:
            raise error
        return since(position)

    monkeypatch.setattr("agentboard.relay.since", failing)

    async def wait() -> bool:
        relay = Relay(threads)
        relay.start()
        try:
            with notices.waiting((own_stream(atlas.pk),)) as waiter:
                return await waiter.wait(SOON)
        finally:
            relay.stop()

    assert asyncio.run(wait())
