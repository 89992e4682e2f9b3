"""The words of texts and queries: folding, tokens, matching, ranking, snippets."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentboard.search.words import (
    CACHED_CHARACTERS_MAX,
    PHRASES_MAX,
    Query,
    fold,
    is_gapless,
    line,
    score,
    snippet,
    tags_line,
    tokens,
)

pytestmark = pytest.mark.no_database

# Characters that have gone wrong somewhere: marks, expansions, scripts without gaps, joined emoji, punctuation.
CHARACTERS = "aAbB1_ \t\n-'\"*().,éÉßﬁİς²½Жё中文かがカﾊﾟ한ไทยမြកខລາव😀👩\u200d\U0001f3fd\ufe0f\u0301\u3099…ー々"
texts = st.text(st.sampled_from(CHARACTERS) | st.characters(codec="utf-8"), max_size=60)


def matches(q: str, *texts: str) -> bool:
    return Query.parse(q).matches([line(text) for text in texts])


def body_score(q: str, text: str) -> float:
    return score(Query.parse(q), "", "", "", "", line(text))


# ---- folding and tokens


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CAFÉ", "cafe"),
        ("cafe\u0301", "café"),
        ("Straße", "STRASSE"),
        ("ΟΔΥΣΣΕΎΣ", "οδυσσευς"),
        ("İstanbul", "istanbul"),
        ("ﬁle", "FILE"),
        ("Ёлка", "елка"),
        ("ＦＵＬＬ", "full"),
        ("ﾊﾟﾝ", "ハン"),
        ("हिंदी", "हिदी"),
    ],
)
def test_case_accents_and_compatibility_forms_do_not_matter(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@given(texts)
def test_folding_a_folded_text_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(texts, texts)
def test_folding_goes_character_by_character(one: str, other: str) -> None:
    assert fold(one + other) == fold(one) + fold(other)


@given(texts)
def test_a_folded_text_has_no_combining_mark_and_no_case(text: str) -> None:
    folded = fold(text)
    assert not any(unicodedata.category(c) == "Mn" for c in folded)
    assert folded == folded.casefold()


@given(texts)
def test_tokens_are_the_alphanumeric_runs_of_the_fold_with_gapless_characters_apart(text: str) -> None:
    apart = "".join(f" {c} " if is_gapless(c) else c for c in fold(text))
    assert tokens(text) == re.findall(r"[^\W_]+", apart)


@given(texts)
def test_the_line_of_a_line_is_the_same_line(text: str) -> None:
    assert line(line(text)) == line(text)


def test_tokens_of_text_with_punctuation() -> None:
    words = ["don", "t", "use", "snake", "case", "or", "multi", "agent", "v2", "1"]
    assert tokens("Don't  use snake_case,\nor multi-agent (v2.1)!") == words


@pytest.mark.parametrize("text", ["東京都", "ひらかな", "カタカナ", "ไทย", "ລາວ", "កខគ", "မကခ", "𠀀𰀀"])
def test_each_character_of_a_script_without_gaps_is_a_token(text: str) -> None:
    assert tokens(text) == list(text)


def test_scripts_with_and_without_gaps_may_touch() -> None:
    assert tokens("GPT4の検索api") == ["gpt4", "の", "検", "索", "api"]


def test_more_different_characters_than_are_cached_still_fold() -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E00 + CACHED_CHARACTERS_MAX + 100)))
    assert fold(text + "É") == text + "e"
    assert fold("É中") == "e中"


def test_no_phrase_runs_from_one_tag_into_the_next() -> None:
    query = Query.parse("red-blue")
    assert query.matches([tags_line(("dark-red-blue",))])
    assert not query.matches([tags_line(("dark-red", "blue"))])


# ---- queries


def test_every_word_must_occur_in_any_field() -> None:
    assert matches("alpha beta", "beta", "alpha")
    assert not matches("alpha beta", "alpha", "gamma")


def test_only_the_last_word_is_a_prefix() -> None:
    assert matches("alpha bet", "alpha beta")
    assert not matches("alph beta", "alpha beta")
    assert not matches("lpha", "alpha")


def test_only_the_last_token_of_the_last_phrase_is_a_prefix() -> None:
    assert matches("multi-ag", "a multi agent")
    assert not matches("mult-agent", "a multi agent")


def test_a_repeated_last_word_is_whole_and_a_prefix() -> None:
    assert Query.parse("ab cd ab cd ab").phrases == ("ab", "cd", "ab")
    assert not matches("ab ab", "abc")


@pytest.mark.parametrize("q", ["multi-agent", "MULTI_AGENT", '"multi-agent"', "(multi.agent)", "multi-agent*"])
def test_a_word_with_punctuation_is_a_phrase(q: str) -> None:
    assert Query.parse(q).phrases == ("multi agent",)
    assert matches(q, "the multi-agent case")
    assert not matches(q, "agent multi")


@pytest.mark.parametrize(
    ("q", "phrases"),
    [
        ("a AND b", ("a", "and", "b")),
        ("NOT x", ("not", "x")),
        ("name:x", ("name x",)),
        ("NEAR(a b, 2)", ("near a", "b", "2")),
        ("^a + b", ("a", "b")),
        ('" OR 1', ("or", "1")),
        ("don't", ("don t",)),
        ("a\u3000b\tc\n", ("a", "b", "c")),
    ],
)
def test_query_syntax_of_any_engine_is_only_words(q: str, phrases: tuple[str, ...]) -> None:
    assert Query.parse(q).phrases == phrases


@pytest.mark.parametrize("q", ["", " \n", "- * ( ) \" ' :", "\u0301", "😀"])
def test_a_query_without_a_word_matches_nothing(q: str) -> None:
    assert Query.parse(q).phrases == ()
    assert not matches(q, "anything", "")


@pytest.mark.parametrize(
    ("q", "text"),
    [
        ("京", "東京都"),
        ("京都", "東京都"),
        ("東京", "東京都"),
        ("ทย", "ภาษาไทย"),
        ("がな", "ひらがな"),
        ("api検", "apiの、api検索"),
    ],
)
def test_text_without_gaps_is_found_by_any_part(q: str, text: str) -> None:
    assert matches(q, text)


def test_characters_without_gaps_must_stand_in_sequence() -> None:
    assert not matches("東都", "東京都")
    assert matches("東 都", "東京都")


def test_more_phrases_than_allowed_are_all_there_to_be_counted() -> None:
    q = " ".join(f"w{n}" for n in range(PHRASES_MAX + 5))
    assert len(Query.parse(q).phrases) == PHRASES_MAX + 5


@given(texts, texts, texts)
def test_a_text_is_found_by_its_own_words(before: str, text: str, after: str) -> None:
    q = line(text)
    assert matches(q, f"{before} {text} {after}") == bool(q)


# ---- ranking


def test_a_hit_counts_by_its_field() -> None:
    query = Query.parse("deploy")
    place = {name: [""] * 5 for name in ("name", "tags", "summary", "use_when", "body")}
    for n, lines in enumerate(place.values()):
        lines[n] = "deploy the service"
    by = {name: score(query, *lines) for name, lines in place.items()}
    assert by["name"] > by["tags"] > by["summary"] > by["body"]
    assert by["tags"] > by["use_when"] > by["body"] > 0


def test_one_hit_in_the_name_outweighs_any_number_in_the_body() -> None:
    query = Query.parse("deploy")
    assert score(query, "how we deploy", "", "", "", "") > score(query, "", "", "", "", "deploy it " * 500)


def test_a_whole_word_counts_more_than_a_prefix() -> None:
    assert body_score("agent", "an agent here") > body_score("agent", "an agents e") > 0


def test_more_occurrences_count_more_but_ever_less() -> None:
    once, twice, thrice = (body_score("x", "x y " * n + "z w " * (9 - n)) for n in (1, 2, 3))
    assert 0 < thrice - twice < twice - once < once


def test_a_hit_in_a_longer_text_counts_less() -> None:
    assert body_score("x", "x " + "y " * 10) > body_score("x", "x " + "y " * 1000) > 0


def test_a_score_has_six_decimals_at_most() -> None:
    found = body_score("x", "x y z")
    assert found == round(found, 6)


@given(st.lists(texts, min_size=5, max_size=5), st.text("aAbéß中が1 -", max_size=4))
def test_what_matches_scores_above_zero(fields: list[str], q: str) -> None:
    lines = [line(text) for text in fields]
    query = Query.parse(q)
    assert not query.matches(lines) or score(query, *lines) > 0


# ---- snippets

FILLER = "lorem ipsum dolor sit amet consectetur " * 20


def shown(q: str, body: str, length: int = 160) -> str:
    return snippet(Query.parse(q), body, length)


@given(st.text("abé中 -\n😀\u0301", max_size=4), texts.map(lambda t: t * 8), st.integers(1, 80))
def test_a_snippet_is_a_part_of_the_text_within_its_length(q: str, body: str, length: int) -> None:
    found = shown(q, body, length)
    inner = found.removeprefix("…").removesuffix("…")
    assert len(found) <= length + 2
    assert inner.strip("…") in " ".join(re.sub(r"\s+", " ", body).split(" "))


@given(texts, st.sampled_from(["word", "wörd", "文字"]), texts)
def test_a_snippet_shows_the_hit_as_it_was_written(before: str, hit: str, after: str) -> None:
    body = f"{before * 9} {hit} {after * 9}"
    found = shown(hit, body)
    assert any(hit[0] in part for part in found.split())
    assert Query.parse(hit).matches([line(found)])


def test_a_short_text_is_shown_whole() -> None:
    assert shown("b", "  a\n\n b\t c ") == "a b c"


def test_a_snippet_without_a_hit_is_the_start() -> None:
    assert shown("zebra", FILLER, 20) == "lorem ipsum dolor…"


def test_a_snippet_is_cut_between_words_with_ellipses() -> None:
    found = shown("zebra", FILLER + "A Zebra-crossing. " + FILLER, 60)
    assert found.startswith("…")
    assert found.endswith("…")
    assert "A Zebra-crossing." in found
    assert all(word in (FILLER + "A Zebra-crossing.").split() for word in found.strip("…").split())


def test_a_hit_near_the_end_has_more_before_it() -> None:
    found = shown("zebra", FILLER + "zebra", 60)
    assert found.endswith(" zebra")
    assert 45 < len(found) <= 61


def test_a_word_inside_another_is_no_hit() -> None:
    assert "the cat sat" in shown("cat sat", f"concatenated {FILLER} the cat sat")
    assert "b b" in shown("b-b", f"ab b b {FILLER}")[:10]


def test_the_place_with_most_different_words_is_shown() -> None:
    body = f"alpha {FILLER} beta {FILLER} beta alpha {FILLER}"
    assert "beta alpha" in shown("alpha beta", body)


@pytest.mark.parametrize("length", range(8, 30))
def test_a_cut_never_separates_a_character_from_its_marks(length: int) -> None:
    body = "👩\u200d👩\u200d👧e\u0301👍\U0001f3fd" * 40
    inner = shown("zebra", body + " zebra " + body, length).strip("…")
    assert unicodedata.category(inner[0]) != "Mn"
    assert inner[0] not in "\u200d\U0001f3fd"
    assert inner[-1] != "\u200d"


def test_a_hit_is_found_behind_text_whose_fold_has_another_length() -> None:
    body = "ß½ﬁ e\u0301\u0301\u0301 ㍿ 中文 " * 40 + "the zebra ran " + "ß" * 300
    assert "the zebra ran" in shown("zebra", body, 40)


def test_a_snippet_of_text_without_gaps_fills_its_length() -> None:
    body = "検索 " + "あ" * 300 + "東京都" + "い" * 300
    found = shown("京都", body, 40)
    assert "東京都" in found
    assert len(found) == 42
