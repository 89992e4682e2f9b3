"""The index of an agent's notes in memory, and all agents' indexes together."""

import gc
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentboard.search.index import EMPTY_BYTES, Document, Hit, Indexes, TextIndex, TooLarge, scan
from agentboard.search.words import Query, line, tags_line

pytestmark = pytest.mark.no_database  # the index is its own

PLENTY = 1_000_000_000  # bytes


def note(id: int, body: str = "", **fields: object) -> Document:
    document = Document(id, 1, f"note-{id}", "active", (), "", "", body)
    return replace(document, **fields)  # type: ignore[arg-type]


def index_of(*documents: Document) -> TextIndex:
    index = TextIndex(PLENTY)
    index.put(documents)
    return index


def found(index: TextIndex, q: str, **filters: str) -> set[int]:
    return {hit.id for hit in index.search(Query.parse(q), limit=1000, **filters)}  # type: ignore[arg-type]


# ---- matching

CHARACTERS = "aabbAé\u0301ß中文がไท1_-'\"*():.·\x00\n   "
texts = st.text(CHARACTERS, max_size=12)
documents = st.lists(
    st.builds(
        Document,
        id=st.integers(1, 6),
        version=st.integers(1, 3),
        name=texts,
        status=st.sampled_from(["active", "archived"]),
        tags=st.lists(texts, max_size=3).map(tuple),
        summary=texts,
        use_when=texts,
        body=st.text(CHARACTERS, max_size=40),
    ),
    max_size=10,
)
queries = st.text(CHARACTERS, max_size=6).map(Query.parse)


def lines(document: Document) -> list[str]:
    fields = [document.name, document.summary, document.use_when, document.body]
    return [*map(line, fields), tags_line(document.tags)]


def newest(documents: list[Document]) -> dict[int, Document]:
    kept: dict[int, Document] = {}
    for document in documents:
        if document.id not in kept or document.version >= kept[document.id].version:
            kept[document.id] = document
    return kept


@settings(max_examples=400)
@given(documents, queries)
def test_the_index_finds_what_the_query_says_it_matches(documents: list[Document], query: Query) -> None:
    hits = index_of(*documents).search(query, limit=100)
    assert {hit.id for hit in hits} == {id for id, d in newest(documents).items() if query.matches(lines(d))}


@settings(max_examples=200)
@given(
    documents,
    queries,
    st.none() | st.sampled_from(["active", "archived"]),
    st.none() | texts,
    st.none() | st.tuples(st.floats(0, 20), texts),
    st.integers(1, 5),
)
def test_a_scan_gives_the_answer_of_the_index(
    documents: list[Document],
    query: Query,
    status: str | None,
    tag: str | None,
    after: tuple[float, str] | None,
    limit: int,
) -> None:
    indexed = index_of(*documents).search(query, status=status, tag=tag, after=after, limit=limit)
    stored = newest(documents).values()
    assert scan(stored, query, status=status, tag=tag, after=after, limit=limit) == indexed


@settings(max_examples=100)
@given(documents, documents, st.sets(st.integers(1, 6)), queries)
def test_an_index_changed_step_by_step_answers_like_a_new_one(
    first: list[Document], then: list[Document], removed: set[int], query: Query
) -> None:
    index = index_of(*first)
    for document in then:
        index.put([document])
    index.remove(removed)
    left = [d for id, d in newest(first + then).items() if id not in removed]
    assert index.search(query, limit=100) == index_of(*left).search(query, limit=100)


@pytest.mark.parametrize("q", ['"', "*", "a AND", "NEAR(", "name : x", "-", "^", "{a b} : c", "'", ");", "a\x00b"])
def test_no_query_is_a_syntax_error(q: str) -> None:
    assert found(index_of(note(1, "plain words")), q) == set()


def test_a_query_of_a_thousand_words_is_answered() -> None:
    words = " ".join(f"w{n}" for n in range(1000))
    assert found(index_of(note(1, words), note(2, "w1")), words) == {1}


