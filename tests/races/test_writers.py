"""Many writers at once: of any number exactly one wins, and nothing of the winner is lost."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.calls import Agent, Reply, refusal
from tests.races.arena import NOTES_MAX, Arena, together
from tests.serving import Served

WRITERS = 16


@pytest.fixture
def racer(arena: Arena, server: Served) -> Agent:
    """An agent that has done nothing yet."""
    return arena.agent(server)


def save(agent: Agent, name: str, body: str, version: int, **more: Any) -> Callable[[], Reply]:
    """A save, to be done later."""
    return partial(agent.send, "save_memory", name, {"body": body, "expected_version": version, **more})


def winner(replies: list[Reply], code: str = "version_conflict") -> Reply:
    """The one reply that succeeded; all others were refused with the code."""
    won = [reply for reply in replies if reply.code is None]
    assert len(won) == 1, [(reply.status, reply.json) for reply in replies]
    for reply in replies:
        if reply.code is not None:
            refusal(reply, code)
    return won[0]


def test_of_sixteen_saves_from_one_version_one_wins_each_round(racer: Agent) -> None:
    bodies = ["start"]
    racer.save("note", "start")
    for version in range(1, 9):
        replies = together([save(racer, "note", f"{version} by {n}", version) for n in range(WRITERS)])
        assert winner(replies).json["version"] == version + 1
        bodies.append(f"{version} by {replies.index(winner(replies))}")
        for reply in replies:
            if reply.code is not None:
                assert reply.json["error"]["current_version"] == version + 1
                assert reply.json["error"]["diff"].endswith(f"+{bodies[-1]}\n\\ No newline at end of file")
    items = racer.done("list_memory_revisions", "note", limit=100, detail="full")["items"]
    assert [item["version"] for item in items] == list(range(9, 0, -1))
    assert [item["body"] for item in items] == bodies[::-1]


def test_of_sixteen_creators_one_creates_and_fifteen_are_told(racer: Agent) -> None:
    for number in range(4):
        name = f"note-{number}"
        replies = together([save(racer, name, f"by {n}", 0) for n in range(WRITERS)])
        won = winner(replies)
        assert (won.status, won.json["version"]) == (201, 1)
        assert racer.note(name)["body"] == f"by {replies.index(won)}"
        assert len(racer.done("list_memory_revisions", name)["items"]) == 1


def test_of_sixteen_who_create_a_deleted_note_again_one_does(racer: Agent) -> None:
    racer.save("note")
    racer.done("delete_memory", "note", expected_version=1)
    won = winner(together([save(racer, "note", f"by {n}", 0) for n in range(WRITERS)]))
    assert (won.status, won.json["version"]) == (201, 3)
    assert [item["version"] for item in racer.done("list_memory_revisions", "note")["items"]] == [3]


def test_200_of_200_increments_by_two_clients_survive(racer: Agent) -> None:
    racer.save("counter", "0")

    def increments() -> None:
        for _ in range(100):
            while True:
                note = racer.note("counter")
                body = str(int(note["body"]) + 1)
                reply = racer.call("save_memory", "counter", body=body, expected_version=note["version"])
                if reply.code is None:
                    break
                refusal(reply, "version_conflict")

    together([increments] * 2)
    note = racer.note("counter")
    assert (note["body"], note["version"]) == ("200", 201)


WRITES: dict[str, dict[str, Any]] = {
    "save_memory": {"body": "saved"},
    "edit_memory": {"append": "edited"},
    "restore_memory": {"version": 1},
    "mark_memory_reviewed": {"review_after": "2030-01-01T00:00:00Z"},
    "delete_memory": {},
}


@pytest.mark.parametrize("pair", [("restore_memory", "save_memory"), ("delete_memory", "save_memory"), tuple(WRITES)])
def test_of_writes_of_different_kinds_one_wins(racer: Agent, pair: tuple[str, ...]) -> None:
    for number in range(5):
        name = f"note-{number}"
        racer.save(name, "one")
        racer.save(name, "two", 1, tags=["t"])
        works = [
            partial(racer.send, method, name, {"expected_version": 2, **WRITES[method]})
            for method in pair
            for _ in range(3)
        ]
        replies = together(works)
        won = [reply for reply in replies if reply.code is None]
        assert [reply.json["version"] for reply in won] == [3], [reply.json for reply in replies]
        gone = "deleted" in won[0].json
        assert {reply.code for reply in replies} - {None} <= {"not_found" if gone else "version_conflict"}
        if not gone:
            versions = [item["version"] for item in racer.done("list_memory_revisions", name)["items"]]
            assert versions == [3, 2, 1]


def test_one_operation_key_from_sixteen_threads_acts_once(racer: Agent) -> None:
    for number in range(4):
        name, key = f"note-{number}", f"key-{number}"
        for version in (0, 1):
            replies = together([save(racer, name, "x", version, operation_key=f"{key}-{version}")] * WRITERS)
            assert {reply.status for reply in replies} <= {200, 201}, [reply.json for reply in replies]
            assert sorted(reply.json["replayed"] for reply in replies) == [False] + [True] * (WRITERS - 1)
            assert len({str(reply.json["operation"]) for reply in replies}) == 1
        assert len(racer.done("list_memory_revisions", name)["items"]) == 2


def test_one_operation_key_for_sixteen_notes_makes_one_of_them(racer: Agent) -> None:
    replies = together([save(racer, f"note-{n}", "x", 0, operation_key="key") for n in range(WRITERS)])
    winner(replies, "operation_key_conflict")
    assert len(racer.done("list_memory")["items"]) == 1


# ---- rules over several notes


def superseding(agent: Agent, name: str, old: str, version: int) -> Callable[[], Reply]:
    return save(agent, name, "new", 0, supersedes={"name": old, "expected_version": version})


def test_of_two_who_supersede_one_note_one_does_and_the_others_note_does_not_exist(racer: Agent) -> None:
    for number in range(6):
        old, names = f"old-{number}", [f"new-{number}-a", f"new-{number}-b"]
        racer.save(old)
        replies = together([superseding(racer, name, old, 1) for name in names])
        won = names[replies.index(winner(replies))]
        (lost,) = set(names) - {won}
        assert racer.note(old)["superseded_by"] == won
        racer.refused("not_found", "get_memory", lost)


def test_superseding_and_saving_one_note_at_once_lets_one_win(racer: Agent) -> None:
    for number in range(8):
        old, new = f"old-{number}", f"new-{number}"
        racer.save(old)
        works = [superseding(racer, new, old, 1), *(save(racer, old, f"by {n}", 1) for n in range(3))]
        replies = together(works)
        won = winner(replies)
        note = racer.note(old)
        assert note["version"] == 2
        if won is replies[0]:
            assert (note["status"], racer.note(new)["version"]) == ("superseded", 1)
        else:
            assert note["status"] == "active"
            racer.refused("not_found", "get_memory", new)


def test_successors_named_at_once_never_make_a_circle(racer: Agent) -> None:
    for number in range(6):
        a, b, c = (f"{letter}-{number}" for letter in "abc")
        for name in (a, b, c):
            racer.save(name)
        pairs = [(a, b), (b, c), (c, a)]
        replies = together([save(racer, name, "x", 1, superseded_by=next_) for name, next_ in pairs])
        refused = [reply for reply in replies if reply.code is not None]
        assert len(refused) == 1, [reply.json for reply in replies]
        refusal(refused[0], "state_conflict")


def test_references_and_deletions_at_once_never_end_in_a_fault(racer: Agent) -> None:
    for number in range(6):
        base, name = f"base-{number}", f"note-{number}"
        racer.save(base)
        references = [{"name": base, "version": 1}]
        works = [save(racer, f"{name}-{n}", "x", 0, memory_references=references) for n in range(4)]
        works.append(partial(racer.send, "delete_memory", base, {"expected_version": 1}))
        codes = {reply.code for reply in together(works)}
        assert codes <= {None, "reference_unavailable"}


def test_a_quota_raced_at_its_limit_is_used_up_and_never_exceeded(racer: Agent) -> None:
    for number in range(NOTES_MAX - 5):
        racer.save(f"note-{number}")
    replies = together([save(racer, f"last-{n}", "x", 0) for n in range(WRITERS)])
    codes = [reply.code for reply in replies]
    assert (codes.count(None), codes.count("quota_exceeded")) == (5, WRITERS - 5), codes
    assert racer.done("whoami")["use"]["notes"] == NOTES_MAX
    racer.done("delete_memory", "note-0", expected_version=1)
    works = [save(racer, "note-0", "x", 0), *(save(racer, f"more-{n}", "x", 0) for n in range(7))]
    winner(together(works), "quota_exceeded")
    assert racer.done("whoami")["use"]["notes"] == NOTES_MAX


# ---- readers


def test_what_was_acknowledged_is_read_listed_counted_and_found_at_once_by_whichever_process(racer: Agent) -> None:
    racer.done("search_memory", q="warm")
    for number in range(1, 25):
        name = f"note-{number}"
        racer.save(name, f"word-{number} everywhere", tags=["t"])
        assert racer.note(name)["version"] == 1
        found = racer.done("search_memory", q=f"word-{number} everywhere")["items"]
        assert [item["name"] for item in found] == [name]
        listed = racer.done("list_memory", order="updated", limit=1)
        assert (listed["items"][0]["name"], listed["tags"]) == (name, [{"tag": "t", "count": number}])


def test_a_reader_of_pages_meets_every_note_once_while_others_write(racer: Agent) -> None:
    kept = [f"n{number:02}" for number in range(0, 60, 2)]
    for name in kept:
        racer.save(name)

    def read() -> list[str]:
        seen: list[str] = []
        more: dict[str, Any] = {}
        while True:
            answer = racer.done("list_memory", limit=4, **more)
            seen += [item["name"] for item in answer["items"]]
            if "next_cursor" not in answer:
                return seen
            more = {"cursor": answer["next_cursor"]}

    def write() -> list[str]:
        for number in range(1, 60, 2):
            racer.save(f"n{number:02}")
            racer.save(f"n{number - 1:02}", "changed", 1)
            racer.done("delete_memory", f"n{number:02}", expected_version=1)
        return []

    for seen in together([read, read, write])[:2]:
        assert [name for name in seen if name in kept] == kept
        assert len(seen) == len(set(seen))
