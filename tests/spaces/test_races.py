"""Many agents in one space at once, through four server processes on one database."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest

from tests.calls import Agent, Object, Reply, refusal
from tests.races.arena import arena, together
from tests.serving import wait_for
from tests.spaces.conftest import join, members

PROCESSES, AGENTS, TASKS, WRITERS = 4, 8, 50, 16
ROUNDS = 6
PATIENCE = 90  # seconds, for what takes a few
_numbers = count(1)


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Agent]]:
    """Agents of one person at a server of four processes; each call is a connection of its own, to any of them."""
    folder = tmp_path_factory.mktemp("spaces")
    with arena(folder) as place, place.serving(WORKERS=str(PROCESSES)) as server:
        yield [place.agent(server) for _ in range(AGENTS)]


@pytest.fixture
def space(crew: list[Agent]) -> str:
    """A private space of the first of them, which all others edit."""
    return new_space(crew, "editor")


def new_space(crew: list[Agent], role: str) -> str:
    """The id of a space of the first agent, where all others have this role."""
    number = next(_numbers)
    about = {"request_id": f"race-{number}", "name": f"race-{number}", "title": "Race"}
    space: str = crew[0].done("create_space", **about)["id"]
    for agent in crew[1:]:
        join(crew[0], space, agent, role)
    return space


def write(agent: Agent, space: str, kind: str = "TASK", **more: Any) -> str:
    """The id of a new entry."""
    return str(agent.done("create_space_entry", space, kind=kind, title="T", body="B", **more)["id"])


def later(agent: Agent, method: str, id: str | None, /, **data: Any) -> Callable[[], Reply]:
    """A call, to be made later."""
    return partial(agent.send, method, id, data)


def listed(agent: Agent, space: str, **data: Any) -> list[Object]:
    """All entries of the space."""
    items: list[Object] = []
    answer: Object = {"next_cursor": None}
    while "next_cursor" in answer:
        data |= {"cursor": answer["next_cursor"]} if answer["next_cursor"] else {}
        answer = agent.done("list_space_entries", space, limit=100, **data)
        items += answer["items"]
    return items


def one_won(replies: list[Reply], *codes: str) -> Reply:
    """The one reply that succeeded; all others were refused with one of the codes."""
    won = [reply for reply in replies if reply.code is None]
    assert len(won) == 1, [(reply.status, reply.json) for reply in replies]
    assert {reply.code for reply in replies} <= {None, *codes}
    return won[0]


# ---- tasks


def test_of_fifty_tasks_each_is_claimed_by_one_of_eight_agents_until_none_is_left(
    crew: list[Agent], space: str
) -> None:
    ids = {write(crew[0], space, priority=number % 4) for number in range(TASKS)}

    def work(agent: Agent) -> list[Object]:
        claimed = []
        while entry := agent.done("claim_next_task", space)["entry"]:
            claimed.append(entry)
        return claimed

    claims = together([partial(work, agent) for agent in crew])
    told = [(entry["id"], agent.handle) for agent, entries in zip(crew, claims, strict=True) for entry in entries]
    assert Counter(id for id, _ in told) == dict.fromkeys(ids, 1)
    found = listed(crew[0], space, state="claimed")
    assert {(entry["id"], entry["task"]["assignee"]) for entry in found} == set(told)
    assert {entry["version"] for entry in found} == {2}
    assert all(entry["version"] == 2 for entries in claims for entry in entries)


def test_of_sixteen_claims_of_one_task_one_wins(crew: list[Agent], space: str) -> None:
    for _ in range(ROUNDS):
        task = write(crew[0], space)
        agents = [crew[number % AGENTS] for number in range(WRITERS)]
        replies = together([later(agent, "claim_task", task, expected_version=1) for agent in agents])
        won = one_won(replies, "version_conflict")
        holder = agents[replies.index(won)].handle
        assert won.json["task"]["assignee"] == holder
        for reply in replies:
            if reply.code is not None:
                error = refusal(reply, "version_conflict")
                assert (error["current_version"], error["changed_by"]) == (2, holder)
                assert holder in error["message"]


def test_sixteen_claims_under_one_operation_key_take_one_task(crew: list[Agent], space: str) -> None:
    for _ in range(WRITERS):
        write(crew[0], space)
    for number in range(3):
        replies = together([later(crew[1], "claim_next_task", space, operation_key=f"k{number}")] * WRITERS)
        assert {reply.status for reply in replies} == {200}, [reply.json for reply in replies]
        assert sorted(reply.json["replayed"] for reply in replies) == [False] + [True] * (WRITERS - 1)
        assert len({str(reply.json["operation"]) for reply in replies}) == 1
        assert len(listed(crew[0], space, state="claimed")) == number + 1


class Shift:
    """Agents that work off a space's tasks while clients of theirs die: each task must end done exactly once."""

    def __init__(self, crew: list[Agent], space: str) -> None:
        self.crew, self.space = crew, space
        self.accepted: Counter[str] = Counter()  # reports that a task is done
        self.refused: Counter[str | None] = Counter()  # stale ones, by code
        self.deaths = 0
        self._lock = threading.Lock()

    def report(self, agent: Agent, claim: Object) -> None:
        """Say that the task is done, from the version at which it was claimed."""
        data = {"expected_version": claim["version"], "state": "done", "result": f"{agent.handle} {claim['version']}"}
        reply = agent.call("update_task", claim["id"], **data)
        with self._lock:
            if reply.code is None:
                self.accepted[claim["id"]] += 1
            else:
                self.refused[reply.code] += 1
                assert reply.json["error"]["current_version"] > claim["version"]

    def client(self, agent: Agent, chance: random.Random) -> None:
        """Work until all is done; every third client dies with a claim, and its report comes much later, or never."""
        stale: list[Object] = []

        def worked() -> bool:
            entry = agent.done("claim_next_task", self.space, lease_seconds=chance.choice((1, 2)))["entry"]
            if entry is None:
                return len(listed(agent, self.space, state="done")) == TASKS
            if chance.random() < 0.3:
                stale.append(entry)
            else:
                self.report(agent, entry)
            return False

        wait_for(worked, PATIENCE)
        with self._lock:
            self.deaths += len(stale)
        for claim in stale:
            self.report(agent, claim)


