"""resume, inbox and list_events make as many queries for ten thousand rows as for ten."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.calls import Agent, Object, Rest, in_this_thread
from tests.resume.filling import add_events, add_items, add_notes, add_tasks, time_passes
from tests.spaces.conftest import MakeSpace, join

FEW, MANY = 10, 10_000
QUERIES_MAX = {"resume": 24, "inbox": 3, "list_events": 3}  # with the credential's


def counted(agent: Agent, call: Callable[[Agent], Object]) -> tuple[list[str], Object]:
    """The queries that the call makes, and its answer."""
    with CaptureQueriesContext(connection) as made:
        answer = call(Agent(Rest(in_this_thread), agent.key, agent.handle, agent.pk))
    return [query["sql"] for query in made], answer


@pytest.mark.parametrize("name", QUERIES_MAX)
def test_the_number_of_queries_stays_the_same(
    atlas: Agent, boreas: Agent, make_space: MakeSpace, monkeypatch: pytest.MonkeyPatch, name: str
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

    def call(agent: Agent) -> Object:
        return agent.done(name, **({"max_bytes": 262_144} if name == "resume" else {"limit": 100}))

    atlas.done("resume")
    time_passes(atlas, minutes=11)
    atlas.done("resume")  # a repeat is what is counted: it shows the same window
    fill(FEW)
    counted(atlas, call)  # whatever is read once in a process
    few, little = counted(atlas, call)
    fill(MANY)
    many, much = counted(atlas, call)
    assert len(few) == len(many), [*few, "", *many]
    assert len(few) <= QUERIES_MAX[name], few
    assert len(str(much)) > len(str(little))
