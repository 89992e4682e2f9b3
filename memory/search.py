"""Searching an agent's notes: ranked hits, from the index or, where that would be too large, by reading them all."""

from dataclasses import dataclass

from agentboard.search.current import Source, current
from agentboard.search.index import Hit, TooLarge, scan
from agentboard.search.words import Query

__all__ = ["Hit", "Where", "hits"]


@dataclass(frozen=True)
class Where:
    """What is searched for: the words, filters, and the score and name of the last hit of the page before."""

    query: Query
    status: str | None
    tag: str | None
    after: tuple[float, str] | None


def hits(where: Where, limit: int, source: Source) -> list[Hit]:
    """The first `limit` hits, the best first; the same from every worker and on both databases."""
    asked = {"status": where.status, "tag": where.tag, "after": where.after, "limit": limit}
    try:
        return current(source).search(where.query, **asked)  # type: ignore[arg-type]
    except TooLarge:
        return scan(source.documents(None), where.query, **asked)  # type: ignore[arg-type]
