"""What every admin page of AgentBoard shares."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.contrib.admin import ModelAdmin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

# Only the stubs' class takes a parameter; Django's own cannot be subscripted.
if TYPE_CHECKING:
    AnyModelAdmin = ModelAdmin[Any]
else:
    AnyModelAdmin = ModelAdmin


class SafeSearchAdmin(AnyModelAdmin):
    """Answers a query string that holds NUL with an empty list.

    PostgreSQL takes no NUL in a parameter, and the stock admin answers 500 where a search, a filter, a look-up by
    column or an autocomplete passes one on. All of them begin with this queryset.
    """

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        """The rows of this admin; none where the query string could not be put to the database."""
        queryset = super().get_queryset(request)
        given = (text for name, values in request.GET.lists() for text in (name, *values))
        return queryset.none() if any("\0" in text for text in given) else queryset


class RecordAdmin(SafeSearchAdmin):
    """Rows to look at: nobody makes, changes or deletes one here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never by itself; see OwnerAdmin."""
        return False


class OwnerAdmin(SafeSearchAdmin):
    """Rows that take their records along when they are deleted, though nobody deletes such a record by itself."""

    def get_deleted_objects(
        self, objs: QuerySet[Any] | Iterable[Model], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """What goes; the missing permission to delete records does not count."""
        to_delete, counts, lacking, protected = super().get_deleted_objects(objs, request)  # type: ignore[arg-type]
        registered = self.admin_site._registry.items()
        records = {str(model._meta.verbose_name) for model, page in registered if isinstance(page, RecordAdmin)}
        return to_delete, counts, lacking - records, protected
