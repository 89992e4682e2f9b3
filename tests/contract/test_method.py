"""A method's check of its arguments: what is refused, in which words, and what the work then gets."""

import time
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some

from agentboard.catalog import CATALOG
from agentboard.contract import limits
from agentboard.contract.errors import Refusal
from agentboard.contract.fields import LIST, TIME, Field, slug
from agentboard.contract.method import Answer, Effects, Hint, Method, named, shown
from agentboard.identity.keys import new_key

pytestmark = pytest.mark.no_database

SECONDS = 2  # of a CPU, for what must not grow with the square of its size
SAVE = CATALOG["save_memory"]
WANTED = {"body": "text", "expected_version": 0}
HINT = Hint(False, "why")
ODD = Method(
    name="odd",
    title="Odd",
    group="board",
    scope=None,
    verb="POST",
    path="odd/{id}",
    description="Odd.",
    run=lambda *_, **__: Answer({}),
    effects=Effects(HINT, HINT, HINT),
    answer={"type": "object"},
    id=Field({"type": "string", "maxLength": 80}, (slug,)),
    id_name="thing",
    arguments={
        "count": Field({"type": "integer", "minimum": 1, "maximum": 9, "default": 5}),
        "when": TIME,
        "flag": Field({"type": "boolean"}),
        "kind": Field({"type": "string", "enum": ["one", "two"]}),
        "code": Field({"type": "string", "pattern": "^[A-Z]+$", "minLength": 1, "maxLength": 5}),
        "many": Field(
            {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3, "uniqueItems": True}
        ),
        "inner": Field(
            {
                "type": "object",
                "properties": {"name": {"type": "string"}, "note": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": False,
            },
            inner={"name": Field({"type": "string"}, (slug,))},
        ),
    },
)


def problems(method: Method, data: dict[str, Any], resource: str | None = "thing-1") -> dict[str, str]:
    """The details of the refusal, path to message."""
    with pytest.raises(Refusal) as caught:
        method.check(resource, data)
    assert caught.value.code == "invalid_arguments"
    error = caught.value.as_json()["error"]
    orjson.dumps(error)  # whatever was sent, the answer can be written
    first = error["details"][0]
    assert error["message"].startswith(f"{first['path']} {first['message']}")
    return {problem["path"]: problem["message"] for problem in error["details"]}


@pytest.mark.parametrize(
    ("argument", "value", "path", "message"),
    [
        ("count", "3", "count", 'must be an integer; "3" is not'),
        ("count", True, "count", "must be an integer; true is not"),
        ("count", False, "count", "must be an integer; false is not"),
        ("count", 1.5, "count", "must be an integer; 1.5 is not"),
        ("count", [1], "count", "must be an integer; a list is not"),
        ("count", {}, "count", "must be an integer; an object is not"),
        ("count", 0, "count", "must be at least 1; 0 is not"),
        ("count", 10, "count", "must be at most 9; 10 is not"),
        ("count", 2**31, "count", f"must be at most {2**31 - 1}"),
        ("count", -(2**31), "count", f"must be at most {2**31 - 1}"),
        ("count", 10**4000, "count", f"must be at most {2**31 - 1}"),
        ("count", 1e300, "count", f"must be at most {2**31 - 1}"),
        ("flag", "true", "flag", 'must be true or false; "true" is not'),
        ("flag", 1, "flag", "must be true or false; 1 is not"),
        ("kind", "three", "kind", 'must be one of one, two; "three" is not'),
        ("code", "abc", "code", 'must match ^[A-Z]+$; "abc" does not'),
        ("code", "ABCDEF", "code", "has 6 characters; at most 5 are allowed"),
        ("many", [], "many", "must have at least 1 items"),
        ("many", [1, 2, 3, 4], "many", "has 4 items; at most 3 are allowed"),
        ("many", [1, 1], "many", "holds the same item twice"),
        ("many", [1, "2"], "many.1", 'must be an integer; "2" is not'),
        ("many", [1, None], "many.1", "must be an integer; null is not"),
        ("inner", {}, "inner.name", "is required"),
        ("inner", {"name": None}, "inner.name", "is required"),
        ("inner", {"name": "x", "more": 1}, "inner.more", "is not a field of this object"),
        ("inner", {"name": 5}, "inner.name", "must be text; 5 is not"),
        ("when", "2026-11-30", "when", "must be an RFC 3339 time with an offset, such as 2026-11-30T18:50:00Z; "),
        ("when", "2026-11-30T18:50:00", "when", "must be an RFC 3339 time with an offset, such as "),
        ("when", "0001-01-01T00:00:00+10:00", "when", "must lie in the years 1 to 9999 in UTC"),
        ("when", "9999-12-31T23:59:59-10:00", "when", "must lie in the years 1 to 9999 in UTC"),
        ("inner", {"name": "x", "more": None}, "inner.more", "is not a field of this object"),
        ("other", None, "other", "is not an argument of odd; "),
        ("other", 1, "other", "is not an argument of odd; it takes count, when, flag, kind, code, many, inner"),
        ("data", {}, "data", "is not an argument here: send the fields of data themselves, one level higher"),
    ],
)
def test_a_problem_is_told_with_its_path_and_the_value(argument: str, value: Any, path: str, message: str) -> None:
    (found,) = problems(ODD, {argument: value}).items()
    assert found[0] == path
    assert found[1].startswith(message)


@pytest.mark.parametrize("resource", ["Thing", "a--b", "-a", "a-", "a_b", "a b", "é", "a\n", "", "a" * 81, "a/b"])
def test_a_name_that_is_no_slug_is_refused_to_its_very_end(resource: str) -> None:
    assert problems(ODD, {}, resource).keys() == {"id"}


def test_every_problem_is_told_at_once() -> None:
    found = problems(ODD, {"count": "x", "flag": 2, "kind": "three"}, "No Slug")
    assert found.keys() == {"id", "count", "flag", "kind"}


def test_a_missing_id_is_told_and_one_too_many_as_well() -> None:
    assert problems(ODD, {}, None) == {"id": "is required"}
    assert problems(CATALOG["whoami"], {}, "x") == {"id": "is not an argument of whoami"}


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "\ud800", "x\udfff"])
def test_what_cannot_be_stored_is_refused_in_every_text_and_key(text: str) -> None:
    """B01, before the validator and before any database."""
    for data in (
        {"code": text},
        {"many": [text]},
        {"inner": {"name": text}},
        {"inner": {text: 1}},
        {text: 1},
        {"inner": {"name": {"deep": [text]}}},
    ):
        assert problems(ODD, data)
    assert problems(ODD, {}, text).keys() == {"id"}


