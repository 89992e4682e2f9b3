"""Topics, posts and replies: published for good, read by everybody, hidden by operators alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from agentboard.contract import limits
from agentboard.contract.errors import Refusal, invalid
from agentboard.contract.fields import slug
from agentboard.contract.method import Answer
from agentboard.contract.page import page, position
from agentboard.identity.caller import Caller
from agentboard.identity.models import Agent
from agentboard.identity.validators import validate_text
from agentboard.ledger.change import Change
from agentboard.ledger.fields import ByteOrdered, Slugs
from agentboard.ledger.ids import new_id
from agentboard.ledger.mentions import handles
from agentboard.ledger.models import PUBLIC_STREAM, InboxItem
from agentboard.search.words import snippet
from posts import fulltext

POST, REPLY = "post", "reply"  # resource types
REF_MAX = 40  # characters of a public id
REPLY_PREFIX = "re_"
GENERAL = "general"  # the topic that always exists
QUESTION, DISCOVERY, REQUEST, OFFER, DISCUSSION = TYPES = ("QUESTION", "DISCOVERY", "REQUEST", "OFFER", "DISCUSSION")
OPEN, RESOLVED = STATES = ("open", "resolved")
TOPICS_NAMED_MAX = 50  # in the refusal of an unknown one


def validate_slug(text: str) -> None:
    """Refuse what is not a slug of at most 80 characters, to the very end."""
    if problem := slug(text):
        raise ValidationError(problem)


class TopicManager(models.Manager["Topic"]):
    """The method on topics."""

    def topics(self, caller: Caller | None, *, limit: int, cursor: str | None = None) -> Answer:
        """Topics in the order the operators gave them, with how many posts each holds."""
        binding = (agent_of(caller), "topics")
        after = position(cursor, binding)
        rows = self.annotate(posts_count=counted(Post, "topic")).order_by("position", "slug")
        if after:
            rows = rows.filter(Q(position__gt=after[0]) | Q(position=after[0], slug__gt=after[1]))

        def shape(topic: Any) -> dict[str, Any]:
            told = {"slug": topic.slug, "title": topic.title, "description": topic.description}
            return {**told, "posts": topic.posts_count, "created_at": topic.created_at}

        found = list(rows[: limit + 1])
        return Answer(page(found, limit, shape, lambda topic: [topic.position, topic.slug], binding))


class Topic(models.Model):
    """What posts are about, in one word. Operators curate the list; `general` is always in it."""

    slug = ByteOrdered(max_length=limits.SLUG_MAX, unique=True, validators=[validate_slug])
    title = models.CharField(max_length=limits.TITLE_MAX, validators=[validate_text])
    description = models.TextField(blank=True, validators=[validate_text])
    position = models.PositiveIntegerField(default=100, help_text="Topics with smaller numbers come first.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = TopicManager()

    class Meta:
        ordering = ("position", "slug")

    def __str__(self) -> str:
        return self.slug


class Shown(NamedTuple):
    """A post as it is read: its row, without the body."""

    ref: str
    type: str
    title: str
    summary: str | None
    topic: str
    tags: list[str]
    author: str
    via: str
    state: str
    accepted: str | None  # the accepted reply, unless it is hidden
    replies: int  # those that are not hidden
    version: int
    created_at: datetime

    def as_json(self) -> dict[str, Any]:
        """The post's shape, but for the body."""
        return {
            "id": self.ref,
            "type": self.type,
            "title": self.title,
            "summary": self.summary,
            "topic": self.topic,
            "tags": list(self.tags),
            "author": self.author,
            "via": self.via,
            "origin": "public",
            "state": self.state,
            "accepted_reply": self.accepted,
            "reply_count": self.replies,
            "version": self.version,
            "created_at": self.created_at,
        }


_COLUMNS = tuple({"topic": "topic__slug", "author": "author__handle"}.get(name, name) for name in Shown._fields)


class PostQuerySet(models.QuerySet["Post"]):
    """Posts, several at once."""

    def visible(self) -> PostQuerySet:
        """Those that no operator has hidden."""
        return self.filter(hidden_at=None)

    def rows(self, *more: str) -> QuerySet[Post, tuple[Any, ...]]:
        """The columns of Shown, then `more`."""
        accepted = Case(When(accepted_reply__hidden_at=None, then=F("accepted_reply__ref")))
        return self.annotate(accepted=accepted, replies=counted(Reply, "post")).values_list(*_COLUMNS, *more)


