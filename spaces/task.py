"""What makes a task a task: leases, states, dependencies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import connection, models
from django.db.models import Exists, OuterRef, Q, QuerySet

from agentboard.contract.errors import Refusal, invalid
from agentboard.contract.method import Answer
from agentboard.identity.caller import Caller
from agentboard.ledger.change import Change
from agentboard.ledger.models import InboxItem
from agentboard.ledger.versioned import names
from spaces.kinds import CLAIMED, DONE, ENDED, HELD, OPEN, TASK
from spaces.space import ACTIVE, EDITOR, OWNER, Space

if TYPE_CHECKING:
    from spaces.entry import Entry

DONE_PROGRESS = 100  # percent


class TaskManager(models.Manager["Entry"]):
    """The methods on tasks. The version is the fence: whoever was taken over is at an old one."""

    def claim_task(self, change: Change, *, entry: str, expected_version: int, lease_seconds: int) -> Answer:
        """Take an open task for so long; refused while another holds it or something it waits for is unfinished."""
        change.begin()
        found = self._task(change, entry, expected_version)
        if found.state in ENDED or (found.state in HELD and not found.lapsed(change.now)):
            raise Refusal("state_conflict", f"{entry} cannot be claimed. {found.holding(change.now)}")
        if unmet := [d.on.ref for d in found.dependencies.all() if d.on.state not in ENDED]:
            raise Refusal("state_conflict", f"{entry} waits for {', '.join(unmet)}, neither done nor cancelled.")
        return self._claimed(change, found, lease_seconds)

    def claim_next_task(self, change: Change, *, space: str, lease_seconds: int, tag: str | None = None) -> Answer:
        """Take the best task that is free: by priority, then age. Of many callers each gets another one."""
        change.begin()
        found, _ = Space.objects.permitted(change.caller, space, EDITOR)
        found.refuse_archived()
        free = self._free(found, change, tag)
        task = held(free, skip_locked=True) or held(free, skip_locked=False)
        if task is None:
            return Answer({"entry": None})
        answer = self._claimed(change, self.model.objects.permitted(change.caller, task.ref), lease_seconds)
        shape = dict(answer.content)
        told = {name: shape.pop(name) for name in ("operation", "replayed") if name in shape}
        return Answer({"entry": shape} | told)

    def update_task(
        self,
        change: Change,
        *,
        entry: str,
        expected_version: int,
        state: str | None = None,
        progress: int | None = None,
        result: str | None = None,
        depends_on: Sequence[str] | None = None,
    ) -> Answer:
        """Report on a task, and renew its lease; by its holder, also a lapsed one not yet taken over, or an owner."""
        if state is None and progress is None and result is None and depends_on is None:
            raise invalid("state", "is missing, and so are progress, result and depends_on: give at least one")
        change.begin()
        found = self._changeable(change, entry, expected_version)
        values: dict[str, Any] = {"state": state, "progress": progress, "result": result}
        values = {name: value for name, value in values.items() if value is not None}
        if state in ENDED:
            values |= {"lease_expires_at": None, "lease_seconds": None}
            values |= {"progress": DONE_PROGRESS} if state == DONE and progress is None else {}
        elif found.assignee_id == change.caller.agent_id and found.lease_seconds:
            values["lease_expires_at"] = change.now + timedelta(seconds=found.lease_seconds)
        elif state is not None and (found.state not in HELD or found.lapsed(change.now)):
            raise Refusal("state_conflict", f"{entry} is held by nobody; claim it to put it to {state}.")
        if depends_on is not None:
            self.set_dependencies(found, depends_on)
        answer = self._written(change, found, expected_version, **values)
        self.model.objects.call_mentioned(change, found, result or "", found.result or "")
        return answer

    def release_task(self, change: Change, *, entry: str, expected_version: int) -> Answer:
        """Give the task back, so that others can claim it; by its holder or an owner."""
        change.begin()
        found = self._changeable(change, entry, expected_version)
        if found.state not in HELD:
            raise Refusal("state_conflict", f"{entry} is held by nobody.")
        free: dict[str, Any] = {"state": OPEN, "assignee": None, "lease_expires_at": None, "lease_seconds": None}
        return self._written(change, found, expected_version, **free)

    def held_by(self, caller: Caller, now: datetime, limit: int) -> tuple[list[dict[str, Any]], int]:
        """For resume: tasks the agent holds, the one whose lease ends first foremost, and how many there are."""
        held = self._of_member(caller).filter(assignee_id=caller.agent_id, state__in=HELD, lease_expires_at__gt=now)
        return self._told(held.order_by("lease_expires_at", "pk"), caller, now, limit)

    def available_to(self, caller: Caller, now: datetime, limit: int) -> tuple[list[dict[str, Any]], int]:
        """For resume: tasks the agent may claim now, the best first, and how many there are."""
        tasks = self._free_of(self._of_member(caller, EDITOR, OWNER), now)
        return self._told(tasks.order_by("-priority", "pk"), caller, now, limit)

    def _of_member(self, caller: Caller, *roles: str) -> QuerySet[Entry]:
        joined = Q(space__members__agent_id=caller.agent_id, space__members__state=ACTIVE)
        joined &= Q(space__members__role__in=roles) if roles else Q()
        return self.filter(joined, kind=TASK, archived=False, hidden_at=None, space__archived=False)

    def _told(
        self, tasks: QuerySet[Entry], caller: Caller, now: datetime, limit: int
    ) -> tuple[list[dict[str, Any]], int]:
        rows = self.model.objects.whole(tasks.defer("body"))[:limit]
        return [task.as_json(caller, now, body=False) for task in rows], tasks.count()

    def set_dependencies(self, entry: Entry, depends_on: Sequence[str]) -> None:
        """Let the task wait for these tasks of its space and no others. Raises for unknown ones and for circles.

        The space's row is held meanwhile: two changes at once could close a circle that neither sees.
        """
        Space.objects.select_for_update(no_key=True).filter(pk=entry.space_id).values_list("pk").first()
        found = {task.ref: task for task in self.filter(space=entry.space_id, ref__in=depends_on, hidden_at=None)}
        for number, ref in enumerate(depends_on):
            if ref not in found:
                raise Refusal("reference_unavailable", f"depends_on.{number}: the space has no task {ref}.")
            if found[ref].kind != TASK:
                raise invalid(f"depends_on.{number}", f"{ref} is a {found[ref].kind}; a task waits for tasks only")
        if self._waits(list(found.values()), entry):
            raise Refusal(
                "state_conflict", f"depends_on: the tasks would wait for each other in a circle, {entry.ref} too."
            )
        entry.dependencies.all().delete()
        for ref in depends_on:
            entry.dependencies.create(on=found[ref])

    def _waits(self, tasks: Sequence[Entry], entry: Entry) -> bool:
        """Whether one of the tasks is the entry, or waits for it over however many others: one query, at any depth."""
        ahead = [task.pk for task in tasks]
        if not ahead or entry.pk in ahead:
            return bool(ahead)
        table, name = names(entry.dependencies.model)
        task, on = name("task"), name("on")
        walk = (
            f"WITH RECURSIVE ahead(id) AS (SELECT {on} FROM {table} WHERE {task} IN ({', '.join(['%s'] * len(ahead))}) "
            f"UNION SELECT {table}.{on} FROM {table} JOIN ahead ON {table}.{task} = ahead.id) "
            "SELECT count(*) FROM ahead WHERE id = %s"
        )
        with connection.cursor() as cursor:
            cursor.execute(walk, (*ahead, entry.pk))
            return bool(cursor.fetchone()[0])

    def _task(self, change: Change, ref: str, expected: int) -> Entry:
        found = self.model.objects.permitted(change.caller, ref)
        if found.kind != TASK:
            raise Refusal(
                "state_conflict", f"{ref} is a {found.kind}, not a TASK.", next_action="Use the id of a TASK."
            )
        if found.archived:
            raise Refusal(
                "state_conflict", f"{ref} is archived.", next_action="Bring it back with archive_space_entry."
            )
        if found.version != expected:
            raise self.model.objects.conflict(found, expected)
        return found

    def _changeable(self, change: Change, ref: str, expected: int) -> Entry:
        """The task at that version, for its holder or an owner, while it has not ended."""
        found = self._task(change, ref, expected)
        if found.assignee_id != change.caller.agent_id and found.role != OWNER:
            raise Refusal(
                "forbidden",
                f"{ref} is changed by who holds it, or by an owner of the space. {found.holding(change.now)}",
                next_action="Claim the task when it is open.",
            )
        if found.state in ENDED:
            raise Refusal("state_conflict", f"{ref} is {found.state}, which is final.")
        return found

    def _claimed(self, change: Change, task: Entry, lease_seconds: int) -> Answer:
        lease = {"lease_expires_at": change.now + timedelta(seconds=lease_seconds), "lease_seconds": lease_seconds}
        claim = {"state": CLAIMED, "assignee": change.caller.agent_id, **lease}
        return self._written(change, task, task.version, body=True, **claim)

    def _written(self, change: Change, task: Entry, expected: int, *, body: bool = False, **values: Any) -> Answer:
        """The task's next version; whoever wrote it and whoever holds it hear of what others did, if they may."""
        written = self.model.objects.write(change, task, expected, **values)
        concerned = {task.author_id, task.assignee_id, written.assignee_id} - {None, change.caller.agent_id}
        if concerned:
            readers = self.model.objects.readers(task, pk__in=concerned)
            change.tell(readers, InboxItem.Kind.TASK, "entry", task.ref, task.space.ref)
        return self.model.objects.answer(change, written, body=body)

    def _free_of(self, tasks: QuerySet[Entry], now: datetime) -> QuerySet[Entry]:
        """Those that are open and wait for nothing."""
        dependency: Any = self.model._meta.get_field("dependencies").related_model
        waits = dependency.objects.filter(task=OuterRef("pk"))
        free = tasks.filter(Q(state=OPEN) | Q(state__in=HELD, lease_expires_at__lte=now))
        return free.filter(~Exists(waits.exclude(on__state__in=ENDED)))

    def _free(self, space: Space, change: Change, tag: str | None) -> QuerySet[Entry]:
        tasks = self.filter(space=space, kind=TASK, archived=False, hidden_at=None)
        tasks = tasks.filter(tags__has=tag) if tag else tasks
        return self._free_of(tasks, change.now).order_by("-priority", "pk")


def held(tasks: QuerySet[Entry], *, skip_locked: bool) -> Entry | None:
    """The first of the tasks, held until the change has ended. On PostgreSQL others skip or await it."""
    if connection.vendor == "postgresql":
        tasks = tasks.select_for_update(skip_locked=skip_locked, of=("self",), no_key=True)
    return tasks.only("ref").first()
