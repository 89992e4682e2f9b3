"""list_space_entries: pinned first, then by priority, then the latest; filtered, searched, in pages."""

from datetime import datetime
from typing import Any

import pytest

from spaces.models import Entry
from tests.board import Board
from tests.calls import Agent, Object
from tests.spaces.conftest import MakeEntry, MakeSpace, broken, lapse, like, pages


def titles(agent: Agent, space: str, **data: Any) -> list[str]:
    return [item["title"] for page in pages(agent, "list_space_entries", space, **data) for item in page]


def refused(agent: Agent, space: str, **data: Any) -> list[str]:
    """The paths of the arguments that a listing is refused for."""
    error = agent.refused("invalid_arguments", "list_space_entries", space, **data)
    return [detail["path"] for detail in error["details"]]


# ---- what an item is


def test_an_item_is_the_entry_as_a_read_gives_it(
    atlas: Agent, reader: Agent, space: str, make_entry: MakeEntry
) -> None:
    for kind in ("NOTE", "TASK"):
        make_entry(atlas, space, kind=kind, summary="s", tags=["b", "a"], title=kind)
    for agent in (atlas, reader):
        for item in agent.done("list_space_entries", space, detail="full")["items"]:
            read = agent.done("get_space_entry", item["id"])
            del read["evidence"]
            assert item == read
            del read["body"]
            (short,) = agent.done("list_space_entries", space, kind=item["kind"])["items"]
            assert short == read


