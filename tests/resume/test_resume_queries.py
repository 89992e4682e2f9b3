"""resume, inbox and list_events make as many queries for ten thousand rows as for ten."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.calls import Agent, Object, Rest, in_this_thread
from tests.resume.filling import add_events, add_items, add_notes, add_tasks, time_passes
from tests.spaces.conftest import MakeSpace, join

FEW, MANY = 10, 10_000
READS: dict[str, tuple[Object, int]] = {  # arguments, and how many queries at most, with the credential's
    "resume": ({"max_bytes": 262_144}, 24),
    "inbox": ({"limit": 100}, 3),
    "list_events": ({"limit": 100}, 3),
}


def counted(agent: Agent, name: str, arguments: Object) -> tuple[list[str], Object]:
    """The queries that the call makes, and its answer."""
    with CaptureQueriesContext(connection) as made:
        answer = Agent(Rest(in_this_thread), agent.key, agent.handle, agent.pk).done(name, **arguments)
    return [query["sql"] for query in made], answer


def test_the_number_of_queries_stays_the_same(
    atlas: Agent, boreas: Agent, make_space: MakeSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentboard.identity.caller.note_use", lambda key_id: None)  # writes once a minute
    space = make_space(atlas)
    join(atlas, space, boreas, "reader")

    def fill(number: int) -> None:
        names = [f"note-{number}-{place}" for place in range(number)]
        references = [{"name": f"note-{number}-0", "version": 1}, {"name": "gone", "version": 1}]
        add_notes(atlas, names[: number // 2], memory_references=references)
        add_notes(atlas, names[number // 2 :], due=True, memory_references=references)
        add_tasks(atlas, space, number // 2, held=True)
        add_tasks(atlas, space, number // 2)
        add_items(atlas, number)
        add_events(atlas, names)

    def calls() -> dict[str, tuple[list[str], Object]]:
        return {name: counted(atlas, name, arguments) for name, (arguments, _) in READS.items()}

    atlas.done("resume")
    time_passes(atlas, minutes=11)
    atlas.done("resume")  # a repeat is what is counted: it shows the same window
    fill(FEW)
    calls()  # whatever is read once in a process
    before = calls()
    fill(MANY)
    after = calls()
    for name, (_, most) in READS.items():
        few, many = before[name][0], after[name][0]
        assert len(few) == len(many), [name, *few, "", *many]
        assert len(few) <= most, [name, *few]
        assert len(str(after[name][1])) > len(str(before[name][1])), name