def test_every_task_ends_done_exactly_once_though_clients_die_and_no_stale_result_is_taken(
    crew: list[Agent], space: str
) -> None:
    for _ in range(TASKS):
        write(crew[0], space)
    shift = Shift(crew, space)
    together([partial(shift.client, agent, random.Random(number)) for number, agent in enumerate(crew)])
    done = listed(crew[0], space)
    assert {entry["task"]["state"] for entry in done} == {"done"}
    assert shift.accepted == {entry["id"]: 1 for entry in done}
    assert shift.deaths > TASKS / 10
    assert [*shift.refused] == ["version_conflict"]
    assert shift.refused.total() >= shift.deaths  # a living client may have been too late as well
    for entry in done:
        handle, claimed = entry["task"]["result"].split()
        assert (entry["task"]["assignee"], entry["version"]) == (handle, int(claimed) + 1)


def test_a_lapsed_holder_and_a_new_claim_at_once_leave_one_of_them_with_the_task(crew: list[Agent], space: str) -> None:
    tasks = [write(crew[0], space) for _ in range(ROUNDS)]
    for task in tasks:
        crew[1].done("claim_task", task, expected_version=1, lease_seconds=1)
    wait_for(lambda: len(listed(crew[0], space, state="open")) == ROUNDS, PATIENCE)
    for task in tasks:
        report = later(crew[1], "update_task", task, expected_version=2, state="done")
        claims = [later(agent, "claim_task", task, expected_version=2) for agent in crew[2:]]
        one_won(together([report, *claims]), "version_conflict")
        assert crew[0].done("get_space_entry", task)["version"] == 3


# ---- entries


def test_of_sixteen_updates_by_two_editors_one_wins_each_round_and_no_version_is_missing(
    crew: list[Agent], space: str
) -> None:
    entry = write(crew[0], space, "NOTE")
    bodies = ["B"]
    for version in range(1, ROUNDS + 1):
        updates = [
            later(
                crew[1 + n % 2], "update_space_entry", entry, expected_version=version, title="T", body=f"{version} {n}"
            )
            for n in range(WRITERS)
        ]
        replies = together(updates)
        won = one_won(replies, "version_conflict")
        number = replies.index(won)
        bodies.append(f"{version} {number}")
        assert (won.json["version"], won.json["author"]) == (version + 1, crew[1 + number % 2].handle)
        for reply in replies:
            if reply.code is not None:
                assert reply.json["error"]["current_version"] == version + 1
                assert f"+{bodies[-1]}" in reply.json["error"]["diff"]
    items = crew[0].done("list_entry_revisions", entry, limit=100, detail="full")["items"]
    assert [item["version"] for item in items] == list(range(ROUNDS + 1, 0, -1))
    assert [item["body"] for item in items] == bodies[::-1]


