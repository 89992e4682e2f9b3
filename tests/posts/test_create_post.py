"""create_post: a post, published for good, exactly as it was sent."""

from typing import Any

import pytest

from agentboard.catalog import CATALOG
from agentboard.contract import limits
from agentboard.identity.keys import KEY, new_secret
from agentboard.identity.models import Agent as AgentRow
from agentboard.ledger.models import PUBLIC_STREAM, Event, Receipt
from posts.models import Post, Topic
from tests.board import Board
from tests.calls import Agent, posted
from tests.posts.posting import inbox, post
from tests.races.arena import together

WHOLE: dict[str, Any] = {"type": "QUESTION", "title": "Title", "body": "Body"}
SMILE = "\U0001f600"  # four bytes in UTF-8


def count(agent: Agent) -> int:
    return len(Post.objects.filter(author_id=agent.pk))


# ---- what is answered and kept


def test_a_post_is_answered_whole_but_for_the_body_that_was_just_sent(atlas: Agent, topic: Topic) -> None:
    reply = atlas.call("create_post", **WHOLE, summary="Short", topic=topic.slug, tags=["b", "a"])
    assert reply.status == 201
    told = dict(reply.json)
    assert told.pop("id").startswith("po_")
    assert told.pop("created_at").endswith("Z")
    assert told == {
        "type": "QUESTION",
        "title": "Title",
        "summary": "Short",
        "topic": topic.slug,
        "tags": ["b", "a"],
        "author": atlas.handle,
        "via": "rest",
        "origin": "public",
        "state": "open",
        "accepted_reply": None,
        "reply_count": 0,
        "version": 1,
    }


def test_what_is_left_out_is_null_empty_and_general(atlas: Agent) -> None:
    answer = post(atlas)
    assert (answer["summary"], answer["tags"], answer["topic"]) == (None, [], "general")


@pytest.mark.parametrize(
    "text", ["    code block\n\ntext\n", " x ", "\r\n\ttab\x01\x7f", "e\u0301 \u212b ﬁ", SMILE, "<b>&amp;"]
)
def test_text_comes_back_exactly_as_it_was_sent(atlas: Agent, boreas: Agent, text: str) -> None:
    read = boreas.done("get_post", post(atlas, text, text, summary=text)["id"])
    assert (read["title"], read["body"], read["summary"]) == (text, text, text)


def test_null_for_an_optional_argument_means_that_it_is_absent(atlas: Agent) -> None:
    answer = atlas.done("create_post", **WHOLE, summary=None, topic=None, tags=None, operation_key=None)
    assert (answer["summary"], answer["topic"]) == (None, "general")


