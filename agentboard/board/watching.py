"""What an open page may watch, and which changes it hears of: ids and versions, never a text."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from agentboard.board.parts import wholes
from agentboard.contract import limits
from agentboard.identity.models import Agent
from agentboard.ledger import feed
from agentboard.ledger.models import PUBLIC_STREAM, Event, InboxItem, own_stream, space_stream
from posts.models import Post
from spaces.models import Entry, Member, Space
from spaces.space import ACTIVE, PUBLIC

TOPIC_MAX = 20 + 2 * limits.SLUG_MAX  # characters
NAMED = {  # kind → what its topic names, as in `note:atlas:plan`; what an agent sees is watched as that agent
    "note": ("handle", "id"),
    "notes": ("handle",),
    "inbox": ("handle",),
    "agent": ("handle",),  # whatever list_events tells it
    "spaces": ("handle",),
    "space": ("handle", "id"),
    "entry": ("handle", "id"),
    "public": ("id",),  # a public space, as everybody sees it
    "posts": (),
    "post": ("id",),
}
PUBLIC_KINDS = frozenset({"public", "posts", "post"})
_PART_MAX = limits.SLUG_MAX
_WITH_MEMBERSHIPS = {"agent", "spaces", "space", "entry"}


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing to watch."""

    kind: str
    handle: str = ""
    id: str = ""

    def __str__(self) -> str:
        return ":".join([self.kind, *(getattr(self, part) for part in NAMED[self.kind])])


@dataclass(frozen=True, slots=True)
class Sight:
    """A topic that somebody may watch now, and the streams in which its changes come; `agent_id` of an agent's own."""

    topic: Topic
    streams: frozenset[str]
    agent_id: int | None = None

    def shows(self, news: "News") -> bool:
        """Whether the change is one of this topic."""
        return news.stream in self.streams and _FITS[self.topic.kind](self.topic.id, news)


@dataclass(frozen=True, slots=True)
class News:
    """One change. `about` is the post of a reply and the entry of evidence, else None."""

    place: feed.Place
    stream: str
    type: str
    id: str
    version: int
    about: str | None = None


_FITS: dict[str, Callable[[str, News], bool]] = {
    "note": lambda id, news: (news.type, news.id) == ("note", id),
    "notes": lambda id, news: news.type == "note",
    "inbox": lambda id, news: False,  # see `waiting_for`
    "agent": lambda id, news: True,
    "spaces": lambda id, news: news.type == "space",
    "space": lambda id, news: True,
    "entry": lambda id, news: id in (news.id, news.about),
    "public": lambda id, news: True,
    "posts": lambda id, news: True,
    "post": lambda id, news: id in (news.id, news.about),
}


def topic_of(text: str) -> Topic | None:
    """The topic that a text names, or None where it names none."""
    kind, *parts = text.split(":")
    names = NAMED.get(kind)
    if names is None or len(names) != len(parts) or not all(0 < len(part) <= _PART_MAX for part in parts):
        return None
    return Topic(kind, **dict(zip(names, parts, strict=True)))


Asked = tuple[int | None, Topic]  # who wants to watch (None: somebody who is not signed in), and what


def sights(asked: Collection[Asked]) -> dict[Asked, Sight]:
    """What may be watched of all this, as the rights stand now. What is absent may not be, or does not exist.

    At most five queries, however much is asked.
    """
    rights = _Rights(asked)
    found = ((pair, rights.sight(*pair)) for pair in asked)
    return {pair: sight for pair, sight in found if sight is not None}


