"""list_posts with q: all the words, in any part, never a syntax; the best first, each with a snippet."""

from typing import Any

import pytest
from django.db import connection

from agentboard.contract import limits
from posts import fulltext
from posts.models import Post, Topic
from posts.report import set_hidden
from tests.calls import Agent, got
from tests.posts.posting import everything, hide, post


@pytest.fixture
def place(topic: Topic) -> str:
    """Where this test's posts are."""
    return topic.slug


def found(agent: Agent, topic: str, q: str, **data: Any) -> list[str]:
    """The titles of what is found, in its order."""
    return [item["title"] for item in agent.done("list_posts", topic=topic, q=q, **data)["items"]]


# ---- what matches


def test_words_are_found_in_every_part(atlas: Agent, place: str) -> None:
    post(atlas, "alpha title", topic=place)
    post(atlas, "b", tags=["alpha"], topic=place)
    post(atlas, "c", summary="The alpha of it", topic=place)
    post(atlas, "d", "some alpha text", topic=place)
    post(atlas, "e", "beta", topic=place)
    assert sorted(found(atlas, place, "alpha")) == ["alpha title", "b", "c", "d"]


def test_all_words_must_match_in_any_part_and_any_order(atlas: Agent, place: str) -> None:
    post(atlas, "both", "march", summary="ledger", topic=place)
    post(atlas, "one", "march", topic=place)
    assert found(atlas, place, "ledger march") == found(atlas, place, "march ledger") == ["both"]
    assert found(atlas, place, "march nothing") == []


def test_case_and_accents_do_not_matter(atlas: Agent, place: str) -> None:
    post(atlas, "cafe", "Café GRÖSSE Straße ﬁn Ⅷ", topic=place)
    for q in ("cafe", "CAFÉ", "cafe\u0301", "grosse", "GROSSE", "STRASSE", "fin", "viii"):
        assert found(atlas, place, q) == ["cafe"], q


def test_only_the_last_word_may_be_a_beginning(atlas: Agent, place: str) -> None:
    post(atlas, "plan", "quarterly reports", topic=place)
    assert found(atlas, place, "quarterly rep") == found(atlas, place, "quart") == ["plan"]
    assert found(atlas, place, "quart reports") == found(atlas, place, "eports") == []


def test_text_without_gaps_is_found_by_any_part_of_it(atlas: Agent, place: str) -> None:
    post(atlas, "tokyo", "東京都の検索機能を改善する", topic=place)
    post(atlas, "thai", "การค้นหาข้อความภาษาไทย", topic=place)
    for q in ("京都", "検索", "索機能", "東京都の検索機能を改善する", "する"):
        assert found(atlas, place, q) == ["tokyo"], q
    assert found(atlas, place, "ภาษา") == ["thai"]
    assert found(atlas, place, "都京") == []


def test_parts_joined_by_signs_are_a_phrase_and_no_phrase_runs_from_one_part_into_the_next(
    atlas: Agent, place: str
) -> None:
    post(atlas, "whole", "run multi-agent tests", topic=place)
    post(atlas, "apart", "an agent with multi colours", topic=place)
    post(atlas, "the multi", "agent", tags=["multi", "agent"], topic=place)
    assert found(atlas, place, "multi-agent") == ["whole"]
    assert len(found(atlas, place, "agent multi")) == 3


@pytest.mark.parametrize(
    "q",
    ['"alpha"', '"alpha', "alpha*", "(alpha)", "-alpha", "^alpha", "alpha' ;", "al*", "alpha\t\n", "alpha:*", "!alpha"],
)
def test_signs_of_a_query_syntax_are_no_part_of_a_word(atlas: Agent, place: str, q: str) -> None:
    post(atlas, "note", "alpha beta", topic=place)
    assert found(atlas, place, q) == ["note"]


@pytest.mark.parametrize(
    "q",
    [
        "alpha AND beta", "NOT gamma", "alpha OR gamma", "words:alpha", "NEAR(alpha beta)", "%", "_", "*", '"', "'",
        "a AND", "(x", "a:b", "don't", "POL-358", "\\", "' OR 1=1 --", "alpha & !gamma", "<->", "|", "gamma | beta",
    ],
)  # fmt: skip
def test_a_query_syntax_means_nothing(atlas: Agent, place: str, q: str) -> None:
    """B53"""
    post(atlas, "note", "alpha beta", topic=place)
    assert found(atlas, place, q) == []


def test_any_bytes_as_a_query_are_answered(atlas: Agent, place: str) -> None:
    post(atlas, "note", "alpha", topic=place)
    for q in ("%01", "%F0%9F%98%80", "%E2%80%8B", "a" * 1024, "%2B" * 300, "%EF%B7%BA" * 300, "a+" * 32):
        assert got(atlas, "/v1/posts", f"q={q}").status == 200, q
    for q in ("%00", "", "a" * 1025, "%C3%A9" * 513, "a+b+" * 17 + "c", "%ED%A0%80"):
        assert got(atlas, "/v1/posts", f"q={q}").status == (400 if "+" not in q else 200), q


def test_more_words_than_are_looked_for_are_refused(atlas: Agent) -> None:
    words = " ".join(f"w{number}" for number in range(limits.QUERY_WORDS_MAX + 1))
    atlas.refused("invalid_arguments", "list_posts", q=words)


