"""search_memory: all the words, in any field, never a syntax; the best first, each with a snippet."""

from typing import Any

import pytest
from pytest_django import Settings

from agentboard.contract import limits
from agentboard.identity.keys import KEY, new_secret
from agentboard.search import current
from agentboard.search.index import Indexes
from tests.board import Board
from tests.calls import Agent, got


def found(agent: Agent, q: str, **data: Any) -> list[str]:
    """The names of the notes, in their order."""
    return [item["name"] for item in agent.done("search_memory", q=q, **data)["items"]]


# ---- what matches


def test_words_are_found_in_every_field(atlas: Agent) -> None:
    atlas.save("alpha-name", "x")
    atlas.save("b", "x", tags=["alpha"])
    atlas.save("c", "x", summary="The alpha of it")
    atlas.save("d", "x", use_when="when alpha")
    atlas.save("e", "some alpha text")
    atlas.save("f", "beta")
    assert sorted(found(atlas, "alpha")) == ["alpha-name", "b", "c", "d", "e"]


def test_all_words_must_match_in_any_fields_and_any_order(atlas: Agent) -> None:
    atlas.save("both", "march", summary="ledger")
    atlas.save("one", "march")
    assert found(atlas, "ledger march") == found(atlas, "march ledger") == ["both"]
    assert found(atlas, "march nothing") == []


def test_case_and_accents_do_not_matter(atlas: Agent) -> None:
    atlas.save("cafe", "Café GRÖSSE Straße ﬁn Ⅷ")
    for q in ("cafe", "CAFÉ", "cafe\u0301", "größe".replace("ß", "ss"), "GROSSE", "strasse", "STRASSE", "fin", "viii"):
        assert found(atlas, q) == ["cafe"], q


def test_only_the_last_word_may_be_a_beginning(atlas: Agent) -> None:
    atlas.save("plan", "quarterly reports")
    assert found(atlas, "quarterly rep") == ["plan"]
    assert found(atlas, "quart") == ["plan"]
    assert found(atlas, "quart reports") == []
    assert found(atlas, "eports") == []


def test_hyphenated_names_are_found_whole_and_by_their_parts(atlas: Agent) -> None:
    atlas.save("deploy-to-staging", "x")
    atlas.save("other", "deploy something, then go to the staging area")
    assert found(atlas, "deploy-to-staging") == ["deploy-to-staging"]
    assert found(atlas, "deploy-to-sta") == ["deploy-to-staging"]
    assert sorted(found(atlas, "staging deploy")) == ["deploy-to-staging", "other"]


def test_text_without_gaps_is_found_by_any_part_of_it(atlas: Agent) -> None:
    atlas.save("tokyo", "東京都の検索機能を改善する")
    atlas.save("thai", "การค้นหาข้อความภาษาไทย")
    for q in ("京都", "検索", "索機能", "東京都の検索機能を改善する", "する"):
        assert found(atlas, q) == ["tokyo"], q
    assert found(atlas, "ภาษา") == ["thai"]
    assert found(atlas, "都京") == []


@pytest.mark.parametrize(
    "q", ['"alpha"', '"alpha', "alpha*", "(alpha)", "-alpha", "^alpha", "alpha' ;", "al*", "alpha\t\n"]
)
def test_signs_of_a_query_syntax_are_no_part_of_a_word(atlas: Agent, q: str) -> None:
    atlas.save("note", "alpha beta")
    assert found(atlas, q) == ["note"]


@pytest.mark.parametrize(
    "q",
    [
        *("alpha AND beta", "NOT gamma", "alpha OR gamma", "NEAR(alpha beta)"),
        *("body:alpha", "{body}:alpha", "rowid:1", "a\u200bb", "%", "_", "*", "\\"),
        *("alpha' OR '1'='1", "x; DROP TABLE memory_note; --", "a" * 1024, "\U0001f680" * 256),
    ],
)
def test_a_query_language_says_nothing_here(atlas: Agent, q: str) -> None:
    atlas.save("note", "alpha beta")
    assert found(atlas, q) == []


def test_operators_of_query_languages_are_words_to_find(atlas: Agent) -> None:
    atlas.save("note", "this AND that OR NOT near")
    assert found(atlas, "AND") == found(atlas, "or not NEAR") == ["note"]


@pytest.mark.parametrize("q", [" ", "-", "…", "🚀", "'\"()"])
def test_a_query_without_a_word_finds_nothing(atlas: Agent, q: str) -> None:
    atlas.save("note", "🚀 - … text")
    assert atlas.done("search_memory", q=q) == {"items": []}