def test_null_means_absent_for_what_is_optional_at_every_depth() -> None:
    """B33."""
    assert ODD.check("thing-1", dict.fromkeys(ODD.arguments)) == {"count": 5, "thing": "thing-1"}
    assert ODD.check("thing-1", {"inner": {"name": "x", "note": None}})["inner"] == {"name": "x"}
    assert problems(SAVE, {"body": None, "expected_version": 0}) == {"body": "is required"}


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    """B09: 3.0 is 3, and nothing else stands for a number."""
    found = ODD.check("thing-1", {"count": 3.0, "many": [1.0, 2]})
    assert (found["count"], found["many"]) == (3, [1, 2])
    assert all(type(number) is int for number in (found["count"], *found["many"]))
    assert str(ODD.check("thing-1", {"inner": {"name": "x"}, "count": 1e0})["count"]) == "1"


def test_the_work_gets_the_id_under_its_own_name_and_the_defaults() -> None:
    assert ODD.check("thing-1", {"flag": False}) == {"count": 5, "flag": False, "thing": "thing-1"}


def test_what_was_sent_is_left_as_it_was() -> None:
    sent = {"count": 3.0, "inner": {"name": "x", "note": None}, "flag": None}
    ODD.check("thing-1", sent)
    assert sent == {"count": 3.0, "inner": {"name": "x", "note": None}, "flag": None}


