"""compare_memory: what changed between two retained versions."""

from typing import Any

import pytest

from agentboard.contract import limits
from tests.calls import Agent
from tests.memory.patching import patched

BODIES = ["one\ntwo\n", "one\n2\n", "one\n2\nthree"]


@pytest.fixture
def plan(atlas: Agent) -> Agent:
    """An agent with three versions of a note."""
    for version, body in enumerate(BODIES):
        atlas.save("plan", body, version, tags=[f"v{version + 1}"])
    return atlas


def compared(agent: Agent, **versions: Any) -> dict[str, Any]:
    return agent.done("compare_memory", "plan", **versions)


def test_by_default_the_current_version_is_compared_with_the_one_before(plan: Agent) -> None:
    assert compared(plan) == {
        "name": "plan",
        "from": 2,
        "to": 3,
        "diff": "--- version 2\n+++ version 3\n@@ -1,2 +1,3 @@\n one\n 2\n+three\n\\ No newline at end of file",
        "changed": {"tags": {"from": ["v2"], "to": ["v3"]}},
    }


@pytest.mark.parametrize(
    ("versions", "pair"),
    [({"from": 1}, (1, 3)), ({"to": 2}, (1, 2)), ({"from": 3, "to": 1}, (3, 1)), ({"from": 2, "to": 2}, (2, 2))],
)
def test_any_two_versions_can_be_compared_either_way(
    plan: Agent, versions: dict[str, int], pair: tuple[int, int]
) -> None:
    answer = compared(plan, **versions)
    assert (answer["from"], answer["to"]) == pair
    assert patched(BODIES[pair[0] - 1], answer["diff"]) == BODIES[pair[1] - 1]


def test_equal_versions_have_an_empty_diff_and_no_changes(plan: Agent) -> None:
    answer = compared(plan, **{"from": 2, "to": 2})
    assert (answer["diff"], answer["changed"]) == ("", {})


def test_the_first_version_is_compared_with_nothing(plan: Agent) -> None:
    answer = compared(plan, to=1)
    assert (answer["from"], patched("", answer["diff"])) == (0, BODIES[0])
    assert answer["changed"] == {"tags": {"from": [], "to": ["v1"]}}


def test_every_metadatum_that_differs_is_named_with_both_values(atlas: Agent) -> None:
    atlas.save("base")
    references = [{"name": "base", "version": 1}]
    more = {"summary": "s", "use_when": "u", "tags": ["a"], "status": "archived", "superseded_by": "base"}
    atlas.save("plan")
    atlas.save("plan", "Text", 1, memory_references=references, review_after="2030-01-01T01:00:00+01:00", **more)
    answer = compared(atlas)
    assert answer["diff"] == ""
    assert answer["changed"] == {
        "summary": {"from": None, "to": "s"},
        "use_when": {"from": None, "to": "u"},
        "tags": {"from": [], "to": ["a"]},
        "status": {"from": "active", "to": "archived"},
        "superseded_by": {"from": None, "to": "base"},
        "memory_references": {"from": [], "to": references},
        "review_after": {"from": None, "to": "2030-01-01T00:00:00Z"},
    }


def test_the_order_of_tags_is_a_difference(atlas: Agent) -> None:
    atlas.save("plan", tags=["a", "b"])
    atlas.save("plan", "Text", 1, tags=["b", "a"])
    assert compared(atlas)["changed"] == {"tags": {"from": ["a", "b"], "to": ["b", "a"]}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\r\nb\r\n", "a\nb\n"),
        ("a", "a\n"),
        ("a\n", "a\n\n"),
        ("a\u2028b\x0bc\x85d", "a\u2028b\x0bc\x85e"),
        ("-- x\n++ y\n@@ z\n", "++ y\n-- x\n"),
        ("a\\ No newline at end of file", "a\n\\ No newline at end of file\n"),
        (" a\n\tb\n  \n", "a\nb\n\n"),
        ("same\n" * 50 + "x", "same\n" * 50 + "y\n" + "same\n" * 50),
    ],
)
def test_the_diff_makes_the_new_body_of_the_old_to_the_character(atlas: Agent, before: str, after: str) -> None:
    atlas.save("plan", before)
    atlas.save("plan", after, 1)
    assert patched(before, compared(atlas)["diff"]) == after
    assert patched(after, compared(atlas, **{"from": 2, "to": 1})["diff"]) == before


@pytest.mark.parametrize("line", ["\n", "x\n", "ab\n", "line of some length\n"])
def test_bodies_of_many_lines_are_compared_whole_and_without_delay(atlas: Agent, line: str) -> None:
    count = limits.BODY_MAX // len(line) // 2
    before = "".join(line if n % 3 else "y\n" for n in range(count))[: limits.BODY_MAX // 2] + "end"
    after = "start\n" + "".join(line if n % 2 else "z\n" for n in range(count))[: limits.BODY_MAX // 2]
    atlas.save("plan", before)
    atlas.save("plan", after, 1)
    answer = compared(atlas)
    assert patched(before, answer["diff"]) == after
    assert "truncated" not in answer


@pytest.mark.parametrize("versions", [{"from": 4}, {"to": 4}, {"from": 99, "to": 1}])
def test_a_version_that_is_not_retained_is_not_found_and_named(plan: Agent, versions: dict[str, int]) -> None:
    error = plan.refused("not_found", "compare_memory", "plan", **versions)
    assert f"no retained version {max(versions.values())}" in error["message"]


@pytest.mark.parametrize("argument", ["from", "to"])
@pytest.mark.parametrize("version", [0, -1, "x", 2**31])
def test_what_is_no_version_is_refused(plan: Agent, argument: str, version: Any) -> None:
    error = plan.refused("invalid_arguments", "compare_memory", "plan", **{argument: version})
    assert error["details"][0]["path"] == argument


def test_a_missing_a_deleted_and_another_agents_note_are_not_found_alike(atlas: Agent, boreas: Agent) -> None:
    never = atlas.call("compare_memory", "plan").json
    boreas.save("plan")
    atlas.save("plan")
    atlas.done("delete_memory", "plan", expected_version=1)
    assert atlas.call("compare_memory", "plan").json == never
    assert never["error"]["code"] == "not_found"
