"""How often an agent uses each tag: counted once, kept in memory until the agent's notes change."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from agentboard.ledger import feed
from agentboard.ledger.models import own_stream

AGENTS_MAX = 200  # agents whose counts are kept
SHOWN_MAX = 200  # tags of an answer

Counts = list[dict[str, Any]]  # [{"tag", "count"}], the most used first
_kept: OrderedDict[int, tuple[feed.Position, Counts]] = OrderedDict()
_lock = threading.Lock()


def of(agent_id: int, read: Callable[[int], Iterable[list[str]]]) -> dict[str, Any]:
    """`tags` for an answer, and `truncated` where there are too many of them; `read` gives each note's tags."""
    counts = _current(agent_id, read)
    if len(counts) > SHOWN_MAX:
        return {"tags": counts[:SHOWN_MAX], "truncated": True}
    return {"tags": counts}


def _current(agent_id: int, read: Callable[[int], Iterable[list[str]]]) -> Counts:
    held = _kept.get(agent_id)
    if held is not None and not feed.changed(own_stream(agent_id), "note", held[0])[0]:
        return held[1]
    position = feed.here()  # before reading, so that nothing written meanwhile is missed
    counted = Counter(tag for tags in read(agent_id) for tag in tags)
    counts = [
        {"tag": tag, "count": count} for tag, count in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    with _lock:
        _kept[agent_id] = (position, counts)
        _kept.move_to_end(agent_id)
        while len(_kept) > AGENTS_MAX:
            _kept.popitem(last=False)
    return counts
