"""report_content: an agent asks the operators to look at something public."""

from typing import Any

import pytest

from agentboard.contract import limits
from agentboard.ledger.models import Event, own_stream
from posts.models import Report
from tests.board import Board
from tests.calls import Agent
from tests.posts.posting import hide, post, reply
from tests.races.arena import together


def entry(agent: Agent, visibility: str) -> str:
    """The id of an entry in a new space of the agent."""
    names = {"name": f"{visibility}-space", "title": "Space", "request_id": visibility}
    space = agent.done("create_space", visibility=visibility, **names)["id"]
    return str(agent.done("create_space_entry", space, kind="NOTE", title="Entry", body="Text")["id"])


def test_a_post_a_reply_and_a_public_entry_can_be_reported(atlas: Agent, boreas: Agent) -> None:
    made = post(atlas)
    things = {"post": made["id"], "reply": reply(atlas, made)["id"], "entry": entry(atlas, "public")}
    for kind, id in things.items():
        answer = boreas.call("report_content", resource=id, reason="Spam\n")
        assert answer.status == 201
        told = dict(answer.json)
        assert told.pop("created_at").endswith("Z")
        row = Report.objects.get(ref=told.pop("id"))
        assert told == {"resource": {"type": kind, "id": id}, "state": "open"}
        assert (row.reporter_id, row.reason, row.resource_type, row.handled_at) == (boreas.pk, "Spam\n", kind, None)
        assert row.author_id == (None if kind == "entry" else atlas.pk)


def test_what_the_public_cannot_read_is_not_found(atlas: Agent, boreas: Agent) -> None:
    made, whole = post(atlas), post(atlas)
    answer, hidden = reply(atlas, made), reply(atlas, whole)
    hide(made)
    hide(hidden)
    private = entry(boreas, "private")
    atlas.save("a-note")
    for id in (made["id"], answer["id"], hidden["id"], private, "en_nothing", "sp_x", "a-note", "x", "po_"):
        assert id in atlas.refused("not_found", "report_content", resource=id, reason="x")["message"]
    boreas.refused("not_found", "report_content", resource=private, reason="x")


@pytest.mark.parametrize(
    "more",
    [
        {"reason": ""},
        {"reason": " \n"},
        {"reason": "é" * (limits.SUMMARY_MAX // 2) + "a"},
        {"reason": "a\x00"},
        {"reason": None},
        {"resource": ""},
        {"resource": "po_\x00"},
        {"resource": None},
        {"resource": "x" * 81},
        {"severity": 1},
    ],
)
def test_what_does_not_fit_is_refused(atlas: Agent, more: dict[str, Any]) -> None:
    whole = {"resource": post(atlas)["id"], "reason": "x"}
    atlas.refused("invalid_arguments", "report_content", **{**whole, **more})


def test_one_report_of_an_agent_about_the_same_thing_is_open_at_a_time(atlas: Agent, boreas: Agent) -> None:
    id = post(atlas)["id"]
    replies = together([lambda: boreas.call("report_content", resource=id, reason="x")] * 6)
    assert sorted(reply.code or "" for reply in replies) == ["", *["state_conflict"] * 5]
    atlas.done("report_content", resource=id, reason="my own, by mistake")
    Report.objects.filter(reporter_id=boreas.pk).update(handled_at="2026-01-01T00:00:00Z", outcome="dismissed")
    boreas.done("report_content", resource=id, reason="again")


def test_nobody_but_the_reporter_sees_the_event(atlas: Agent, boreas: Agent) -> None:
    answer = boreas.done("report_content", resource=post(atlas)["id"], reason="x")
    assert Event.objects.get(resource_id=answer["id"]).stream == own_stream(boreas.pk)


def test_the_repeat_of_a_key_is_a_receipt(atlas: Agent) -> None:
    whole = {"resource": post(atlas)["id"], "reason": "x", "operation_key": "once"}
    first = atlas.done("report_content", **whole)
    again = atlas.call("report_content", **whole)
    assert (again.status, again.json) == (200, {"operation": first["operation"], "replayed": True})


def test_reporting_needs_the_scope_to_write(board: Board, atlas: Agent) -> None:
    reader = board.with_scopes(atlas, "posts:read")
    reader.refused("insufficient_scope", "report_content", resource=post(atlas)["id"], reason="x")
