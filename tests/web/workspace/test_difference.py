"""Differences and merges: right for any texts, and quick for those that are made to be slow."""

import time
from collections.abc import Callable
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentboard.contract import limits
from agentboard.ledger.text import unified
from agentboard.web import markdown
from agentboard.web.workspace.difference import Row, marked, table
from agentboard.web.workspace.merge import BEFORE, BOTH, MINE, SAVED, build, merged

pytestmark = pytest.mark.no_database

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "- one two", "- one three"]), max_size=8).map("\n".join)
SECONDS = 0.5  # for one page, on a machine that does nothing else
SLOW = {
    "line feeds": ("\n" * limits.BODY_MAX, "\n" * (limits.BODY_MAX - 400) + "x"),
    "one line over and over": ("same line\n" * 2_000, "y\n" + "same line\n" * 1_990),
    "the same lines backwards": (
        "".join(f"{n}\n" for n in range(3_700)),
        "".join(f"{n}\n" for n in reversed(range(3_700))),
    ),
    "one long line": ("word " * 4_000, "other " * 3_400),
    "every line changed": ("".join(f"a {n} b\n" for n in range(900)), "".join(f"c {n} d\n" for n in range(900))),
}


@given(TEXTS, TEXTS)
@settings(max_examples=200, deadline=None)
def test_a_table_holds_both_texts_line_by_line(before: str, after: str) -> None:
    found = table(unified(before, after, (1, 2)))
    shown = [row for row in found.rows if row.kind != "skipped"]
    hidden = sum(row.count for row in found.rows)
    old = [plain(row, "left") for row in shown if row.left_number]
    new = [plain(row, "right") for row in shown if row.right_number]
    assert is_in_order(old, before.split("\n"))
    assert is_in_order(new, after.split("\n"))
    assert hidden + len(old) <= len(before.split("\n"))
    for row in shown:
        if row.left_number:
            assert plain(row, "left") == before.split("\n")[row.left_number - 1]
        if row.right_number:
            assert plain(row, "right") == after.split("\n")[row.right_number - 1]


def plain(row: Row, side: str) -> str:
    text = getattr(row, side)
    for tag in ("<ins>", "</ins>", "<del>", "</del>"):
        text = text.replace(tag, "")
    return unescape(text) if row.kind == "changed" else text


def is_in_order(some: list[str], of: list[str]) -> bool:
    rest = iter(of)
    return all(line in rest for line in some)


@given(TEXTS, TEXTS)
@settings(max_examples=100, deadline=None)
def test_word_marks_lose_nothing(before: str, after: str) -> None:
    left, right = marked(before, after, 1)
    assert unescape(left.replace("<del>", "").replace("</del>", "")) == before
    assert unescape(right.replace("<ins>", "").replace("</ins>", "")) == after


@given(TEXTS, TEXTS, TEXTS)
@settings(max_examples=300, deadline=None)
def test_a_merge_of_any_three_texts_can_be_built_back_to_each_of_them(before: str, saved: str, mine: str) -> None:
    parts = merged(before, saved, mine)
    assert "".join(part.before for part in parts) == before
    assert "".join(part.saved for part in parts) == saved
    assert "".join(part.mine for part in parts) == mine
    clashes = {number: BEFORE for number, part in enumerate(parts) if part.kind == "clash"}
    assert isinstance(build(parts, clashes), str)


@given(TEXTS, TEXTS)
@settings(max_examples=100, deadline=None)
def test_where_only_one_side_changed_nothing_is_asked(before: str, changed: str) -> None:
    for saved, mine in ((changed, before), (before, changed), (changed, changed)):
        parts = merged(before, saved, mine)
        assert all(part.kind != "clash" for part in parts)
        assert build(parts, {}) == changed


def test_changes_in_different_places_go_together_and_others_are_asked() -> None:
    parts = merged("a\nb\nc\nd\ne", "A\nb\nc\nd2\ne", "a\nb\nc\nD\ne\nf")
    assert [part.kind for part in parts if part.kind != "same"] == ["saved", "clash"]
    assert build(parts, {0: SAVED}) == "A\nb\nc\nd2\ne"
    assert build(parts, {0: MINE}) == "A\nb\nc\nD\ne\nf"
    assert build(parts, {0: BOTH}) == "A\nb\nc\nd2\ne\nD\ne\nf"
    assert build(parts, {0: BEFORE}) == "A\nb\nc\nd\ne"


@pytest.mark.parametrize("name", [*SLOW])
def test_texts_made_to_be_slow_are_not(name: str) -> None:
    before, after = SLOW[name]
    steps: list[Callable[[], object]] = [
        lambda: table(unified(before, after, (1, 2))),
        lambda: merged(before, after, before[::-1]),
        lambda: markdown.render(before),
    ]
    for step in steps:
        started = time.process_time()
        step()
        assert time.process_time() - started < SECONDS
