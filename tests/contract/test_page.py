"""Cursors: opaque, of one list and one caller, and worthless once changed."""

import base64
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some

from agentboard.contract.errors import Refusal
from agentboard.contract.fields import CURSOR
from agentboard.contract.page import cursor, page, position

pytestmark = pytest.mark.no_database

BINDING = (7, "list_memory", "name", None, "tag")
PLACE = ["working-context", 3]
WORDS = "is not a next_cursor of this very list: leave it out to start from the beginning"
DETAILS = [{"path": "cursor", "message": WORDS}]


def refused(text: str, binding: Any = BINDING) -> bool:
    with pytest.raises(Refusal) as caught:
        position(text, binding)
    return caught.value.as_json() == Refusal("invalid_arguments", f"cursor {WORDS}.", details=DETAILS).as_json()


@given(some.lists(some.text(some.characters(exclude_categories=["Cs"])) | some.integers(0, 2**53), max_size=3))
def test_a_cursor_gives_back_its_place_under_its_own_binding(place: list[Any]) -> None:
    assert position(cursor(place, BINDING), BINDING) == place


def test_no_cursor_is_no_place() -> None:
    assert position(None, BINDING) is None


def test_a_cursor_goes_into_a_query_as_it_is_and_fits_its_argument() -> None:
    text = cursor(["9" * 80, 2**53], BINDING)
    assert text.replace("-", "").replace("_", "").isalnum()
    assert len(text) <= CURSOR.schema["maxLength"]


@pytest.mark.parametrize(
    "binding",
    [
        (8, *BINDING[1:]),
        (7, "search_memory", *BINDING[2:]),
        (7, "list_memory", "updated", None, "tag"),
        (7, "list_memory", "name", "active", "tag"),
        (7, "list_memory", "name", None),
        ("7", *BINDING[1:]),
        (),
    ],
    ids=["another agent", "another method", "another order", "another filter", "fewer", "another type", "none"],
)
def test_a_cursor_opens_under_no_other_binding(binding: Any) -> None:
    assert refused(cursor(PLACE, BINDING), binding)


def test_a_cursor_changed_in_any_character_is_refused() -> None:
    text = cursor(PLACE, BINDING)
    for at in range(len(text)):
        assert refused(text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :])


def test_a_cursor_cut_or_lengthened_anywhere_is_refused() -> None:
    text = cursor(PLACE, BINDING)
    assert all(refused(text[:length]) for length in range(len(text)))
    assert all(refused(text + more) for more in ("A", "=", "==", "AAAA", "\n", " ", "!", "é"))
    assert all(refused(more + text) for more in ("A", " ", "="))


@pytest.mark.parametrize("value", [{"o": -1}, {"o": "1"}, [0], ["x", 1], 5, None, "abc"])
def test_a_cursor_made_up_by_the_client_is_refused(value: Any) -> None:
    """B53."""
    made_up = base64.urlsafe_b64encode(orjson.dumps(value)).decode()
    assert refused(made_up)
    assert refused(made_up.rstrip("="))
    assert refused(base64.urlsafe_b64encode(b"\0" * 12 + orjson.dumps(value)).rstrip(b"=").decode())


@given(some.text(max_size=60))
def test_any_other_text_is_refused(text: str) -> None:
    assert refused(text)


def test_a_page_holds_at_most_its_limit_and_tells_where_the_next_one_begins() -> None:
    def shown(rows: list[int], limit: int) -> dict[str, Any]:
        return page(rows, limit, lambda row: {"n": row}, lambda row: [row], BINDING)

    assert shown([], 2) == {"items": []}
    assert shown([1, 2], 2) == {"items": [{"n": 1}, {"n": 2}]}
    full = shown([1, 2, 3], 2)
    assert full["items"] == [{"n": 1}, {"n": 2}]
    assert position(full["next_cursor"], BINDING) == [2]
