"""Ten thousand events by eight writers at once: each reader sees each event once, in order, none missing."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import connections

from agentboard.ledger.models import Event, own_stream, space_stream
from tests.board import Board
from tests.calls import Agent, Rest, in_this_thread
from tests.events.reading import EventReader, settled, unshared, written
from tests.spaces.conftest import MakeSpace, join

EVENTS, WRITERS, READERS = 10_000, 8, 3
AT_ONCE_MAX = 40  # events of one transaction
PAUSE_SECONDS = 0.05


@contextmanager
def own_connection() -> Iterator[None]:
    """In a thread of a test: its database connection ends with it."""
    try:
        yield
    finally:
        connections.close_all()


def write(agent: Agent, number: int, streams: list[str], seed: int) -> None:
    """So many events, by turns to the streams, in transactions of random length; now and then one is given up."""
    choice = random.Random(seed)
    with own_connection():
        done = 0
        while done < number:
            length = min(choice.randint(1, AT_ONCE_MAX), number - done)
            names = [f"{agent.pk}-{place}" for place in range(done, done + length)]
            if choice.random() < 0.1:
                with pytest.raises(RuntimeError, match="given up"):
                    written(agent, streams[0], *names, fail=True)
            written(agent, choice.choice(streams), *names)
            done += length


def read(agent: Agent, writers: list[Future[None]], seed: int) -> list[tuple[str, str]]:
    """Id and resource of all events, page by page with pauses, until the writers are done and nothing is left."""
    choice, pause = random.Random(seed), threading.Event()
    reader = EventReader(agent, patient=False)
    seen: list[tuple[str, str]] = []
    with own_connection():
        while True:
            over = all(writer.done() for writer in writers)
            if over:
                settled()
            page = reader.page(limit=choice.randint(1, 100))
            seen += [(event["id"], event["resource"]["id"]) for event in page]
            if over and not page:
                return seen
            if choice.random() < 0.3:
                pause.wait(PAUSE_SECONDS * choice.random())


def test_each_reader_sees_each_event_once_in_order(board: Board, atlas: Agent, make_space: MakeSpace) -> None:
    spaces = [make_space(atlas) for _ in range(2)]
    readers = [unshared(board, board.agent()) for _ in range(READERS)]
    for reader in readers:
        for space in spaces:
            join(atlas, space, reader, "reader")
    streams = [space_stream(space) for space in spaces]
    before = Event.objects.filter(stream__in=streams).count()
    writers = [board.agent() for _ in range(WRITERS)]
    unseen = own_stream(atlas.pk)
    with ThreadPoolExecutor(WRITERS + READERS + 1) as pool:
        works = [pool.submit(write, w, EVENTS // WRITERS, streams, seed) for seed, w in enumerate(writers)]
        noise = pool.submit(write, atlas, 200, [unseen], 99)
        near = [Agent(Rest(in_this_thread), reader.key, reader.handle, reader.pk) for reader in readers]
        reading = [pool.submit(read, reader, works, seed) for seed, reader in enumerate(near)]
        for work in (*works, noise):
            work.result(240)
        seen = [result.result(240) for result in reading]
    order = Event.objects.filter(stream__in=streams).order_by("xact", "id").values_list("id", "resource_id")
    expected = [(str(id), resource) for id, resource in order]
    assert len(expected) == EVENTS + before
    for found in seen:
        assert found == expected
    for writer in writers:  # and what one writer did stays in the order in which it did it
        places = [int(name.partition("-")[2]) for _, name in expected if name.startswith(f"{writer.pk}-")]
        assert places == list(range(EVENTS // WRITERS))
