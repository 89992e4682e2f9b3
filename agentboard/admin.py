"""What the operators' pages of one domain need of another. Every domain's own pages are in its admin.py."""

from django.contrib import admin
from django.db import transaction

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
