"""HTML of our own templates as Markdown (CommonMark, with GitHub's tables): the twin that each document has."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input", "img", "hr"}
SKIPPED = {"svg", "script", "style", "form", "nav"}
MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*"}
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
PARTS = {"main", "section", "div", "article", "header"}
BLOCKS = {"p", "pre", "ul", "ol", "dl", "table", *HEADINGS, *PARTS}
_SPECIAL = re.compile(r"([\\`*\[\]<|])")
_MARKER = re.compile(r"^(\d*)([-+>.)]|#{1,6})(?= |$)")  # what begins a list, a heading or a quotation


@dataclass
class Element:
    """An element with what stands in it."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    def all(self, *tags: str) -> Iterator["Element"]:
        """The elements of these tags inside, in their order, none inside another."""
        for child in self.children:
            if isinstance(child, Element):
                yield from (child,) if child.tag in tags else child.all(*tags)

    @property
    def text(self) -> str:
        """All text inside, as it is."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)


class Tree(HTMLParser):
    """Reads a page whose tags are closed in their order, as ours are."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._open = [Element("page")]
        self.feed(page)
        self.close()
        self.root = self._open[0]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One more element."""
        found = Element(tag, dict(attrs))
        self._open[-1].children.append(found)
        if tag not in VOID:
            self._open.append(found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One more element, with nothing in it."""
        self._open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Back to what stands around it."""
        self._open.pop()

    def handle_data(self, data: str) -> None:
        """Text."""
        self._open[-1].children.append(data)


def markdown(page: str, address: str = "") -> str:
    """The main part of the page, whose own address links without a path are about."""
    (main,) = Tree(page).root.all("main")
    return "\n\n".join(_blocks(main, address)) + "\n"


def _blocks(element: Element, address: str) -> Iterator[str]:
    """The blocks inside; text that stands between them is a paragraph."""
    loose: list[Element | str] = []
    for child in element.children:
        if isinstance(child, Element) and child.tag in BLOCKS:
            yield from _paragraph(loose, address)
            loose = []
            yield from _block(child, address)
        else:
            loose.append(child)
    yield from _paragraph(loose, address)


def _block(element: Element, address: str) -> Iterable[str]:
    if element.tag in HEADINGS:
        return [f"{HEADINGS[element.tag]} {_line(element.children, address)}"]
    if element.tag == "pre":
        return [_fenced(element.text)]
    if element.tag in ("ul", "ol"):
        return ["\n".join(_items(element, address))]
    if element.tag == "dl":
        return ["\n".join(_terms(element, address))]
    if element.tag == "table":
        return ["\n".join(_rows(element, address))]
    return _blocks(element, address)


def _paragraph(children: list[Element | str], address: str) -> list[str]:
    line = _line(children, address)
    return [_MARKER.sub(r"\1\\\2", line)] if line else []


def _items(element: Element, address: str) -> Iterator[str]:
    for number, item in enumerate(element.all("li"), 1):
        mark = "- " if element.tag == "ul" else f"{number}. "
        yield mark + re.sub(r"\n(?!\n)", "\n" + " " * len(mark), "\n\n".join(_blocks(item, address)))


def _terms(element: Element, address: str) -> Iterator[str]:
    """Each term with what is said of it, on one line."""
    line = ""
    for part in element.all("dt", "dd"):
        if part.tag == "dt" and line:
            yield line
        said = _line(part.children, address)
        line = f"- {said}" if part.tag == "dt" else f"{line}: {said}"
    yield line


def _rows(element: Element, address: str) -> Iterator[str]:
    for number, row in enumerate(element.all("tr")):
        cells = [_line(cell.children, address, in_table=True) for cell in row.all("th", "td")]
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            yield f"|{' --- |' * len(cells)}"


def _line(children: Iterable[Element | str], address: str, in_table: bool = False) -> str:
    """Text and what is inside it, on one line."""
    return " ".join("".join(_inline(child, address, in_table) for child in children).split())


def _inline(child: Element | str, address: str, in_table: bool) -> str:
    if isinstance(child, str):
        return _SPECIAL.sub(r"\\\1", child)
    if child.tag in SKIPPED:
        return ""
    if child.tag == "br":
        return "<br>" if in_table else " "
    if child.tag == "code":
        return _code(child.text, in_table)
    inside = "".join(_inline(each, address, in_table) for each in child.children)
    if child.tag in MARKS:
        return f"{MARKS[child.tag]}{inside.strip()}{MARKS[child.tag]}"
    return f"[{inside}]({_link(child.attributes.get('href') or '', address)})" if child.tag == "a" else inside


def _code(text: str, in_table: bool) -> str:
    ticks = "``" if "`" in text else "`"
    written = f"{ticks}{' ' if ticks != '`' else ''}{text}{' ' if ticks != '`' else ''}{ticks}"
    return written.replace("|", r"\|") if in_table else written


def _link(href: str, address: str) -> str:
    """A link to a document goes to its twin, so that who reads Markdown goes on reading it."""
    path, mark, fragment = href.partition("#")
    path = path or address
    return f"{path}.md{mark}{fragment}" if re.fullmatch(r"/docs(/[a-z_/]+)?", path) else href


def _fenced(text: str) -> str:
    fence = "```" if "```" not in text else "````"
    return f"{fence}\n{text.strip()}\n{fence}"
