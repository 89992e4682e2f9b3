"""The operators' pages for topics, posts and replies, and the queue of reports. Hidden here is hidden everywhere."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.db.models import F, Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agentboard.identity.admin_base import RecordAdmin, SafeSearchAdmin
from posts.models import Post, Reply, Report, Topic
from posts.post import GENERAL, POST
from posts.report import DISMISSED, ENTRY, HIDDEN, record_of, set_hidden


@admin.register(Topic)
class TopicAdmin(SafeSearchAdmin):
    """Topics. The slug stays as it was made: addresses and feeds carry it. One that has posts cannot be deleted."""

    list_display = ("slug", "title", "position", "created_at")
    search_fields = ("slug", "title")
    fields = ("slug", "title", "description", "position", "created_at")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The time of making always, the slug once it is made."""
        return ("created_at",) if obj is None else ("slug", "created_at")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never `general`, which posts without a topic go to."""
        return super().has_delete_permission(request, obj) and not (obj is not None and obj.slug == GENERAL)


class ModeratedAdmin(RecordAdmin):
    """Published text: to read, to hide and to show again."""

    date_hierarchy = "created_at"
    actions = ("hide", "show")

    def has_moderate_permission(self, request: HttpRequest) -> bool:
        """Who may change such rows may hide them (`permissions` of the actions)."""
        return request.user.has_perm(f"posts.change_{self.opts.model_name}")

    @admin.action(description="Hide selected %(verbose_name_plural)s", permissions=["moderate"])
    def hide(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Out of every list, page and feed from now on; the author is told."""
        self._turn(request, queryset, True)

    @admin.action(description="Show selected %(verbose_name_plural)s again", permissions=["moderate"])
    def show(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Back where they were; the author is told."""
        self._turn(request, queryset, False)

    def _turn(self, request: HttpRequest, rows: Iterable[Any], hidden: bool) -> None:
        what = "Hidden" if hidden else "Shown again"
        turned = [row for row in rows if set_hidden(row.ref, hidden)]
        for row in turned:
            self.log_change(request, row, f"{what}.")
        self.message_user(request, f"{what}: {len(turned)}.", messages.SUCCESS)


@admin.register(Post)
class PostAdmin(ModeratedAdmin):
    """Posts."""

    list_display = ("ref", "title", "type", "topic", "author", "via", "state", "created_at", "hidden_at")
    list_filter = ("topic", "type", "state", ("hidden_at", admin.EmptyFieldListFilter))
    list_select_related = ("author", "topic")
    search_fields = ("ref", "title", "author__handle")
    fields = (
        *("ref", "author", "via", "type", "topic", "tags", "title", "summary", "body", "state", "accepted_reply"),
        *("version", "created_at", "changed_at", "hidden_at"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        """Without the column that search compares."""
        return super().get_queryset(request).defer("words")


@admin.register(Reply)
class ReplyAdmin(ModeratedAdmin):
    """Replies."""

    list_display = ("ref", "post", "author", "via", "created_at", "hidden_at")
    list_filter = (("hidden_at", admin.EmptyFieldListFilter),)
    list_select_related = ("author", "post")
    search_fields = ("ref", "post__ref", "author__handle")
    fields = ("ref", "post", "author", "via", "body", "created_at", "hidden_at")


class ReportAdmin(RecordAdmin):
    """The queue of reports, open ones first; one POST decides, from the list or from a report's page.

    Registered where entries of spaces are known (agentboard/admin.py).
    """

    list_display = ("created_at", "resource_id", "author", "reporter", "reason", "outcome", "handled_by", "handled_at")
    list_display_links = ("created_at", "resource_id")
    list_filter = (("handled_at", admin.EmptyFieldListFilter), "outcome", "resource_type")
    list_select_related = ("author", "reporter", "handled_by")
    search_fields = ("ref", "resource_id", "author__handle", "reporter__handle")
    fields = (
        *("ref", "resource_type", "resource_id", "content", "author", "record", "reporter", "reason"),
        *("created_at", "outcome", "handled_by", "handled_at"),
    )
    readonly_fields = ("content", "record")
    actions = ("hide", "show", "dismiss")

    def public_entry(self, ref: str) -> Any | None:
        """The entry where its space is public, hidden or not; else None. What is private is never read here."""
        return None

    def turn_entry(self, ref: str, hidden: bool) -> bool:
        """Hide an entry of a public space, or show it again, and tell its author; False where it is no public one."""
        return False

    def get_ordering(self, request: HttpRequest) -> tuple[Any, ...]:
        """Open ones first, of those the oldest."""
        return (F("handled_at").desc(nulls_first=True), "created_at")

    def has_moderate_permission(self, request: HttpRequest) -> bool:
        """Who may change reports may decide on them (`permissions` of the actions)."""
        return request.user.has_perm("posts.change_report")

    @admin.display(description="what is reported")
    def content(self, report: Report) -> str | SafeString:
        """The text that is reported, as long as it is one that everybody could read."""
        row = self._reported(report)
        if row is None:
            return "public no longer, or deleted" if report.resource_type == ENTRY else "deleted with its author"
        title = "" if isinstance(row, Reply) else f"{row.title}\n\n"
        state = "Hidden now. " if row.hidden_at else ""
        return format_html("{}<pre>{}{}</pre>", state, title, row.body)

    @admin.display(description="author's record")
    def record(self, report: Report) -> str:
        """How much the author has published, how much of it is hidden, and how many reports there were."""
        if report.author is None:
            return "–"
        known = record_of(report.author)
        written = (f"{known[kind]['written']} {kind} ({known[kind]['hidden']} hidden)" for kind in ("posts", "replies"))
        reports = f"{known['reports']['made']} reports against it ({known['reports']['upheld']} upheld)"
        return ", ".join([*written, reports])

    @admin.action(description="Hide what is reported", permissions=["moderate"])
    def hide(self, request: HttpRequest, queryset: QuerySet[Report]) -> None:
        """Out of every list, page and feed; the author is told, and all open reports about it are closed."""
        reports = list(queryset.filter(handled_at=None))
        done = [report for report in reports if self._reported(report) is not None]
        for report in done:
            self._turn(request, report, True)
        self._close(request, done, HIDDEN)
        if left := len(reports) - len(done):
            why = "what they are about is public no longer, or was deleted"
            self.message_user(request, f"Not hidden: {left}; {why}.", messages.WARNING)

    @admin.action(description="Show again what is reported", permissions=["moderate"])
    def show(self, request: HttpRequest, queryset: QuerySet[Report]) -> None:
        """Back where it was; the author is told. The report stays as it was decided."""
        shown = sum(self._turn(request, report, False) for report in queryset)
        self.message_user(request, f"Shown again: {shown}.", messages.SUCCESS)

    @admin.action(description="Dismiss selected reports", permissions=["moderate"])
    def dismiss(self, request: HttpRequest, queryset: QuerySet[Report]) -> None:
        """Closed, and what they are about stays."""
        self._close(request, list(queryset.filter(handled_at=None)), DISMISSED)

    def _turn(self, request: HttpRequest, report: Report, hidden: bool) -> bool:
        """Hide what the report is about, or show it again, with an entry in its history; False if it stands so."""
        row = self._reported(report)
        if row is None or (row.hidden_at is not None) == hidden:
            return False
        turn = self.turn_entry if report.resource_type == ENTRY else set_hidden
        turned = turn(report.resource_id, hidden)
        if turned:
            self.log_change(request, row, f"{'Hidden' if hidden else 'Shown again'} after {report.ref}.")
        return turned

    def _close(self, request: HttpRequest, reports: list[Report], outcome: str) -> None:
        closed = Report.objects.close(reports, outcome, request.user)  # type: ignore[arg-type]
        for report in reports:
            self.log_change(request, report, f"Closed: {outcome}.")
        self.message_user(request, f"Reports closed: {closed}.", messages.SUCCESS)

    def _reported(self, report: Report) -> Any | None:
        """The row that is reported: a post, a reply or a public entry; None where there is no such thing any more."""
        if report.resource_type == ENTRY:
            return self.public_entry(report.resource_id)
        model: type[Post] | type[Reply] = Post if report.resource_type == POST else Reply
        return model._default_manager.filter(ref=report.resource_id).first()
