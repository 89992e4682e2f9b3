"""The limit program's statements, written by hand for the product's tables, as few as each database needs."""

import sqlite3
import threading
from datetime import UTC, datetime
from typing import ClassVar, NamedTuple, Protocol

import psycopg
from cryptography.fernet import Fernet
from psycopg.raw_cursor import RawCursor


class Save(NamedTuple):
    """What a save brings."""

    name: str
    body: str
    expected: int
    operation_key: str
    fingerprint: str


class Store(Protocol):
    """One thread's connection."""

    def save(self, digest: str, given: Save) -> int | None:
        """The version written, or None."""
        ...

    def get(self, digest: str, name: str) -> tuple[int, str] | None:
        """Version and body."""
        ...


class Sealing:
    """The product's form of encryption: a token that holds its place and the text."""

    def __init__(self, key: str) -> None:
        self._fernet = Fernet(key)

    def seal(self, agent: int, name: str, version: int, body: str) -> str:
        """The token."""
        return self._fernet.encrypt(f"note:{agent}:{name}:{version}/body\n{body}".encode()).decode("ascii")

    def open(self, token: str) -> str:
        """The text."""
        return self._fernet.decrypt(token).decode().partition("\n")[2]


KEY_JOINED = """identity_agentkey k JOIN identity_agent a ON a.id = k.agent_id
 JOIN identity_person p ON p.id = a.owner_id"""
KEY_HOLDS = """k.digest = {digest} AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > {now})
 AND a.active AND p.is_active"""
SELECT_KEY = f"SELECT a.id FROM {KEY_JOINED} WHERE {KEY_HOLDS}"
SELECT_NOTE = f"""SELECT n.version, n.body FROM {KEY_JOINED} JOIN memory_note n ON n.agent_id = a.id
 WHERE {KEY_HOLDS} AND n.name = {{name}} AND n.deleted_at IS NULL"""

PG_KEY = SELECT_KEY.format(digest="$1", now="now()")
PG_GET = SELECT_NOTE.format(digest="$1", now="now()", name="$2")
PG_UPDATE = """UPDATE memory_note SET status = 'active', tags = '', memory_references = '[]', superseded_by = NULL,
 review_after = NULL, via = 'rest', bytes = $4, summary = NULL, use_when = NULL, body = $5, version = version + 1,
 updated_at = now() WHERE agent_id = $1 AND name = $2 AND version = $3 AND deleted_at IS NULL RETURNING id, version"""
PG_CREATE = """INSERT INTO memory_note (agent_id, name, version, status, tags, memory_references, via, bytes, body,
 created_at, updated_at) VALUES ($1, $2, $3 + 1, 'active', '', '[]', 'rest', $4, $5, now(), now())
 ON CONFLICT (agent_id, name) DO NOTHING RETURNING id, version"""
PG_REST = """, revision AS (INSERT INTO memory_revision (note_id, version, status, tags, memory_references, via, bytes,
 body, created_at) SELECT id, version, 'active', '', '[]', 'rest', $4, $5, now() FROM head),
 event AS (INSERT INTO ledger_event (agent_id, stream, method, resource_type, resource_id, version, via, created_at)
 SELECT $1, 'agent:' || $1::text, 'save_memory', 'note', $2, version, 'rest', now() FROM head),
 receipt AS (INSERT INTO ledger_receipt (agent_id, operation_key, method, fingerprint, resource_type, resource_id,
 version, created_at) SELECT $1, $6, 'save_memory', $7, 'note', $2, version, now() FROM head)
 SELECT version FROM head"""


