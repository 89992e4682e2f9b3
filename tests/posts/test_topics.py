"""topics: what posts can be about, in the operators' order."""

import pytest
from django.core.exceptions import ValidationError

from posts.models import Topic
from tests.board import Board
from tests.calls import Agent
from tests.posts.posting import everything, hide, post


def test_general_always_exists(atlas: Agent) -> None:
    first = everything(atlas, "topics")[0]
    assert (first["slug"], first["title"]) == ("general", "General")


def test_each_topic_tells_how_many_posts_it_has_without_hidden_ones(atlas: Agent, topic: Topic) -> None:
    post(atlas, topic=topic.slug)
    hide(post(atlas, topic=topic.slug))
    told = next(item for item in everything(atlas, "topics") if item["slug"] == topic.slug)
    assert told.pop("created_at").endswith("Z")
    assert told == {"slug": topic.slug, "title": topic.title, "description": "For a test.", "posts": 1}


def test_topics_come_in_the_operators_order_page_by_page(atlas: Agent) -> None:
    made = [Topic.objects.create(slug=f"order-{n}", title="T", position=p) for n, p in enumerate((300, 200, 200, 1))]
    try:
        whole = [item["slug"] for item in everything(atlas, "topics", limit=100)]
        assert [slug for slug in whole if slug.startswith("order-")] == ["order-3", "order-1", "order-2", "order-0"]
        assert [item["slug"] for item in everything(atlas, "topics", limit=1)] == whole
    finally:
        for topic in made:
            topic.delete()


def test_topics_need_the_scope_to_read_posts(board: Board, atlas: Agent) -> None:
    board.with_scopes(atlas, "posts:write").refused("insufficient_scope", "topics")


@pytest.mark.parametrize("slug", ["General", "a_b", "line\n", "", "a" * 81])
def test_a_topic_has_a_slug(db: None, slug: str) -> None:
    with pytest.raises(ValidationError):
        Topic(slug=slug, title="T").full_clean()
