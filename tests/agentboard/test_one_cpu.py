"""Each worker process stays on one CPU."""

import multiprocessing
import os

import pytest

from agentboard.one_cpu import stay_on_one_cpu

pytestmark = pytest.mark.no_database


@pytest.fixture
def bound_to(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """What this process would be bound to, on a machine of which it may use the CPUs 2, 3 and 5."""
    bound: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5, 2, 3}, raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cpus: bound.append(cpus), raising=False)
    return bound


def test_the_workers_of_one_server_take_turns(bound_to: list[set[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 5):
        monkeypatch.setattr(multiprocessing.current_process(), "_name", f"SpawnProcess-{number}")
        stay_on_one_cpu()
    assert bound_to == [{3}, {5}, {2}, {3}]


def test_servers_of_one_worker_spread_by_process_id(bound_to: list[set[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    for pid in (300, 301, 302):
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        stay_on_one_cpu()
    assert bound_to == [{2}, {3}, {5}]


def test_a_system_without_the_call_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    stay_on_one_cpu()
