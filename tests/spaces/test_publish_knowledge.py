"""publish_knowledge: versions that never change, and stay readable for good."""

from typing import Any

import pytest
from pytest_django import Settings

from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, events

NEXT = {"body": "Second", "summary": "Two"}


def publish(agent: Agent, entry: str, version: int, **data: Any) -> Object:
    return agent.done("publish_knowledge", entry, expected_version=version, **NEXT | data)


def refused(agent: Agent, code: str, entry: Object, version: int = 1, **data: Any) -> Object:
    """The error of a publication that must be refused and change nothing."""
    before = events(entry["space"])
    error = agent.refused(code, "publish_knowledge", entry["id"], expected_version=version, **NEXT | data)
    assert events(entry["space"]) == before
    return error


@pytest.fixture
def knowledge(atlas: Agent, space: str, make_entry: MakeEntry) -> Object:
    """A piece of knowledge at its first version."""
    about = {"summary": "One", "tags": ["b", "a"], "pinned": True, "priority": 2}
    return make_entry(atlas, space, kind="KNOWLEDGE", title="Title", body="First", **about)


def test_the_next_version_keeps_title_and_tags_where_they_are_not_given(editor: Agent, knowledge: Object) -> None:
    answer = publish(editor, knowledge["id"], 1)
    assert answer == {
        **knowledge,
        "summary": "Two",
        "version": 2,
        "bytes": 6,
        "author": editor.handle,
        "updated_at": answer["updated_at"],
    }
    assert editor.done("get_space_entry", knowledge["id"])["body"] == "Second"
    given = publish(editor, knowledge["id"], 2, title="Other", tags=[])
    assert (given["title"], given["tags"]) == ("Other", [])


def test_every_version_is_read_by_its_number_as_it_was_published(
    atlas: Agent, editor: Agent, knowledge: Object
) -> None:
    publish(editor, knowledge["id"], 1, title="Other", tags=["c"])
    publish(atlas, knowledge["id"], 2, body="Third", summary="Three")
    read = [atlas.done("get_space_entry", knowledge["id"], version=version) for version in (1, 2, 3)]
    assert [(r["title"], r["body"], r["summary"], r["tags"], r["author"], r["version"]) for r in read] == [
        ("Title", "First", "One", ["b", "a"], atlas.handle, 1),
        ("Other", "Second", "Two", ["c"], editor.handle, 2),
        ("Other", "Third", "Three", ["c"], atlas.handle, 3),
    ]


def test_published_versions_are_never_pruned(atlas: Agent, knowledge: Object, settings: Settings) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS, settings.REVISIONS_MAX = 1, 0, 2
    for version in range(1, 7):
        publish(atlas, knowledge["id"], version, body=f"{version}")
    atlas.done("archive_space_entry", knowledge["id"], expected_version=7, archived=True)
    atlas.done("archive_space_entry", knowledge["id"], expected_version=8, archived=False)
    versions = [item["version"] for item in atlas.done("list_entry_revisions", knowledge["id"])["items"]]
    assert versions == [9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert atlas.done("get_space_entry", knowledge["id"], version=1)["body"] == "First"
    assert atlas.done("get_space_entry", knowledge["id"], version=3)["body"] == "2"


def test_no_method_changes_a_published_version(atlas: Agent, knowledge: Object) -> None:
    publish(atlas, knowledge["id"], 1)
    before = [atlas.done("get_space_entry", knowledge["id"], version=version) for version in (1, 2)]
    text = {"title": "x", "body": "x"}
    for method, data in (
        ("update_space_entry", text),
        ("restore_space_entry", {"version": 1}),
        ("claim_task", {}),
        ("update_task", {"state": "done"}),
        ("release_task", {}),
    ):
        atlas.refused("state_conflict", method, knowledge["id"], expected_version=2, **data)
    assert [atlas.done("get_space_entry", knowledge["id"], version=version) for version in (1, 2)] == before


@pytest.mark.parametrize("kind", ["NOTE", "DECISION", "TASK"])
def test_of_nothing_else_versions_are_published(atlas: Agent, space: str, make_entry: MakeEntry, kind: str) -> None:
    entry = make_entry(atlas, space, kind=kind)
    error = refused(atlas, "state_conflict", entry)
    assert kind in error["message"]
    assert "update_space_entry" in error["next_action"]


def test_a_stale_publication_is_refused_and_told_what_was_published_meanwhile(
    atlas: Agent, editor: Agent, knowledge: Object
) -> None:
    publish(editor, knowledge["id"], 1)
    error = refused(atlas, "version_conflict", knowledge)
    assert (error["current_version"], error["changed_by"]) == (2, editor.handle)
    assert "-First" in error["diff"]
    assert "+Second" in error["diff"]


def test_editors_may_and_readers_may_not(reader: Agent, boreas: Agent, knowledge: Object) -> None:
    refused(reader, "forbidden", knowledge)
    refused(boreas, "not_found", knowledge)


MISFITS: list[tuple[Object, str]] = [
    ({"summary": None}, "summary"),
    ({"summary": "é" * 1024 + "x"}, "summary"),
    ({"body": None}, "body"),
    ({"body": " "}, "body"),
    ({"body": "x" * 20_481}, "body"),
    ({"title": ""}, "title"),
    ({"tags": ["A"]}, "tags.0"),
    ({"pinned": True}, "pinned"),
]


def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent, knowledge: Object) -> None:
    for arguments, path in MISFITS:
        error = refused(atlas, "invalid_arguments", knowledge, **arguments)
        assert [detail["path"] for detail in error["details"]] == [path]


def test_the_same_call_again_publishes_nothing(atlas: Agent, knowledge: Object) -> None:
    first = publish(atlas, knowledge["id"], 1, operation_key="k")
    assert publish(atlas, knowledge["id"], 1, operation_key="k") == {
        "operation": first["operation"],
        "replayed": True,
    }
    assert atlas.done("get_space_entry", knowledge["id"])["version"] == 2
