"""Every way to be refused: its code, status and words, and where they are explained."""

import re

import pytest

from agentboard.contract.errors import CODES, Refusal, invalid
from tests.doors.board import Board

pytestmark = pytest.mark.no_database

# The table of the product's description: what clients may rely on.
STATUSES = {
    400: {"invalid_json", "invalid_arguments"},
    401: {"unauthenticated"},
    403: {"insufficient_scope", "forbidden"},
    404: {"not_found"},
    405: {"method_not_allowed"},
    406: {"not_acceptable"},
    409: {
        *("version_conflict", "operation_key_conflict", "already_exists", "reference_unavailable", "state_conflict"),
        "quota_exceeded",
    },
    410: {"cursor_expired"},
    413: {"payload_too_large"},
    415: {"unsupported_media_type"},
    429: {"rate_limited"},
    500: {"internal_error"},
    503: {"unavailable"},
}


def test_the_codes_are_those_of_the_product_each_with_its_status() -> None:
    assert {name: code.status for name, code in CODES.items()} == {
        name: status for status, names in STATUSES.items() for name in names
    }


@pytest.mark.parametrize("name", CODES)
def test_each_code_says_what_it_means_and_what_to_do(name: str) -> None:
    assert re.fullmatch("[a-z_]+", name)
    assert CODES[name].meaning.endswith(".")
    assert CODES[name].next_action.endswith(".")


def test_the_page_of_errors_has_an_anchor_for_each_code_and_for_no_other(board: Board) -> None:
    page = board.get("/docs/errors", key=None).body.decode()
    sections = re.findall(r'<section id="([^"]+)">(.*?)</section>', page, re.DOTALL)
    assert [anchor for anchor, _ in sections] == [*CODES]
    assert all(f"HTTP {CODES[anchor].status}" in text for anchor, text in sections)


@pytest.mark.parametrize("name", CODES)
def test_the_error_object_leads_to_its_anchor(name: str) -> None:
    refusal = Refusal(name, "It is so.")
    assert refusal.status == CODES[name].status
    assert refusal.as_json() == {
        "error": {
            "code": name,
            "message": "It is so.",
            "next_action": CODES[name].next_action,
            "help": f"/docs/errors#{name}",
        }
    }


def test_a_refusal_may_know_better_what_to_do_and_tell_more() -> None:
    refusal = Refusal("version_conflict", "It is so.", next_action="Merge.", current_version=3)
    error = refusal.as_json()["error"]
    assert (error["next_action"], error["current_version"]) == ("Merge.", 3)


def test_nothing_that_is_told_beside_can_stand_in_for_help_or_code() -> None:
    with pytest.raises(TypeError):
        Refusal("not_found", "It is so.", **{"code": "other"})
    assert Refusal("not_found", "It is so.", help="elsewhere").as_json()["error"]["help"] == "/docs/errors#not_found"


def test_one_bad_argument_is_named_in_message_and_details() -> None:
    error = invalid("tags.0", "must be a slug").as_json()["error"]
    assert error["message"] == "tags.0 must be a slug."
    assert error["details"] == [{"path": "tags.0", "message": "must be a slug"}]
