"""A page as somebody without script uses it: what stands there, and its forms filled in and sent as browsers do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from django.test import Client

VOID = {"meta", "link", "br", "input", "img", "hr", "col", "use", "path", "rect", "circle", "line"}
BLOCKS = {"p", "li", "dt", "dd", "td", "th", "div", "section", "h1", "h2", "h3", "form", "label", "summary", "details"}
FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass
class Element:
    """One element with its attributes and all text inside it."""

    tag: str
    attributes: dict[str, str]
    parent: Element | None = None
    pieces: list[str] = field(default_factory=list)
    inside: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text inside it."""
        return "".join(self.pieces)

    def __getitem__(self, name: str) -> str:
        return self.attributes.get(name, "")

    def __contains__(self, name: str) -> bool:
        return name in self.attributes

    def all(self, tag: str = "", **wanted: str) -> list[Element]:
        """The elements inside with this tag and these attributes (a class among others counts)."""
        found = []
        for each in self.inside:
            found += [each] if each.fits(tag, wanted) else []
            found += each.all(tag, **wanted)
        return found

    def one(self, tag: str = "", **wanted: str) -> Element:
        """The only element of this kind inside."""
        (found,) = self.all(tag, **wanted)
        return found

    def fits(self, tag: str, wanted: Mapping[str, str]) -> bool:
        """Whether it is of this kind."""
        if tag and tag != self.tag:
            return False
        return all(value in (self[name.rstrip("_")], *self[name.rstrip("_")].split()) for name, value in wanted.items())

    def within(self, tag: str) -> Element | None:
        """The nearest element around it with this tag."""
        return self if self.tag == tag else self.parent and self.parent.within(tag)

    @property
    def words(self) -> str:
        """Its text with single spaces."""
        return " ".join(self.text.split())


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.at = self.root = Element("root", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.inside.append(made)
        if tag in BLOCKS:
            self.handle_data(" ")
        if tag not in VOID:
            self.at = made

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        while self.at.tag != tag:  # only what HTML lets open: li, dt, option
            assert self.at.tag in ("li", "dt", "dd", "option", "p"), f"<{self.at.tag}> ends with </{tag}>"
            self.at = self.at.parent or self.root
        self.at = self.at.parent or self.root

    def handle_data(self, data: str) -> None:
        at: Element | None = self.at
        while at is not None:
            at.pieces.append(data)
            at = at.parent


class Page:
    """An answer of the server, taken apart."""

    def __init__(self, client: Client, response: Any) -> None:
        self.client, self.response = client, response
        self.status: int = response.status_code
        self.html: str = response.content.decode()
        parser = _Parser()
        parser.feed(self.html)
        self.root = parser.root

    @property
    def main(self) -> Element:
        """What is not frame."""
        return self.root.one("main")

    @property
    def title(self) -> str:
        """The page's title."""
        return self.root.one("title").words

    def by_id(self, id: str) -> Element:
        """The element with this id."""
        return self.root.one(id=id)

    def links(self) -> list[str]:
        """Where its links lead."""
        return [link["href"] for link in self.root.all("a")]

    def link(self, words: str) -> str:
        """Where the link with these whole words leads; a part of a word, such as an id, may be anything."""
        whole = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")
        (found,) = {link["href"] for link in self.root.all("a") if whole.search(link.words)}
        return found

    def filled(self, form: Element) -> list[tuple[str, str]]:
        """What the form would send if nothing was typed: names and values in order, without buttons."""
        own = [each for each in self.root.all() if each["form"] == form["id"] != "" or each.within("form") is form]
        return [pair for each in own for pair in sent(each)]

    def form(self, button: str) -> Element:
        """The form that this button (by its words, or by name=value) sends."""
        return self._owner(self.button(button))

    def button(self, wanted: str) -> Element:
        """The button with these words, or with this name=value."""
        found = [b for b in self.root.all("button") if f"{b['name']}={b['value']}" == wanted or b.words == wanted]
        assert found, (wanted, [b.words for b in self.root.all("button")])
        return found[-1]

    def _owner(self, button: Element) -> Element:
        owner = self.by_id(button["form"]) if "form" in button else button.within("form")
        assert owner is not None
        return owner

    def press(self, button: str, /, **typed: str | list[str]) -> Page:
        """Fill in and press: `typed` by field name with `__` for a dot; follows where the answer leads."""
        return self.send(button, {name.replace("__", "."): value for name, value in typed.items()})

    def send(self, wanted: str, typed: Mapping[str, str | list[str]], *, follow: bool = True) -> Page:
        """The same, by the fields' own names."""
        button = self.button(wanted)
        form = self._owner(button)
        known = {name for name, _ in self.filled(form)} | {each["name"] for each in form.all()}
        assert set(typed) <= known, f"no field {set(typed) - known} among {known}"
        pairs = [(name, value) for name, value in self.filled(form) if name not in typed]
        for name, value in typed.items():
            pairs += [(name, each) for each in ([value] if isinstance(value, str) else value)]
        pairs += [(button["name"], button["value"])] if button["name"] else []
        action = button["formaction"] or form["action"] or self.response.request["PATH_INFO"]
        body = urlencode([(name, re.sub("\r\n|\r|\n", "\r\n", value)) for name, value in pairs])
        if form["method"].lower() == "post":
            answer = self.client.post(action, body, content_type=FORM_TYPE, follow=follow)
        else:
            answer = self.client.get(f"{action}?{body}", follow=follow)
        return Page(self.client, answer)


def sent(control: Element) -> Iterator[tuple[str, str]]:
    """What a control adds to its form."""
    name = control["name"]
    if not name or "disabled" in control:
        return
    if control.tag == "textarea":
        yield name, control.text.removeprefix("\n")
    elif control.tag == "select":
        options = control.all("option")
        chosen = [each for each in options if "selected" in each] or options[:1]
        yield from ((name, each.attributes.get("value", each.words)) for each in chosen)
    elif control.tag == "input" and control["type"] in ("radio", "checkbox"):
        if "checked" in control:
            yield name, control["value"]
    elif control.tag == "input" and control["type"] not in ("submit", "button"):
        yield name, control["value"]


def opened(client: Client, address: str, status: int = 200) -> Page:
    """The page at this address."""
    response = client.get(address)
    assert response.status_code == status, response.content.decode()[:2000]
    return Page(client, response)
