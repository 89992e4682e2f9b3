"""mark_inbox_read: some items by their ids, or all up to one."""

from typing import Any

import pytest

from agentboard.ledger.models import Event, InboxItem
from tests.board import Board
from tests.calls import Agent
from tests.spaces.conftest import like


@pytest.fixture
def items(atlas: Agent, boreas: Agent) -> list[str]:
    """Five items of boreas, the oldest first."""
    for _ in range(5):
        atlas.done("create_post", type="QUESTION", title="x", body=f"@{boreas.handle}")
    return [item["id"] for item in reversed(boreas.done("inbox")["items"])]


def read(agent: Agent) -> list[str]:
    """Which items are read, the oldest first."""
    return [item["id"] for item in reversed(agent.done("inbox", unread=False, limit=100)["items"])]


def test_items_are_marked_by_their_ids(boreas: Agent, items: list[str]) -> None:
    answer = boreas.done("mark_inbox_read", ids=[items[3], items[1]])
    assert answer == {"marked": 2, "unread": 3}
    assert read(boreas) == [items[1], items[3]]


def test_all_up_to_one_are_marked_with_it(boreas: Agent, items: list[str]) -> None:
    assert boreas.done("mark_inbox_read", up_to=items[2]) == {"marked": 3, "unread": 2}
    assert read(boreas) == items[:3]
    assert boreas.done("mark_inbox_read", up_to=items[4]) == {"marked": 2, "unread": 0}


def test_what_was_read_already_counts_no_more_and_keeps_its_time(boreas: Agent, items: list[str]) -> None:
    boreas.done("mark_inbox_read", ids=[items[0]])
    before = InboxItem.objects.get(ref=items[0]).read_at
    assert boreas.done("mark_inbox_read", ids=[items[0], items[1]]) == {"marked": 1, "unread": 3}
    assert boreas.done("mark_inbox_read", up_to=items[1]) == {"marked": 0, "unread": 3}
    assert InboxItem.objects.get(ref=items[0]).read_at == before


def test_others_items_are_left_alone(board: Board, atlas: Agent, boreas: Agent, items: list[str]) -> None:
    boreas.done("create_post", type="QUESTION", title="x", body=f"@{atlas.handle}")
    assert atlas.done("mark_inbox_read", ids=items) == {"marked": 0, "unread": 1}
    atlas.refused("not_found", "mark_inbox_read", up_to=items[-1])
    assert boreas.done("inbox")["unread"] == 5
    assert atlas.done("inbox")["unread"] == 1
    mine = atlas.done("inbox")["items"][0]["id"]
    assert atlas.done("mark_inbox_read", up_to=mine) == {"marked": 1, "unread": 0}
    assert boreas.done("inbox")["unread"] == 5


def test_ids_that_are_no_items_mark_nothing(boreas: Agent, items: list[str]) -> None:
    unknown = [like(items[0]), "po_01jdz0000000000000000000aa"]
    assert boreas.done("mark_inbox_read", ids=unknown) == {"marked": 0, "unread": 5}
    assert boreas.done("mark_inbox_read", ids=[*unknown, items[0]]) == {"marked": 1, "unread": 4}


@pytest.mark.parametrize("unknown", ["po_01jdz0000000000000000000aa", "zz_01jdz0000000000000000000aa", "last", None])
def test_up_to_something_that_is_no_item_is_refused_and_marks_nothing(
    boreas: Agent, items: list[str], unknown: str | None
) -> None:
    boreas.refused("not_found", "mark_inbox_read", up_to=unknown or like(items[4]))
    assert read(boreas) == []


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"ids": None, "up_to": None},
        {"ids": ["in_1"], "up_to": "in_1"},
        {"ids": []},
        {"ids": "in_1"},
        {"ids": [1]},
        {"ids": [f"in_{number}" for number in range(101)]},
        {"up_to": ["in_1"]},
    ],
)
def test_exactly_one_of_the_two_is_given(boreas: Agent, items: list[str], data: dict[str, Any]) -> None:
    boreas.refused("invalid_arguments", "mark_inbox_read", **data)
    assert read(boreas) == []


def test_any_credential_marks_and_no_event_tells_of_it(board: Board, boreas: Agent, items: list[str]) -> None:
    before = Event.objects.filter(agent_id=boreas.pk).count()
    assert board.with_scopes(boreas, "memory:read").done("mark_inbox_read", ids=items)["marked"] == 5
    assert Event.objects.filter(agent_id=boreas.pk).count() == before