def test_only_ones_own_living_notes_are_found(atlas: Agent, boreas: Agent) -> None:
    for agent in (atlas, boreas):
        agent.save("shared-name", "alpha")
    boreas.save("foreign", "alpha")
    atlas.save("gone", "alpha")
    assert sorted(found(atlas, "alpha")) == ["gone", "shared-name"]
    atlas.done("delete_memory", "gone", expected_version=1)
    assert found(atlas, "alpha") == ["shared-name"]


def test_only_current_versions_are_found(atlas: Agent) -> None:
    atlas.save("note", "alpha")
    atlas.save("note", "beta", 1)
    assert (found(atlas, "alpha"), found(atlas, "beta")) == ([], ["note"])


# ---- every write is seen by the next search


def test_an_index_that_is_warm_sees_every_kind_of_write(atlas: Agent) -> None:
    assert found(atlas, "word") == []
    atlas.save("note", "word")
    assert found(atlas, "word") == ["note"]
    atlas.done("edit_memory", "note", expected_version=1, edits=[{"old": "word", "new": "other"}])
    assert (found(atlas, "word"), found(atlas, "other")) == ([], ["note"])
    atlas.done("restore_memory", "note", version=1, expected_version=2)
    assert (found(atlas, "word"), found(atlas, "other")) == (["note"], [])
    atlas.save("note", "word", 3, tags=["t"], summary="about")
    assert found(atlas, "about", tag="t") == ["note"]
    atlas.done("save_memory", "new", body="x", expected_version=0, supersedes={"name": "note", "expected_version": 4})
    assert found(atlas, "word", status="superseded") == ["note"]
    assert found(atlas, "new") == ["new"]
    atlas.done("delete_memory", "note", expected_version=5)
    assert found(atlas, "word") == []
    atlas.save("note", "word again")
    assert found(atlas, "word again") == ["note"]


