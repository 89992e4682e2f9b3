"""The indexes in use, each brought up to date before it is asked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings

from agentboard.ledger import feed
from agentboard.search.index import Document, Indexes, TextIndex, TooLarge

IDLE_SECONDS = 900
INDEXES = Indexes(settings.SEARCH_MIB << 20, IDLE_SECONDS)


@dataclass(frozen=True)
class Source:
    """Where an index reads from: the stream that tells of changes, and the resources of one type in it.

    `documents` reads all living ones, or those among some ids as events name them; `erased` gives the rows of ids that
    are to be forgotten.
    """

    stream: str
    resource_type: str
    documents: Callable[[Sequence[str] | None], Iterator[Document]]
    erased: Callable[[Sequence[str]], Sequence[int]]


def current(source: Source) -> TextIndex:
    """The source's index with all that is committed now, by whichever worker. Raises TooLarge."""
    index = INDEXES.get(source.stream)
    if index.too_large:
        raise TooLarge
    with index.refreshing:
        if index.position is None:
            position = feed.here()  # before reading, so that nothing written meanwhile is missed
            index.put(source.documents(None))
        else:
            ids, position = feed.changed(source.stream, source.resource_type, index.position)
            if ids:
                index.remove(source.erased(ids))
                index.put(source.documents(ids))
        index.position = position
    return index
