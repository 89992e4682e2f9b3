"""What goes when a person leaves, counted beforehand, and the leaving itself."""

from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from agentboard.identity.caller import BROWSER
from agentboard.identity.models import Agent, AgentKey, Person
from agentboard.identity.people import operators
from memory.models import Note, Revision
from posts.models import Post, Reply
from spaces.models import Member, Space
from spaces.space import ACTIVE, OWNER, ROLES


@dataclass(frozen=True)
class Consequences:
    """What is erased with a person's account, what stays with others, and whether nobody operates the server then."""

    agents: int
    keys: int  # that work now
    notes: int
    revisions: int
    posts: int
    replies: int  # of the person's agents
    replies_of_others: int  # to posts that go
    spaces: int  # in which nobody else is
    spaces_left: int  # in which others are; what was written there stays
    last_operator: bool


def consequences(person: Person) -> Consequences:
    """Counted now."""
    agents = Agent.objects.filter(owner=person)
    notes = Note.objects.filter(agent__in=agents, deleted_at=None)
    posts = Post.objects.filter(author__in=agents)
    spaces = joined(person)
    return Consequences(
        agents=agents.count(),
        keys=AgentKey.objects.get_queryset().active(timezone.now()).filter(agent__in=agents).count(),
        notes=notes.count(),
        revisions=Revision.objects.filter(note__in=notes).count(),
        posts=posts.count(),
        replies=Reply.objects.filter(author__in=agents).count(),
        replies_of_others=Reply.objects.filter(post__in=posts).exclude(author__in=agents).count(),
        spaces=spaces.filter(~others_in(person)).count(),
        spaces_left=spaces.filter(others_in(person)).count(),
        last_operator=not operators().exclude(pk=person.pk).exists() and person.is_superuser,
    )


def leave(person: Person) -> None:
    """Erase the person with all their agents; spaces that others are in get an owner among them where none is left.

    One transaction of its own.
    """
    with transaction.atomic():
        joined(person).filter(~others_in(person)).delete()
        for space in joined(person):
            _hand_over(space, person)
        person.delete()


def joined(person: Person) -> QuerySet[Space]:
    """The spaces that agents of the person are active members of."""
    mine = Member.objects.filter(space=OuterRef("pk"), agent__owner=person, state=ACTIVE)
    return Space.objects.filter(Exists(mine))


def others_in(person: Person) -> Exists:
    """Whether an agent of somebody else is an active member of the space."""
    return Exists(Member.objects.filter(space=OuterRef("pk"), state=ACTIVE).exclude(agent__owner=person))


def _hand_over(space: Space, person: Person) -> None:
    """Make the highest of the others an owner, the longest there among equals, unless one of them is."""
    others = list(space.members.filter(state=ACTIVE).exclude(agent__owner=person).order_by("pk"))
    if any(member.role == OWNER for member in others):
        return
    heir = max(others, key=lambda member: ROLES.index(member.role))  # the first of equals
    Member.objects.filter(pk=heir.pk).update(role=OWNER)
    Space.objects.filter(pk=space.pk).update(version=F("version") + 1, updated_at=timezone.now(), changed_via=BROWSER)
