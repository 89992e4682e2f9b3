"""wait_seconds at real servers: what another process writes wakes it too, and it holds nothing while it waits."""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import psycopg
import pytest
import redis

from tests.calls import Agent, Object, _reply, query
from tests.events.reading import EventReader, told
from tests.races.arena import Arena, arena
from tests.serving import Served, wait_for

DEFAULT_REDIS = "redis://127.0.0.1:6379/0"
TABLE_SECONDS = 5  # at most, where the event table is looked at each second
PROMPT_SECONDS = 5  # at most; a notice takes milliseconds, and without one it would be 10
ROUNDS = 4  # at whichever moment between two looks the change comes
TURN_SECONDS = 120  # far more than a test takes
WAITING = 40
THREADS = 4  # of each process of the arena


@pytest.fixture(scope="module", name="arena")
def _arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with arena(tmp_path_factory.mktemp("arena")) as made:
        yield made


@pytest.fixture
def redis_url() -> Iterator[str]:
    """A Redis server that tests may use, for one test at a time: what is told there is heard by every run of them."""
    url = os.environ.get("TEST_REDIS_URL", DEFAULT_REDIS)
    with closing(redis.Redis.from_url(url, socket_connect_timeout=5)) as server:
        try:
            server.ping()
        except redis.RedisError as error:
            reason = f"TEST_REDIS_URL names no Redis server that can be used ({error})"
            if os.environ.get("CI") == "true":
                pytest.fail(reason)
            pytest.skip(reason)
        with server.lock("agentboard-tests", timeout=TURN_SECONDS, blocking_timeout=TURN_SECONDS):
            yield url


class Call:
    """A call of list_events that is sent and not answered yet."""

    def __init__(self, agent: Agent, server: Served, seconds: int = 25) -> None:
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=60)  # seconds
        cursor = EventReader(agent, patient=False)
        cursor.rest(limit=100)
        target = f"/v1/events?{query({'wait_seconds': seconds, 'cursor': cursor.cursor})}"
        self._connection.request("GET", target, headers={"authorization": f"Bearer {agent.key}"})

    def events(self) -> list[Object]:
        """The items of the answer, once it is there."""
        response = self._connection.getresponse()
        assert response.status == 200
        found = _reply(200, [], response.read()).json
        self.hang_up()
        return list(found["items"])

    def hang_up(self) -> None:
        self._connection.close()


def looks(server: Served) -> int:
    """How often the server has looked for events."""
    return server.err.count('"method":"list_events"')


def waits(server: Served, calls: int, before: int) -> None:
    """Come back when so many calls wait: each has looked once before it waits and once since."""
    wait_for(lambda: looks(server) >= before + 2 * calls, 30)  # seconds


def woken(arena: Arena, waits_at: Served, writes_at: Served, most: float) -> None:
    """What is written at one server wakes who waits at the other, each time within so many seconds."""
    near, far = arena.agent(waits_at), arena.agent(writes_at)
    writer = Agent(far.door, near.key, near.handle, near.pk)
    for number in range(ROUNDS):
        before = looks(waits_at)
        call = Call(near, waits_at)
        waits(waits_at, 1, before + 1)  # one look to find the cursor
        started = time.monotonic()
        writer.save(f"note-{number}")
        assert told(call.events()) == [("save_memory", f"note-{number}", 1)]
        assert time.monotonic() - started < most


def test_a_change_of_another_worker_is_seen_in_the_event_table(arena: Arena) -> None:
    with arena.serving(WORKERS="2") as first, arena.serving(WORKERS="2") as second:
        woken(arena, first, second, TABLE_SECONDS)


def test_through_redis_it_is_heard_at_once(arena: Arena, redis_url: str) -> None:
    with arena.serving(REDIS_URL=redis_url) as first, arena.serving(REDIS_URL=redis_url) as second:
        woken(arena, first, second, PROMPT_SECONDS)


def test_those_who_wait_at_both_workers_of_a_server_are_all_woken(arena: Arena) -> None:
    with arena.serving(WORKERS="2") as server:
        agent = arena.agent(server)
        before = looks(server)
        calls = [Call(agent, server) for _ in range(12)]
        waits(server, 12, before + 12)
        started = time.monotonic()
        agent.save("plan")
        for call in calls:
            assert told(call.events()) == [("save_memory", "plan", 1)]
        assert time.monotonic() - started < TABLE_SECONDS


# ---- what it holds


def connections(arena: Arena) -> int:
    """How many connections the servers hold; 0 on SQLite, where nobody counts them."""
    if isinstance(arena.database, Path):
        return 0
    counted = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""
    with psycopg.connect(arena.database) as database:
        row = database.execute(counted).fetchone()
        assert row
        return int(row[0])


def threads(server: Served) -> int:
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def test_forty_that_wait_hold_no_thread_and_no_connection_and_hold_nobody_up(arena: Arena) -> None:
    with arena.serving() as server:
        waiting, other = arena.agent(server), arena.agent(server)
        for number in range(2 * THREADS):  # each thread has its connection by now
            waiting.save(f"note-{number}")
        before, held, running = looks(server), connections(arena), threads(server)
        calls = [Call(waiting, server) for _ in range(WAITING)]
        waits(server, WAITING, before + WAITING)
        assert (connections(arena), threads(server)) == (held, running)
        started = time.monotonic()
        for number in range(20):
            other.save(f"other-{number}")
            other.done("whoami")
        assert time.monotonic() - started < 10  # seconds; were threads held it would be 25
        assert connections(arena) <= held
        waiting.save("plan")
        for call in calls:
            assert told(call.events()) == [("save_memory", "plan", 1)]
        assert time.monotonic() - started < 20


def test_clients_that_hang_up_are_waited_for_no_longer(arena: Arena) -> None:
    with arena.serving() as server:
        agent = arena.agent(server)
        before = looks(server)
        calls = [Call(agent, server) for _ in range(WAITING)]
        waits(server, WAITING, before + WAITING)
        for call in calls[1:]:
            call.hang_up()
        for _ in range(20):
            agent.done("whoami")
        before = looks(server)
        agent.save("plan")
        assert told(calls[0].events()) == [("save_memory", "plan", 1)]
        assert looks(server) == before + 1
        assert '"level":"ERROR"' not in server.err


def test_a_server_that_is_told_to_stop_stops_though_calls_wait(arena: Arena) -> None:
    with arena.serving() as server:
        agent = arena.agent(server)
        before = looks(server)
        calls = [Call(agent, server) for _ in range(3)]
        waits(server, 3, before + 3)
        started = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - started < 20
        assert "Traceback" not in server.err
        for call in calls:
            call.hang_up()
