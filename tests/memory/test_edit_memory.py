"""edit_memory: exact passages of the body and what is added to its end; the rest stays."""

from typing import Any

import pytest

from agentboard.contract import limits
from agentboard.identity.keys import KEY, new_secret
from tests.calls import Agent

Edits = list[dict[str, Any]]


def edited(agent: Agent, body: str, edits: Edits | None = None, append: str | None = None) -> str:
    """The body after the edit of a new note."""
    agent.save("note", body)
    agent.done("edit_memory", "note", expected_version=1, edits=edits, append=append)
    return str(agent.note("note")["body"])


def refused(agent: Agent, body: str, edits: Edits | None = None, append: str | None = None) -> Any:
    """The error of an edit that must be refused and change nothing."""
    agent.save("note", body)
    error = agent.refused("invalid_arguments", "edit_memory", "note", expected_version=1, edits=edits, append=append)
    assert (agent.note("note")["version"], agent.note("note")["body"]) == (1, body)
    return error


def test_an_edit_replaces_the_passage_and_answers_the_next_version_without_its_body(atlas: Agent) -> None:
    atlas.save("note", "one two three")
    reply = atlas.call("edit_memory", "note", expected_version=1, edits=[{"old": "two", "new": "2"}])
    assert (reply.status, reply.json["version"], reply.json["bytes"]) == (200, 2, 11)
    assert "body" not in reply.json
    assert atlas.note("note")["body"] == "one 2 three"


def test_everything_but_the_body_stays(atlas: Agent) -> None:
    atlas.save("base")
    more: dict[str, Any] = {"summary": "s", "use_when": "u", "tags": ["b", "a"], "status": "archived"}
    more |= {"memory_references": [{"name": "base", "version": 1}], "superseded_by": "base"}
    saved = atlas.save("note", "old", review_after="2020-01-01T00:00:00Z", **more)
    answer = atlas.done("edit_memory", "note", expected_version=1, append="!")
    for changing in ("version", "updated_at", "bytes"):
        assert answer.pop(changing) != saved.pop(changing)
    assert answer == saved


def test_edits_apply_in_their_order_and_then_the_text_is_appended(atlas: Agent) -> None:
    edits = [{"old": "a", "new": "b"}, {"old": "bc", "new": "d"}, {"old": "d", "new": "[d]"}]
    assert edited(atlas, "ac", edits, append="d") == "[d]d"


def test_an_append_alone_adds_to_the_very_end_as_it_is(atlas: Agent) -> None:
    assert edited(atlas, "line", append="\r\n  next\n") == "line\r\n  next\n"


def test_an_empty_new_text_removes_the_passage(atlas: Agent) -> None:
    assert edited(atlas, "a b c", [{"old": " b", "new": ""}]) == "a c"


def test_passages_are_compared_character_by_character(atlas: Agent) -> None:
    assert edited(atlas, "é e\u0301 E", [{"old": "e\u0301", "new": "2"}, {"old": "é", "new": "1"}]) == "1 2 E"


def test_a_replacement_may_bring_in_what_looks_like_a_pattern(atlas: Agent) -> None:
    assert edited(atlas, "a.c", [{"old": ".", "new": r"\1\g<0>$&"}]) == r"a\1\g<0>$&c"


@pytest.mark.parametrize(
    ("body", "old", "found"),
    [("abc", "x", "does not occur"), ("a a", "a", "more than once"), ("aaa", "aa", "more than once")],
)
def test_a_passage_must_occur_exactly_once_overlaps_included(atlas: Agent, body: str, old: str, found: str) -> None:
    error = refused(atlas, body, [{"old": old, "new": "y"}])
    assert error["details"][0]["path"] == "edits.0.old"
    assert found in error["message"]


def test_of_several_edits_the_failing_one_is_named_and_none_is_applied(atlas: Agent) -> None:
    error = refused(atlas, "a b", [{"old": "a", "new": "b"}, {"old": "b", "new": "c"}], append="!")
    assert error["details"][0]["path"] == "edits.1.old"


def test_twenty_edits_are_applied_and_twenty_one_refused(atlas: Agent) -> None:
    body = " ".join(f"<{n}>" for n in range(21))
    edits: Edits = [{"old": f"<{n}>", "new": str(n)} for n in range(21)]
    error = refused(atlas, body, edits)
    assert "edits has 21 items; at most 20 are allowed" in error["message"]
    atlas.done("edit_memory", "note", expected_version=1, edits=edits[:20])
    assert atlas.note("note")["body"] == " ".join([*map(str, range(20)), "<20>"])


