"""The contracts this project must honour, held against what a running server publishes."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.board import Board

pytestmark = pytest.mark.no_database

PROSE = "«text»"  # stands for any words of our own
PUBLISHED = {path.stem: json.loads(path.read_text()) for path in (Path(__file__).parent / "published").glob("*.json")}


def differences(due: Any, found: Any, at: str) -> Iterator[str]:
    """Where `found` is not what is due: every key, every value with its type, every list in its order."""
    if due == PROSE:
        if not (isinstance(found, str) and found.strip()):
            yield f"{at}: words are due, not {found!r}"
    elif type(due) is not type(found):
        yield f"{at}: {due!r} is due, not {found!r}"
    elif isinstance(due, dict):
        yield from (f"{at}.{name}: is missing" for name in due.keys() - found.keys())
        yield from (f"{at}.{name}: is not in the contract" for name in found.keys() - due.keys())
        for name in due.keys() & found.keys():
            yield from differences(due[name], found[name], f"{at}.{name}")
    elif isinstance(due, list):
        if len(due) != len(found):
            yield f"{at}: {len(due)} items are due, not {len(found)}"
        for number, (item, other) in enumerate(zip(due, found, strict=False)):
            yield from differences(item, other, f"{at}.{number}")
    elif due != found:
        yield f"{at}: {due!r} is due, not {found!r}"


def contract_below(heading: str, page: str) -> Any:
    """The JSON document that begins with the first brace after the heading, in the page's visible text."""
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    start = text.index("{", text.upper().index(heading))
    return json.JSONDecoder().raw_decode(text, start)[0]


def test_the_comparison_sees_every_kind_of_difference() -> None:
    due = {"words": PROSE, "number": 1, "list": [1, 2], "gone": True}
    found = {"words": " ", "number": True, "list": [1], "new": None}
    assert len([*differences(due, found, "")]) == 5
    assert not [*differences(due, {**due, "words": "ours"}, "")]


@pytest.mark.parametrize("name", PUBLISHED)
def test_help_serves_the_published_contract(board: Board, name: str) -> None:
    served = board.get(f"/v1/help/{name}", key=None).json
    if PUBLISHED[name].keys() == {"mcp", "rest"}:  # of some methods these two halves are all that was published
        served = {half: served[half] for half in PUBLISHED[name]}
    told = {part: served.get(part) for part in PUBLISHED[name]}  # a contract need not publish every part
    assert [*differences(PUBLISHED[name], told, name)] == []


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_page_shows_both_halves_of_the_published_contract(board: Board, name: str) -> None:
    page = board.get(f"/docs/method/{name}", key=None).body.decode()
    for half, heading in (("rest", "REST CONTRACT"), ("mcp", "MCP CONTRACT")):
        assert [*differences(PUBLISHED[name][half], contract_below(heading, page), half)] == []
