"""One open page: who looks at it, what it watches, and what it is still to be told."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from agentboard.board.watching import Inbox, Sight, Topic
from agentboard.ledger.feed import Place
from agentboard.web.live.message import SLOW, Notice, Wish, news_text
from agentboard.web.live.visitor import Visitor

BACKLOG_MAX = 500  # notices that wait for a page which takes none


class Watch:
    """Lives on the event loop; a thread reads `visitor`, `sights`, `place` and `joining`, and changes nothing."""

    def __init__(self, visitor: Visitor, wish: Wish, sights: Iterable[Sight]) -> None:
        self.visitor, self.sights = visitor, tuple(sights)
        self.place, self.lost, self.joining = wish.place, wish.lost, True
        self.over: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._inboxes: dict[Topic, Inbox | int] = dict(wish.topics)
        self._news: dict[tuple[str, str], Notice] = {}
        self._at: Place | None = None
        self._pong: int | None = None
        self._due = asyncio.Event()

    def end(self, code: int) -> None:
        """Close the socket with this code."""
        if not self.over.done():
            self.over.set_result(code)

    def joined(self, top: Place) -> None:
        """What it has missed is told; a page that could not say what it has seen begins here."""
        self.place, self.joining = self.place or top, False

    def tell(self, notices: Iterable[Notice], at: Place | None) -> None:
        """Send these notices, each with the latest version alone, and where to go on from."""
        for notice in notices:
            self._news[notice.topic, notice.id] = notice
        self._at = at or self._at
        if len(self._news) > BACKLOG_MAX:
            self.end(SLOW)
        self._due.set()

    def pong(self, number: int) -> None:
        """Answer a sign of life."""
        self._pong = number
        self._due.set()

    def waiting(self, inboxes: Mapping[int, Inbox]) -> list[Notice]:
        """What is new of the inboxes that it watches, beside what the page shows or was told."""
        found = []
        for sight in self.sights:
            now = inboxes.get(sight.agent_id or 0)
            if sight.topic.kind != "inbox" or now is None:
                continue
            before = self._inboxes.get(sight.topic)
            self._inboxes[sight.topic] = now
            if now.unread != before if isinstance(before, int) else now != before:
                found.append(Notice(str(sight.topic), now.newest, now.unread))
        return found

    async def deliver(self, send: Any) -> None:
        """Send what is to be told, until cancelled. Raises OSError when the page has gone."""
        while True:
            await self._due.wait()
            self._due.clear()
            told = {} if self._pong is None else {"pong": self._pong}
            if self._news or self._at:
                told |= news_text(self._news.values(), self._at)
            self._news, self._at, self._pong = {}, None, None
            await send({"type": "websocket.send", "text": orjson.dumps(told).decode()})