class PostgresStore:
    """Two round trips a save, one a read; every statement prepared on the server."""

    THREADS: ClassVar[int] = 8

    def __init__(self, url: str, key: str) -> None:
        self._sealing = Sealing(key)
        connection = psycopg.connect(url, autocommit=True, prepare_threshold=0)
        self._cursor = RawCursor(connection)
        self._update, self._create = (f"WITH head AS ({head}){PG_REST}" for head in (PG_UPDATE, PG_CREATE))

    def save(self, digest: str, given: Save) -> int | None:
        """The version written, or None."""
        row = self._cursor.execute(PG_KEY, (digest,)).fetchone()
        if row is None:
            return None
        agent, name, expected = row[0], given.name, given.expected
        token = self._sealing.seal(agent, name, expected + 1, given.body)
        size = len(given.body.encode())
        parameters = (agent, name, expected, size, token, given.operation_key, given.fingerprint)
        written = self._cursor.execute(self._update if expected else self._create, parameters).fetchone()
        return None if written is None else int(written[0])

    def get(self, digest: str, name: str) -> tuple[int, str] | None:
        """Version and body."""
        row = self._cursor.execute(PG_GET, (digest, name)).fetchone()
        return None if row is None else (row[0], self._sealing.open(row[1]))


LITE_KEY = SELECT_KEY.format(digest="?1", now="?2")
LITE_GET = SELECT_NOTE.format(digest="?1", now="?2", name="?3")
LITE_UPDATE = """UPDATE memory_note SET status = 'active', tags = '', memory_references = '[]', superseded_by = NULL,
 review_after = NULL, via = 'rest', bytes = ?4, summary = NULL, use_when = NULL, body = ?5, version = version + 1,
 updated_at = ?6 WHERE agent_id = ?1 AND name = ?2 AND version = ?3 AND deleted_at IS NULL RETURNING id, version"""
LITE_CREATE = """INSERT INTO memory_note (agent_id, name, version, status, tags, memory_references, via, bytes, body,
 created_at, updated_at) VALUES (?1, ?2, ?3 + 1, 'active', '', '[]', 'rest', ?4, ?5, ?6, ?6)
 ON CONFLICT (agent_id, name) DO NOTHING RETURNING id, version"""
LITE_REVISION = """INSERT INTO memory_revision (note_id, version, status, tags, memory_references, via, bytes, body,
 created_at) VALUES (?, ?, 'active', '', '[]', 'rest', ?, ?, ?)"""
LITE_EVENT = """INSERT INTO ledger_event (agent_id, stream, method, resource_type, resource_id, version, via,
 created_at) VALUES (?1, 'agent:' || ?1, 'save_memory', 'note', ?2, ?3, 'rest', ?4)"""
LITE_RECEIPT = """INSERT INTO ledger_receipt (agent_id, operation_key, method, fingerprint, resource_type, resource_id,
 version, created_at) VALUES (?, ?, 'save_memory', ?, 'note', ?, ?, ?)"""
PRAGMAS = """PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=268435456; PRAGMA cache_size=-8192;
 PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864; PRAGMA foreign_keys=ON"""


class SqliteStore:
    """The same statements in one immediate transaction; one of this process's threads writes at a time."""

    THREADS: ClassVar[int] = 8
    writing: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, url: str, key: str) -> None:
        self._sealing = Sealing(key)
        self._connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=20)  # seconds
        self._connection.executescript(PRAGMAS)
        self._execute = self._connection.execute

    def save(self, digest: str, given: Save) -> int | None:
        """The version written, or None."""
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        row = self._execute(LITE_KEY, (digest, now)).fetchone()
        if row is None:
            return None
        token = self._sealing.seal(row[0], given.name, given.expected + 1, given.body)
        with self.writing:
            self._execute("BEGIN IMMEDIATE")
            try:
                version = self._write(row[0], given, token, now)
            except BaseException:
                self._execute("ROLLBACK")
                raise
            self._execute("COMMIT")
        return version

    def _write(self, agent: int, given: Save, token: str, now: str) -> int | None:
        name, expected, size = given.name, given.expected, len(given.body.encode())
        head = LITE_UPDATE if expected else LITE_CREATE
        written = self._execute(head, (agent, name, expected, size, token, now)).fetchone()
        if written is None:
            return None
        note, version = written
        self._execute(LITE_REVISION, (note, version, size, token, now))
        self._execute(LITE_EVENT, (agent, name, version, now))
        self._execute(LITE_RECEIPT, (agent, given.operation_key, given.fingerprint, name, version, now))
        return int(version)

    def get(self, digest: str, name: str) -> tuple[int, str] | None:
        """Version and body."""
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        row = self._execute(LITE_GET, (digest, now, name)).fetchone()
        return None if row is None else (row[0], self._sealing.open(row[1]))
