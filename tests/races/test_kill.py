"""kill -9 of every process of a server: what was acknowledged is there, nothing is half written, a retry acts once."""

import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.calls import Agent, Rest, over_socket
from tests.races.arena import Arena, together
from tests.serving import Served, wait_for

NOTES, VERSIONS = 20, 25  # 500 saves
CLIENTS = 10
KILLED_AFTER = 200  # acknowledged saves
HALVES = {
    "notes without their revision": """
        SELECT count(*) FROM memory_note n WHERE agent_id = {agent} AND NOT EXISTS (
            SELECT 1 FROM memory_revision r WHERE r.note_id = n.id AND r.version = n.version)""",
    "revisions beyond their note": """
        SELECT count(*) FROM memory_revision r JOIN memory_note n ON n.id = r.note_id
        WHERE agent_id = {agent} AND r.version > n.version""",
    "versions without a revision": """
        SELECT coalesce(sum(version), 0) - (SELECT count(*) FROM memory_revision r JOIN memory_note m
            ON m.id = r.note_id WHERE m.agent_id = {agent}) FROM memory_note WHERE agent_id = {agent}""",
    "receipts without a revision": """
        SELECT count(*) FROM ledger_receipt c WHERE agent_id = {agent} AND NOT EXISTS (
            SELECT 1 FROM memory_revision r JOIN memory_note n ON n.id = r.note_id
            WHERE n.agent_id = c.agent_id AND n.name = c.resource_id AND r.version = c.version)""",
    "revisions without a receipt": """
        SELECT (SELECT count(*) FROM memory_revision r JOIN memory_note n ON n.id = r.note_id
            WHERE n.agent_id = {agent}) - (SELECT count(*) FROM ledger_receipt WHERE agent_id = {agent})""",
    "revisions without an event": """
        SELECT (SELECT count(*) FROM memory_revision r JOIN memory_note n ON n.id = r.note_id
            WHERE n.agent_id = {agent}) - (SELECT count(*) FROM ledger_event WHERE agent_id = {agent})""",
}


def one(database: str | Path, statement: str) -> int:
    """The number that a statement gives."""
    if isinstance(database, Path):
        with closing(sqlite3.connect(database)) as connection:
            return int(connection.execute(statement).fetchone()[0])
    with psycopg.connect(database) as server:
        row: Any = server.execute(statement.encode()).fetchone()
        return int(row[0])


def processes(pid: int) -> Iterator[int]:
    """The process and all that it has started, children first."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from processes(int(child))
    yield pid


def kill(server: Served) -> None:
    """End every process of the server at once."""
    for pid in [*processes(server.process.pid)]:
        os.kill(pid, signal.SIGKILL)
    server.process.wait(30)  # seconds


class Client:
    """Writes its share of the notes, version by version, each save under a key of its own."""

    def __init__(self, agent: Agent, names: list[str], acknowledged: threading.Semaphore) -> None:
        self.agent, self.acknowledged = agent, acknowledged
        self.waiting = [(name, version) for version in range(VERSIONS) for name in names]
        self.kept: list[tuple[str, int]] = []
        self.replayed = 0

    def work(self) -> None:
        """Save until all is saved or the server is gone."""
        while self.waiting:
            name, version = self.waiting[0]
            data = {"body": f"{name} {version + 1}", "expected_version": version}
            try:
                answer = self.agent.done("save_memory", name, **data, operation_key=f"{name}-{version}")
            except (OSError, HTTPException):
                return
            assert answer["operation"]["version"] == version + 1
            self.replayed += answer["replayed"]
            self.kept.append(self.waiting.pop(0))
            self.acknowledged.release()


@pytest.mark.parametrize("workers", ["1", "4"])
def test_every_acknowledged_save_survives_and_each_other_one_can_be_retried(arena: Arena, workers: str) -> None:
    acknowledged = threading.Semaphore(0)
    with arena.serving(WORKERS=workers) as server:
        agent = arena.agent(server)
        names = [f"note-{number}" for number in range(NOTES)]
        clients = [Client(agent, names[number::CLIENTS], acknowledged) for number in range(CLIENTS)]

        def killed() -> None:
            for _ in range(KILLED_AFTER):
                assert acknowledged.acquire(timeout=60)  # seconds
            kill(server)

        together([killed, *(client.work for client in clients)])
    kept = [save for client in clients for save in client.kept]
    assert KILLED_AFTER <= len(kept) < NOTES * VERSIONS
    if isinstance(arena.database, str):  # PostgreSQL ends what was running once it notices that nobody is left
        left = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""
        wait_for(lambda: one(arena.database, left) == 0, 30)  # seconds
    assert halves(arena, agent) == dict.fromkeys(HALVES, 0)

    with arena.serving() as server:
        again = Agent(Rest(over_socket(server.url)), agent.key, agent.handle, agent.pk)
        assert set(kept) <= {(name, version - 1) for name in names for version in bodies(again, name)}
        for client in clients:
            client.agent = again
        together([client.work for client in clients])
        assert [client.waiting for client in clients] == [[]] * CLIENTS
        assert sum(client.replayed for client in clients) <= CLIENTS
        for name in names:
            assert again.note(name)["version"] == VERSIONS
            assert list(bodies(again, name)) == list(range(VERSIONS, 0, -1))
    assert halves(arena, agent) == dict.fromkeys(HALVES, 0)


def bodies(agent: Agent, name: str) -> dict[int, str]:
    """The note's retained bodies by version, newest first; each must be what was saved as that version."""
    if agent.call("get_memory", name).code == "not_found":
        return {}
    items = agent.done("list_memory_revisions", name, limit=100, detail="full")["items"]
    found = {item["version"]: item["body"] for item in items}
    assert found == {version: f"{name} {version}" for version in found}
    return found


def halves(arena: Arena, agent: Agent) -> dict[str, int]:
    """How many half-written things there are, by what they are."""
    return {what: one(arena.database, sql.format(agent=agent.pk)) for what, sql in HALVES.items()}
