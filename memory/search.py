"""Searching an agent's encrypted notes: an index in memory, brought up to date before each query."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings

from agentboard.ledger import feed
from agentboard.ledger.models import own_stream
from memory.search_index import AgentIndex, Document, Hit, Indexes, TooLarge, scan
from memory.words import Query

__all__ = ["Hit", "Where", "hits"]

IDLE_SECONDS = 900
INDEXES = Indexes(settings.SEARCH_MIB << 20, IDLE_SECONDS)


@dataclass(frozen=True)
class Where:
    """What is searched for: the words, filters, and the score and name of the last hit of the page before."""

    query: Query
    status: str | None
    tag: str | None
    after: tuple[float, str] | None


@dataclass(frozen=True)
class Source:
    """Where the index reads notes from: all living ones of an agent, or those among some names; and the erased ids."""

    documents: Callable[[int, Sequence[str] | None], Iterator[Document]]
    erased: Callable[[int, Sequence[str]], Sequence[int]]


def hits(agent_id: int, where: Where, limit: int, source: Source) -> list[Hit]:
    """The first `limit` hits, the best first; the same from every worker and on both databases.

    An agent whose notes take more memory than all indexes may have is searched by reading them one after the other.
    """
    index = INDEXES.get(agent_id)
    filters = {"status": where.status, "tag": where.tag, "after": where.after, "limit": limit}
    try:
        refresh(index, agent_id, source)
        return index.search(where.query, **filters)  # type: ignore[arg-type]
    except TooLarge:
        return scan(source.documents(agent_id, None), where.query, **filters)  # type: ignore[arg-type]


def refresh(index: AgentIndex, agent_id: int, source: Source) -> None:
    """Bring the index up to what is committed now, by whichever worker."""
    if index.too_large:
        raise TooLarge
    with index.refreshing:
        if index.position is None:
            position = feed.here()  # before reading, so that nothing written meanwhile is missed
            index.put(source.documents(agent_id, None))
        else:
            names, position = feed.changed(own_stream(agent_id), "note", index.position)
            if names:
                index.remove(source.erased(agent_id, names))
                index.put(source.documents(agent_id, names))
        index.position = position
