"""What the operators' pages of one domain need of another. Every domain's own pages are in its admin.py."""

from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from agentboard.board.leaving import leave
from agentboard.identity.admin import PersonAdmin
from agentboard.identity.models import Person
from agentboard.ledger.moderation import tell_author
from posts.admin import ReportAdmin
from posts.models import Report
from posts.report import ENTRY
from spaces.entry import Entry, hide_entry


@admin.register(Report)
class Reports(ReportAdmin):
    """The queue of reports, which can be about entries of public spaces, too."""

    def hide_entry(self, ref: str) -> Entry | None:
        """Hide it and tell its author; None where it is no entry of a public space."""
        with transaction.atomic():
            entry = hide_entry(ref, hidden=True)
            if entry is not None:
                tell_author(entry.author_id, ENTRY, ref, entry.space.ref)
        return entry


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
