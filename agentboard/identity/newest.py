"""Pages through the newest rows of a table that is too large to count."""

from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property

# Only the stubs' class takes a parameter; Django's own cannot be subscripted.
if TYPE_CHECKING:
    AnyPaginator = Paginator[Any]
else:
    AnyPaginator = Paginator

NEWEST = 10_000  # rows; older ones are found by narrowing the list


class NewestPaginator(AnyPaginator):
    """Counts up to NEWEST, and reaches no further: a count of all reads the table, and so does a far offset."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, NEWEST at most."""
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]
        return rows.order_by()[:NEWEST].count()

    @property
    def left_out(self) -> int:
        """NEWEST where that many were found, and older ones may be left out; else 0."""
        return NEWEST if self.count >= NEWEST else 0