def test_a_very_long_word_is_stored_and_found(atlas: Agent, place: str) -> None:
    post(atlas, "long", "a" * limits.BODY_MAX, topic=place)
    post(atlas, "wide", "\ufdfa" * 6_000, topic=place)  # one character that folds to eighteen
    assert found(atlas, place, "a" * 1_000) == found(atlas, place, "aaa") == ["long"]
    assert found(atlas, place, "صلى") == ["wide"]


def test_every_body_the_limits_allow_can_be_indexed(atlas: Agent, place: str) -> None:
    different = " ".join(f"{number:x}" for number in range(4_500))
    assert len(different) < limits.BODY_MAX
    post(atlas, "many words", different, topic=place)
    post(atlas, "one word", "x " * (limits.BODY_MAX // 2 - 4) + "at last", topic=place)
    assert found(atlas, place, "1193") == ["many words"]
    assert found(atlas, place, "x at-last") == ["one word"]


# ---- order, filters, pages


def test_the_best_comes_first_and_of_equals_the_newest(atlas: Agent, place: str) -> None:
    post(atlas, "in the body", "alpha and much more text beside it", topic=place)
    post(atlas, "alpha", "nothing", topic=place)
    post(atlas, "second", "alpha", topic=place)
    post(atlas, "third", "alpha", topic=place)
    assert found(atlas, place, "alpha") == ["alpha", "third", "second", "in the body"]


def test_filters_go_with_words(atlas: Agent, boreas: Agent, place: str) -> None:
    post(atlas, "one", "alpha", topic=place, type="OFFER", tags=["red"])
    post(boreas, "two", "alpha", topic=place, type="REQUEST")
    assert found(atlas, place, "alpha", type="OFFER") == found(atlas, place, "alpha", tag="red") == ["one"]
    assert found(atlas, place, "alpha", author=boreas.handle) == ["two"]
    assert found(atlas, "general", "alpha", author=boreas.handle) == []


def test_each_hit_has_a_snippet_and_its_body_only_where_asked_for(atlas: Agent, place: str) -> None:
    post(atlas, "long", "before " * 100 + "the ÄLPHA is here " + "after " * 100, topic=place)
    (item,) = atlas.done("list_posts", topic=place, q="alpha")["items"]
    assert "ÄLPHA is here" in item["snippet"]
    assert len(item["snippet"]) <= limits.SNIPPET_MAX + 2
    assert "body" not in item
    (item,) = atlas.done("list_posts", topic=place, q="alpha", detail="full")["items"]
    assert item["body"].startswith("before")


def test_paging_meets_each_hit_once_while_others_come_and_go(atlas: Agent, boreas: Agent, place: str) -> None:
    made = [post(atlas, f"{number}", "alpha " * (number % 3 + 1), topic=place) for number in range(30)]
    data: dict[str, Any] = {"topic": place, "q": "alpha", "limit": 7}
    seen: list[str] = []
    while True:
        page = atlas.done("list_posts", **data)
        seen += [item["id"] for item in page["items"]]
        post(boreas, "new", "alpha", topic=place)
        if len(seen) == 7:
            hide(gone := next(item for item in made if item["id"] not in seen))
            made.remove(gone)
        if "next_cursor" not in page:
            break
        data["cursor"] = page["next_cursor"]
    assert sorted(seen) == sorted(item["id"] for item in made)


def test_of_more_matches_than_are_ranked_the_newest_are_and_the_answer_says_so(
    atlas: Agent, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "RANKED_MAX", 5)
    for number in range(5):
        post(atlas, f"{number}", "alpha", topic=place)
    assert "truncated" not in atlas.done("list_posts", topic=place, q="alpha")
    post(atlas, "5", "alpha", topic=place)
    answer = atlas.done("list_posts", topic=place, q="alpha", limit=2)
    assert answer["truncated"] is True
    assert [item["title"] for item in everything(atlas, "list_posts", topic=place, q="alpha", limit=2)] == list("54321")


def test_hidden_posts_are_not_found_and_shown_ones_are_again(atlas: Agent, place: str) -> None:
    made = post(atlas, "note", "alpha", topic=place)
    hide(made)
    assert found(atlas, place, "alpha") == []
    assert set_hidden(made["id"], False)
    assert found(atlas, place, "alpha") == ["note"]


# ---- the index itself


def test_the_index_follows_every_change_of_the_rows(atlas: Agent, place: str) -> None:
    made = post(atlas, "note", "alpha", topic=place)
    row = Post.objects.filter(ref=made["id"])
    row.update(words=fulltext.words_of("note", [], None, "omega"))
    assert (found(atlas, place, "alpha"), found(atlas, place, "omega")) == ([], ["note"])
    row.delete()
    assert found(atlas, place, "omega") == []
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {fulltext.INDEX}({fulltext.INDEX}, rank) VALUES ('integrity-check', 1)")


def test_a_search_is_answered_from_the_index(atlas: Agent) -> None:
    query = Post.objects.filter(words__hold=fulltext.query_of("alpha-beta gam")).values("pk")
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET enable_seqscan = off")
        plan = query.explain()
        if connection.vendor == "postgresql":
            cursor.execute("RESET enable_seqscan")
    assert (fulltext.INDEX if connection.vendor == "postgresql" else "VIRTUAL TABLE INDEX") in plan
