"""The documents: every page whole, every link alive, and all of the catalog and of the error codes in them."""

import re
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import urljoin, urlsplit

import pytest

from agentboard.catalog import CATALOG
from agentboard.contract.errors import CODES
from tests.doors.board import Board
from tests.doors.wire import Reply

PAGES = [
    "/docs",
    "/docs/errors",
    "/docs/mcp",
    "/docs/oauth",
    "/docs/operators",
    *(f"/docs/method/{name}" for name in CATALOG),
]
VOID = {"meta", "link", "br", "input", "img", "hr"}
TO_COME = {"/account", "/workspace", "/docs/browser"}  # named by contracts; they come with the browser's door

every_page = pytest.mark.parametrize("path", PAGES)


class Page(HTMLParser):
    """A page taken apart, with every fault of nesting found on the way."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: dict[str, list[str]] = {}
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        for tag in self.open:
            self.words.setdefault(tag, []).append(data)

    def every(self, attribute: str) -> list[str]:
        return [attributes[attribute] or "" for _, attributes in self.tags if attribute in attributes]

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def page(board: Board, path: str) -> tuple[Reply, Page]:
    reply = board.get(path, key=None)
    return reply, Page(reply.body.decode())


@every_page
def test_a_page_is_whole_html_with_one_heading_and_a_title_of_its_own(board: Board, path: str) -> None:
    reply, seen = page(board, path)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert reply.body.startswith(b"<!doctype html>")
    assert (seen.faults, seen.open) == ([], [])
    assert len(seen.of("h1")) == len(seen.of("main")) == len(seen.of("title")) == 1
    assert "".join(seen.words["title"]).strip()
    assert seen.of("html")[0]["lang"]
    identities = seen.every("id")
    assert len(set(identities)) == len(identities)


def test_each_page_has_another_title(board: Board) -> None:
    titles = ["".join(page(board, path)[1].words["title"]) for path in PAGES]
    assert len(set(titles)) == len(titles)


@every_page
def test_headings_step_down_one_at_a_time(board: Board, path: str) -> None:
    levels = [int(tag[1]) for tag, _ in page(board, path)[1].tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@every_page
def test_a_page_is_shown_under_a_strict_policy_and_needs_no_inline_code(board: Board, path: str) -> None:
    reply, seen = page(board, path)
    policy = reply.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert seen.of("style") == []
    assert all(script.get("src") for script in seen.of("script"))
    assert seen.every("style") == []
    assert [name for _, attributes in seen.tags for name in attributes if name.startswith("on")] == []
    assert [link for link in seen.every("href") if link.lower().startswith(("javascript:", "data:"))] == []


def test_every_link_of_the_documents_leads_somewhere(board: Board) -> None:
    links = {urljoin(path, link) for path in PAGES for link in page(board, path)[1].every("href")}
    assert links >= {"/docs", "/docs/errors", "/v1/openapi.json", "/v1/help"}
    for link in links:
        parts = urlsplit(link)
        assert not parts.netloc, "documents name no other server"
        reply = board.get(parts.path, key=None)
        assert reply.status in (200, 302), link
        if parts.fragment:
            assert parts.fragment in Page(reply.body.decode()).every("id"), link


def test_the_start_links_every_method_under_its_group(board: Board) -> None:
    links = page(board, "/docs")[1].every("href")
    listed = [link for link in links if link.startswith("/docs/method/")][-len(CATALOG) :]  # the text above links some
    assert listed == [f"/docs/method/{name}" for name in CATALOG]


@pytest.mark.parametrize("code", CODES)
def test_help_in_an_error_leads_to_its_anchor(board: Board, code: str) -> None:
    assert code in page(board, "/docs/errors")[1].every("id")


def test_help_in_a_real_error_leads_to_a_page_and_an_anchor(board: Board) -> None:
    for reply in (board.get("/v1/me", key=None), board.get("/v1/nothing"), board.get("/v1/memory?limit=0")):
        path, _, anchor = reply.json["error"]["help"].partition("#")
        assert anchor in page(board, path)[1].every("id")


@pytest.mark.parametrize("name", CATALOG)
def test_a_methods_page_says_its_scope_its_path_and_each_argument(board: Board, name: str) -> None:
    method, (_, seen) = CATALOG[name], page(board, f"/docs/method/{name}")
    shown = seen.words["code"]
    assert f"{method.verb} /v1/{method.path}" in shown
    assert method.scope is None or method.scope in shown
    arguments = [*(["id"] if method.id else []), *method.arguments]
    assert [argument for argument in arguments if argument not in shown] == []
    for heading in ("REST CONTRACT", "HTTP request", "MCP CONTRACT", "Tool arguments"):
        assert any(heading in words for level in ("h2", "h3") for words in seen.words[level])


@pytest.mark.parametrize(
    "path", ["/docs/method/none_such", "/docs/method/", "/docs/method", "/docs/none", "/docs/", "/docx"]
)
def test_an_unknown_page_is_not_found_in_our_own_words(board: Board, path: str) -> None:
    reply, seen = page(board, path)
    assert (reply.status, seen.faults) == (404, [])
    assert "".join(seen.words["h1"]) == "There is no such page"
    assert b"none_such" not in reply.body


def test_the_root_leads_to_the_documents(board: Board) -> None:
    reply = board.get("/", key=None)
    assert (reply.status, reply.headers["location"]) == (302, "/docs")


@every_page
def test_a_page_is_the_same_with_head_and_without_a_body(board: Board, path: str) -> None:
    head = board.ask("HEAD", path, key=None)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(board.get(path, key=None).body))


@every_page
def test_a_page_sets_no_cookie_and_says_that_it_varies_by_those_there_are(board: Board, path: str) -> None:
    """A cache may keep it for whoever sends no cookie; others see who they are, in the colours they chose."""
    reply = board.get(path, key=None)
    assert "set-cookie" not in reply.headers
    assert "cookie" in reply.headers.get("vary", "").lower()


def test_documents_name_no_page_that_is_not_there_but_those_to_come(board: Board) -> None:
    named = set()
    for path in PAGES:
        text = board.get(path, key=None).body.decode()
        named |= {found.rstrip("./") for found in re.findall(r"(?<![\w/.])/(?:docs|account|workspace)[a-z_/-]*", text)}
    missing = {path for path in named if board.get(path, key=None).status == 404}
    assert missing <= TO_COME


def test_a_page_has_a_request_id_as_every_answer_has(board: Board) -> None:
    assert board.get("/docs", key=None).headers["x-request-id"]
    assert board.get("/none", key=None, x_request_id="plain-1").headers["x-request-id"] == "plain-1"
