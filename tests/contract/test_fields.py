"""The rules that a published schema cannot say."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agentboard.contract import limits
from agentboard.contract.fields import (
    BODY,
    SLUG,
    SUMMARY,
    TAGS,
    Field,
    at_least,
    at_most_bytes,
    distinct_names,
    in_calendar,
    moment,
    not_blank,
    slug,
)

pytestmark = pytest.mark.no_database


def told(field: Field, value: Any) -> list[str]:
    return [message for _, message in field.problems(value, "it")]


@pytest.mark.parametrize("letter", ["a", "é", "字", "\U0001f600"])
def test_a_body_is_counted_in_bytes_of_utf8(letter: str) -> None:
    """B03."""
    fitting = limits.BODY_MAX // len(letter.encode())
    padding = "." * (limits.BODY_MAX - fitting * len(letter.encode()))
    assert told(BODY, letter * fitting + padding) == []
    assert told(BODY, letter * fitting + padding + ".") == ["has 20481 bytes in UTF-8; at most 20480 are allowed"]


def test_a_summary_is_counted_in_bytes_of_utf8() -> None:
    """B03."""
    assert told(SUMMARY, "é" * 1024) == []
    assert told(SUMMARY, "é" * 1025) == ["has 2050 bytes in UTF-8; at most 2048 are allowed"]


@pytest.mark.parametrize("count", [0, 1, 5, 6, 19, 20, 21, 80])
def test_bytes_are_counted_right_around_the_short_cut(count: int) -> None:
    rule = at_most_bytes(20)
    assert (rule("x" * count) is None) == (count <= 20)
    assert (rule("\U0001f600" * count) is None) == (count <= 5)


@pytest.mark.parametrize("blank", ["", " ", "\n", "\t \r\n", "\u2003", "\u00a0"])
def test_white_space_alone_is_no_body(blank: str) -> None:
    """B05."""
    assert not_blank(blank)
    assert not_blank(f"{blank}x{blank}") is None


@pytest.mark.parametrize("name", ["a", "0", "a-b", "a1-2b-3", "a" * 80])
def test_a_slug_is_lowercase_letters_and_digits_in_parts(name: str) -> None:
    assert slug(name) is None


@pytest.mark.parametrize("name", ["", "-", "a-", "-a", "a--b", "A", "a b", "a\n", "a_b", "é", "a.b", "٣", "a" * 81])
def test_anything_else_is_no_slug(name: str) -> None:
    assert slug(name)
    assert told(SLUG, name)


def test_a_version_below_the_first_is_refused() -> None:
    assert at_least(1)(1) is None
    assert at_least(1)(0) == "must be at least 1"


def test_references_name_each_note_once() -> None:
    assert distinct_names([{"name": "a"}, {"name": "b"}]) is None
    assert distinct_names([{"name": "a"}, {"name": "b"}, {"name": "a"}]) == "names the same note twice"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-30T18:50:00Z", datetime(2026, 11, 30, 18, 50, tzinfo=UTC)),
        ("2026-11-30t18:50:00z", datetime(2026, 11, 30, 18, 50, tzinfo=UTC)),
        ("2026-11-30T18:50:00.5+02:00", datetime(2026, 11, 30, 16, 50, 0, 500_000, tzinfo=UTC)),
        ("2026-11-30T18:50:00-00:00", datetime(2026, 11, 30, 18, 50, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_as_utc(text: str, at: datetime) -> None:
    assert moment(text) == at
    assert in_calendar(text) is None


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2026-12-31T23:59:60Z"])
def test_a_time_that_no_database_holds_is_refused(text: str) -> None:
    assert in_calendar(text)


def test_rules_reach_inside_objects_and_lists() -> None:
    inner = {"name": Field({"type": "string"}, (slug,))}
    assert [*Field({}, inner=inner).problems([{"name": "a"}, {"name": "B"}, {}], "it")] == [
        ("it.1.name", slug("B")),
    ]
    assert [*Field({}, inner=inner).problems({"name": "B"}, "it")] == [("it.name", slug("B"))]


def test_a_field_described_anew_leaves_the_first_as_it_was() -> None:
    other = TAGS.described("Other words.", maxItems=1)
    assert (other.schema["description"], other.schema["maxItems"], other.rules) == ("Other words.", 1, TAGS.rules)
    assert TAGS.schema["maxItems"] == limits.TAGS_MAX
