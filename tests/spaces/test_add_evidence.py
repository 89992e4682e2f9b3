"""add_evidence: what was found out, only ever added."""

from typing import Any

import pytest

from agentboard.catalog import CATALOG
from spaces.models import Evidence
from tests.board import Board
from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, MakeSpace, events


def refused(agent: Agent, code: str, entry: Object, **data: Any) -> Object:
    """The error of evidence that must be refused and not be kept."""
    before = events(entry["space"]), Evidence.objects.count()
    error = agent.refused(code, "add_evidence", entry["id"], **{"body": "Seen", **data})
    assert (events(entry["space"]), Evidence.objects.count()) == before
    return error


@pytest.fixture
def note(atlas: Agent, space: str, make_entry: MakeEntry) -> Object:
    """A note of atlas."""
    return make_entry(atlas, space)


@pytest.mark.parametrize("kind", ["NOTE", "DECISION", "KNOWLEDGE", "TASK"])
def test_it_is_kept_with_the_entry_whose_version_stays(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry, kind: str
) -> None:
    entry = make_entry(atlas, space, kind=kind, summary="s")
    before = atlas.done("get_space_entry", entry["id"])
    reply = editor.call("add_evidence", entry["id"], body=" Seen\r\n", link="https://example.org/a?b=c#d")
    assert reply.status == 201
    added = reply.json
    assert added["id"].startswith("ev_")
    assert added == {
        "id": added["id"],
        "link": "https://example.org/a?b=c#d",
        "author": editor.handle,
        "via": "rest",
        "origin": "own",
        "created_at": added["created_at"],
    }
    after = atlas.done("get_space_entry", entry["id"])
    assert after == {**before, "evidence": {"items": [{**added, "origin": "space", "body": " Seen\r\n"}]}}
    assert events(space)[-1] == ("add_evidence", added["id"], 1)


def test_evidence_is_for_every_version_and_comes_in_the_order_it_was_added(atlas: Agent, note: Object) -> None:
    first = atlas.done("add_evidence", note["id"], body="One")["id"]
    atlas.done("update_space_entry", note["id"], expected_version=1, title="x", body="x")
    second = atlas.done("add_evidence", note["id"], body="Two")["id"]
    for version in (1, 2):
        items = atlas.done("get_space_entry", note["id"], version=version)["evidence"]["items"]
        assert {item["id"] for item in items} == {first, second}


def test_it_makes_nobodys_expected_version_stale(atlas: Agent, editor: Agent, note: Object) -> None:
    editor.done("add_evidence", note["id"], body="Seen")
    atlas.done("update_space_entry", note["id"], expected_version=1, title="x", body="x")


def test_no_method_changes_or_removes_it() -> None:
    assert [name for name in CATALOG if "evidence" in name] == ["add_evidence"]


def test_editors_may_and_readers_may_not(
    atlas: Agent,
    editor: Agent,
    reader: Agent,
    boreas: Agent,
    note: Object,
    make_space: MakeSpace,
    make_entry: MakeEntry,
) -> None:
    refused(reader, "forbidden", note)
    refused(boreas, "not_found", note)
    refused(boreas, "forbidden", make_entry(atlas, make_space(atlas, visibility="public")))
    editor.done("add_evidence", note["id"], body="Seen")


NO_LINKS: list[object] = [
    "http://example.org",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,x",
    "ftp://example.org",
    "//example.org",
    "example.org",
    "https:",
    "https://",
    "https:example.org",
    "https://user@example.org",
    "https://user:word@example.org",
    "https://example.org/a b",
    "https://example.org/\n",
    " https://example.org",
    "https://exa\u202emple.org",
    "https://[::1",
    "",
    "https://example.org/" + "a" * 2029,
    1,
]


def test_a_link_is_an_https_address_and_nothing_else(atlas: Agent, note: Object) -> None:
    for link in NO_LINKS:
        error = refused(atlas, "invalid_arguments", note, link=link)
        assert [detail["path"] for detail in error["details"]] == ["link"]


@pytest.mark.parametrize(
    "link", ["https://example.org", "HTTPS://EXAMPLE.org:8443/é?x=1&y[]=2#z", "https://example.org/" + "a" * 2028]
)
def test_a_link_is_kept_exactly(atlas: Agent, note: Object, link: str) -> None:
    assert atlas.done("add_evidence", note["id"], body="Seen", link=link)["link"] == link
    (item,) = atlas.done("get_space_entry", note["id"])["evidence"]["items"]
    assert item["link"] == link


def test_a_body_has_at_most_10_kib(atlas: Agent, note: Object) -> None:
    body = "\U0001f600" * 2560
    added = atlas.done("add_evidence", note["id"], body=body)
    (item,) = atlas.done("get_space_entry", note["id"])["evidence"]["items"]
    assert (item["id"], item["body"]) == (added["id"], body)
    assert "10241 bytes" in refused(atlas, "invalid_arguments", note, body=body + "a")["message"]


MISFITS: list[tuple[Object, str]] = [
    ({"body": None}, "body"),
    ({"body": " "}, "body"),
    ({"body": "\0"}, "body"),
    ({"expected_version": 1}, "expected_version"),
]


def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent, note: Object) -> None:
    for arguments, path in MISFITS:
        error = refused(atlas, "invalid_arguments", note, **arguments)
        assert [detail["path"] for detail in error["details"]] == [path]


@pytest.mark.parametrize("name", ["body", "link"])
def test_a_key_of_this_server_is_refused(atlas: Agent, note: Object, name: str) -> None:
    refused(atlas, "invalid_arguments", note, **{name: f"https://example.org/{atlas.key}"})


def test_the_repeat_with_an_operation_key_adds_nothing(atlas: Agent, note: Object) -> None:
    first = atlas.done("add_evidence", note["id"], body="Seen", operation_key="k")
    assert first["operation"]["resource"] == {"type": "evidence", "id": first["id"]}
    again = atlas.done("add_evidence", note["id"], body="Seen", operation_key="k")
    assert again == {"operation": first["operation"], "replayed": True}
    assert len(atlas.done("get_space_entry", note["id"])["evidence"]["items"]) == 1
    refused(atlas, "operation_key_conflict", note, body="Other", operation_key="k")


def test_adding_needs_its_scope(atlas: Agent, board: Board, note: Object) -> None:
    refused(board.with_scopes(atlas, "coordination:read"), "insufficient_scope", note)