def test_an_answer_tells_of_the_version_that_the_call_made_though_another_follows_at_once(
    crew: list[Agent], space: str
) -> None:
    entry = write(crew[0], space, "NOTE")
    last = 60

    def chase(agent: Agent) -> list[tuple[int, int, str]]:
        """Write every version that nobody else has written yet: those asked for, those told, the titles told."""
        told, version = [], 1
        while version <= last:
            data = {"expected_version": version, "title": f"{agent.handle} {version}", "body": "B"}
            reply = agent.call("update_space_entry", entry, **data)
            if reply.code is None:
                told.append((version + 1, reply.json["version"], reply.json["title"]))
                version += 1
            else:
                version = max(version, refusal(reply, "version_conflict")["current_version"])
        return told

    for agent, told in zip(crew, together([partial(chase, agent) for agent in crew]), strict=True):
        for asked, version, title in told:
            assert (version, title) == (asked, f"{agent.handle} {asked - 1}")


def test_sixteen_creations_under_one_operation_key_make_one_entry(crew: list[Agent], space: str) -> None:
    data = {"kind": "NOTE", "title": "T", "body": "B", "operation_key": "k"}
    replies = together([later(crew[1], "create_space_entry", space, **data)] * WRITERS)
    assert sorted(reply.status for reply in replies) == [200] * (WRITERS - 1) + [201]
    assert len({str(reply.json["operation"]) for reply in replies}) == 1
    assert len(listed(crew[0], space)) == 1


# ---- dependencies


@pytest.mark.parametrize("size", [2, 3, 5])
def test_changes_of_dependencies_at_once_never_close_a_circle(crew: list[Agent], space: str, size: int) -> None:
    for _ in range(ROUNDS):
        ring = [write(crew[0], space) for _ in range(size)]
        changes = [
            later(crew[0], "update_task", task, expected_version=1, depends_on=[ring[number - 1]])
            for number, task in enumerate(ring)
        ]
        replies = together(changes)
        refused = [reply for reply in replies if reply.code is not None]
        assert [reply.code for reply in refused] == ["state_conflict"], [reply.json for reply in replies]
        waits = [crew[0].done("get_space_entry", task)["task"]["depends_on"] for task in ring]
        assert sorted(len(ahead) for ahead in waits) == [0] + [1] * (size - 1)


# ---- members


def owners(crew: list[Agent], space: str) -> set[str]:
    """The owners that the space has, as whichever of them still may read it tells."""
    replies = [agent.call("get_space", space) for agent in crew]
    found = {
        handle
        for reply in replies
        if reply.code is None
        for handle, (role, state) in members(reply.json).items()
        if (role, state) == ("owner", "active")
    }
    assert {reply.code for reply in replies} <= {None, "not_found"}
    return found


@pytest.mark.parametrize("act", ["leave", "resign", "remove-the-next", "demote-the-next", "mixed"])
def test_whatever_owners_do_to_each_other_at_once_one_stays(crew: list[Agent], act: str) -> None:
    for number in range(ROUNDS):
        some = crew[: 2 + number % 3]
        space = new_space(some, "owner")

        def deed(place: int, some: list[Agent] = some, space: str = space) -> Callable[[], Reply]:
            agent, following = some[place], some[(place + 1) % len(some)]
            deeds = {
                "leave": later(agent, "remove_space_member", space, agent=agent.handle),
                "resign": later(agent, "set_space_member", space, agent=agent.handle, role="reader"),
                "remove-the-next": later(agent, "remove_space_member", space, agent=following.handle),
                "demote-the-next": later(agent, "set_space_member", space, agent=following.handle, role="editor"),
            }
            return deeds[act] if act in deeds else [*deeds.values()][place % 4]

        replies = together([deed(place) for place in range(len(some))])
        assert {reply.code for reply in replies} <= {None, "state_conflict", "forbidden", "not_found"}
        assert owners(some, space), [reply.json for reply in replies]


# ---- spaces


def test_sixteen_creations_under_one_request_id_make_one_space(crew: list[Agent]) -> None:
    for number in range(ROUNDS):
        about = {"request_id": f"once-{number}", "name": f"once-{number}", "title": "T"}
        before = len(crew[2].done("list_spaces", limit=100)["items"])
        replies = together([later(crew[2], "create_space", None, **about)] * WRITERS)
        assert sorted(reply.status for reply in replies) == [200] * (WRITERS - 1) + [201], [r.json for r in replies]
        assert len({str(reply.json["operation"]) for reply in replies}) == 1
        assert len(crew[2].done("list_spaces", limit=100)["items"]) == before + 1


def test_of_sixteen_creations_of_one_name_one_makes_it(crew: list[Agent]) -> None:
    for number in range(3):
        about = {"name": f"name-{number}", "title": "T"}
        ids = [f"n{number}-{n}" for n in range(WRITERS)]
        replies = together([later(crew[3], "create_space", None, request_id=id, **about) for id in ids])
        assert one_won(replies, "already_exists").status == 201
