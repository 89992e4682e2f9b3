"""What is read from a request: one JSON object, and typed arguments from a query."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from agentboard.contract.body import DEPTH_MAX, PARAMETERS_MAX, json_object, query_arguments, typed
from agentboard.contract.errors import Refusal
from agentboard.contract.fields import Field

pytestmark = pytest.mark.no_database

SECONDS = 2  # of a CPU, for what must not grow with the square of its size
FIELDS = {"count": Field({"type": "integer"}), "flag": Field({"type": "boolean"}), "word": Field({"type": "string"})}


def refusal(body: bytes) -> Refusal:
    with pytest.raises(Refusal) as caught:
        json_object(body)
    return caught.value


@pytest.mark.parametrize("body", [b"", b" ", b"\r\n\t ", b"{}"])
def test_nothing_counts_as_an_empty_object(body: bytes) -> None:
    assert json_object(body) == {}


@given(some.dictionaries(some.text(), some.none() | some.booleans() | some.integers() | some.text(), max_size=5))
def test_what_json_writes_is_read_back(value: dict[str, Any]) -> None:
    assert json_object(json.dumps(value).encode()) == value
    assert json_object(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) == value


@given(some.binary(max_size=200))
def test_any_bytes_are_an_object_or_refused(body: bytes) -> None:
    with suppress(Refusal):  # and no other error
        assert isinstance(json_object(body), dict)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"[]", "The body must be a JSON object, not a list."),
        (b'"x"', "The body must be a JSON object, not text."),
        (b"5", "The body must be a JSON object, not a number."),
        (b"1.5", "The body must be a JSON object, not a number."),
        (b"null", "The body must be a JSON object, not null."),
        (b"true", "The body must be a JSON object, not a boolean."),
        (b'{"a": 1, "a": 1}', 'The body has "a" twice in one object.'),
        (b'{"b": {"a": 1, "c": 2, "a": 3}}', 'The body has "a" twice in one object.'),
        (b'{"a": 1, "\\u0061": 1}', 'The body has "a" twice in one object.'),
        (b'{"a\\n": 1, "a\\n": 1}', "The body has a key twice in one object."),
        (b'{"a": NaN}', "The body holds NaN, which is not JSON."),
        (b'{"a": Infinity}', "The body holds Infinity, which is not JSON."),
        (b'{"a": [-Infinity]}', "The body holds -Infinity, which is not JSON."),
        (b'{"a": 1e400}', "The body holds a number that is too large to be read."),
        (b'{"a": -1e400}', "The body holds a number that is too large to be read."),
        (b'{"a": %s}' % (b"9" * 5_000), "The body holds a number that is too long to be read."),
        (b'{"a": "\xff"}', "The body is not UTF-8: byte 7 does not belong there."),
        (b'{"a": "\xed\xa0\x80"}', "The body is not UTF-8: byte 7 does not belong there."),
        ('{"a": 1}'.encode("utf-16"), "The body is not UTF-8: byte 0 does not belong there."),
    ],
)
def test_what_is_no_json_object_is_refused_and_says_why(body: bytes, told: str) -> None:
    assert (refusal(body).code, refusal(body).message) == ("invalid_json", told)


@pytest.mark.parametrize(
    "body",
    [
        *(b"{", b"}", b'{"a"}', b'{"a": 1,}', b"{'a': 1}", b'{"a": 01}', b'{"a": +1}', b'{"a": .5}', b'{"a": 1} {}'),
        *(b'{"a": "\x00"}', b'{"a": "line\nbreak"}', b'{"a": "\\x"}', b'{"a": "\\u00"}', b"// note\n{}", b"{}\x00"),
        *(b"\xef\xbb\xbf{}", '{"a": 1}'.encode("utf-16-le"), '{"a": 1}'.encode("utf-32-be"), b"undefined"),
    ],
)
def test_broken_syntax_is_refused_with_its_place(body: bytes) -> None:
    told = refusal(body)
    assert told.code == "invalid_json"
    assert told.message.startswith("The body is not JSON: ")
    assert " at character " in told.message


@pytest.mark.parametrize("levels", [DEPTH_MAX + 1, 900, 100_000])
def test_nesting_is_bounded_however_deep(levels: int) -> None:
    """B07: Python's parser raises RecursionError, which is no ValueError."""
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        told = refusal(b'{"a":' + opening * levels + b"1" * (opening != b"[") + closing * levels + b"}")
        assert (told.code, told.message) == (
            "invalid_json",
            f"The body nests lists and objects more than {DEPTH_MAX} deep.",
        )