@pytest.mark.parametrize(("edits", "append"), [(None, None), ([], None), (None, ""), ([], "x"), ([], "")])
def test_an_edit_without_anything_to_do_is_refused(atlas: Agent, edits: Any, append: Any) -> None:
    refused(atlas, "a", edits, append)


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        ({"old": "", "new": "x"}, "edits.0.old"),
        ({"old": "a"}, "edits.0.new"),
        ({"new": "a"}, "edits.0.old"),
        ({"old": "a", "new": None}, "edits.0.new"),
        ({"old": "a", "new": 1}, "edits.0.new"),
        ({"old": "a", "new": "b", "all": True}, "edits.0.all"),
        ({"old": "a\x00", "new": "b"}, "edits.0.old"),
        ({"old": "a", "new": "\ud800"}, "edits.0.new"),
        ("a", "edits.0"),
    ],
)
def test_an_edit_of_another_shape_is_refused(atlas: Agent, edit: Any, path: str) -> None:
    assert refused(atlas, "a", [edit])["details"][0]["path"] == path


def test_the_result_may_fill_a_body_to_its_last_byte_and_not_one_more(atlas: Agent) -> None:
    body = "é" * (limits.BODY_MAX // 2 - 1)
    error = refused(atlas, body, append="xxx")
    assert str(limits.BODY_MAX) in error["message"]
    assert error["details"][0]["path"] == "append"
    assert atlas.done("edit_memory", "note", expected_version=1, append="xx")["bytes"] == limits.BODY_MAX
    error = atlas.refused(
        "invalid_arguments", "edit_memory", "note", expected_version=2, edits=[{"old": "xx", "new": "xxx"}]
    )
    assert str(limits.BODY_MAX) in error["message"]


def test_a_passage_of_any_length_within_a_request_may_be_replaced(atlas: Agent) -> None:
    body = "x" * limits.BODY_MAX
    assert edited(atlas, body, [{"old": body, "new": "y" * limits.BODY_MAX}]) == "y" * limits.BODY_MAX


def test_the_result_must_be_more_than_white_space(atlas: Agent) -> None:
    refused(atlas, "a\n", [{"old": "a", "new": ""}])


@pytest.mark.parametrize("argument", ["old", "new", "append"])
def test_a_text_with_a_key_is_refused(atlas: Agent, argument: str) -> None:
    secret = new_secret(KEY)
    if argument == "append":
        error = refused(atlas, "a", append=f"x{secret}")
    else:
        error = refused(atlas, "a", [{"old": "a", "new": "b", argument: secret}])
    assert argument in error["details"][0]["path"]
    assert secret not in str(error)


def test_a_key_that_the_edit_puts_together_is_refused(atlas: Agent) -> None:
    secret = new_secret(KEY)
    error = refused(atlas, f"The key: {secret[:20]}", append=secret[20:])
    assert error["details"][0]["path"] == "append"
    assert secret[20:] not in str(error)
    atlas.save("note", f"{secret[:20]}-{secret[20:]}", 1)
    edit = {"old": f"{secret[19]}-", "new": secret[19]}
    atlas.refused("invalid_arguments", "edit_memory", "note", expected_version=2, edits=[edit])


def test_a_stale_edit_is_refused_with_the_current_version(atlas: Agent) -> None:
    atlas.save("note", "one")
    atlas.save("note", "two", 1)
    error = atlas.refused("version_conflict", "edit_memory", "note", expected_version=1, append="x")
    assert (error["current_version"], error["diff"].count("\n-one")) == (2, 1)


def test_a_missing_note_cannot_be_edited_and_version_0_creates_none(atlas: Agent) -> None:
    atlas.refused("not_found", "edit_memory", "note", expected_version=1, append="x")
    atlas.refused("invalid_arguments", "edit_memory", "note", expected_version=0, append="x")


def test_an_edit_goes_on_where_references_have_become_stale(atlas: Agent) -> None:
    atlas.save("base")
    atlas.save("note", "a", memory_references=[{"name": "base", "version": 1}])
    atlas.done("delete_memory", "base", expected_version=1)
    answer = atlas.done("edit_memory", "note", expected_version=1, append="b")
    assert answer["memory_references"] == [{"name": "base", "version": 1, "state": "unavailable"}]
