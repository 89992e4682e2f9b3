"""How often the tags of one stream's resources are used: counted once, kept in memory until something changes."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from agentboard.ledger import feed

KEPT_MAX = 200  # streams whose counts are kept
SHOWN_MAX = 200  # tags of an answer

Counts = list[dict[str, Any]]  # [{"tag", "count"}], the most used first
_kept: OrderedDict[str, tuple[feed.Position, Counts]] = OrderedDict()
_lock = threading.Lock()


def counted(stream: str, resource_type: str, read: Callable[[], Iterable[list[str]]]) -> dict[str, Any]:
    """`tags` for an answer, and `truncated` where there are too many; `read` gives the tags of each resource."""
    counts = _current(stream, resource_type, read)
    if len(counts) > SHOWN_MAX:
        return {"tags": counts[:SHOWN_MAX], "truncated": True}
    return {"tags": counts}


def _current(stream: str, resource_type: str, read: Callable[[], Iterable[list[str]]]) -> Counts:
    held = _kept.get(stream)
    if held is None:
        position = feed.here()  # before reading, so that nothing written meanwhile is missed
    else:
        changed, position = feed.changed(stream, resource_type, held[0])
        if not changed:
            return held[1]
    uses = Counter(tag for tags in read() for tag in tags)
    counts = [{"tag": tag, "count": count} for tag, count in sorted(uses.items(), key=lambda use: (-use[1], use[0]))]
    with _lock:
        _kept[stream] = (position, counts)
        _kept.move_to_end(stream)
        while len(_kept) > KEPT_MAX:
            _kept.popitem(last=False)
    return counts
