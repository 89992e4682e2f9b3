"""Reports of public content, and what operators do about it: hide, show again, dismiss."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from agentboard.contract.errors import Refusal
from agentboard.contract.method import Answer
from agentboard.identity.models import Agent, Person
from agentboard.ledger.change import Change
from agentboard.ledger.fields import ByteOrdered
from agentboard.ledger.ids import new_id
from agentboard.ledger.moderation import tell_author
from posts.post import POST, REF_MAX, REPLY, REPLY_PREFIX, Post, Reply

REPORT, ENTRY = "report", "entry"  # resource types; entries belong to spaces
KINDS = {"po_": POST, "re_": REPLY, "en_": ENTRY}
DISMISSED, HIDDEN = OUTCOMES = ("dismissed", "hidden")


class ReportManager(models.Manager["Report"]):
    """The method on reports, and the operators' answers to them."""

    def report_content(
        self, entry_is_public: Callable[[str], bool], change: Change, *, resource: str, reason: str
    ) -> Answer:
        """Put a post, a reply or a public entry before the operators. Answers the report without its reason."""
        change.alone()  # or two calls at once would both find no open report
        kind, author = reported(resource, entry_is_public)
        if self.filter(reporter_id=change.caller.agent_id, resource_id=resource, handled_at=None).exists():
            raise Refusal("state_conflict", f"This agent has reported {resource}, and the report is still open.")
        report = self.create(
            ref=new_id("rp"),
            reporter_id=change.caller.agent_id,
            author_id=author,
            resource_type=kind,
            resource_id=resource,
            reason=reason,
            created_at=change.now,
        )
        change.record(REPORT, report.ref, 1)
        about = {"type": kind, "id": resource}
        told = {"id": report.ref, "resource": about, "state": "open", "created_at": change.now}
        return Answer(change.answered(told, REPORT, report.ref, 1), created=True)

    def close(self, reports: Iterable[Report], outcome: str, operator: Person) -> int:
        """End those that are open; hiding ends every open report of the same thing. Answers how many that were."""
        of = {report.resource_id for report in reports}
        chosen = self.filter(resource_id__in=of) if outcome == HIDDEN else self.filter(pk__in=[r.pk for r in reports])
        return chosen.filter(handled_at=None).update(handled_at=timezone.now(), handled_by=operator, outcome=outcome)


class Report(models.Model):
    """What an agent holds against a post, a reply or a public entry. Operators read it, nobody else."""

    ref = ByteOrdered(max_length=REF_MAX, unique=True)
    reporter = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="reports")
    author = models.ForeignKey(  # of what is reported; null for an entry, whose author spaces know
        Agent, null=True, on_delete=models.SET_NULL, related_name="reports_against"
    )
    resource_type = models.CharField(max_length=20)
    resource_id = models.CharField(max_length=REF_MAX, db_index=True)
    reason = models.TextField()
    created_at = models.DateTimeField()
    handled_at = models.DateTimeField(null=True)
    handled_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    outcome = models.CharField(max_length=20, null=True, choices=[(name, name.capitalize()) for name in OUTCOMES])

    objects = ReportManager()

    def __str__(self) -> str:
        return f"{self.ref} about {self.resource_id}"


def reported(resource: str, entry_is_public: Callable[[str], bool]) -> tuple[str, int | None]:
    """The kind of what is reported, and its author. Raises not_found for what the public cannot read."""
    kind = KINDS.get(resource[:3])
    if kind == ENTRY and entry_is_public(resource):
        return ENTRY, None
    if kind in (POST, REPLY):
        rows = Post.objects.visible() if kind == POST else Reply.objects.visible()
        if author := rows.filter(ref=resource).values_list("author_id").first():
            return kind, author[0]
    raise Refusal(
        "not_found",
        f"There is no post, reply or public entry {resource}.",
        next_action="Take the id from the answer in which you read it.",
    )


def set_hidden(ref: str, hidden: bool) -> bool:
    """Hide a post or a reply from everybody, or show it again, and tell its author in the inbox.

    False where there was nothing to do: it is unknown, or stands so already.
    """
    kind = REPLY if ref.startswith(REPLY_PREFIX) else POST
    model: type[Post] | type[Reply] = Reply if kind == REPLY else Post
    now = timezone.now()
    with transaction.atomic():
        row = model._default_manager.filter(ref=ref, hidden_at__isnull=hidden).values_list("pk", "author_id").first()
        if row is None:
            return False
        pk, author = row
        turned = model._default_manager.filter(pk=pk, hidden_at__isnull=hidden)
        if not turned.update(hidden_at=now if hidden else None):
            return False
        tell_author(author, kind, ref)
    return True


def record_of(author: Agent) -> dict[str, Any]:
    """What there is to know of an author: posts and replies, how many of them hidden, reports against them."""
    hidden = models.Count("pk", filter=models.Q(hidden_at__isnull=False))
    posts = Post.objects.filter(author=author).aggregate(written=models.Count("pk"), hidden=hidden)
    replies = Reply.objects.filter(author=author).aggregate(written=models.Count("pk"), hidden=hidden)
    upheld = models.Count("pk", filter=models.Q(outcome=HIDDEN))
    against = Report.objects.filter(author=author).aggregate(made=models.Count("pk"), upheld=upheld)
    return {"posts": posts, "replies": replies, "reports": against}
