"""The format of keys and tokens."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentboard.identity import keys

OTHER = {"0": "1"}


def changed(key: str, at: int) -> str:
    return key[:at] + OTHER.get(key[at], "0") + key[at + 1 :]


def test_a_key_has_the_shape_that_secret_scanners_look_for() -> None:
    assert re.fullmatch(r"\bab_[0-9A-Za-z]{49}\b", keys.new_key())


def test_no_two_keys_are_the_same() -> None:
    assert len({keys.new_key() for _ in range(1_000)}) == 1_000


@pytest.mark.parametrize("at", range(3, 52))
def test_a_change_of_any_one_character_is_noticed(at: int) -> None:
    key = keys.new_key()
    assert keys.well_formed(key)
    assert not keys.well_formed(changed(key, at))


@pytest.mark.parametrize(
    "spoil", [str.upper, lambda key: key[:-1], lambda key: key + "0", lambda key: key + "\n", lambda key: ""]
)
def test_a_key_that_is_cut_prolonged_or_recased_is_not_well_formed(spoil: Callable[[str], str]) -> None:
    assert not keys.well_formed(spoil(keys.new_key()))


def test_the_checksum_covers_the_prefix() -> None:
    token = keys.new_secret(keys.ACCESS_TOKEN)
    assert keys.well_formed(token, keys.ACCESS_TOKEN)
    assert not keys.well_formed(token)
    assert not keys.well_formed(token.replace("abo_", "ab_"))
    assert not keys.well_formed(token.replace("abo_", "abr_"), keys.REFRESH_TOKEN)


def test_digits_of_another_script_are_no_part_of_a_key() -> None:
    assert not keys.well_formed("ab_" + "٣" * 49)


def test_a_hint_shows_eight_of_the_random_characters_and_nothing_of_the_checksum() -> None:
    key = keys.new_key()
    assert keys.hint(key) == f"ab_{key[3:7]}…{key[42:46]}"


@given(before=st.text(), after=st.text(), prefix=st.sampled_from([keys.KEY, keys.ACCESS_TOKEN, keys.REFRESH_TOKEN]))
def test_a_secret_is_found_between_any_other_characters(before: str, after: str, prefix: str) -> None:
    secret = keys.new_secret(prefix)
    assert keys.contains_secret(before + secret + after)


def test_a_secret_is_found_where_a_false_one_overlaps_it() -> None:
    assert keys.contains_secret("ab_" + "0" * 47 + keys.new_key())


@pytest.mark.parametrize(
    "text", ["", "about", "ab_", "abo_ and abr_", "ab_" + "0" * 49, "ab_ab_" * 3_000, "ab_<key> " * 100]
)
def test_a_text_without_a_right_checksum_holds_no_secret(text: str) -> None:
    assert not keys.contains_secret(text)
    assert not keys.contains_secret(changed(keys.new_key(), 20))
