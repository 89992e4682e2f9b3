"""Open pages of a server with two workers: whichever worker holds a page hears of what the other has written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.events.test_waiting_servers import redis_url
from tests.serving import Served
from tests.web.live.conftest import Installation
from tests.web.live.pages import Page, Reader, got, watching
from tests.web.live.test_ending import SIGNED_OUT, ends, press

PAGES = 12  # of one reader: that one worker holds all of them happens once in two thousand times
SAVES = 6  # each by a connection of its own, to whichever worker


@pytest.fixture(params=[False, True], ids=["without-redis", "with-redis"])
def pair(request: pytest.FixtureRequest, installation: Installation) -> Iterator[Served]:
    """A server with two workers, first with nothing between them but the database, then with Redis."""
    between: dict[str, Any] = {"REDIS_URL": request.getfixturevalue("redis_url")} if request.param else {}
    with installation.arena.serving(WORKERS="2", **between) as server:
        yield server


def last_heard(page: Page, version: int) -> None:
    """Come back when the page has heard of this version of whatever it shows."""
    while page.news()[-1][2] < version:
        pass


def test_pages_at_both_workers_hear_of_all_changes_and_close_when_their_reader_signs_out(
    pair: Served, mira: Reader
) -> None:
    topic, atlas = f"note:{mira.handle}:plan", mira.agent(pair)
    with ExitStack() as stack:
        pages = [stack.enter_context(watching(pair, mira, topic)) for _ in range(PAGES)]
        elsewhere = stack.enter_context(watching(pair, mira, topic, session=1))
        for version in range(SAVES):
            atlas.save("plan", f"Text {version}", version)
        for page in [*pages, elsewhere]:
            last_heard(page, SAVES)
        assert press(pair, mira, "/account/sign-out") == 302
        for page in pages:
            ends(page, SIGNED_OUT)
        assert elsewhere.answers()
    assert got(pair, "/healthz")[0] == 200


__all__ = ["redis_url"]
