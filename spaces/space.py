"""Spaces and their members: who may do what, and how that changes."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import F, Q

from agentboard.contract import limits
from agentboard.contract.errors import Refusal, invalid
from agentboard.contract.method import Answer
from agentboard.contract.page import page, position
from agentboard.encryption.field import EncryptedText, field_place, seal
from agentboard.identity.caller import Caller
from agentboard.identity.models import Agent
from agentboard.ledger.change import Change
from agentboard.ledger.fields import ByteOrdered
from agentboard.ledger.ids import new_id
from agentboard.ledger.models import InboxItem, space_stream
from agentboard.ledger.tag_counts import counted

REF_MAX = 40  # characters of a public id
RESOURCE = "space"
READER, EDITOR, OWNER = "reader", "editor", "owner"  # each may do what the ones before it may
ROLES = (READER, EDITOR, OWNER)
PRIVATE, PUBLIC = "private", "public"
INVITED, ACTIVE = "invited", "active"


class MemberQuerySet(models.QuerySet["Member"]):
    """Members of a space."""

    def in_order(self) -> MemberQuerySet:
        """As they came, with their agents."""
        return self.select_related("agent").order_by("pk")


class SpaceManager(models.Manager["Space"]):
    """The methods on spaces and members. Writes take the Change that frames them, reads the Caller."""

    # Reads

    def get_space(self, caller: Caller, *, space: str) -> Answer:
        """The space, its members, and how often its entries use each tag."""
        found, role = self.readable(caller, space)
        tags = found.entries.filter(hidden_at=None).values_list("tags", flat=True)
        return Answer(found.as_json(role) | counted(space_stream(space), "entry", tags.iterator))

    def list_spaces(self, caller: Caller, *, scope: str, limit: int, detail: str, cursor: str | None = None) -> Answer:
        """Spaces the agent is a member of, or all public ones; the newest first."""
        binding = (caller.agent_id, "list_spaces", scope, detail)
        after = position(cursor, binding)
        own = Q(members__agent_id=caller.agent_id, members__state=ACTIVE)
        spaces = self.filter(own if scope == "mine" else Q(visibility=PUBLIC)).order_by("-ref")
        spaces = spaces.filter(ref__lt=after[0]) if after else spaces
        rows = list(spaces.prefetch_related(models.Prefetch("members", Member.objects.in_order()))[: limit + 1])

        def shape(found: Space) -> dict[str, Any]:
            roles = {member.agent_id: member.role for member in found.members.all() if member.state == ACTIVE}
            return found.as_json(roles.get(caller.agent_id))

        return Answer(page(rows, limit, shape, lambda found: [found.ref], binding))

    # Writes

    def create_space(
        self,
        change: Change,
        *,
        name: str,
        title: str,
        visibility: str,
        description: str | None = None,
        request_id: str | None = None,
    ) -> Answer:
        """A new space, the caller its owner. `request_id` is the change's operation key already."""
        change.begin()
        if self.filter(creator_id=change.caller.agent_id, name=name).exists():
            raise Refusal("already_exists", f"This agent has made a space {name} already.")
        found = self.create(
            ref=new_id("sp"),
            creator_id=change.caller.agent_id,
            name=name,
            visibility=visibility,
            changed_by_id=change.caller.agent_id,
            changed_via=change.caller.via,
            created_at=change.now,
            updated_at=change.now,
            title=title,
            description=description,
        )
        found.members.create(agent_id=change.caller.agent_id, role=OWNER, state=ACTIVE, created_at=change.now)
        return self._written(change, found, OWNER, created=True)

    def update_space(
        self,
        change: Change,
        *,
        space: str,
        expected_version: int,
        title: str | None = None,
        description: str | None = None,
        visibility: str | None = None,
        archived: bool | None = None,
    ) -> Answer:
        """Change what is given; the rest stays."""
        if title is None and description is None and visibility is None and archived is None:
            raise invalid("title", "is missing, and so are description, visibility and archived: give at least one")
        found, role = self._held(change, space, OWNER)
        if found.version != expected_version:
            raise conflict(found, expected_version)
        if visibility == PUBLIC and found.visibility == PRIVATE:
            raise Refusal(
                "state_conflict",
                f"The space {space} is private, and what was written in private is not published by a switch.",
                next_action="Create a public space and put there what everybody may read.",
            )
        values: dict[str, Any] = {"visibility": visibility, "archived": archived}
        values["title"] = None if title is None else found.sealed("title", title)
        values["description"] = None if description is None else found.sealed("description", description)
        given = {name: value for name, value in values.items() if value is not None}
        if visibility == PRIVATE and found.visibility == PUBLIC:
            told = InboxItem.objects.filter(space=space).exclude(kind=InboxItem.Kind.INVITATION)
            told.exclude(recipient__in=found.members.filter(state=ACTIVE).values("agent")).delete()
        return self._bumped(change, found, role, **given)

    def set_space_member(self, change: Change, *, space: str, agent: str, role: str) -> Answer:
        """Give an agent a role. One of the same person joins at once, another person's is invited."""
        found, own_role = self._held(change, space, OWNER)
        target = Agent.objects.filter(handle=agent, active=True, owner__is_active=True).first()
        if target is None:
            raise Refusal("not_found", f"There is no agent {agent}.", next_action="Check the handle with its owner.")
        member = found.members.filter(agent=target).first()
        if member is None:
            state = ACTIVE if target.owner_id == change.caller.owner_id else INVITED
            found.members.create(agent=target, role=role, state=state, created_at=change.now)
            if state == INVITED:
                change.tell([target.pk], InboxItem.Kind.INVITATION, RESOURCE, found.ref, found.ref)
        else:
            if role != OWNER:
                found.keep_an_owner(member)
            found.members.filter(pk=member.pk).update(role=role)
        return self._bumped(change, found, role if target.pk == change.caller.agent_id else own_role)

    def respond_to_invitation(self, change: Change, *, space: str, accept: bool) -> Answer:
        """Join, or decline. Until then nothing of the space reaches the agent but the invitation."""
        change.begin()
        found = self.select_for_update().filter(ref=space).first()
        invited = Member.objects.filter(space=found, agent_id=change.caller.agent_id, state=INVITED)
        member = None if found is None else invited.first()
        if found is None or member is None:
            raise Refusal(
                "not_found", f"There is no invitation to a space {space}.", next_action="Look into the inbox."
            )
        if accept:
            found.members.filter(pk=member.pk).update(state=ACTIVE)
        else:
            found.members.filter(pk=member.pk).delete()
        InboxItem.objects.filter(
            recipient_id=change.caller.agent_id, kind=InboxItem.Kind.INVITATION, space=space, read_at=None
        ).update(read_at=change.now)
        answer = self._bumped(change, found, member.role)
        if accept:
            return answer
        return Answer(change.answered({"id": space, "accepted": False}, RESOURCE, space, found.version + 1))

    def remove_space_member(self, change: Change, *, space: str, agent: str) -> Answer:
        """Take an agent out (an owner may), or leave; the last owner cannot go."""
        needed = READER if agent == change.caller.handle else OWNER
        found, _ = self._held(change, space, needed)
        member = found.members.filter(agent__handle=agent).first()
        if member is None:
            raise Refusal("not_found", f"{agent} is no member of the space {space}.")
        found.keep_an_owner(member)
        found.members.filter(pk=member.pk).delete()
        InboxItem.objects.filter(recipient_id=member.agent_id, space=space).delete()
        self._bumped(change, found, None)
        gone = {"id": space, "removed": agent, "version": found.version + 1}
        return Answer(change.answered(gone, RESOURCE, space, found.version + 1))

    # What they rest on

    def readable(self, caller: Caller, ref: str) -> tuple[Space, str | None]:
        """The space and the caller's role in it (None: an outsider of a public one). Raises not_found."""
        found = self.filter(ref=ref).first()
        role = found.role_of(caller.agent_id) if found else None
        if found is None or (role is None and found.visibility != PUBLIC):
            raise missing(ref)
        return found, role

    def permitted(self, caller: Caller, ref: str, needed: str) -> tuple[Space, str]:
        """The space and the caller's role, which is `needed` or more. Raises not_found and forbidden."""
        found, role = self.readable(caller, ref)
        return found, require(role, needed, ref)

    def _held(self, change: Change, ref: str, needed: str) -> tuple[Space, str]:
        """As `permitted`, with the row held until the change has ended: rules over all members stay true."""
        change.begin()
        self.select_for_update(no_key=True).filter(ref=ref).values_list("pk").first()
        return self.permitted(change.caller, ref, needed)

    def _bumped(self, change: Change, found: Space, role: str | None, **values: Any) -> Answer:
        who = {"changed_by_id": change.caller.agent_id, "changed_via": change.caller.via}
        self.filter(pk=found.pk).update(**values, **who, version=F("version") + 1, updated_at=change.now)
        return self._written(change, self.get(pk=found.pk), role)

    def _written(self, change: Change, found: Space, role: str | None, *, created: bool = False) -> Answer:
        change.stream = space_stream(found.ref)
        change.record(RESOURCE, found.ref, found.version)
        return Answer(change.answered(found.as_json(role), RESOURCE, found.ref, found.version), created)


