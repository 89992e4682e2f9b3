"""save_memory: the whole of a note, exactly as sent, at the version that was named."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_django import Settings

from agentboard.contract import limits
from agentboard.identity.keys import ACCESS_TOKEN, KEY, REFRESH_TOKEN, new_secret
from tests.board import Board
from tests.calls import Agent, posted, refusal

EVERYTHING: dict[str, Any] = {
    "summary": "What it says",
    "use_when": "When it helps",
    "tags": ["ops", "a-1"],
    "status": "archived",
    "review_after": "2030-01-02T03:04:05Z",
}


# ---- creating and replacing


def test_a_first_save_creates_version_1_and_answers_201_with_the_note_but_its_body(atlas: Agent) -> None:
    reply = atlas.call("save_memory", "plan", body="Größe", expected_version=0, **EVERYTHING)
    assert reply.status == 201
    times = reply.json.pop("created_at"), reply.json.pop("updated_at")
    assert times[0] == times[1] <= datetime.now(UTC).isoformat()
    assert reply.json == {
        "name": "plan",
        "version": 1,
        **EVERYTHING,
        "review_due": False,
        "superseded_by": None,
        "memory_references": [],
        "stale_references": [],
        "bytes": 7,
        "author": atlas.handle,
        "via": "rest",
        "origin": "own",
    }


def test_a_save_without_options_is_active_and_leaves_every_other_field_empty(atlas: Agent) -> None:
    saved = atlas.save("plan")
    assert saved["status"] == "active"
    assert [saved[name] for name in ("summary", "use_when", "review_after", "superseded_by")] == [None] * 4
    assert [saved[name] for name in ("tags", "memory_references", "stale_references")] == [[], [], []]
    assert (saved["review_due"], "superseded" in saved, "operation" in saved) == (False, False, False)


def test_a_further_save_answers_200_with_the_next_version_and_keeps_the_time_of_creation(atlas: Agent) -> None:
    first = atlas.save("plan")
    reply = atlas.call("save_memory", "plan", body="More", expected_version=1)
    assert (reply.status, reply.json["version"]) == (200, 2)
    assert reply.json["created_at"] == first["created_at"] < reply.json["updated_at"]


def test_what_a_save_answers_is_what_a_read_answers(atlas: Agent) -> None:
    atlas.save("base")
    references = [{"name": "base", "version": 1}]
    saved = atlas.save("plan", superseded_by="base", memory_references=references, **EVERYTHING)
    assert {**saved, "body": "Text"} == atlas.note("plan")


def test_a_save_replaces_the_whole_note_so_what_it_omits_is_cleared(atlas: Agent) -> None:
    atlas.save("base")
    atlas.save("plan", superseded_by="base", memory_references=[{"name": "base", "version": 1}], **EVERYTHING)
    atlas.save("plan", "New", 1)
    note = atlas.note("plan")
    assert (note["body"], note["status"], note["tags"], note["memory_references"]) == ("New", "active", [], [])
    assert [note[name] for name in ("summary", "use_when", "review_after", "superseded_by")] == [None] * 4


@pytest.mark.parametrize("status", ["active", "superseded", "archived"])
def test_each_status_is_kept(atlas: Agent, status: str) -> None:
    atlas.save("plan", status=status)
    assert atlas.note("plan")["status"] == status


def test_an_unknown_status_is_refused_and_named_beside_the_known_ones(atlas: Agent) -> None:
    error = atlas.refused("invalid_arguments", "save_memory", "plan", body="x", expected_version=0, status="done")
    assert error["details"] == [
        {"path": "status", "message": 'must be one of active, superseded, archived; "done" is not'}
    ]
    assert 'status must be one of active, superseded, archived; "done" is not' in error["message"]


def test_tags_stay_in_the_order_given(atlas: Agent) -> None:
    tags = ["z", "a", "10", "2", "m-1"]
    atlas.save("plan", tags=tags)
    assert atlas.note("plan")["tags"] == tags


def test_review_after_is_told_in_utc_whatever_offset_it_came_with(atlas: Agent) -> None:
    saved = atlas.save("plan", review_after="2030-01-01T00:30:00.25+02:00")
    assert saved["review_after"] == atlas.note("plan")["review_after"] == "2029-12-31T22:30:00.250000Z"


def test_a_note_whose_review_date_has_passed_is_due(atlas: Agent) -> None:
    assert atlas.save("plan", review_after="2020-01-01T00:00:00Z")["review_due"] is True
    assert atlas.note("plan")["review_due"] is True


# ---- versions


def test_version_0_on_an_existing_name_is_version_conflict(atlas: Agent) -> None:
    atlas.save("plan")
    error = atlas.refused("version_conflict", "save_memory", "plan", body="x", expected_version=0)
    assert error["current_version"] == 1
    assert "plan exists already: it is at version 1" in error["message"]
    assert atlas.note("plan")["body"] == "Text"


def test_another_version_on_a_missing_name_is_not_found(atlas: Agent) -> None:
    error = atlas.refused("not_found", "save_memory", "plan", body="x", expected_version=3)
    assert "plan" in error["message"]


@pytest.mark.parametrize("version", [1, 3, 2**31 - 1])
def test_a_save_from_another_version_is_refused_and_names_the_current_one(atlas: Agent, version: int) -> None:
    atlas.save("plan")
    atlas.save("plan", "Second", 1)
    error = atlas.refused("version_conflict", "save_memory", "plan", body="x", expected_version=version)
    assert error["current_version"] == 2
    assert (atlas.note("plan")["body"], atlas.note("plan")["version"]) == ("Second", 2)


def test_after_a_deletion_the_name_is_free_and_its_version_numbers_go_on(atlas: Agent) -> None:
    atlas.save("plan")
    atlas.save("plan", "Second", 1)
    atlas.done("delete_memory", "plan", expected_version=2)
    atlas.refused("not_found", "save_memory", "plan", body="x", expected_version=2)
    atlas.refused("not_found", "save_memory", "plan", body="x", expected_version=3)
    reply = atlas.call("save_memory", "plan", body="Again", expected_version=0)
    assert (reply.status, reply.json["version"]) == (201, 4)
    note = atlas.note("plan")
    assert (note["version"], note["body"]) == (4, "Again")
    assert note["created_at"] == note["updated_at"]
    atlas.refused("version_conflict", "save_memory", "plan", body="x", expected_version=1)
    assert atlas.save("plan", "Fifth", 4)["version"] == 5


# ---- text


@pytest.mark.parametrize(
    "body",
    [
        "line\r\nline\r\n",
        "    indented\n\tby a tab",
        "no final newline",
        "one final newline\n",
        "\n\n  around  \n\n",
        "e\u0301 is not \u00e9, \u212b is not \u00c5",
        "\ufeffwith a byte order mark",
        "\u2028 \u2029 \x0b \x0c \x1f \x7f \x85 \ufffe \uffff",
        "\U0001f469\u200d\U0001f680 \U0010ffff",
        '"quotes" \\backslashes\\ %s {} \' ; -- $1',
        "gAAAAABlooks-like-a-token==",
    ],
)
def test_text_is_kept_exactly_as_sent(atlas: Agent, body: str) -> None:
    atlas.save("plan", body, summary=body, use_when=body)
    note = atlas.note("plan")
    assert (note["body"], note["summary"], note["use_when"]) == (body, body, body)
    assert note["bytes"] == len(body.encode())


def test_text_sent_as_utf_8_is_the_text_sent_in_escapes(atlas: Agent) -> None:
    raw = '{"body":"Größe \U0001f680","expected_version":0}'.encode()
    assert posted(atlas, "/v1/memory/plan", raw).status == 201
    assert atlas.note("plan")["body"] == "Größe \U0001f680"


def filled(character: str, size: int) -> str:
    """A text of exactly `size` bytes in UTF-8, made of the character and at most three letters."""
    width = len(character.encode())
    return character * (size // width) + "x" * (size % width)


@pytest.mark.parametrize("character", ["x", "é", "中", "\U0001f680"])
@pytest.mark.parametrize(
    ("argument", "maximum"),
    [("body", limits.BODY_MAX), ("summary", limits.SUMMARY_MAX), ("use_when", limits.SUMMARY_MAX)],
)
def test_limits_count_bytes_of_utf_8_to_the_last_one(atlas: Agent, argument: str, maximum: int, character: str) -> None:
    fits = filled(character, maximum)
    assert len(fits.encode()) == maximum
    atlas.done("save_memory", "plan", **{"body": "x", argument: fits}, expected_version=0)
    assert atlas.note("plan")[argument] == fits
    arguments = {"body": "x", argument: fits + "x"}
    error = atlas.refused("invalid_arguments", "save_memory", "plan", **arguments, expected_version=1)
    assert error["details"][0]["path"] == argument
    assert str(maximum) in error["message"]
    assert str(len(fits) + 1) in error["message"] or str(maximum + 1) in error["message"]


@pytest.mark.parametrize("body", ["", " ", "\n\t\r ", "\u3000\u2003", "\u00a0"])
def test_white_space_alone_is_not_a_body(atlas: Agent, body: str) -> None:
    error = atlas.refused("invalid_arguments", "save_memory", "plan", body=body, expected_version=0)
    assert error["details"][0]["path"] == "body"
    atlas.refused("not_found", "get_memory", "plan")


def test_an_empty_summary_is_kept_as_it_is(atlas: Agent) -> None:
    atlas.save("plan", summary="", use_when=" ")
    assert (atlas.note("plan")["summary"], atlas.note("plan")["use_when"]) == ("", " ")


@pytest.mark.parametrize("text", ["a\x00b", "\x00", "a\ud800b", "\udfff", "\udc00\ud800"])
@pytest.mark.parametrize("argument", ["body", "summary", "use_when"])
def test_nul_and_lone_surrogates_are_refused_in_every_text(atlas: Agent, argument: str, text: str) -> None:
    arguments = {"body": "x", argument: text}
    error = atlas.refused("invalid_arguments", "save_memory", "plan", **arguments, expected_version=0)
    assert [detail["path"] for detail in error["details"]] == [argument]
    atlas.refused("not_found", "get_memory", "plan")


@pytest.mark.parametrize("text", ["a\x00", "a\ud800"])
@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"tags": ["ok", "{}"]}, "tags.1"),
        ({"status": "{}"}, "status"),
        ({"superseded_by": "{}"}, "superseded_by"),
        ({"review_after": "{}"}, "review_after"),
        ({"operation_key": "{}"}, "operation_key"),
        ({"memory_references": [{"name": "{}", "version": 1}]}, "memory_references.0.name"),
        ({"supersedes": {"name": "{}", "expected_version": 1}}, "supersedes.name"),
    ],
)
def test_nul_and_lone_surrogates_are_refused_in_every_other_argument(
    atlas: Agent, arguments: dict[str, Any], path: str, text: str
) -> None:
    sent = json.loads(json.dumps(arguments).replace("{}", json.dumps(text)[1:-1]))
    error = atlas.refused("invalid_arguments", "save_memory", "plan", body="x", expected_version=0, **sent)
    assert [detail["path"] for detail in error["details"]] == [path]


def test_a_surrogate_pair_is_one_character_and_kept(atlas: Agent) -> None:
    raw = b'{"body":"\\ud83d\\ude80","expected_version":0}'
    assert posted(atlas, "/v1/memory/plan", raw).status == 201
    assert atlas.note("plan")["body"] == "\U0001f680"


@pytest.mark.parametrize("argument", ["body", "summary", "use_when"])
@pytest.mark.parametrize("prefix", [KEY, ACCESS_TOKEN, REFRESH_TOKEN])
def test_a_text_with_a_key_or_token_of_agentboard_is_refused_and_not_repeated(
    atlas: Agent, argument: str, prefix: str
) -> None:
    secret = new_secret(prefix)
    arguments = {"body": "x", argument: f"before{secret}after"}
    error = atlas.refused("invalid_arguments", "save_memory", "plan", **arguments, expected_version=0)
    assert error["details"][0]["path"] == argument
    assert secret not in str(error)
    atlas.refused("not_found", "get_memory", "plan")


def test_a_text_with_almost_a_key_is_kept(atlas: Agent) -> None:
    almost = new_secret(KEY)[:-1] + "-"
    atlas.save("plan", almost)
    assert atlas.note("plan")["body"] == almost


# ---- arguments


@pytest.mark.parametrize("name", ["a", "0", "working-context", "a1-b2-c3", "x" * 80])
def test_a_slug_is_a_name(atlas: Agent, name: str) -> None:
    assert atlas.save(name)["name"] == name
    assert atlas.note(name)["name"] == name


NO_SLUGS = ["A", "a_b", "-a", "a-", "a--b", "a b", "ä", "a.b", "a\n", "\na", "a\r\n", "x" * 81, "../a", "a/b", "%"]


@pytest.mark.parametrize("name", NO_SLUGS)
def test_anything_else_is_no_name(atlas: Agent, name: str) -> None:
    if "/" in name:  # a path of another shape
        refusal(atlas.call("save_memory", name, body="x", expected_version=0), "not_found")
        return
    error = atlas.refused("invalid_arguments", "save_memory", name, body="x", expected_version=0)
    assert [detail["path"] for detail in error["details"]] == ["id"]


@pytest.mark.parametrize("slug", [*NO_SLUGS, ""])
@pytest.mark.parametrize(
    ("argument", "path"),
    [
        ("tags", "tags.0"),
        ("superseded_by", "superseded_by"),
        ("operation_key", "operation_key"),
        ("memory_references", "memory_references.0.name"),
        ("supersedes", "supersedes.name"),
    ],
)
def test_every_slug_among_the_arguments_is_held_to_the_very_end(
    atlas: Agent, argument: str, path: str, slug: str
) -> None:
    values = {
        "tags": [slug],
        "memory_references": [{"name": slug, "version": 1}],
        "supersedes": {"name": slug, "expected_version": 1},
    }
    arguments = {argument: values.get(argument, slug)}
    error = atlas.refused("invalid_arguments", "save_memory", "plan", body="x", expected_version=0, **arguments)
    assert {detail["path"] for detail in error["details"]} == {path}


def test_ten_tags_of_eighty_characters_are_kept_and_one_more_is_refused(atlas: Agent) -> None:
    tags = [f"{n}{'x' * 79}" for n in range(10)]
    assert atlas.save("plan", tags=tags)["tags"] == tags
    error = atlas.refused(
        "invalid_arguments", "save_memory", "plan", body="x", expected_version=1, tags=[*tags, "one-more"]
    )
    assert "tags has 11 items; at most 10 are allowed" in error["message"]


def test_a_tag_given_twice_is_refused(atlas: Agent) -> None:
    error = atlas.refused("invalid_arguments", "save_memory", "plan", body="x", expected_version=0, tags=["a", "a"])
    assert error["details"][0]["path"] == "tags"


def test_null_for_an_optional_argument_means_absent(atlas: Agent) -> None:
    nulls: dict[str, Any] = dict.fromkeys(
        ["summary", "use_when", "tags", "status", "memory_references", "review_after", "superseded_by", "supersedes"]
    )
    saved = atlas.save("plan", operation_key=None, **nulls)
    assert (saved["status"], saved["tags"], saved["summary"]) == ("active", [], None)
    assert "operation" not in saved


@pytest.mark.parametrize("argument", ["body", "expected_version"])
def test_a_required_argument_that_is_null_or_absent_is_named(atlas: Agent, argument: str) -> None:
    given = {"body": "x", "expected_version": 0}
    for arguments in ({**given, argument: None}, {n: v for n, v in given.items() if n != argument}):
        error = atlas.refused("invalid_arguments", "save_memory", "plan", **arguments)
        assert error["details"] == [{"path": argument, "message": "is required"}]


def test_3_point_0_is_3(atlas: Agent) -> None:
    atlas.save("base")
    atlas.done("save_memory", "plan", body="x", expected_version=0.0)
    references = [{"name": "base", "version": 1.0}]
    saved = atlas.done("save_memory", "plan", body="x", expected_version=1.0, memory_references=references)
    assert (saved["version"], saved["memory_references"][0]["version"]) == (2, 1)
    assert isinstance(saved["memory_references"][0]["version"], int)


@pytest.mark.parametrize("version", [True, False, "3", "", -1, -1.0, 1.5, 2**31, 2.0**31, 1e300, 10**30, [1], {}])
def test_what_is_no_whole_number_within_31_bits_is_refused(atlas: Agent, version: Any) -> None:
    error = atlas.refused("invalid_arguments", "save_memory", "plan", body="x", expected_version=version)
    assert [detail["path"] for detail in error["details"]] == ["expected_version"]


@pytest.mark.parametrize("version", [True, "1", 0, -1, 2**31, 1.5])
def test_the_same_holds_inside_references_and_supersedes(atlas: Agent, version: Any) -> None:
    atlas.save("base")
    references = [{"name": "base", "version": version}]
    error = atlas.refused(
        "invalid_arguments", "save_memory", "plan", body="x", expected_version=0, memory_references=references
    )
    assert error["details"][0]["path"] == "memory_references.0.version"
    supersedes = {"name": "base", "expected_version": version}
    error = atlas.refused(
        "invalid_arguments", "save_memory", "plan", body="x", expected_version=0, supersedes=supersedes
    )
    assert error["details"][0]["path"] == "supersedes.expected_version"


def test_an_unknown_argument_is_refused_and_named_beside_the_known_ones(atlas: Agent) -> None:
    error = atlas.refused("invalid_arguments", "save_memory", "plan", body="x", expected_version=0, titel="x")
    assert error["details"][0]["path"] == "titel"
    assert "expected_version" in error["details"][0]["message"]


def test_an_unknown_argument_is_refused_also_as_null(atlas: Agent) -> None:
    error = atlas.refused("invalid_arguments", "save_memory", "plan", body="x", expected_version=0, titel=None)
    assert error["details"][0]["path"] == "titel"


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"memory_references": [{"name": "a", "version": 1, "state": "current"}]}, "memory_references.0.state"),
        ({"supersedes": {"name": "a", "expected_version": 1, "version": 1}}, "supersedes.version"),
        ({"name": "plan"}, "name"),
        ({"id": "plan"}, "id"),
    ],
)
def test_an_unknown_field_is_refused_anywhere(atlas: Agent, arguments: dict[str, Any], path: str) -> None:
    error = atlas.refused("invalid_arguments", "save_memory", "plan", body="x", expected_version=0, **arguments)
    assert error["details"][0]["path"] == path


@pytest.mark.parametrize("inside", [{"body": "x", "expected_version": 0}, {}, None])
def test_a_data_property_is_refused_with_a_hint(atlas: Agent, inside: Any) -> None:
    error = atlas.refused("invalid_arguments", "save_memory", "plan", data=inside)
    told = {detail["path"]: detail["message"] for detail in error["details"]}
    assert "one level higher" in told["data"]


def test_every_problem_is_told_at_once(atlas: Agent) -> None:
    error = atlas.refused("invalid_arguments", "save_memory", "Plan", body=3, tags="a", expected_version="x")
    assert {detail["path"] for detail in error["details"]} == {"id", "body", "tags", "expected_version"}


@pytest.mark.parametrize(
    "time",
    ["2030-01-01", "2030-01-01T00:00:00", "2030-13-01T00:00:00Z", "tomorrow", "", 5, "0001-01-01T00:00:00+14:00"],
)
def test_a_time_must_be_rfc_3339_with_an_offset(atlas: Agent, time: Any) -> None:
    error = atlas.refused("invalid_arguments", "save_memory", "plan", body="x", expected_version=0, review_after=time)
    assert [detail["path"] for detail in error["details"]] == ["review_after"]


# ---- quota


def test_a_note_beyond_the_quota_is_refused(atlas: Agent, settings: Settings) -> None:
    settings.NOTES_PER_AGENT = 2
    atlas.save("a")
    atlas.save("b")
    error = atlas.refused("quota_exceeded", "save_memory", "c", body="x", expected_version=0)
    assert "2" in error["message"]
    assert [note["name"] for note in atlas.done("list_memory")["items"]] == ["a", "b"]
    assert atlas.save("a", "More", 1)["version"] == 2  # changing what there is needs no room


def test_deleted_notes_do_not_count_but_saving_them_again_does(atlas: Agent, settings: Settings) -> None:
    settings.NOTES_PER_AGENT = 2
    atlas.save("a")
    atlas.save("b")
    atlas.done("delete_memory", "a", expected_version=1)
    atlas.save("c")
    atlas.refused("quota_exceeded", "save_memory", "a", body="x", expected_version=0)
    atlas.done("delete_memory", "b", expected_version=1)
    assert atlas.save("a")["version"] == 3
    atlas.refused("quota_exceeded", "save_memory", "b", body="x", expected_version=0)


def test_the_quota_is_each_agents_own(atlas: Agent, boreas: Agent, settings: Settings) -> None:
    settings.NOTES_PER_AGENT = 1
    atlas.save("a")
    boreas.save("a")
    atlas.refused("quota_exceeded", "save_memory", "b", body="x", expected_version=0)


@pytest.mark.parametrize("quota", [63, 64, 65, 70])
def test_the_quota_holds_to_the_note_on_either_side_of_the_room_for_parallel_saves(
    atlas: Agent, settings: Settings, quota: int
) -> None:
    settings.NOTES_PER_AGENT = quota
    for number in range(quota):
        atlas.save(f"n{number}")
    atlas.refused("quota_exceeded", "save_memory", "one-more", body="x", expected_version=0)
    atlas.refused("version_conflict", "save_memory", "n0", body="x", expected_version=0)


# ---- who may


def test_a_credential_without_the_scope_is_refused_before_anything_else(atlas: Agent, board: Board) -> None:
    reader = board.with_scopes(atlas, "memory:read", "posts:write")
    error = reader.refused("insufficient_scope", "save_memory", "Not a slug", nonsense=1)
    assert "memory:write" in error["message"]


def test_two_agents_keep_different_notes_under_one_name(atlas: Agent, boreas: Agent) -> None:
    atlas.save("plan", "A")
    assert boreas.save("plan", "B")["version"] == 1
    assert (atlas.note("plan")["body"], boreas.note("plan")["body"]) == ("A", "B")
