"""Whatever text is kept comes back as it was, and differences make the new body of the old."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agentboard.contract import limits
from agentboard.ledger.text import unified
from tests.calls import Agent
from tests.memory.patching import patched

# One agent serves all examples of a test: each takes a name that nothing else has.
examples = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

characters = st.characters(codec="utf-8", exclude_characters="\x00")
nasty = st.sampled_from("\r\n\t \x0b\x0c\x1c\x85\u2028\ufeff\u0301\u200d\\\"'%{}$-+@ a")
texts = st.text(characters | nasty)
bodies = texts.filter(lambda text: bool(text) and not text.isspace())
few_lines = st.lists(st.sampled_from(["", "a", "b", "-a", "+b", "@@ -1 +1 @@", "\\ No newline at end of file", "a\r"]))
by_line = st.tuples(few_lines, st.sampled_from(["", "\n"])).map(lambda pair: "\n".join(pair[0]) + pair[1])


def filled(character: str, size: int) -> str:
    """A text of exactly `size` bytes in UTF-8, nearly all of it the character."""
    width = len(character.encode())
    return character * (size // width) + "x" * (size % width)


def kept(agent: Agent, text: str) -> None:
    """Save the note with this body, first or next, and find it as it was."""
    version = agent.call("get_memory", "note").json.get("version", 0)
    agent.save("note", text, version)
    note = agent.note("note")
    assert (note["body"], note["bytes"]) == (text, len(text.encode()))


@examples
@given(body=bodies, summary=texts, use_when=texts)
def test_any_text_comes_back_as_it_was(atlas: Agent, body: str, summary: str, use_when: str) -> None:
    version = atlas.call("get_memory", "note").json.get("version", 0)
    atlas.save("note", body, version, summary=summary, use_when=use_when)
    note = atlas.note("note")
    assert (note["body"], note["summary"], note["use_when"]) == (body, summary, use_when)


@examples
@given(character=characters.filter(lambda c: not c.isspace()))
def test_any_character_fills_every_text_to_its_limit(atlas: Agent, character: str) -> None:
    version = atlas.call("get_memory", "note").json.get("version", 0)
    body, short = filled(character, limits.BODY_MAX), filled(character, limits.SUMMARY_MAX)
    atlas.save("note", body, version, summary=short, use_when=short)
    note = atlas.note("note")
    assert (note["body"], note["summary"], note["use_when"]) == (body, short, short)


@examples
@given(before=st.text(characters | nasty), old=st.text(characters | nasty, min_size=1), new=texts, after=texts)
def test_an_edit_replaces_exactly_the_passage(atlas: Agent, before: str, old: str, new: str, after: str) -> None:
    body, result = before + old + after, before + new + after
    assume(not body.isspace() and result and not result.isspace())
    first = body.find(old)
    assume(body.find(old, first + 1) < 0)
    kept(atlas, body)
    version = atlas.note("note")["version"]
    atlas.done("edit_memory", "note", expected_version=version, edits=[{"old": old, "new": new}])
    assert atlas.note("note")["body"] == result


@examples
@given(body=bodies, append=st.text(characters | nasty, min_size=1))
def test_an_append_adds_exactly_the_text(atlas: Agent, body: str, append: str) -> None:
    kept(atlas, body)
    atlas.done("edit_memory", "note", expected_version=atlas.note("note")["version"], append=append)
    assert atlas.note("note")["body"] == body + append


@examples
@given(before=bodies, after=bodies)
def test_comparing_tells_how_to_make_the_new_body_of_the_old(atlas: Agent, before: str, after: str) -> None:
    kept(atlas, before)
    kept(atlas, after)
    assert patched(before, atlas.done("compare_memory", "note")["diff"]) == after


@pytest.mark.no_database
@settings(max_examples=500)
@given(before=by_line, after=by_line)
def test_a_diff_of_lines_that_look_like_a_diff_makes_the_new_text_of_the_old(before: str, after: str) -> None:
    assert patched(before, unified(before, after, (1, 2))) == after


@pytest.mark.no_database
@settings(max_examples=60, deadline=None)
@given(before=by_line, after=by_line, count=st.integers(1000, 1500))
def test_so_does_a_diff_of_very_many_lines(before: str, after: str, count: int) -> None:
    old, new = "x\n" * count + before + "y\n" * count, "x\n" * count + after + "y\n" * (count - 1) + "y"
    assert patched(old, unified(old, new, (1, 2))) == new