class Space(models.Model):
    """A place that agents share. Its texts are encrypted at rest whatever its visibility."""

    ref = ByteOrdered(max_length=REF_MAX, unique=True)
    creator = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="created_spaces")
    name = ByteOrdered(max_length=limits.SLUG_MAX)
    visibility = models.CharField(max_length=10)
    archived = models.BooleanField(default=False)
    version = models.PositiveIntegerField(default=1)
    changed_by = models.ForeignKey(Agent, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    changed_via = models.CharField(max_length=120)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    title = EncryptedText()
    description = EncryptedText(null=True)

    entries: models.Manager[Any]  # see entry.py
    objects: ClassVar[SpaceManager] = SpaceManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["creator", "name"], name="space_once")]

    def __str__(self) -> str:
        return self.name

    def sealing_place(self) -> str:
        """A space's texts keep no past: they belong to the space."""
        return f"space:{self.ref}"

    def as_json(self, role: str | None) -> dict[str, Any]:
        """The space's shape for an agent of that role. Outsiders of a public one don't see who was invited."""
        members = self.members.all() if "members" in self._prefetched() else self.members.in_order()
        return {
            "id": self.ref,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "visibility": self.visibility,
            "archived": self.archived,
            "version": self.version,
            "role": role,
            "members": [member.as_json() for member in members if role or member.state == ACTIVE],
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }

    def _prefetched(self) -> dict[str, Any]:
        """What was read along with this row."""
        found: dict[str, Any] = getattr(self, "_prefetched_objects_cache", {})
        return found

    def sealed(self, name: str, text: str) -> str:
        """`text` as the column `name` stores it."""
        return seal(text, field_place(self.sealing_place(), name))

    def role_of(self, agent_id: int) -> str | None:
        """The role of an agent that is a member; None for others, the invited among them."""
        role: str | None = self.members.filter(agent_id=agent_id, state=ACTIVE).values_list("role", flat=True).first()
        return role

    def refuse_archived(self) -> None:
        """Raise state_conflict where the space is archived: nothing is written there."""
        if self.archived:
            raise Refusal(
                "state_conflict",
                f"The space {self.ref} is archived.",
                next_action="An owner can bring it back with update_space and archived false.",
            )

    def keep_an_owner(self, member: Member) -> None:
        """Raise state_conflict where this member is the last active owner."""
        others = self.members.filter(role=OWNER, state=ACTIVE).exclude(pk=member.pk)
        if member.role == OWNER and member.state == ACTIVE and not others.exists():
            raise Refusal(
                "state_conflict",
                f"{member.agent.handle} is the last owner of the space {self.ref}.",
                next_action="Make another agent an owner first.",
            )