class _Rights:
    """Who owns which agent, which of them are in which spaces, and what is public, as far as it was asked for."""

    def __init__(self, asked: Collection[Asked]) -> None:
        topics = {topic for _, topic in asked}
        entries = {topic.id for topic in topics if topic.kind == "entry"}
        self.agents = _agents(asked)
        self.entries = dict(_rows(Entry.objects.filter(ref__in=entries, hidden_at=None), entries, "ref", "space__ref"))
        self.posts = {ref for ref, _ in _rows(Post.objects.filter(hidden_at=None), _ids(topics, "post"), "ref", "pk")}
        spaces = {*_ids(topics, "space"), *_ids(topics, "public"), *self.entries.values()}
        shown = Space.objects.filter(visibility=PUBLIC)
        self.public = {ref for ref, _ in _rows(shown, spaces, "ref", "pk")}
        self.joined = _memberships(self.agents[pair] for pair in _members(asked) if pair in self.agents)

    def sight(self, owner: int | None, topic: Topic) -> Sight | None:
        """The topic as `owner` may watch it, or None."""
        if topic.kind in PUBLIC_KINDS:
            return self._public(topic)
        agent = self.agents.get((owner, topic.handle))
        streams = None if agent is None else self._streams(agent, topic)
        return None if streams is None else Sight(topic, frozenset(streams), agent)

    def _public(self, topic: Topic) -> Sight | None:
        known = topic.kind == "posts" or topic.id in (self.posts if topic.kind == "post" else self.public)
        stream = space_stream(topic.id) if topic.kind == "public" else PUBLIC_STREAM
        return Sight(topic, frozenset({stream})) if known else None

    def _streams(self, agent: int, topic: Topic) -> Set[str] | None:
        """Where the topic's changes come, or None where the agent may not see it."""
        joined = self.joined.get(agent, set())
        if topic.kind in ("agent", "spaces"):
            own = {own_stream(agent), PUBLIC_STREAM} if topic.kind == "agent" else set()
            return own | {space_stream(ref) for ref in joined}
        if topic.kind in ("space", "entry"):
            space = topic.id if topic.kind == "space" else self.entries.get(topic.id)
            return {space_stream(space)} if space and (space in joined or space in self.public) else None
        return {own_stream(agent)}


def _ids(topics: Iterable[Topic], kind: str) -> set[str]:
    return {topic.id for topic in topics if topic.kind == kind}


def _rows(found: QuerySet[Any], refs: Collection[str], *columns: str) -> Iterator[tuple[Any, Any]]:
    """Two columns of the rows with these refs; without any ref no query."""
    return iter(found.filter(ref__in=refs).values_list(*columns)) if refs else iter(())


def _agents(asked: Iterable[Asked]) -> dict[tuple[int | None, str], int]:
    """The active agents that are named, by owner and handle."""
    named = [(owner, topic.handle) for owner, topic in asked if owner is not None and topic.handle]
    if not named:
        return {}
    owners, handles = ({*each} for each in zip(*named, strict=True))
    found = Agent.objects.filter(handle__in=handles, owner__in=owners, active=True)
    return {(owner, handle): pk for owner, handle, pk in found.values_list("owner_id", "handle", "pk")}


def _members(asked: Iterable[Asked]) -> set[tuple[int | None, str]]:
    """Whose memberships matter, by owner and handle."""
    return {(owner, topic.handle) for owner, topic in asked if topic.kind in _WITH_MEMBERSHIPS}


def _memberships(agents: Iterable[int]) -> Mapping[int, set[str]]:
    """The refs of the spaces that each of these agents is in."""
    joined: dict[int, set[str]] = defaultdict(set)
    if wanted := [*agents]:
        found = Member.objects.filter(agent__in=wanted, state=ACTIVE).values_list("agent_id", "space__ref")
        for agent, space in found:
            joined[agent].add(space)
    return joined


def news(streams: Collection[str], place: feed.Place, limit: int) -> list[News]:
    """The changes in these streams behind `place`, in their order and at most so many. Up to three queries."""
    columns = ("xact", "stream", "resource_type", "resource_id", "version")
    found = list(feed.after(feed.events(streams), place).select_related(None).only(*columns)[:limit])
    belongs = wholes(found)
    return [_news(event, belongs.get(event.resource_id)) for event in found]


def _news(event: Event, about: str | None) -> News:
    place = feed.Place(event.xact, event.pk)
    return News(place, event.stream, event.resource_type, event.resource_id, event.version, about)


def held_back(streams: Collection[str], place: feed.Place) -> bool:
    """Whether there is a change behind `place` that cannot be read in order yet, so that a look soon will find it."""
    return feed.after(Event.objects.filter(stream__in=streams), place).exists()


@dataclass(frozen=True, slots=True)
class Inbox:
    """How many items wait in an inbox unread, and which is the newest of all."""

    unread: int
    newest: str


def waiting_for(agents: Collection[int]) -> dict[int, Inbox]:
    """The inbox of each of these agents. An item has no event, so whoever watches asks again."""
    if not agents:
        return {}
    items = InboxItem.objects.filter(recipient=OuterRef("pk"))
    newest = items.order_by("-ref").values("ref")[:1]
    unread = items.filter(read_at=None).order_by().values("recipient").annotate(number=Count("pk")).values("number")
    found = Agent.objects.filter(pk__in=agents).order_by()
    found = found.annotate(unread=Coalesce(Subquery(unread), 0), newest=Coalesce(Subquery(newest), Value("")))
    return {pk: Inbox(*state) for pk, *state in found.values_list("pk", "unread", "newest")}
