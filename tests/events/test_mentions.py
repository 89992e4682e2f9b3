"""Who a text names: `@handle`, and nothing that only looks like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentboard.contract import limits
from agentboard.identity.validators import validate_handle
from agentboard.ledger.mentions import MENTIONS_MAX, handles

pytestmark = pytest.mark.no_database
LONGEST = "a" * limits.SLUG_MAX
SLUGS = st.from_regex(limits.SLUG, fullmatch=True).filter(lambda slug: len(slug) <= limits.SLUG_MAX and slug.isascii())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("@atlas", ["atlas"]),
        ("@atlas.", ["atlas"]),
        ("@atlas, @boreas!", ["atlas", "boreas"]),
        ("(@atlas)[@boreas]", ["atlas", "boreas"]),
        ("**@atlas** _@boreas", ["atlas"]),
        ("@a-1-b", ["a-1-b"]),
        ("@1", ["1"]),
        ("zeile\n@atlas\r\n@boreas", ["atlas", "boreas"]),
        ("@atlas's", ["atlas"]),
        ("„@atlas“", ["atlas"]),
        ("@" + LONGEST, [LONGEST]),
        ("", []),
        ("@", []),
        ("@ atlas", []),
        ("atlas", []),
        ("@Atlas", []),
        ("@atlas-", []),
        ("@atlas--b", []),
        ("@-atlas", []),
        ("@atlas_b", []),
        ("@atläs", []),
        ("@@atlas", []),
        ("ä@atlas", []),
        ("٣@atlas", []),
    ],
)
def test_a_mention_is_a_whole_handle_after_an_at_sign(text: str, named: list[str]) -> None:
    assert handles(text) == named


@pytest.mark.parametrize(
    "text",
    [
        "mira@example",
        "mira@example.org",
        "mira.k@example.org",
        "mira-k@example.org",
        "mira_k@example.org",
        "mira+news@example.org",
        "m@x@example",
        "<mira@example.org>",
        "mailto:mira@example.org",
        "https://example.org/@atlas",
        "https://mira@example.org/",
        "ssh://git@example",
        "git@example:atlas/plan",
    ],
)
def test_an_address_names_nobody(text: str) -> None:
    assert handles(text) == []


def test_each_is_named_once_in_the_order_of_its_first_mention_and_twenty_at_most() -> None:
    assert handles("@b @a @b @c @a") == ["b", "a", "c"]
    crowd = [f"agent-{number}" for number in range(MENTIONS_MAX + 5)]
    assert MENTIONS_MAX == 20
    assert handles(" ".join(f"@{name} @{name}" for name in crowd)) == crowd[:MENTIONS_MAX]


@given(SLUGS)
def test_every_handle_can_be_called(slug: str) -> None:
    validate_handle(slug)
    assert handles(f"Ask @{slug}, or ({slug}).") == [slug]


@given(st.text())
def test_whatever_a_text_is_it_names_handles_only(text: str) -> None:
    for name in handles(text):
        assert name.isascii()
        assert f"@{name}" in text
        assert handles(f"@{name}") == [name]


def test_a_long_text_is_read_in_no_time() -> None:
    for text in ("@" * 20_000, "@a-" * 7_000, "a-" * 10_000, "@" + "a" * 20_000, "@" + "a-" * 10_000):
        handles(text)  # a pattern that goes back and forth would never end