def test_words_may_match_in_different_fields_and_without_accents() -> None:
    index = index_of(note(1, "Résumé", name="multi-agent", tags=("ops",)), note(2, "resume"))
    assert found(index, "RESUME multi-ag") == {1}
    assert found(index, "ops resume") == {1}
    assert found(index, "resu") == {1, 2}


def test_text_without_gaps_is_found_by_any_part() -> None:
    index = index_of(note(1, "東京都の検索"), note(2, "ภาษาไทย"), note(3, "京の都"))
    assert found(index, "京都") == {1}
    assert found(index, "ไทย") == {2}
    assert found(index, "都") == {1, 3}


def test_status_and_tag_filter_exactly() -> None:
    index = index_of(
        note(1, "x", status="active", tags=("Ops", "db")),
        note(2, "x", status="archived", tags=("ops",)),
        note(3, "x", status="active", tags=("ops-team",)),
    )
    assert found(index, "x", status="active") == {1, 3}
    assert found(index, "x", tag="ops") == {2}
    assert found(index, "x", tag="Ops", status="archived") == set()


# ---- order and pages


def test_hits_come_by_score_then_by_name() -> None:
    index = index_of(note(1, "x", name="b"), note(2, "x", name="a"), note(3, "", name="x"), note(4, "x x", name="c"))
    hits = index.search(Query.parse("x"), limit=10)
    assert [hit.id for hit in hits] == [3, 4, 2, 1]
    assert hits[2].score == hits[3].score


def pages(index: TextIndex, query: Query, size: int) -> Iterator[list[Hit]]:
    after = None
    while page := index.search(query, after=after, limit=size):
        yield page
        after = (page[-1].score, page[-1].name)


def test_pages_give_each_hit_once_while_other_notes_are_written() -> None:
    index = index_of(*(note(n, "x " * (n % 5 + 1)) for n in range(50)))
    whole = index.search(Query.parse("x"), limit=1000)
    seen: list[Hit] = []
    for page in pages(index, Query.parse("x"), 7):
        seen += [hit for hit in page if hit.id < 100]
        index.put(note(100 + len(seen) + n, "x " * n) for n in range(6))
        index.remove([100 + len(seen)])
    assert seen == whole
    assert len(seen) == 50


def test_the_score_of_a_note_stays_when_others_are_written() -> None:
    index = index_of(note(1, "alpha beta"))
    before = index.search(Query.parse("alpha"), limit=1)
    index.put(note(n, "alpha " * 50) for n in range(2, 40))
    assert before[0] in index.search(Query.parse("alpha"), limit=100)


# ---- changes


def test_a_newer_version_replaces_the_older() -> None:
    index = index_of(note(1, "old words"))
    index.put([note(1, "new words", version=2)])
    assert found(index, "old") == set()
    assert found(index, "new") == {1}
    assert len(index.search(Query.parse("words"), limit=10)) == 1


def test_an_older_version_never_replaces_the_newer() -> None:
    index = index_of(note(1, "new", version=3))
    index.put([note(1, "old", version=2)])
    index.put([note(1, "newest", version=4), note(1, "older", version=1)])
    assert found(index, "old") == set()
    assert found(index, "newest") == {1}


def test_removed_notes_are_found_no_more_and_unknown_ids_are_passed_over() -> None:
    index = index_of(note(1, "x"), note(2, "x"))
    index.remove([1, 1, 77])
    assert found(index, "x") == {2}
    index.put([note(1, "x")])
    assert found(index, "x") == {1, 2}


def test_documents_that_fail_to_come_leave_the_index_whole() -> None:
    def failing() -> Iterator[Document]:
        yield note(1, "x")
        raise ValueError("unreadable")

    index = index_of(note(2, "x"))
    with pytest.raises(ValueError, match="unreadable"):
        index.put(failing())
    index.put([note(1, "x y")])
    assert found(index, "x") == {1, 2}


