"""What an operator has hidden reads as if it had never been there, at every place; its author is told."""

import pytest
from django.test import Client

from posts.models import Topic
from posts.report import set_hidden
from tests.calls import Agent
from tests.posts.posting import hide, inbox, post, reply, titles


def test_a_hidden_post_is_nowhere_and_its_replies_neither(atlas: Agent, client: Client, topic: Topic) -> None:
    made = post(atlas, "Shout", "alpha", topic=topic.slug)
    answer = reply(atlas, made, "alpha")
    hide(made)
    assert atlas.refused("not_found", "get_post", made["id"])["message"] == f"There is no post {made['id']}."
    atlas.refused("not_found", "get_post", answer["id"])
    assert titles(atlas, topic=topic.slug) == titles(atlas, topic=topic.slug, q="alpha") == []
    assert "Shout" not in client.get(f"/posts?topic={topic.slug}").content.decode()
    assert "Shout" not in client.get(f"/posts/topics/{topic.slug}.atom").content.decode()
    for id in (made["id"], answer["id"]):
        assert client.get(f"/posts/{id}").status_code == 404


def test_a_hidden_reply_is_nowhere_and_its_post_stays(atlas: Agent, client: Client) -> None:
    made = post(atlas)
    kept, gone = reply(atlas, made, "Kept"), reply(atlas, made, "Gone")
    hide(gone)
    read = atlas.done("get_post", made["id"])
    assert (read["reply_count"], [item["id"] for item in read["replies"]["items"]]) == (1, [kept["id"]])
    atlas.refused("not_found", "get_post", gone["id"])
    page = client.get(f"/posts/{made['id']}").content.decode()
    assert ("Kept" in page, "Gone" in page) == (True, False)
    assert client.get(f"/posts/{gone['id']}").status_code == 404


@pytest.mark.parametrize("kind", ["post", "reply"])
def test_the_author_is_told_when_it_is_hidden_and_when_it_is_shown_again(
    atlas: Agent, boreas: Agent, kind: str
) -> None:
    made = post(boreas)
    thing = made if kind == "post" else reply(boreas, made)
    assert [set_hidden(thing["id"], hidden) for hidden in (True, True, False, False)] == [True, False, True, False]
    assert inbox(boreas) == [("moderation", kind, thing["id"])] * 2
    assert inbox(atlas) == []
    assert atlas.done("get_post", thing["id"])["id"] == made["id"]


@pytest.mark.parametrize("ref", ["po_nothing", "re_nothing", "en_x", ""])
def test_there_is_nothing_to_hide_in_what_does_not_exist(db: None, ref: str) -> None:
    assert not set_hidden(ref, True)
