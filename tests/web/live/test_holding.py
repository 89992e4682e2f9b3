"""What open pages hold of a server that does much else, and how they end with it."""

from __future__ import annotations

import time
from contextlib import ExitStack

from tests.events.test_waiting_servers import THREADS, connections, threads
from tests.web.live.conftest import Installation
from tests.web.live.pages import Reader, watching

PAGES = 40
RESTARTING = 1012  # IANA's registry of close codes
STOP_SECONDS = 8  # less than the grace that requests have


def test_forty_pages_hold_no_thread_and_no_connection_and_leave_when_the_server_stops(
    installation: Installation, mira: Reader
) -> None:
    topic = f"note:{mira.handle}:plan"
    with installation.arena.serving() as server, ExitStack() as stack:
        atlas = mira.agent(server)
        first = stack.enter_context(watching(server, mira, topic))
        for version in range(2 * THREADS):  # each thread has its connection by now
            atlas.save("plan", f"Text {version}", version)
        while first.news()[-1][2] < 2 * THREADS:
            pass
        held, running = connections(installation.arena), threads(server)
        pages = [stack.enter_context(watching(server, mira, topic)) for _ in range(PAGES)]
        assert (connections(installation.arena), threads(server)) == (held, running)
        atlas.save("plan", "Heard by all", 2 * THREADS)
        for page in [first, *pages]:
            assert page.news() == [(topic, "plan", 2 * THREADS + 1)]
        started = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - started < STOP_SECONDS
        assert {page.code() for page in pages} == {RESTARTING}
        assert "Traceback" not in server.err