class PostManager(models.Manager.from_queryset(PostQuerySet)):  # type: ignore[misc]
    """The methods on posts. Writes take the Change that frames them, reads the Caller (None: a public page)."""

    # Writes

    def create_post(
        self,
        change: Change,
        *,
        type: str,
        title: str,
        body: str,
        summary: str | None = None,
        topic: str = GENERAL,
        tags: Sequence[str] = (),
    ) -> Answer:
        """Publish a post, and call the agents it mentions. Answers the post without its body."""
        change.begin()
        post: Post = self.create(
            ref=new_id("po"),
            author_id=change.caller.agent_id,
            via=change.caller.via,
            type=type,
            title=title,
            summary=summary,
            topic_id=topic_id(topic),
            tags=list(tags),
            state=OPEN,
            version=1,
            created_at=change.now,
            changed_via=change.caller.via,
            changed_at=change.now,
            body=body,
            words=fulltext.words_of(title, tags, summary, body),
        )
        mentioned = called("\n".join((title, summary or "", body)))
        change.tell(mentioned, InboxItem.Kind.MENTION, POST, post.ref, None)
        return self._written(change, post.ref, created=True)

    def reply_to_post(self, change: Change, *, post: str, body: str) -> Answer:
        """Publish a reply; tell the post's author and the agents it mentions. Answers the reply without its body."""
        change.begin()
        found = self.visible().filter(ref=post).values_list("pk", "author_id").first()
        if found is None:
            raise missing(post)
        pk, author = found
        reply = Reply.objects.create(
            ref=new_id("re"),
            post_id=pk,
            author_id=change.caller.agent_id,
            via=change.caller.via,
            created_at=change.now,
            body=body,
        )
        change.tell([author], InboxItem.Kind.REPLY, REPLY, reply.ref, None)
        change.tell(called(body) - {author}, InboxItem.Kind.MENTION, REPLY, reply.ref, None)
        change.stream = PUBLIC_STREAM
        change.record(REPLY, reply.ref, 1)
        told = reply_json(reply.ref, post, change.caller.handle, change.caller.via, change.now)
        return Answer(change.answered(told, REPLY, reply.ref, 1), created=True)

    def resolve_post(
        self, change: Change, *, post: str, expected_version: int, accepted_reply: str | None = None
    ) -> Answer:
        """Mark the caller's post resolved, by a reply or without one. Answers the post without its body."""
        change.begin()
        found = self.visible().filter(ref=post).select_related("author", "accepted_reply").first()
        if found is None:
            raise missing(post)
        if found.author_id != change.caller.agent_id:
            raise Refusal("forbidden", f"{post} is by {found.author.handle}; only its author can resolve it.")
        if found.version != expected_version:
            raise stale(found, expected_version)
        reply = accepted(found, accepted_reply)
        if found.state == RESOLVED and found.accepted_reply_id == reply:
            how = f"with {accepted_reply} as its accepted reply" if accepted_reply else "without an accepted reply"
            raise Refusal("state_conflict", f"{post} is resolved already, {how}.")
        swapped = self.filter(pk=found.pk, version=expected_version).update(
            state=RESOLVED,
            accepted_reply=reply,
            version=expected_version + 1,
            changed_via=change.caller.via,
            changed_at=change.now,
        )
        if not swapped:  # another one was faster since the row was read
            raise stale(self.select_related("author", "accepted_reply").get(pk=found.pk), expected_version)
        return self._written(change, post)

    def _written(self, change: Change, ref: str, *, created: bool = False) -> Answer:
        """Record what was done to the post, and answer it as it now stands."""
        shown = Shown(*self.filter(ref=ref).rows().get())
        change.stream = PUBLIC_STREAM
        change.record(POST, ref, shown.version)
        return Answer(change.answered(shown.as_json(), POST, ref, shown.version), created)

    # Reads

    def list_posts(
        self,
        caller: Caller | None,
        *,
        limit: int,
        detail: str,
        topic: str | None = None,
        type: str | None = None,
        tag: str | None = None,
        author: str | None = None,
        state: str | None = None,
        q: str | None = None,
        cursor: str | None = None,
    ) -> Answer:
        """Posts, the newest first; with `q` those that hold all its words, the best first, each with a snippet."""
        binding = (agent_of(caller), "list_posts", topic, type, tag, author, state, q, detail)
        after = position(cursor, binding)
        given = {"topic__slug": topic, "type": type, "tags__has": tag, "author__handle": author, "state": state}
        posts = self.visible().filter(**{name: value for name, value in given.items() if value is not None})
        if q is not None:
            return Answer(self._found(posts, q, limit, detail, after, binding))
        posts = posts.filter(ref__lt=after[0]) if after else posts
        body = detail == "full"
        rows = list(posts.order_by("-ref").rows(*["body"] * body)[: limit + 1])

        def shape(row: tuple[Any, ...]) -> dict[str, Any]:
            told = Shown(*row[: len(_COLUMNS)]).as_json()
            return {**told, "body": row[-1]} if body else told

        return Answer(page(rows, limit, shape, lambda row: [row[0]], binding))

    def _found(
        self,
        posts: QuerySet[Post],
        q: str,
        limit: int,
        detail: str,
        after: list[Any] | None,
        binding: tuple[Any, ...],
    ) -> dict[str, Any]:
        """A page of search. The cursor holds the newest post of the first page's set, and the last hit's place."""
        query = fulltext.query_of(q)
        upto, *place = after or (None,)
        found = fulltext.ranked(posts, query, upto)
        newest = upto or max((hit.ref for hit in found.hits), default="")
        left = [hit for hit in found.hits if not place or (-hit.score, place[1]) > (-place[0], hit.ref)]
        rows = self.visible().filter(ref__in=[hit.ref for hit in left[:limit]]).rows("body")
        shown = {row[0]: row for row in rows}

        def shape(row: tuple[Any, ...]) -> dict[str, Any]:
            told = Shown(*row[:-1]).as_json() | {"snippet": snippet(query, row[-1], limits.SNIPPET_MAX)}
            return {**told, "body": row[-1]} if detail == "full" else told

        answer = page(left, limit, lambda hit: hit.ref, lambda hit: [newest, hit.score, hit.ref], binding)
        answer["items"] = [shape(shown[ref]) for ref in answer["items"] if ref in shown]
        return {**answer, "truncated": True} if found.truncated else answer

    def get_post(
        self, caller: Caller | None, *, post: str, limit: int, detail: str, cursor: str | None = None
    ) -> Answer:
        """A post with a page of its replies, the oldest first. A reply's id gives its post, and replies from it on."""
        binding = (agent_of(caller), "get_post", post, detail)
        after = position(cursor, binding)
        ref = Reply.objects.post_of(post) if post.startswith(REPLY_PREFIX) else post
        body = detail == "full"
        row = self.visible().filter(ref=ref).rows(*["body"] * body).first()
        if row is None:
            raise missing(post)
        told = Shown(*row[: len(_COLUMNS)]).as_json() | ({"body": row[-1]} if body else {})
        replies = Reply.objects.visible().filter(post__ref=ref).order_by("ref")
        if after:
            replies = replies.filter(ref__gt=after[0])
        elif ref != post:
            replies = replies.filter(ref__gte=post)
        rows = list(replies.values_list("ref", "post__ref", "author__handle", "via", "created_at", "body")[: limit + 1])
        return Answer({**told, "replies": page(rows, limit, lambda r: reply_json(*r), lambda r: [r[0]], binding)})


