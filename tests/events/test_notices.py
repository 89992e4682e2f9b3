"""Notices: whoever waits on a stream hears of it, from whichever thread, and nobody else does."""

import asyncio
import threading
from collections.abc import Collection, Iterator

import pytest

from agentboard.ledger import notices

pytestmark = pytest.mark.no_database
SECONDS = 10  # far more than a notice takes


@pytest.fixture(autouse=True)
def _nobody_else() -> Iterator[None]:
    assert notices.awaited() == set()
    yield
    assert notices.awaited() == set()


@pytest.fixture
def carried() -> Iterator[list[Collection[str]]]:
    """What was published for a listener to carry further."""
    found: list[Collection[str]] = []
    listener = found.append
    notices.carry(listener)
    yield found
    notices._listeners.remove(listener)


def test_a_waiter_hears_of_each_of_its_streams_and_of_no_other() -> None:
    async def wait() -> None:
        with notices.waiting(("a", "b")) as waiter:
            assert notices.awaited() == {"a", "b"}
            for stream in ("a", "b"):
                notices.publish((stream,))
                assert await waiter.wait(SECONDS)
            notices.publish(("c", "a:b", ""))
            assert not await waiter.wait(0.05)

    asyncio.run(wait())


def test_a_notice_from_another_thread_wakes_who_sleeps() -> None:
    async def wait() -> None:
        with notices.waiting(("a",)) as waiter:
            thread = threading.Thread(target=notices.publish, args=({"a"},))
            asyncio.get_running_loop().call_later(0.05, thread.start)
            assert await waiter.wait(SECONDS)
            thread.join()

    asyncio.run(wait())


def test_a_notice_before_the_wait_is_not_lost_and_many_count_as_one() -> None:
    async def wait() -> None:
        with notices.waiting(("a",)) as waiter:
            for _ in range(3):
                notices.publish(("a",))
            await asyncio.sleep(0)
            assert await waiter.wait(0.05)
            assert not await waiter.wait(0)
            notices.publish(("a",))
            assert await waiter.wait(SECONDS)

    asyncio.run(wait())


def test_the_time_over_is_no_notice_and_a_negative_time_is_none() -> None:
    async def wait() -> None:
        with notices.waiting(("a",)) as waiter:
            assert not await waiter.wait(0.02)
            assert not await waiter.wait(-1)

    asyncio.run(wait())


def test_all_who_wait_on_a_stream_hear_of_it_in_whichever_loop_they_are() -> None:
    ready, heard = threading.Barrier(4), []

    async def wait(name: str, stream: str) -> None:
        with notices.waiting((stream,)) as waiter:
            ready.wait(SECONDS)
            if await waiter.wait(SECONDS if stream == "a" else 0.3):
                heard.append(name)

    streams = {"first": "a", "second": "a", "third": "b"}
    threads = [threading.Thread(target=asyncio.run, args=(wait(*item),)) for item in streams.items()]
    for thread in threads:
        thread.start()
    ready.wait(SECONDS)
    notices.publish(("a",))
    for thread in threads:
        thread.join()
    assert sorted(heard) == ["first", "second"]


def test_one_who_stops_waiting_leaves_the_others() -> None:
    async def wait() -> None:
        with notices.waiting(("a", "b")) as stays:
            with notices.waiting(("a",)):
                pass
            assert notices.awaited() == {"a", "b"}
            notices.publish(("a",))
            assert await stays.wait(SECONDS)

    asyncio.run(wait())


def test_one_who_is_cancelled_waits_no_longer() -> None:
    async def forever() -> None:
        with notices.waiting(("a",)) as waiter:
            await waiter.wait(SECONDS)

    async def cancel() -> None:
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        assert notices.awaited() == {"a"}
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


def test_what_is_published_is_carried_further_and_what_is_heard_is_not(carried: list[Collection[str]]) -> None:
    notices.publish({"a"})
    notices.hear(["b"])
    assert carried == [{"a"}]


def test_a_stream_named_twice_is_waited_on_once() -> None:
    async def wait() -> None:
        with notices.waiting(("a", "a")) as waiter:
            notices.publish(("a",))
            assert await waiter.wait(SECONDS)

    asyncio.run(wait())
