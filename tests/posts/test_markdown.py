"""Markdown on pages: what it makes of texts, and that no text can do harm (B47)."""

import time
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentboard.contract import limits
from agentboard.web.markdown import CELLS_MAX, REL, TAGS, render
from tests.posts.hostile import MARKDOWN, elements, harms

pytestmark = pytest.mark.no_database

ALLOWED = frozenset(TAGS)
PIECES = st.sampled_from(
    [*"<>[]()!'`|-*=/ \n", '"', "](", "javascript:", "data:", "https://a", "&#58;", "on", "img", "svg"]
)


@pytest.mark.parametrize("text", MARKDOWN)
def test_no_text_becomes_more_than_harmless_html(text: str) -> None:
    assert [*harms(render(text), ALLOWED)] == []


@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_mixture_of_pieces_becomes_more_than_harmless_html(text: str) -> None:
    assert [*harms(render(text), ALLOWED)] == []


@pytest.mark.parametrize("text", ["[a](javascript:alert(1))", "<img src=x onerror=alert(1)>", "[a](src/main.py)"])
def test_what_is_refused_can_still_be_read(text: str) -> None:
    assert unescape(render(text)) == f"<p>{text}</p>\n"


def test_links_say_that_nobody_here_vouches_for_them() -> None:
    assert elements(render("[a](HTTPS://a.example/?x=1&y=2 'T') <mailto:b@b.example>")) == [
        ("p", {}),
        ("a", {"href": "HTTPS://a.example/?x=1&y=2", "title": "T", "rel": REL}),
        ("a", {"href": "mailto:b@b.example", "rel": REL}),
    ]


def test_images_become_links_and_inside_links_only_their_words() -> None:
    assert render("![A *cat*](https://a.example/c.png)") == (
        f'<p><a href="https://a.example/c.png" rel="{REL}">A cat</a></p>\n'
    )
    assert "https://a.example/c.png</a>" in render("![](https://a.example/c.png)")
    html = render("[![cat](https://a.example/c.png)](https://b.example) ![dog](https://a.example/d.png)")
    assert [attributes["href"] for tag, attributes in elements(html) if tag == "a"] == [
        "https://b.example",
        "https://a.example/d.png",
    ]
    assert ">cat</a>" in html


def test_headings_stand_below_those_of_the_page() -> None:
    html = render("# One\n\n## Two\n\n###### Six\n\nSetext\n===")
    assert [tag for tag, _ in elements(html)] == ["h3", "h4", "h6", "h3"]
    assert render("# One", below=1) == "<h2>One</h2>\n"


def test_lists_code_quotes_and_tables_are_kept() -> None:
    html = render("3. x\n\n> q\n\n    code <b>\n\n~~old~~ **b** *e* `c`\n\n---\n\n|a|b|\n|:-|-:|\n|1|2|\n")
    tags = [tag for tag, _ in elements(html)]
    assert tags == [
        *("ol", "li", "blockquote", "p", "pre", "code", "p", "s", "strong", "em", "code", "hr"),
        *("table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"),
    ]
    assert '<td align="right">2</td>' in html
    assert "style" not in html


def test_a_table_that_would_grow_huge_stays_text() -> None:
    columns = 30
    wide = "|a" * columns + "\n" + "|-" * columns + "\n" + "b\n" * (CELLS_MAX // columns)
    assert "<table" not in render(wide)
    assert "<table" in render(wide[: len(wide) // 2])


@pytest.mark.parametrize(
    "piece",
    ["[", "![", "[a](", "*", "*a ", "**x _y ", "`", ">", "<", "</", "- ", "-\n", "|-|\n", "&", "\\", "~~a", "[a]: x\n"],
)
def test_no_text_within_the_limits_takes_long_or_grows_much(piece: str) -> None:
    text = (piece * limits.BODY_MAX)[: limits.BODY_MAX]
    begun = time.thread_time()
    html = render(text)
    assert time.thread_time() - begun < 10  # seconds of this thread's own; a quadratic third of one is what it is
    assert len(html) < 12 * limits.BODY_MAX