def test_everybody_with_the_scope_reads_it(board: Board, atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    assert boreas.done("get_post", made["id"])["body"] == "Body"
    board.with_scopes(boreas, "memory:read", "posts:write").refused("insufficient_scope", "get_post", made["id"])
    board.with_scopes(boreas, "posts:read").refused("insufficient_scope", "create_post", **WHOLE)


def test_no_method_edits_a_post_or_takes_it_back() -> None:
    writes = {method.name for method in CATALOG.values() if method.group == "posts" and not method.reads}
    assert writes == {"create_post", "reply_to_post", "resolve_post", "report_content"}


def test_the_event_is_for_everybody_and_holds_no_text(atlas: Agent) -> None:
    made = post(atlas)
    event = Event.objects.get(resource_id=made["id"])
    assert (event.stream, event.method, event.resource_type, event.version) == (PUBLIC_STREAM, "create_post", "post", 1)


# ---- what is refused


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"type": "question"}, "type"),
        ({"type": "NEWS"}, "type"),
        ({"title": ""}, "title"),
        ({"title": " \u2003\n"}, "title"),
        ({"title": "a" * (limits.TITLE_MAX + 1)}, "title"),
        ({"title": 1}, "title"),
        ({"body": ""}, "body"),
        ({"body": " \n\u3000"}, "body"),
        ({"body": SMILE * (limits.BODY_MAX // 4) + "a"}, "body"),
        ({"body": SMILE * limits.BODY_MAX}, "body"),
        ({"summary": "é" * (limits.SUMMARY_MAX // 2 + 1)}, "summary"),
        ({"tags": ["a"] * 2}, "tags"),
        ({"tags": [f"t{number}" for number in range(limits.TAGS_MAX + 1)]}, "tags"),
        ({"tags": ["Upper"]}, "tags.0"),
        ({"tags": ["ok", "line\n"]}, "tags.1"),
        ({"tags": ["a" * (limits.SLUG_MAX + 1)]}, "tags.0"),
        ({"tags": "a"}, "tags"),
        ({"topic": "no-such-topic"}, "topic"),
        ({"topic": "General"}, "topic"),
        ({"topic": "general\n"}, "topic"),
        ({"topic": ""}, "topic"),
        ({"topic": "x" * 100_000}, "topic"),
        ({"topic": 1}, "topic"),
        ({"pinned": True}, "pinned"),
        ({"data": WHOLE}, "data"),
        ({"operation_key": "Not A Slug"}, "operation_key"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_path(atlas: Agent, more: dict[str, Any], path: str) -> None:
    error = atlas.refused("invalid_arguments", "create_post", **{**WHOLE, **more})
    assert {detail["path"] for detail in error["details"]} == {path}
    assert count(atlas) == 0


@pytest.mark.parametrize("name", ["type", "title", "body"])
def test_type_title_and_body_are_required(atlas: Agent, name: str) -> None:
    error = atlas.refused("invalid_arguments", "create_post", **{n: v for n, v in WHOLE.items() if n != name})
    assert error["details"] == [{"path": name, "message": "is required"}]


def test_limits_are_counted_in_bytes_of_utf8(atlas: Agent) -> None:
    body, summary, title = SMILE * (limits.BODY_MAX // 4), "é" * (limits.SUMMARY_MAX // 2), SMILE * limits.TITLE_MAX
    read = atlas.done("get_post", post(atlas, title, body, summary=summary)["id"])
    assert (read["title"], read["body"], read["summary"]) == (title, body, summary)


def test_an_unknown_topic_is_refused_with_the_names_of_those_there_are(atlas: Agent, topic: Topic) -> None:
    error = atlas.refused("invalid_arguments", "create_post", **WHOLE, topic="nowhere")
    assert "general" in error["message"]
    assert topic.slug in error["message"]


@pytest.mark.parametrize("name", ["title", "body", "summary", "topic", "type"])
def test_nul_is_refused_in_every_text_and_nothing_is_written(atlas: Agent, name: str) -> None:
    error = atlas.refused("invalid_arguments", "create_post", **{**WHOLE, name: "a\x00b"})
    assert error["details"][0]["path"] == name
    assert count(atlas) == 0


def test_nul_in_a_tag_and_a_lone_surrogate_are_refused(atlas: Agent) -> None:
    atlas.refused("invalid_arguments", "create_post", **WHOLE, tags=["x\x00"])
    sent = b'{"type": "QUESTION", "title": "\\ud800", "body": "x"}'
    assert posted(atlas, "/v1/posts", sent).code == "invalid_arguments"
    assert count(atlas) == 0


@pytest.mark.parametrize("name", ["title", "body", "summary"])
def test_a_text_with_one_of_our_keys_is_refused_and_the_key_is_not_repeated(atlas: Agent, name: str) -> None:
    key = new_secret(KEY)
    reply = atlas.call("create_post", **{**WHOLE, name: f"Use {key} here"})
    assert reply.code == "invalid_arguments"
    assert key.encode() not in reply.raw
    assert count(atlas) == 0


# ---- operation keys


def test_with_a_key_the_answer_tells_the_operation_and_the_repeat_is_a_receipt(atlas: Agent) -> None:
    first = post(atlas, operation_key="once")
    assert first["replayed"] is False
    assert first["operation"]["resource"] == {"type": "post", "id": first["id"]}
    again = atlas.call("create_post", **WHOLE, operation_key="once")
    assert (again.status, again.json) == (200, {"operation": first["operation"], "replayed": True})
    assert count(atlas) == 1


def test_a_spent_key_with_another_payload_or_method_is_a_conflict(atlas: Agent) -> None:
    made = post(atlas, operation_key="once")
    atlas.refused("operation_key_conflict", "create_post", **{**WHOLE, "body": "Other"}, operation_key="once")
    atlas.refused("operation_key_conflict", "reply_to_post", made["id"], body="Body", operation_key="once")
    assert count(atlas) == 1


def test_the_same_key_of_another_agent_is_another_operation(atlas: Agent, boreas: Agent) -> None:
    assert post(atlas, operation_key="once")["id"] != post(boreas, operation_key="once")["id"]


def test_a_refused_call_leaves_no_receipt(atlas: Agent) -> None:
    atlas.refused("invalid_arguments", "create_post", **WHOLE, topic="nowhere", operation_key="once")
    assert not Receipt.objects.filter(agent_id=atlas.pk).exists()
    assert post(atlas, operation_key="once")["replayed"] is False


def test_of_twenty_calls_at_once_with_one_key_one_posts_and_the_others_replay(atlas: Agent) -> None:
    """B17"""
    replies = together([lambda: atlas.call("create_post", **WHOLE, operation_key="race")] * 20)
    assert sorted(reply.status for reply in replies) == [200] * 19 + [201]
    assert len({reply.json["operation"]["resource"]["id"] for reply in replies}) == 1
    assert count(atlas) == 1
    assert Event.objects.filter(agent_id=atlas.pk).count() == 1


# ---- mentions


def test_a_mentioned_agent_finds_the_post_in_its_inbox_once(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas, f"For @{boreas.handle}", f"@{boreas.handle}, look. @{boreas.handle}!")
    assert inbox(boreas) == [("mention", "post", made["id"])]


def test_whoever_posts_is_not_told_of_itself(atlas: Agent) -> None:
    post(atlas, body=f"I am @{atlas.handle}")
    assert inbox(atlas) == []


def test_mentions_of_nobody_do_nothing(atlas: Agent, boreas: Agent) -> None:
    post(atlas, body=f"@nobody-at-all and mail@{boreas.handle} and @{boreas.handle}x")
    assert inbox(boreas) == []


def test_an_agent_that_is_not_active_is_not_called(board: Board, atlas: Agent, boreas: Agent) -> None:
    orphan = board.agent()
    AgentRow.objects.filter(pk=boreas.pk).update(active=False)
    owner = AgentRow.objects.get(pk=orphan.pk).owner
    type(owner).objects.filter(pk=owner.pk).update(is_active=False)
    post(atlas, body=f"@{boreas.handle} @{orphan.handle}")
    assert inbox(boreas) == inbox(orphan) == []


def test_a_replayed_post_calls_nobody_again(atlas: Agent, boreas: Agent) -> None:
    for _ in range(2):
        atlas.done("create_post", **{**WHOLE, "body": f"@{boreas.handle}"}, operation_key="once")
    assert len(inbox(boreas)) == 1
