"""The documents as Markdown: each says what its page says, in the same order, and /llms.txt names them all."""

import re
from html import escape

import pytest
from markdown_it import MarkdownIt

from agentboard.catalog import CATALOG
from agentboard.web.twin import Element, Tree, markdown
from tests.doors.board import Board
from tests.web.test_docs import PAGES

pytestmark = pytest.mark.no_database  # the documents come from the catalog

MARKDOWN = MarkdownIt("commonmark").enable("table")
every_page = pytest.mark.parametrize("path", PAGES)


def text_of(html: str) -> str:
    """All text, without white space and without the marks that only a list of terms gets."""
    return re.sub(r"[\s:]+", "", Tree(html).root.text)


def twin(body: str) -> str:
    """The Markdown of a page with this main part."""
    return markdown(f"<main>{body}</main>", "/docs/mcp").rstrip("\n")


@every_page
def test_a_page_and_its_twin_say_the_same(board: Board, path: str) -> None:
    page = board.get(path, key=None).body.decode()
    reply = board.get(f"{path}.md", key=None)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/markdown; charset=utf-8")
    (main,) = Tree(page).root.all("main")
    assert text_of(MARKDOWN.render(reply.body.decode())) == re.sub(r"[\s:]+", "", main.text)


@every_page
def test_a_page_names_its_twin(board: Board, path: str) -> None:
    page = board.get(path, key=None).body.decode()
    assert f'<link rel="alternate" type="text/markdown" href="{path}.md">' in page


@every_page
def test_every_document_in_a_twin_is_linked_as_markdown_and_is_there(board: Board, path: str) -> None:
    links = set(re.findall(r"\]\((/docs[^)#]*)", board.get(f"{path}.md", key=None).body.decode()))
    assert all(link.endswith(".md") for link in links)
    for link in links:
        assert board.get(link, key=None).status == 200


def test_the_list_for_programs_names_every_document_once(board: Board) -> None:
    reply = board.get("/llms.txt", key=None)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    text = reply.body.decode()
    assert text.startswith("# AgentBoard\n\n> ")
    found = re.findall(r"\((http[^)]*)\)", text)
    assert sorted(found) == sorted([*(f"{board.url}{path}.md" for path in PAGES), f"{board.url}/v1/openapi.json"])
    assert text.count("\n- [") == len(CATALOG) + 6


@pytest.mark.parametrize(
    "path",
    ["/docs/none.md", "/docs/method.md", "/docs/method/none_such.md", "/docs/.md", "/docs.md.md", "/docs/mcp.md/"],
)
def test_what_is_no_document_has_no_twin(board: Board, path: str) -> None:
    assert board.get(path, key=None).status == 404


def test_a_twin_is_read_only(board: Board) -> None:
    assert board.post("/docs.md", key=None).status in (403, 405)
    assert board.ask("HEAD", "/docs.md", key=None).body == b""


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("<h2>A  <code>b</code></h2>", "## A `b`"),
        ("<p><strong> Bold.</strong> <em>Thin</em></p>", "**Bold.** *Thin*"),
        ("<p># no heading</p>", r"\# no heading"),
        ("<p>1. no list</p>", r"1\. no list"),
        ("<p>- no list, and -1 is none</p>", r"\- no list, and -1 is none"),
        ("<ul><li>One</li><li><p>Two</p><p>and more</p></li></ul>", "- One\n- Two\n\n  and more"),
        ("<ol><li>One</li><li>Two</li></ol>", "1. One\n2. Two"),
        ("<dl><dt>T</dt><dd>Said.</dd><dt>U</dt><dd>Told.</dd></dl>", "- T: Said.\n- U: Told."),
        ("<pre><code>a &lt;b&gt;\n  c</code></pre>", "```\na <b>\n  c\n```"),
        ("<pre>```</pre>", "````\n```\n````"),
        ("<p><code>a`b</code></p>", "`` a`b ``"),
        (
            "<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td>1<br>2</td><td>x|y <code>a|b</code></td>"
            "</tr></tbody></table>",
            "| A | B |\n| --- | --- |\n| 1<br>2 | x\\|y `a\\|b` |",
        ),
        ('<p><a href="/docs/errors#x">E</a></p>', "[E](/docs/errors.md#x)"),
        ('<p><a href="#here">H</a></p>', "[H](/docs/mcp.md#here)"),
        ('<p><a href="/v1/help">H</a></p>', "[H](/v1/help)"),
        ("<p>Text<svg><use></use></svg></p>", "Text"),
        ("<section>Loose <b>text</b><p>Par</p></section>", "Loose **text**\n\nPar"),
    ],
)
def test_html_becomes_markdown(html: str, written: str) -> None:
    assert twin(html) == written


@pytest.mark.parametrize(
    "text", ["1 < 2 * 3 [x] `y`", "# 1", "7) x", "- x", "a *b* <c> \\d [e](f)", "> x", "+ x", "#x"]
)
def test_text_that_looks_like_markdown_stays_text(text: str) -> None:
    assert text_of(MARKDOWN.render(twin(f"<p>{escape(text)}</p>"))) == re.sub(r"\s+", "", text)


def test_the_start_leads_on_to_other_twins(board: Board) -> None:
    assert "](/docs/mcp.md)" in board.get("/docs.md", key=None).body.decode()


def test_only_the_main_part_is_told() -> None:
    assert markdown("<header>Top</header><main><p>Main</p></main><footer>Foot</footer>") == "Main\n"


def test_an_element_without_its_kind_inside_gives_none() -> None:
    assert list(Element("p", children=["text"]).all("a")) == []
