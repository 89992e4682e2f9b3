"""What has changed for the pages that are open, and which of them may no longer hear of it. Runs in a thread."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from agentboard.board.watching import Inbox, News, Sight, held_back, news, sights, waiting_for
from agentboard.ledger import feed
from agentboard.ledger.feed import Place
from agentboard.web.live.message import FORBIDDEN, SIGNED_OUT, Notice
from agentboard.web.live.visitor import Visitor, still_there
from agentboard.web.live.watch import Watch

EVENTS_MAX = 500  # that one look reads
MISSED_MAX = 200  # changes that a page which comes back is told of one by one


@dataclass
class Checked:
    """Pages that may go on, as their people and rights are now, and those that are closed, with their codes."""

    renewed: dict[Watch, tuple[Visitor, tuple[Sight, ...]]] = field(default_factory=dict)
    ended: dict[Watch, int] = field(default_factory=dict)


@dataclass
class Found:
    """What one look has found: all changes up to `place` are in `told`."""

    place: Place
    top: Place
    told: dict[Watch, list[Notice]]
    inboxes: dict[int, Inbox]
    checked: Checked
    early: bool  # something cannot be read in order yet
    more: bool


def look(watches: Sequence[Watch], place: Place | None) -> Found:
    """The changes behind `place` (None: from now on) for these pages, and for those that join what they have missed.

    Who is told something is checked first, in this same moment.
    """
    top = feed.top()
    begin = place or top
    streams = streams_of(watches)
    found = news(streams, begin, EVENTS_MAX) if streams else []
    told = shared(watches, found, top)
    for watch in watches:
        if watch.joining:
            told[watch] = missed(watch.sights, watch.place, watch.lost) + told.get(watch, [])
    more = len(found) == EVENTS_MAX
    reached = found[-1].place if more else max([top, begin, *(each.place for each in found)])
    joining = [watch for watch in watches if watch.joining]
    inboxes = waiting_for(inboxes_of(joining))
    early = bool(streams) and not more and held_back(streams, reached)
    return Found(reached, top, told, inboxes, check(told), early, more)


def streams_of(watches: Iterable[Watch]) -> frozenset[str]:
    """The streams that somebody watches."""
    return frozenset(stream for watch in watches for sight in watch.sights for stream in sight.streams)


def inboxes_of(watches: Iterable[Watch]) -> set[int]:
    """The agents whose inboxes somebody watches."""
    shown = (sight for watch in watches for sight in watch.sights if sight.topic.kind == "inbox")
    return {sight.agent_id for sight in shown if sight.agent_id is not None}


def shared(watches: Iterable[Watch], found: Iterable[News], top: Place) -> dict[Watch, list[Notice]]:
    """The notices for each page that the changes concern, without those that it has seen; `top` is the present."""
    showing: dict[str, list[tuple[Watch, Sight]]] = defaultdict(list)
    for watch in watches:
        for sight in watch.sights:
            for stream in sight.streams:
                showing[stream].append((watch, sight))
    told: dict[Watch, list[Notice]] = defaultdict(list)
    for each in found:
        for watch, sight in showing[each.stream]:
            if each.place > (watch.place or top) and sight.shows(each):
                told[watch].append(Notice(str(sight.topic), each.id, each.version))
    return told


def missed(shown: Sequence[Sight], place: Place | None, lost: bool) -> list[Notice]:
    """The notices of what came behind `place`; one without an id for each topic where that is too much or unknown."""
    streams = {stream for sight in shown for stream in sight.streams}
    found = news(streams, place, MISSED_MAX + 1) if place and streams else []
    if lost or len(found) > MISSED_MAX:
        return [Notice(str(sight.topic), "", 0) for sight in shown]
    return [Notice(str(sight.topic), each.id, each.version) for each in found for sight in shown if sight.shows(each)]


def check(watches: Collection[Watch]) -> Checked:
    """Which of the pages go on: those of people who are still signed in, and may still see all that they watch."""
    there = still_there({watch.visitor for watch in watches})
    allowed = sights({(watch.visitor.person, sight.topic) for watch in watches for sight in watch.sights})
    checked = Checked()
    for watch in watches:
        visitor = there.get(watch.visitor)
        now = [allowed.get((watch.visitor.person, sight.topic)) for sight in watch.sights]
        seen = tuple(sight for sight in now if sight is not None)
        if visitor is None:
            checked.ended[watch] = SIGNED_OUT
        elif len(seen) < len(now):
            checked.ended[watch] = FORBIDDEN
        elif (visitor, seen) != (watch.visitor, watch.sights):
            checked.renewed[watch] = (visitor, seen)
    return checked


def check_all(watches: Collection[Watch]) -> tuple[Checked, dict[int, Inbox]]:
    """The same for pages of which nothing was heard, and what waits in the inboxes that they watch."""
    return check(watches), waiting_for(inboxes_of(watches))