def test_only_the_spaces_own_are_listed(
    atlas: Agent, boreas: Agent, space: str, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    assert atlas.done("list_space_entries", space) == {"items": []}
    other = make_space(atlas)
    make_entry(atlas, space, title="here")
    make_entry(atlas, other, title="there")
    make_entry(boreas, make_space(boreas), title="far")
    assert (titles(atlas, space), titles(atlas, other)) == (["here"], ["there"])


def test_an_outsider_lists_a_public_space_and_knows_of_no_private_one(
    atlas: Agent, boreas: Agent, space: str, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    public = make_space(atlas, visibility="public")
    make_entry(atlas, public)
    assert titles(boreas, public) == ["Title"]
    told = [
        boreas.refused("not_found", "list_space_entries", id, **data)["message"].replace(id, "…")
        for id in (space, like(space))
        for data in ({}, {"q": "body"}, {"tag": "a"})
    ]
    assert len(set(told)) == 1


def test_hidden_ones_are_not_listed_and_not_found(atlas: Agent, make_space: MakeSpace, make_entry: MakeEntry) -> None:
    public = make_space(atlas, visibility="public")
    hidden = make_entry(atlas, public, title="hidden", body="words")
    make_entry(atlas, public, title="shown", body="words")
    assert titles(atlas, public, q="words") == ["shown", "hidden"]
    Entry.objects.filter(ref=hidden["id"]).update(hidden_at=hidden["created_at"])
    assert titles(atlas, public) == titles(atlas, public, q="words") == ["shown"]


# ---- order


def test_pinned_ones_come_first_then_by_priority_then_the_latest_changed(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    order = [(True, 2), (True, 0), (False, 3), (False, 2), (False, 1), (False, 0)]
    expected = [f"{pinned} {priority} {age}" for pinned, priority in order for age in (2, 1)]
    for age in (1, 2):
        for pinned, priority in sorted(order):
            make_entry(atlas, space, title=f"{pinned} {priority} {age}", pinned=pinned, priority=priority)
    assert titles(atlas, space) == expected
    assert titles(atlas, space, limit=1) == expected
    assert titles(atlas, space, limit=5) == expected


def test_a_change_of_any_kind_makes_an_entry_the_latest(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    made = {title: make_entry(atlas, space, title=title, kind="TASK")["id"] for title in "abcd"}
    atlas.done("claim_task", made["b"], expected_version=1)
    atlas.done("update_space_entry", made["a"], expected_version=1, title="a", body="New")
    atlas.done("add_evidence", made["c"], body="Changes nothing")
    assert titles(atlas, space) == ["a", "b", "d", "c"]


def test_entries_changed_at_the_very_same_time_are_all_listed_once(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    for number in range(7):
        made = make_entry(atlas, space, title=f"{number}")
    at = datetime.fromisoformat(made["updated_at"])
    Entry.objects.filter(space__ref=space).update(updated_at=at)
    assert titles(atlas, space, limit=2) == [f"{number}" for number in reversed(range(7))]


# ---- filters


@pytest.fixture
def shelf(atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry) -> str:
    """A space with entries that differ in what can be filtered by."""

    def task(title: str, holder: Agent | None = None, state: str | None = None, **more: Any) -> str:
        id: str = make_entry(atlas, space, kind="TASK", title=title, **more)["id"]
        if holder:
            holder.done("claim_task", id, expected_version=1)
        if holder and state:
            holder.done("update_task", id, expected_version=2, state=state)
        return id

    make_entry(atlas, space, title="note", tags=["ops", "db"], priority=1)
    make_entry(atlas, space, title="decision", kind="DECISION", tags=["ops-team"])
    make_entry(atlas, space, title="knowledge", kind="KNOWLEDGE", summary="s", tags=["db"])
    old = make_entry(atlas, space, title="archived", tags=["ops"])["id"]
    atlas.done("archive_space_entry", old, expected_version=1, archived=True)
    task("open", tags=["ops"], priority=2)
    task("claimed", editor)
    task("mine", atlas)
    task("blocked", editor, "blocked", tags=["db"])
    task("working", editor, "in_progress")
    task("done", editor, "done")
    task("cancelled", atlas, "cancelled")
    lapse(task("lapsed", editor))
    lapse(task("lapsed-blocked", editor, "blocked", priority=3))
    return space


TASKS = {
    "open", "claimed", "mine", "blocked", "working", "done", "cancelled", "lapsed", "lapsed-blocked"
}  # fmt: skip


FILTERED: list[tuple[Object, set[str]]] = [
    ({}, TASKS | {"note", "decision", "knowledge"}),
    ({"kind": "TASK"}, TASKS),
    ({"kind": "NOTE"}, {"note"}),
    ({"kind": "DECISION"}, {"decision"}),
    ({"kind": "KNOWLEDGE"}, {"knowledge"}),
    ({"tag": "ops"}, {"note", "open"}),
    ({"tag": "ops-team"}, {"decision"}),
    ({"tag": "op"}, set()),
    ({"tag": "team"}, set()),
    ({"tag": "db", "kind": "NOTE"}, {"note"}),
    ({"state": "open"}, {"open", "lapsed", "lapsed-blocked"}),
    ({"state": "claimed"}, {"claimed", "mine"}),
    ({"state": "in_progress"}, {"working"}),
    ({"state": "blocked"}, {"blocked"}),
    ({"state": "done"}, {"done"}),
    ({"state": "cancelled"}, {"cancelled"}),
    ({"state": "open", "tag": "ops"}, {"open"}),
    ({"state": "open", "kind": "NOTE"}, set()),
    ({"priority": 0}, TASKS - {"open", "lapsed-blocked"} | {"decision", "knowledge"}),
    ({"priority": 1}, {"note"}),
    ({"priority": 2}, {"open"}),
    ({"priority": 3, "state": "open"}, {"lapsed-blocked"}),
    ({"archived": True}, {"archived"}),
    ({"archived": True, "tag": "db"}, set()),
    ({"archived": False, "tag": "ops"}, {"note", "open"}),
]


def test_filters_keep_what_fits_all_of_them(atlas: Agent, shelf: str) -> None:
    for arguments, expected in FILTERED:
        assert set(titles(atlas, shelf, **arguments)) == expected, arguments
        paged = titles(atlas, shelf, limit=5, **arguments)
        assert sorted(paged) == sorted(expected), arguments


def test_a_state_filter_and_the_shape_agree(atlas: Agent, shelf: str) -> None:
    for state in ("open", "claimed", "in_progress", "blocked", "done", "cancelled"):
        items = atlas.done("list_space_entries", shelf, state=state)["items"]
        assert {item["task"]["state"] for item in items} == {state}


def test_an_assignee_is_who_holds_a_task_now(atlas: Agent, editor: Agent, boreas: Agent, shelf: str) -> None:
    assert set(titles(atlas, shelf, assignee=editor.handle, state="claimed")) == {"claimed"}
    held = set(titles(atlas, shelf, assignee=editor.handle))
    assert {"claimed", "blocked", "working"} <= held
    assert not held & {"lapsed", "lapsed-blocked", "mine", "open"}
    assert titles(atlas, shelf, assignee=boreas.handle) == titles(atlas, shelf, assignee="nobody") == []


# ---- words


def test_q_finds_entries_that_hold_all_its_words_wherever_they_stand(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    make_entry(atlas, space, title="Ledger", body="import of march")
    make_entry(atlas, space, title="b", body="The LÉDGER, again", summary="march", kind="DECISION")
    make_entry(atlas, space, title="c", body="ledger only", tags=["spring"])
    task = make_entry(atlas, space, title="d", body="task", kind="TASK")["id"]
    editor.done("claim_task", task, expected_version=1)
    editor.done("update_task", task, expected_version=2, result="The ledger of march is whole")
    for q, expected in (
        ("ledger", ["d", "c", "b", "Ledger"]),
        ("ledger march", ["d", "b", "Ledger"]),
        ("march led", ["d", "b", "Ledger"]),
        ("spring ledger", ["c"]),
        ("whole", ["d"]),
        ("ledger april", []),
        ("dger", []),
    ):
        assert titles(atlas, space, q=q) == expected, q
        assert titles(atlas, space, q=q, limit=1) == expected, q
    assert titles(atlas, space, q="ledger", kind="DECISION") == ["b"]
    assert titles(atlas, space, q="ledger", tag="spring") == ["c"]
    assert titles(atlas, space, q="ledger", assignee=editor.handle) == ["d"]


def test_text_without_word_gaps_is_found_by_any_part(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    make_entry(atlas, space, title="元帳の取り込み", body="三月の合計")
    assert titles(atlas, space, q="取り込み") == titles(atlas, space, q="月の合") == ["元帳の取り込み"]


def test_a_found_entry_shows_a_snippet_and_no_other_item_does(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    make_entry(atlas, space, body="x " * 500 + "the ledger of march" + " y" * 500)
    (item,) = atlas.done("list_space_entries", space, q="ledger")["items"]
    assert "ledger of march" in item["snippet"]
    assert len(item["snippet"]) <= 160 + 2
    assert "body" not in item
    (item,) = atlas.done("list_space_entries", space)["items"]
    assert "snippet" not in item


@pytest.mark.parametrize(
    "q", ["POL-358", "multi-agent", "don't", '"', "*", "a AND", "(x", "a:b", "NEAR(a b)", "%", "_"]
)
def test_marks_are_no_query_syntax(atlas: Agent, space: str, make_entry: MakeEntry, q: str) -> None:
    make_entry(atlas, space, title="all", body=f"POL-358 multi-agent don't a:b a AND b (x) NEAR(a b) {q}")
    make_entry(atlas, space, title="none", body="zzz")
    assert "none" not in titles(atlas, space, q=q)
    assert titles(atlas, space, q=q) in (["all"], [])
    if any(character.isalnum() for character in q):
        assert titles(atlas, space, q=q) == ["all"]


def test_what_is_found_follows_every_write(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    assert titles(atlas, space, q="word") == []
    entry = make_entry(atlas, space, title="a", body="word")["id"]
    assert titles(atlas, space, q="word") == ["a"]
    atlas.done("update_space_entry", entry, expected_version=1, title="a", body="other")
    assert titles(atlas, space, q="word") == []
    atlas.done("restore_space_entry", entry, version=1, expected_version=2)
    assert titles(atlas, space, q="word") == ["a"]
    atlas.done("archive_space_entry", entry, expected_version=3, archived=True)
    assert titles(atlas, space, q="word") == []
    assert titles(atlas, space, q="word", archived=True) == ["a"]


def test_old_versions_and_evidence_are_not_searched_nor_other_spaces(
    atlas: Agent, space: str, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    entry = make_entry(atlas, space, body="oldword")["id"]
    atlas.done("update_space_entry", entry, expected_version=1, title="a", body="new")
    atlas.done("add_evidence", entry, body="proofword")
    make_entry(atlas, make_space(atlas), body="farword")
    for q in ("oldword", "proofword", "farword"):
        assert titles(atlas, space, q=q) == []


# ---- pages


def test_a_page_has_20_items_unless_asked_for_1_to_100(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    for number in range(101):
        make_entry(atlas, space, title=f"{number}")
    assert [len(page) for page in pages(atlas, "list_space_entries", space)] == [20] * 5 + [1]
    assert [len(page) for page in pages(atlas, "list_space_entries", space, limit=100)] == [100, 1]
    assert [len(page) for page in pages(atlas, "list_space_entries", space, limit=100, q="body")] == [100, 1]


def test_each_entry_is_met_exactly_once_while_others_come_and_change(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    kept = [make_entry(atlas, space, title=f"k{number}", priority=number % 4)["title"] for number in range(30)]
    others = [make_entry(atlas, space, title=f"o{number}", priority=number % 4) for number in range(12)]
    seen: list[str] = []
    for number, page in enumerate(pages(atlas, "list_space_entries", space, limit=4)):
        seen += [item["title"] for item in page]
        make_entry(editor, space, title=f"n{number}", priority=number % 4, pinned=number % 2 == 0)
        other = others[number]
        about = {"title": other["title"], "body": "Changed", "priority": (number + 2) % 4, "pinned": number % 3 == 0}
        editor.done("update_space_entry", other["id"], expected_version=1, **about)
    assert sorted(title for title in seen if title in kept) == sorted(kept)
    assert [seen.count(title) for title in kept] == [1] * 30


def test_an_entry_changed_after_it_was_met_is_not_met_again(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    made = {title: make_entry(atlas, space, title=title)["id"] for title in "abcdef"}
    seen: list[str] = []
    for number, page in enumerate(pages(atlas, "list_space_entries", space, limit=2)):
        seen += [item["title"] for item in page]
        if number == 0:
            atlas.done("update_space_entry", made["f"], expected_version=1, title="f", body="Now the latest")
    assert seen == ["f", "e", "d", "c", "b", "a"]


# ---- cursors


def test_a_cursor_of_another_query_is_refused(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    for _ in range(3):
        make_entry(atlas, space, kind="TASK", tags=["t"])
    cursor = atlas.done("list_space_entries", space, limit=1)["next_cursor"]
    others: list[Object] = [
        {"kind": "TASK"},
        {"tag": "t"},
        {"state": "open"},
        {"assignee": atlas.handle},
        {"priority": 0},
        {"archived": True},
        {"detail": "full"},
        {"q": "body"},
    ]
    for other in others:
        assert refused(atlas, space, cursor=cursor, **other) == ["cursor"]
    assert len(titles(atlas, space, cursor=cursor, archived=False, detail="summary")) == 2  # defaults, named


def test_a_cursor_of_another_space_list_or_agent_is_refused(
    atlas: Agent, reader: Agent, board: Board, space: str, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    other = make_space(atlas)
    for at in (space, other):
        entries = [make_entry(atlas, at)["id"] for _ in range(2)]
    atlas.done("update_space_entry", entries[0], expected_version=1, title="x", body="x")
    cursor = atlas.done("list_space_entries", space, limit=1)["next_cursor"]
    assert refused(atlas, other, cursor=cursor) == ["cursor"]
    assert refused(reader, space, cursor=cursor) == ["cursor"]
    foreign = atlas.done("list_entry_revisions", entries[0], limit=1)["next_cursor"]
    assert refused(atlas, space, cursor=foreign) == ["cursor"]
    assert refused(atlas, space, cursor=atlas.done("list_spaces", limit=1)["next_cursor"]) == ["cursor"]
    assert len(titles(board.with_scopes(atlas, "coordination:read"), space, cursor=cursor)) == 1  # the agent's


def test_a_cursor_that_was_tampered_with_is_refused(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    for _ in range(2):
        make_entry(atlas, space)
    for text in broken(atlas.done("list_space_entries", space, limit=1)["next_cursor"]):
        assert refused(atlas, space, cursor=text) == ["cursor"]


MISFITS: list[Object] = [
    {"kind": "note"},
    {"tag": "Not a slug"},
    {"state": "finished"},
    {"assignee": "@atlas"},
    {"priority": 4},
    {"priority": "high"},
    {"archived": "yes"},
    {"q": ""},
    {"q": "a" * 1025},
    {"q": " ".join(f"w{number}" for number in range(33))},
    {"detail": "all"},
    {"limit": 0},
    {"limit": 101},
    {"cursor": ""},
    {"author": "atlas"},
]


def test_an_argument_that_does_not_fit_is_refused_and_named(atlas: Agent, space: str) -> None:
    for arguments in MISFITS:
        assert refused(atlas, space, **arguments) == [*arguments]


def test_a_q_of_nul_is_refused(atlas: Agent, space: str) -> None:
    assert refused(atlas, space, q="\0") == ["q"]


def test_listing_needs_its_scope(atlas: Agent, board: Board, space: str) -> None:
    board.with_scopes(atlas, "coordination:write").refused("insufficient_scope", "list_space_entries", space)
