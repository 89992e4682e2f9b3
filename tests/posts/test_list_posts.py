"""list_posts without words: the newest first, filtered, page by page."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentboard.identity.caller import Caller
from agentboard.ledger.ids import new_id
from posts.fulltext import words_of
from posts.models import Post, Reply, Topic
from tests.board import Board
from tests.calls import Agent, got
from tests.posts.posting import everything, hide, post, reply, titles


def test_the_newest_comes_first_and_bodies_only_where_asked_for(atlas: Agent, topic: Topic) -> None:
    for number in range(3):
        post(atlas, f"{number}", f"Body {number}", topic=topic.slug)
    items = atlas.done("list_posts", topic=topic.slug)["items"]
    assert [item["title"] for item in items] == ["2", "1", "0"]
    assert all("body" not in item and "snippet" not in item for item in items)
    full = atlas.done("list_posts", topic=topic.slug, detail="full")["items"]
    assert [item["body"] for item in full] == ["Body 2", "Body 1", "Body 0"]


def test_filters_narrow_it_down(atlas: Agent, boreas: Agent, topic: Topic) -> None:
    one = post(atlas, "one", topic=topic.slug, type="OFFER", tags=["red", "blue"])
    post(boreas, "two", topic=topic.slug, type="OFFER", tags=["bluer"])
    post(boreas, "three", tags=["blue"], type="REQUEST")
    atlas.done("resolve_post", one["id"], expected_version=1)
    assert titles(atlas, topic=topic.slug) == ["two", "one"]
    assert titles(atlas, topic=topic.slug, state="resolved") == ["one"]
    assert titles(atlas, topic=topic.slug, state="open") == ["two"]
    assert titles(atlas, topic=topic.slug, tag="blue") == ["one"]
    assert titles(atlas, author=boreas.handle) == ["three", "two"]
    assert titles(atlas, author=boreas.handle, type="REQUEST") == ["three"]
    assert titles(atlas, author=boreas.handle, topic=topic.slug, tag="red") == []


def test_an_unknown_topic_tag_or_author_has_no_posts(atlas: Agent) -> None:
    for name in ("topic", "tag", "author"):
        assert titles(atlas, **{name: "nothing-of-the-kind"}) == []


@pytest.mark.parametrize(
    "query",
    [
        "limit=0", "limit=-1", "limit=abc", "limit=101", "limit=1.5", "type=question", "state=closed", "topic=A_b",
        "tag=%00", "author=@x", "q=%00", "q=", "cursor=abc", "cursor=", "cursor=eyJvIjotMX0", "cursor=%00", "sort=new",
        "detail=all", "limit=1&limit=2", "topic=general%0A",
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(atlas: Agent, query: str) -> None:
    assert got(atlas, "/v1/posts", query).code == "invalid_arguments"


def test_a_cursor_works_for_its_own_list_and_agent_alone(atlas: Agent, boreas: Agent, topic: Topic) -> None:
    for _ in range(3):
        post(atlas, topic=topic.slug)
    cursor = atlas.done("list_posts", topic=topic.slug, limit=1)["next_cursor"]
    atlas.done("list_posts", topic=topic.slug, limit=2, cursor=cursor)
    for data in ({}, {"topic": topic.slug, "state": "open"}, {"topic": topic.slug, "q": "title"}):
        atlas.refused("invalid_arguments", "list_posts", cursor=cursor, **data)
    boreas.refused("invalid_arguments", "list_posts", topic=topic.slug, cursor=cursor)
    atlas.refused("invalid_arguments", "list_posts", topic=topic.slug, cursor=cursor[:-1])


def test_paging_meets_each_post_once_while_others_come_and_go(atlas: Agent, boreas: Agent, topic: Topic) -> None:
    """B53"""
    made = [post(atlas, f"{number}", topic=topic.slug) for number in range(60)]
    seen: list[str] = []
    data: dict[str, Any] = {"topic": topic.slug, "limit": 7}
    gone = {made[number]["id"] for number in (5, 20, 40)}
    while True:
        page = atlas.done("list_posts", **data)
        seen += [item["id"] for item in page["items"]]
        post(boreas, "new", topic=topic.slug)
        if hidden := next((item for item in made if item["id"] in gone), None):
            gone.discard(hidden["id"])
            hide(hidden)
            made.remove(hidden)
        if "next_cursor" not in page:
            break
        data["cursor"] = page["next_cursor"]
    assert len(seen) == len(set(seen))
    throughout = [item["id"] for item in reversed(made)]
    assert [ref for ref in seen if ref in throughout] == throughout


def test_replies_are_counted_without_those_that_are_hidden(atlas: Agent, boreas: Agent, topic: Topic) -> None:
    made = post(atlas, topic=topic.slug)
    reply(boreas, made)
    hide(reply(boreas, made))
    assert atlas.done("list_posts", topic=topic.slug)["items"][0]["reply_count"] == 1


def many(agent: Agent, topic: Topic, number: int) -> None:
    """So many posts, the first of them with as many replies."""
    now = timezone.now()
    who = {"author_id": agent.pk, "via": "rest", "created_at": now}
    changed = {"state": "open", "version": 1, "changed_via": "rest", "changed_at": now}
    text = {"title": "Ledger", "body": "march ledger", "words": words_of("Ledger", [], None, "march ledger")}
    made = Post.objects.bulk_create(
        Post(ref=new_id("po"), type="OFFER", topic=topic, tags=[], **who, **changed, **text) for _ in range(number)
    )
    Reply.objects.bulk_create(Reply(ref=new_id("re"), post=made[0], body="x", **who) for _ in range(number))


def test_reads_cost_the_same_number_of_queries_for_ten_rows_and_for_ten_thousand(
    board: Board, atlas: Agent, topic: Topic
) -> None:
    caller = Caller(atlas.pk, atlas.handle, 0, frozenset(), "rest", "key", 0)
    costs = []
    for number in (10, 10_000):
        many(atlas, topic, number)
        first = Post.objects.filter(topic=topic).order_by("pk")[0].ref
        with CaptureQueriesContext(connection) as queries:
            Post.objects.list_posts(caller, limit=20, detail="summary", topic=topic.slug)
            Post.objects.list_posts(caller, limit=20, detail="full", topic=topic.slug, q="march led")
            Post.objects.get_post(caller, post=first, limit=20, detail="full")
            Topic.objects.topics(caller, limit=20)
        costs.append(len(queries))
    assert costs[0] == costs[1] == 1 + 2 + 2 + 1
    assert len(everything(atlas, "list_posts", topic=topic.slug, limit=100)) == 10_010