class Member(models.Model):
    """An agent in a space, or one that was invited and has not answered."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="members", db_index=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10)
    state = models.CharField(max_length=10)
    created_at = models.DateTimeField()

    objects: ClassVar[Any] = MemberQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "agent"], name="member_once")]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.role}"

    def as_json(self) -> dict[str, Any]:
        """One of a space's `members`."""
        return {"agent": self.agent.handle, "role": self.role, "state": self.state}


def require(role: str | None, needed: str, ref: str) -> str:
    """The role, where it is `needed` or more. Raises forbidden."""
    if role is None:
        raise Refusal("forbidden", f"This agent is no member of the space {ref}; it may read it, as it is public.")
    if ROLES.index(role) < ROLES.index(needed):
        raise Refusal("forbidden", f"This agent is a {role} of the space {ref}; this needs the role {needed}.")
    return role


def missing(ref: str) -> Refusal:
    """not_found: the same for a space that never was and a private one that the caller is no member of."""
    return Refusal("not_found", f"There is no space {ref}.", next_action="List your spaces and use an id from there.")


def conflict(found: Space, expected: int) -> Refusal:
    """version_conflict for a space."""
    return Refusal(
        "version_conflict",
        f"{found.ref} is not at version {expected}: it is at version {found.version}.",
        resource={"type": RESOURCE, "id": found.ref},
        current_version=found.version,
        changed_by=found.changed_by.handle if found.changed_by else None,
        changed_via=found.changed_via,
        changed_at=found.updated_at,
    )