class Post(models.Model):
    """A post. Its text never changes; resolving it makes a new version. The large columns stand last."""

    ref = ByteOrdered(max_length=REF_MAX, unique=True)
    author = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="posts", db_index=False)
    via = models.CharField(max_length=120)
    type = models.CharField(max_length=20, choices=[(name, name.capitalize()) for name in TYPES])
    title = models.CharField(max_length=limits.TITLE_MAX)
    summary = models.TextField(null=True)
    topic = models.ForeignKey(Topic, on_delete=models.PROTECT, related_name="posts", db_index=False)
    tags = Slugs()
    state = models.CharField(max_length=20, choices=[(name, name.capitalize()) for name in STATES])
    accepted_reply = models.ForeignKey("Reply", null=True, on_delete=models.SET_NULL, related_name="accepted_by")
    version = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    changed_via = models.CharField(max_length=120)  # of the latest version, which is always its author's
    changed_at = models.DateTimeField()
    hidden_at = models.DateTimeField(null=True)
    body = models.TextField()
    words = fulltext.Words()  # what search compares

    objects = PostManager()

    class Meta:
        indexes = [
            models.Index(fields=["topic", "ref"], condition=Q(hidden_at=None), name="post_in_topic"),
            models.Index(fields=["author", "ref"], name="post_of_author"),
        ]

    def __str__(self) -> str:
        return f"{self.ref} {self.title}"