def test_more_notes_than_a_batch_are_all_indexed() -> None:
    index = index_of(*(note(n, "word " * 3000) for n in range(100)))
    assert len(found(index, "word")) == 100
    index.remove(range(60))
    assert found(index, "word") == set(range(60, 100))


def test_the_size_grows_with_notes_and_shrinks_with_removal() -> None:
    index = index_of()
    assert index.bytes == EMPTY_BYTES
    assert index.position is None
    index.put(note(n, "many different words " * 50) for n in range(200))
    full = index.bytes
    assert full > EMPTY_BYTES + 200 * 1000
    index.remove(range(200))
    assert index.bytes < full - 200 * 1000


# ---- bounds


def test_an_index_over_its_bound_gives_up_its_notes_and_reads_no_more() -> None:
    read = 0

    def many() -> Iterator[Document]:
        nonlocal read
        for n in range(10_000):
            read += 1
            yield note(n, "word " * 1000)

    index = TextIndex(EMPTY_BYTES + 2_000_000)
    index.put(many())
    assert index.too_large
    assert index.bytes == EMPTY_BYTES
    assert read < 1000
    with pytest.raises(TooLarge):
        index.search(Query.parse("word"), limit=1)
    index.put([note(1, "x")])
    index.remove([1])
    assert index.too_large


def test_an_empty_query_finds_nothing_without_asking_the_index() -> None:
    assert index_of(note(1, "x")).search(Query.parse(" - "), limit=5) == []


def test_an_agent_keeps_its_index_until_it_is_dropped() -> None:
    indexes = Indexes(PLENTY, idle_seconds=60)
    one = indexes.get(1)
    assert indexes.get(1) is one
    assert indexes.get(2) is not one
    indexes.drop(1)
    indexes.drop(99)
    assert indexes.get(1) is not one


def test_the_longest_unused_index_goes_when_all_are_over_the_bound() -> None:
    indexes = Indexes(1_500_000, idle_seconds=60)
    first, second = indexes.get(1), indexes.get(2)
    first.put(note(n, "word " * 200) for n in range(500))
    assert indexes.get(2) is second
    assert indexes.get(1) is first
    indexes.get(3).put(note(n, "word " * 200) for n in range(500))
    assert 750_000 < indexes.get(3).bytes == first.bytes
    assert indexes.get(1) is not first
    assert indexes.get(2) is not second
    assert found(first, "word") == set(range(500))  # it still serves whoever holds it


def test_idle_indexes_go(monkeypatch: pytest.MonkeyPatch) -> None:
    indexes = Indexes(PLENTY, idle_seconds=60)
    one, two = indexes.get(1), indexes.get(2)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 50)
    assert indexes.get(2) is two
    monkeypatch.setattr(time, "monotonic", lambda: now + 100)
    assert indexes.get(2) is two
    assert indexes.get(1) is not one


def test_a_forgotten_index_closes_its_connection() -> None:
    index = index_of(note(1, "x"))
    connection = index._connection
    del index
    gc.collect()
    with pytest.raises(Exception, match="closed database"):
        connection.execute("SELECT 1")


def test_eight_threads_share_an_index() -> None:
    index, start, failures = index_of(), threading.Barrier(8), []

    def work(number: int) -> None:
        start.wait()
        try:
            for n in range(40):
                id = number * 1000 + n
                index.put([note(id, f"shared own{number}"), note(7, "shared", version=number * 100 + n)])
                assert id in found(index, f"shared own{number}")
                if n % 2:
                    index.remove([id])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(found(index, "shared")) == 8 * 20 + 1


def test_threads_that_ask_for_one_agent_get_one_index() -> None:
    indexes, start, got = Indexes(PLENTY, idle_seconds=60), threading.Barrier(8), []

    def work() -> None:
        start.wait()
        got.append(indexes.get(1))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 8
    assert len(set(map(id, got))) == 1
