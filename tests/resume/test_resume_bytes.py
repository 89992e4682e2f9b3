"""resume: never a byte more than max_bytes, whatever is kept, and everything else is counted."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentboard.board.resume import Context, filled, size
from agentboard.contract import limits
from agentboard.ledger import feed
from tests.board import Board
from tests.calls import Agent, Object, Rest, in_this_thread
from tests.events.reading import caller_of, settled
from tests.resume.filling import add_events, add_items, add_notes, add_tasks, time_passes
from tests.spaces.conftest import MakeSpace

LEAST, MOST = 1_024, 262_144
WIDE = '𝔘ñïcødé 漢字 "quoted" \\ \n\t </script> \x01 é̂ 👩‍👩‍👧 '
_numbers = count(1)

Fill = Callable[[Agent, str], None]
EXAMPLES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def near(agent: Agent) -> Agent:
    """The agent, calling in this thread: no faster way there is."""
    return Agent(Rest(in_this_thread), agent.key, agent.handle, agent.pk)


def shown(answer: Object) -> dict[str, int]:
    """How many of each kind are shown whole."""
    memory, tasks = answer.get("memory", {}), answer.get("tasks", {})
    working = memory.get("working_context")
    return {
        "working_context": int(working is not None and "body" in working),
        "notes": len(memory.get("notes", ())),
        "tasks_held": len(tasks.get("held", ())),
        "tasks_available": len(tasks.get("available", ())),
        "inbox": len(answer["inbox"]["items"]),
        "changes": len(answer["changes"]),
    }


def totals(answer: Object) -> dict[str, int]:
    """How many of each kind there are: shown and left out."""
    return {kind: number + answer["left_out"].get(kind, 0) for kind, number in shown(answer).items()}


def resumed(agent: Agent, max_bytes: int) -> Object:
    """The answer, whose bytes keep to the budget and whose counts say what is missing."""
    settled()
    reply = agent.send("resume", None, {"max_bytes": max_bytes})
    assert reply.status == 200, reply.raw
    assert len(reply.raw) <= max_bytes
    answer = reply.json
    left = answer["left_out"]
    assert all(number > 0 for number in left.values())
    assert set(left) <= set(shown(answer))
    assert answer.get("truncated", False) is bool(left)
    assert ("truncated" in answer) is bool(left)
    return answer


def full(agent: Agent) -> None:
    """Something of every kind, of different sizes."""
    names = [f"{'long-' * 14}{number}" for number in range(8)]
    add_notes(agent, names, summary=WIDE * 3, use_when=WIDE)
    add_notes(agent, [f"n{number}" for number in range(8)], tags=["t" * 80] * 3)
    add_notes(agent, [f"due{number}" for number in range(4)], due=True, summary="ü" * 900)
    add_notes(agent, ["working-context"], body=WIDE * 40, summary=WIDE)
    add_items(agent, 7)
    agent.done("resume")
    time_passes(agent, minutes=11)
    add_events(agent, [f"n{number}" for number in range(8)] + names, via="mcp (" + "客" * 60 + ")")


@pytest.fixture
def laden(board: Board, make_space: MakeSpace) -> Agent:
    """An agent with the longest handle that has something of every kind."""
    number = next(_numbers)
    agent = board.agent(handle="a" * (limits.SLUG_MAX - len(str(number))) + str(number))
    space = make_space(agent)
    add_tasks(agent, space, 6, held=True, title=WIDE)
    add_tasks(agent, space, 9, title="T")
    full(agent)
    return near(agent)


def test_all_of_it_is_there_where_it_fits_to_the_very_byte_and_not_with_one_less(laden: Agent) -> None:
    raw = laden.send("resume", None, {"max_bytes": MOST}).raw
    answer = resumed(laden, MOST)
    assert answer["left_out"] == {}
    assert shown(answer) == {
        "working_context": 1,
        "notes": 20,
        "tasks_held": 6,
        "tasks_available": 9,
        "inbox": 7,
        "changes": 20,
    }
    assert resumed(laden, len(raw))["left_out"] == {}
    assert resumed(laden, len(raw) - 1)["left_out"] != {}


def test_shown_and_left_out_make_up_all_there_is_at_every_budget(laden: Agent) -> None:
    there_is = totals(resumed(laden, MOST))

    @EXAMPLES
    @given(st.one_of(st.integers(LEAST, LEAST + 2_000), st.integers(LEAST, 24_000), st.integers(LEAST, MOST)))
    def holds(max_bytes: int) -> None:
        assert totals(resumed(laden, max_bytes)) == there_is

    holds()


def test_at_no_budget_there_is_a_byte_too_many(laden: Agent) -> None:
    """Each one from the least on until everything fits, on what is read once."""
    caller = caller_of(laden)
    context = Context(caller, 100)
    place = feed.Place(2**62, 2**62)
    parts = list(context.parts([f"agent:{laden.pk}"], feed.START))
    skeleton = context.skeleton(place, place)
    whole = size(filled(skeleton, parts, None))
    used = [size(filled(skeleton, parts, max_bytes)) for max_bytes in range(LEAST, whole + 200, 3)]
    assert all(found <= LEAST + 3 * step for step, found in enumerate(used))
    assert used[-1] == whole


def test_the_least_budget_holds_the_longest_names_and_the_largest_numbers(laden: Agent) -> None:
    context = Context(caller_of(laden), 1)
    context.unread_total = 10**6
    place = feed.Place(2**63 - 1, 2**63 - 1)
    parts = [(kind, 10**6, items, put) for kind, _, items, put in context.parts([], None)]
    answer = filled(context.skeleton(place, place), parts, LEAST)
    assert size(answer) <= LEAST
    assert answer["truncated"] is True


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=300)


@EXAMPLES
@given(
    max_bytes=st.one_of(st.integers(LEAST, 6_000), st.integers(LEAST, MOST)),
    summaries=st.lists(TEXTS, max_size=6),
    working=st.none() | TEXTS,
    counts=st.tuples(*[st.integers(0, 12)] * 3),
    scopes=st.sets(st.sampled_from(["memory:read", "coordination:read", "posts:read", "memory:write"]), min_size=1),
    long=st.booleans(),
)
def test_whatever_an_agent_keeps_the_budget_holds(
    board: Board,
    make_space: MakeSpace,
    max_bytes: int,
    summaries: list[str],
    working: str | None,
    counts: tuple[int, int, int],
    scopes: set[str],
    long: bool,
) -> None:
    number = f"{next(_numbers)}"
    agent = board.agent(handle=f"{'x' * (limits.SLUG_MAX - len(number)) if long else 'y'}{number}", owner=owner(board))
    for place, summary in enumerate(summaries):
        add_notes(agent, [f"note-{place}"], summary=summary.replace("{}", ""), due=place % 3 == 0)
    if working is not None:
        add_notes(agent, ["working-context"], body=working)
    add_items(agent, counts[0])
    add_tasks(agent, make_space(agent), counts[1], held=counts[1] % 2 == 0, title="".join(summaries)[:200] or "T")
    credential = near(board.with_scopes(agent, *scopes))
    first = resumed(credential, max_bytes)
    time_passes(agent, minutes=11)
    add_events(agent, [f"note-{place}" for place in range(counts[2])])
    there_is = resumed(credential, MOST)
    assert totals(resumed(credential, max_bytes)) == totals(there_is)
    assert there_is["left_out"] == {}
    expected = {"notes": len(summaries), "working_context": int(working is not None)}
    if "memory:read" not in scopes:
        expected = dict.fromkeys(expected, 0)
    assert {kind: totals(first)[kind] for kind in expected} == expected
    assert totals(there_is)["inbox"] == counts[0]


def owner(board: Board) -> Any:
    """One person for all examples: making one costs more than all the rest."""
    return board.people[0] if board.people else board.person()


def test_what_is_most_useful_is_kept_longest(atlas: Agent, make_space: MakeSpace) -> None:
    space = make_space(atlas)
    add_tasks(atlas, space, 5, held=True)
    add_tasks(atlas, space, 5)
    add_notes(atlas, [f"due{number}" for number in range(5)], due=True)
    add_notes(atlas, [f"not{number}" for number in range(5)])
    add_items(atlas, 5)
    for max_bytes in range(LEAST, 16_000, 150):
        answer = resumed(near(atlas), max_bytes)
        found, names = shown(answer), [note["name"] for note in answer["memory"]["notes"]]
        due = sum(name.startswith("due") for name in names)
        assert found["tasks_available"] == 0 or found["tasks_held"] == 5
        assert due == len(names) or due == 5
        assert due == 0 or found["inbox"] == 5  # items are smaller than notes
        assert found["tasks_available"] == 0 or due == 5  # and these than tasks


def test_a_working_context_that_does_not_fit_comes_without_its_body_and_counts_as_left_out(
    board: Board, atlas: Agent
) -> None:
    add_notes(atlas, ["working-context"], body="x" * 3_000, summary="What I do")
    answer = resumed(near(atlas), 2_048)
    assert answer["memory"]["working_context"]["summary"] == "What I do"
    assert "body" not in answer["memory"]["working_context"]
    assert answer["left_out"] == {"working_context": 1}
    assert answer["truncated"] is True
    assert resumed(near(atlas), 8_000)["memory"]["working_context"]["body"] == "x" * 3_000
    boreas = board.agent()
    add_notes(boreas, ["working-context"], body="x", summary="y" * 900)
    answer = resumed(near(boreas), 1_024)
    assert (answer["memory"]["working_context"], answer["left_out"]) == (None, {"working_context": 1})


def test_more_than_could_be_read_is_counted_too(atlas: Agent) -> None:
    names = [f"n{number}" for number in range(250)]
    add_notes(atlas, names)
    add_items(atlas, 250)
    atlas.done("resume")
    time_passes(atlas, minutes=11)
    add_events(atlas, names + names[:1] * 300)
    answer = resumed(near(atlas), MOST)
    assert {kind: number for kind, number in totals(answer).items() if number} == {
        "notes": 250,
        "inbox": 250,
        "changes": 250,
    }
    assert [change["resource"]["id"] for change in answer["changes"][:3]] == ["n0", "n249", "n248"]
    small = resumed(near(atlas), LEAST)
    assert totals(small) == totals(answer)


def test_as_many_small_items_as_fit_are_shown(atlas: Agent) -> None:
    add_items(atlas, 60)
    raw = near(atlas).send("resume", None, {"max_bytes": MOST}).raw
    assert resumed(near(atlas), len(raw))["left_out"] == {}


@pytest.mark.parametrize("wrong", [0, 1_023, 262_145, -1, "x", 1024.5])
def test_a_budget_out_of_bounds_is_refused(atlas: Agent, wrong: object) -> None:
    atlas.refused("invalid_arguments", "resume", max_bytes=wrong)


def test_the_default_budget_is_32_kib(atlas: Agent) -> None:
    add_notes(atlas, [f"n{number}" for number in range(100)], summary="x" * 400)
    raw = atlas.send("resume").raw
    assert 31_000 < len(raw) <= 32_768
