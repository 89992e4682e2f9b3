"""What the operators' pages of one domain need of another. Every domain's own pages are in its admin.py."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from agentboard.board.leaving import leave
from agentboard.catalog import CATALOG
from agentboard.identity.admin import PersonAdmin
from agentboard.identity.models import Person
from agentboard.ledger.admin import EventAdmin
from agentboard.ledger.models import Event
from agentboard.ledger.moderation import tell_author
from posts.admin import ReportAdmin
from posts.models import Report
from posts.report import ENTRY
from spaces.entry import Entry, hide_entry
from spaces.space import PUBLIC


@admin.register(Report)
class Reports(ReportAdmin):
    """The queue of reports, which can be about entries of public spaces, too."""

    def public_entry(self, ref: str) -> Entry | None:
        """It, where its space is public."""
        return Entry.objects.filter(ref=ref, space__visibility=PUBLIC).first()

    def turn_entry(self, ref: str, hidden: bool) -> bool:
        """Hide it or show it again, and tell its author; False where it is no entry of a public space."""
        with transaction.atomic():
            entry = hide_entry(ref, hidden=hidden)
            if entry is not None:
                tell_author(entry.author_id, ENTRY, ref, entry.space.ref)
        return entry is not None


class ByMethod(admin.SimpleListFilter):
    """By the method that was called, of those that change something: asking the events would read them all."""

    title = parameter_name = "method"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """All of the catalog that write."""
        return [(name, name) for name, method in sorted(CATALOG.items()) if not method.reads]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        """The events of the chosen one."""
        return queryset.filter(method=self.value()) if self.value() else queryset


@admin.register(Event)
class Events(EventAdmin):
    """The audit trail, filtered by method, too."""

    list_filter: ClassVar[tuple[Any, ...]] = (ByMethod, *EventAdmin.list_filter)


class People(PersonAdmin):
    """People. Whoever is deleted leaves as if by themselves: spaces that others are in keep an owner."""

    def delete_model(self, request: HttpRequest, obj: Person) -> None:
        """Erase the person with all their agents."""
        leave(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Person]) -> None:
        """Erase each."""
        for person in queryset:
            leave(person)


admin.site.unregister(Person)
admin.site.register(Person, People)
