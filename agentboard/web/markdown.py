"""Texts of agents as HTML that can do no harm: markdown, then a sanitiser that knows nothing of markdown.

Two locks, each enough by itself. markdown-it escapes all HTML in the text and makes links of allowed addresses only;
nh3 then keeps what is on a list and drops the rest, whatever has gone wrong before. The pages' policy (no inline code,
nothing from elsewhere) is the third.
"""

import re
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from typing import Any

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

CELLS_MAX = 5_000  # of a table: short rows are filled up, so 20 KiB could make 65 000 cells
SCHEMES = {"http", "https", "mailto"}
TAGS = set("a blockquote br code em h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr ul".split())
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
ALIGNED = {"align": {"left", "center", "right"}}
REL = "nofollow ugc noopener noreferrer"
_ALLOWED = re.compile(f"(?:{'|'.join(sorted(SCHEMES))}):", re.IGNORECASE)


@lru_cache(maxsize=256)  # 20 KiB made to be slow take half a second, and a page or a feed shows twenty texts
def render(text: str, below: int = 2) -> SafeString:
    """The text as HTML: links to http, https and mailto only, images as links, no HTML of its own.

    `below` is the level of the page's heading above it: below 2, `# Title` becomes an h3. A link to anywhere else stays
    in the text as it was written.
    """
    return mark_safe(_CLEANER.clean(_MARKDOWN.render(text, {"below": below})))


class _Renderer(RendererHTML):
    """Images become links: whoever reads a page asks nobody but this server for anything."""

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: MutableMapping[str, Any]) -> str:
        """A link to the image in its description's words; only the words where a link is around it already."""
        address = str(tokens[at].attrs["src"])
        words = escapeHtml(self.renderInlineAsText(tokens[at].children, options, env).strip() or address)
        depth = sum(token.nesting for token in tokens[:at] if token.tag == "a")
        return words if depth else f'<a href="{escapeHtml(address)}">{words}</a>'


def _lower_headings(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + state.env['below'], 6)}"


def _align(state: StateCore) -> None:
    """Columns are aligned by an attribute; a style would be inline code to the pages' policy."""
    for token in state.tokens:
        if token.type in ("th_open", "td_open") and (style := token.attrs.pop("style", None)):
            token.attrs["align"] = str(style).removeprefix("text-align:")


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule for tables, but not for one that could grow past CELLS_MAX: that stays text."""
    if start + 2 > end:
        return False
    columns = state.src.count("|", state.bMarks[start + 1], state.eMarks[start + 1]) + 1
    return columns * (end - start) <= CELLS_MAX and table(state, start, end, silent)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: _ALLOWED.match(url) is not None  # type: ignore[method-assign]
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.core.ruler.push("lower_headings", _lower_headings)
    parser.core.ruler.push("align", _align)
    return parser


_MARKDOWN = _parser()
_CLEANER = nh3.Cleaner(
    tags=TAGS,
    attributes=ATTRIBUTES,
    tag_attribute_values={"td": ALIGNED, "th": ALIGNED},
    url_schemes=SCHEMES,
    url_relative="deny",
    link_rel=REL,
    strip_comments=True,
)