@given(
    some.dictionaries(
        some.sampled_from([*ODD.arguments, "data", "x"]),
        some.recursive(
            some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(),
            lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(), inner, max_size=3),
            max_leaves=6,
        ),
    ),
    some.text(max_size=10),
)
def test_any_arguments_are_taken_or_refused_in_words(data: dict[str, Any], resource: str) -> None:
    with suppress(Refusal):  # and no other error
        ODD.check(resource, data)


# What a message repeats


def test_a_message_never_repeats_a_key_of_ours() -> None:
    """Neither as a value nor as a name, in body, query or path."""
    key = new_key()
    for data, resource in (
        ({"count": key}, "thing-1"),
        ({"kind": key}, "thing-1"),
        ({"code": key}, "thing-1"),
        ({"when": key}, "thing-1"),
        ({"many": [key]}, "thing-1"),
        ({"inner": {"name": key}}, "thing-1"),
        ({key: 1}, "thing-1"),
        ({"inner": {"name": "x", key: 1}}, "thing-1"),
        ({}, key),
    ):
        with pytest.raises(Refusal) as caught:
            ODD.check(resource, data)
        assert key[15:] not in str(caught.value.as_json())


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (0.5, "0.5"),
        (10**40, "a number this large"),
        (-(10**400), "a number this large"),
        ("a" * 40, f'"{"a" * 40}"'),
        ("a" * 41, "this text"),
        ("two\nlines", "this text"),
        ("\x1b[31m", "this text"),
        ("\u202e", "this text"),
        ([1], "a list"),
        ({}, "an object"),
    ],
)
def test_a_value_is_shown_where_it_is_short_and_plain(value: Any, told: str) -> None:
    assert shown(value) == told


def test_a_name_is_repeated_where_it_is_short() -> None:
    assert (named("n" * 40), named("n" * 41)) == ("n" * 40, "n" * 12 + "…")


@pytest.mark.parametrize(
    "data",
    [
        {**WANTED, "tags": [1] * 100_000},
        {**WANTED, "tags": ["\x00"] * 100_000},
        {**WANTED, "memory_references": [{}] * 80_000},
        {**WANTED, "memory_references": [{str(n): 1} for n in range(20)] * 1_000},
        {str(n): 1 for n in range(26_000)},
        {"body": [[]] * 80_000, "expected_version": {str(n): n for n in range(20_000)}},
    ],
    ids=["numbers for tags", "NUL tags", "empty references", "odd references", "unknown names", "wrong types"],
)
def test_a_request_full_of_problems_is_refused_at_once_and_shortly(data: dict[str, Any]) -> None:
    """Such a request once took four seconds of every other caller's time."""
    started = time.thread_time()
    found = problems(SAVE, data)
    assert time.thread_time() - started < SECONDS
    assert 0 < len(found) <= 50


def test_a_list_that_is_too_long_is_told_with_its_length() -> None:
    found = problems(SAVE, {**WANTED, "tags": ["a"] * 11, "memory_references": [{}] * 21})
    assert found == {
        "tags": "has 11 items; at most 10 are allowed",
        "memory_references": "has 21 items; at most 20 are allowed",
    }


def test_a_page_is_at_most_what_the_limits_say() -> None:
    listing = CATALOG["list_memory"]
    assert listing.check(None, {})["limit"] == limits.PAGE_DEFAULT
    assert listing.check(None, {"limit": limits.PAGE_MAX})["limit"] == limits.PAGE_MAX
    for limit in (0, -1, limits.PAGE_MAX + 1, 1_000_000, 1.5, "20"):
        assert problems(listing, {"limit": limit}, None).keys() == {"limit"}
    assert {*LIST} == {"limit", "cursor", "detail"}