def test_two_processes_that_search_by_turns_each_see_the_others_writes(
    atlas: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = [Indexes(64 << 20, 900), Indexes(64 << 20, 900)]  # each process has its own
    expected: set[str] = set()
    for turn in range(8):
        monkeypatch.setattr(current, "INDEXES", processes[turn % 2])
        assert set(found(atlas, "word")) == expected
        if turn == 4:
            atlas.done("delete_memory", "n0", expected_version=1)
            expected.remove("n0")
        atlas.save(f"n{turn}", "word")
        expected.add(f"n{turn}")


def test_an_agent_whose_notes_need_more_memory_than_there_is_gets_the_same_answer(
    atlas: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        atlas.save(f"n{number}", "alpha " * (number % 4) + "beta " * 50, tags=[f"t{number % 2}"])
    calls: list[dict[str, Any]] = [
        {"q": "alpha"},
        {"q": "alp"},
        {"q": "alpha beta", "tag": "t1"},
        {"q": "beta", "status": "archived"},
        {"q": "alpha", "limit": 2, "detail": "full"},
    ]
    indexed = [atlas.done("search_memory", **call) for call in calls]
    monkeypatch.setattr(current, "INDEXES", Indexes(100, 900))  # bytes, seconds
    assert [atlas.done("search_memory", **call) for call in calls] == indexed


# ---- order, filters, items


def test_the_best_match_comes_first(atlas: Agent) -> None:
    atlas.save("long", "ledger " + "other words " * 400)
    atlas.save("often", "ledger ledger ledger")
    atlas.save("once", "ledger")
    atlas.save("tagged", "x", tags=["ledger"])
    atlas.save("ledger", "x")
    assert found(atlas, "ledger") == ["ledger", "tagged", "often", "once", "long"]


def test_equal_matches_come_by_name(atlas: Agent) -> None:
    for name in ("b", "a-1", "a0", "a"):
        atlas.save(name, "same")
    assert found(atlas, "same") == ["a", "a-1", "a0", "b"]


def test_a_whole_word_comes_before_one_that_only_begins_so(atlas: Agent) -> None:
    atlas.save("a", "reporting")
    atlas.save("b", "report")
    assert found(atlas, "report") == ["b", "a"]


def test_status_and_tag_filter_what_is_found(atlas: Agent) -> None:
    atlas.save("a", "word", tags=["ops"])
    atlas.save("b", "word", tags=["ops-team"])
    atlas.save("c", "word", tags=["ops"], status="archived")
    assert found(atlas, "word", tag="ops") == ["a", "c"]
    assert found(atlas, "word", tag="ops", status="archived") == ["c"]
    assert found(atlas, "word", status="superseded") == []


def test_an_item_is_the_note_and_a_snippet(atlas: Agent) -> None:
    atlas.save("base")
    references = [{"name": "base", "version": 1}]
    atlas.save("plan", "The alpha\ntext", summary="s", tags=["t"], memory_references=references)
    note = atlas.note("plan")
    full = {**note, "snippet": "The alpha text"}
    assert atlas.done("search_memory", q="alpha", detail="full")["items"] == [full]
    del full["body"]
    assert atlas.done("search_memory", q="alpha")["items"] == [full]


def test_a_snippet_shows_the_place_of_the_words_within_160_characters(atlas: Agent) -> None:
    atlas.save("plan", f"{'before ' * 300}the alpha word {'after ' * 300}")
    (item,) = atlas.done("search_memory", q="alpha")["items"]
    assert "the alpha word" in item["snippet"]
    assert item["snippet"].startswith("…")
    assert item["snippet"].endswith("…")
    assert len(item["snippet"]) <= limits.SNIPPET_MAX + 2


def test_a_match_outside_the_body_shows_the_start_of_the_body(atlas: Agent) -> None:
    atlas.save("plan", "The start of it", tags=["alpha"])
    assert atlas.done("search_memory", q="alpha")["items"][0]["snippet"] == "The start of it"


# ---- pages


def test_pages_give_each_match_once_while_notes_come_and_go(atlas: Agent) -> None:
    kept = [f"k{number}" for number in range(11)]
    for number, name in enumerate(kept):
        atlas.save(name, "alpha " * (number % 3 + 1))
    expected = found(atlas, "alpha")
    seen: list[str] = []
    more: dict[str, Any] = {}
    for turn in range(20):
        answer = atlas.done("search_memory", q="alpha", limit=2, **more)
        seen += [item["name"] for item in answer["items"]]
        if "next_cursor" not in answer:
            break
        more = {"cursor": answer["next_cursor"]}
        atlas.save(f"x{turn}", "alpha " * 9)
        atlas.save(f"y{turn}", "alpha " + "z " * 500)
    assert [name for name in seen if name in kept] == expected
    assert len(seen) == len(set(seen))


def test_a_cursor_of_another_query_is_refused(atlas: Agent) -> None:
    for name in ("a", "b"):
        atlas.save(name, "alpha beta")
    cursor = atlas.done("search_memory", q="alpha", limit=1)["next_cursor"]
    for other in ({"q": "beta"}, {"q": "Alpha"}, {"q": "alpha", "status": "active"}, {"q": "alpha", "detail": "full"}):
        error = atlas.refused("invalid_arguments", "search_memory", cursor=cursor, **other)
        assert error["details"][0]["path"] == "cursor"
    assert found(atlas, "alpha", cursor=cursor) == ["b"]


# ---- arguments


def test_the_words_are_required(atlas: Agent) -> None:
    assert atlas.refused("invalid_arguments", "search_memory")["details"] == [{"path": "q", "message": "is required"}]
    atlas.refused("invalid_arguments", "search_memory", q="")


def test_a_query_has_at_most_1024_bytes_and_32_words(atlas: Agent) -> None:
    atlas.save("note", " ".join(f"w{n}" for n in range(40)))
    assert found(atlas, " ".join(f"w{n}" for n in range(32))) == ["note"]
    error = atlas.refused("invalid_arguments", "search_memory", q=" ".join(f"w{n}" for n in range(33)))
    assert "33 words" in error["message"]
    error = atlas.refused("invalid_arguments", "search_memory", q="é" * 513)
    assert "1026 bytes" in error["message"]


@pytest.mark.parametrize("query", ["q=a%00b", "q=%ED%A0%80", "q=%FF", "q=a&q=b", "q=a&order=name"])
def test_what_is_no_query_is_refused(atlas: Agent, query: str) -> None:
    assert got(atlas, "/v1/memory-search", query).code == "invalid_arguments"


def test_a_plus_is_a_space_and_a_plus_sign_is_escaped(atlas: Agent) -> None:
    atlas.save("note", "one two")
    assert [item["name"] for item in got(atlas, "/v1/memory-search", "q=one+tw").json["items"]] == ["note"]


def test_a_query_with_a_key_is_refused_and_not_repeated(atlas: Agent) -> None:
    secret = new_secret(KEY)
    assert secret not in str(atlas.refused("invalid_arguments", "search_memory", q=f"find {secret}"))


def test_searching_needs_its_scope(atlas: Agent, board: Board) -> None:
    board.with_scopes(atlas, "memory:write").refused("insufficient_scope", "search_memory", q="x")


def test_the_memory_for_indexes_is_a_setting(settings: Settings) -> None:
    assert settings.SEARCH_MIB == 64