def test_nesting_up_to_the_bound_and_any_breadth_are_read() -> None:
    inner = DEPTH_MAX - 1
    assert json_object(b'{"a":' + b"[" * inner + b"]" * inner + b"}")
    assert json_object(json.dumps({"a": [[]] * 10_000}).encode())


def test_a_key_given_twice_among_many_is_found_in_one_pass() -> None:
    """256 KiB of other keys once took nine seconds."""
    body = b"{" + b",".join(b'"%x":1' % number for number in range(26_000)) + b',"658f":1}'
    started = time.thread_time()
    assert refusal(body).message == 'The body has "658f" twice in one object.'
    assert time.thread_time() - started < SECONDS


def test_a_long_key_given_twice_is_not_repeated() -> None:
    """It may be a credential that went into the wrong place."""
    assert refusal(b'{"%s":1,"%s":1}' % ((b"k" * 41,) * 2)).message == "The body has a key twice in one object."


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("7", 7), ("-7", -7), ("007", 7), ("0", 0), ("9" * 20, int("9" * 20))),
        *((text, text) for text in ("9" * 21, "1.0", "1e3", "+7", " 7", "7 ", "٣", "", "0x7", "1_0", "true", "7\n")),
    ],
)
def test_only_plain_digits_read_as_an_integer(text: str, value: Any) -> None:
    assert typed(text, "integer") == value
    assert typed(text, "string") == text


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("false", False), *((text, text) for text in ("True", "1", "0", "", "yes"))]
)
def test_only_true_and_false_read_as_a_boolean(text: str, value: Any) -> None:
    assert typed(text, "boolean") == value


def test_a_query_is_typed_by_its_fields() -> None:
    assert query_arguments("count=3&flag=true&word=3&other=3", FIELDS) == {
        "count": 3,
        "flag": True,
        "word": "3",
        "other": "3",
    }
    assert query_arguments("word=a%2Bb+c%26d%3D%C3%A9", FIELDS) == {"word": "a+b c&d=é"}
    assert query_arguments("", FIELDS) == {}
    assert query_arguments("word", FIELDS) == query_arguments("word=", FIELDS) == {"word": ""}
    assert query_arguments("word=%zz%", FIELDS) == {"word": "%zz%"}


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("word=a&word=a", "word stands twice in the query."),
        ("word=a&%77ord=b", "word stands twice in the query."),
        ("word=%ff", "query is not UTF-8 where it is decoded."),
        ("%c3=1", "query is not UTF-8 where it is decoded."),
        ("word=%ed%a0%80", "query is not UTF-8 where it is decoded."),
        ("&".join(f"a{n}=1" for n in range(PARAMETERS_MAX + 1)), f"query has more than {PARAMETERS_MAX} parameters."),
        ("&" * 100_000, f"query has more than {PARAMETERS_MAX} parameters."),
    ],
)
def test_a_query_that_is_not_plain_is_refused(query: str, told: str) -> None:
    with pytest.raises(Refusal) as caught:
        query_arguments(query, FIELDS)
    assert (caught.value.code, caught.value.message) == ("invalid_arguments", told)


def test_a_long_parameter_given_twice_is_not_repeated() -> None:
    long = "k" * 41
    with pytest.raises(Refusal) as caught:
        query_arguments(f"{long}=1&{long}=1", FIELDS)
    assert long not in str(caught.value.as_json())