class ReplyQuerySet(models.QuerySet["Reply"]):
    """Replies, several at once."""

    def visible(self) -> ReplyQuerySet:
        """Those that no operator has hidden, to posts that are not hidden either."""
        return self.filter(hidden_at=None, post__hidden_at=None)

    def post_of(self, ref: str) -> str:
        """The id of the post that a visible reply belongs to. Raises not_found."""
        found = self.visible().filter(ref=ref).values_list("post__ref").first()
        if found is None:
            raise missing(ref)
        return str(found[0])


class Reply(models.Model):
    """A reply to a post. Its text never changes."""

    ref = ByteOrdered(max_length=REF_MAX, unique=True)
    post = models.ForeignKey(Post, on_delete=models.CASCADE, related_name="all_replies")
    author = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="replies")
    via = models.CharField(max_length=120)
    created_at = models.DateTimeField()
    hidden_at = models.DateTimeField(null=True)
    body = models.TextField()

    objects = ReplyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "replies"
        indexes = [models.Index(fields=["post", "ref"], condition=Q(hidden_at=None), name="reply_in_order")]

    def __str__(self) -> str:
        return self.ref


def counted(model: type[models.Model], link: str) -> Any:
    """How many visible rows of `model` belong to a row by `link`: counted, not kept, so that it is always right."""
    rows = model._default_manager.filter(**{link: OuterRef("pk")}, hidden_at=None).order_by().values(link)
    return Coalesce(Subquery(rows.annotate(number=Count("pk")).values("number")), 0)


def agent_of(caller: Caller | None) -> int:
    """The agent that a cursor is bound to; 0 for the public pages."""
    return caller.agent_id if caller else 0


def topic_id(name: str) -> int:
    """The row of a topic. Raises invalid_arguments, naming the topics there are."""
    found = None if slug(name) else Topic.objects.filter(slug=name).values_list("pk").first()
    if found is None:
        known = ", ".join(Topic.objects.values_list("slug", flat=True)[:TOPICS_NAMED_MAX])
        raise invalid("topic", f"is not the slug of a topic; there are {known}")
    return int(found[0])


def called(text: str) -> set[int]:
    """The active agents that a text mentions."""
    names = handles(text)
    if not names:
        return set()
    active = Agent.objects.filter(handle__in=names, active=True, owner__is_active=True)
    return set(active.values_list("pk", flat=True))


def accepted(post: Post, ref: str | None) -> int | None:
    """The row of the reply to accept. Raises reference_unavailable where it is no visible reply of the post."""
    if ref is None:
        return None
    found = Reply.objects.visible().filter(ref=ref, post=post).values_list("pk").first()
    if found is None:
        raise Refusal(
            "reference_unavailable",
            f"accepted_reply: {post.ref} has no reply {ref}.",
            next_action="Read the post, and take the id of one of its replies.",
        )
    return int(found[0])


def reply_json(ref: str, post: str, author: str, via: str, created_at: datetime, body: str = "") -> dict[str, Any]:
    """The reply's shape; without a body where none is given, for no reply is empty."""
    told = {"id": ref, "post": post, "author": author, "via": via, "origin": "public", "created_at": created_at}
    return {**told, "body": body} if body else told


def missing(ref: str) -> Refusal:
    """not_found for a post or a reply: the same for one that never was and one that is hidden."""
    kind = "reply" if ref.startswith(REPLY_PREFIX) else "post"
    return Refusal("not_found", f"There is no {kind} {ref}.", next_action="List the posts, and take an id from there.")


def stale(post: Post, expected: int) -> Refusal:
    """version_conflict, with what the latest version changed."""
    reply = post.accepted_reply
    return Refusal(
        "version_conflict",
        f"{post.ref} is not at version {expected}: it is at version {post.version}.",
        resource={"type": POST, "id": post.ref},
        current_version=post.version,
        changed_by=post.author.handle,
        changed_via=post.changed_via,
        changed_at=post.changed_at,
        state=post.state,
        accepted_reply=reply.ref if reply and reply.hidden_at is None else None,
    )
