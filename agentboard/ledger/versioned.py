"""The versioned write that every domain shares: compare and swap, revision, receipt and event.

On PostgreSQL they are one statement, which is one transaction and one round trip; on SQLite the same statements run
inside the change's transaction. All names come from the models' `_meta`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, models

from agentboard.ledger.change import Change
from agentboard.ledger.models import Event, Receipt
from agentboard.statements import execute

Values = Mapping[str, Any]
PRUNED_AT_ONCE = 2  # revisions a write removes at most: one more than it adds, so that a backlog shrinks


@dataclass(frozen=True)
class Written:
    """The row after a write."""

    id: int
    version: int
    created_at: datetime


@dataclass(frozen=True)
class VersionedWrite:
    """Writes of one resource: `head` is its current row, `revision` its past.

    `head` has version, created_at, updated_at and perhaps deleted_at (set on a name whose content was erased);
    `revision` has version and created_at. `key` names the head's unique fields, `fields` those that a write replaces;
    the ones that `revision` has too are copied there. `link` is the revision's foreign key to the head, `resource_id`
    the key field that events and receipts call the resource by. The quota counts living rows by the first field of
    `key`.
    """

    head: type[models.Model]
    revision: type[models.Model]
    resource_type: str
    key: tuple[str, ...]
    fields: tuple[str, ...]
    link: str
    resource_id: str

    def update(
        self, change: Change, key: Values, expected: int, values: Values, *, receipt: bool = True, prune: bool = True
    ) -> Written | None:
        """Replace `fields` where the living row is at version `expected`; None where it is not."""
        return self._run("update", change, key, values, receipt, prune, expected=expected)

    def revive(self, change: Change, key: Values, expected: int, values: Values) -> Written | None:
        """Give an erased name content again, its versions going on from `expected`; None where somebody was faster."""
        return self._run("revive", change, key, values, True, True, expected=expected)

    def create(self, change: Change, key: Values, values: Values, *, room: int) -> Written | None:
        """Insert version 1 where the name was never used and fewer than `room` rows live; None otherwise."""
        return self._run("create", change, key, values, True, False, room=room)

    def _run(
        self, act: str, change: Change, key: Values, values: Values, receipt: bool, prune: bool, **more: int
    ) -> Written | None:
        receipt = receipt and change.operation_key is not None
        prune = prune and more.get("expected", 0) >= settings.REVISIONS_KEPT
        parameters = self._parameters(change, key, values) | more
        change.recorded(change.stream)
        change.settled = change.settled or receipt
        if connection.vendor == "postgresql":
            row = fetch(_one_statement(self, act, receipt, prune), parameters)
            return None if row is None else Written(*row)
        change.begin()
        row = fetch(_head_statement(self, act), parameters)
        if row is None:
            return None
        written = Written(row[0], row[1], stored_moment(row[2]))
        parameters |= {"id": written.id, "version": written.version}
        for statement in _following(self, receipt, prune):
            fetch(statement, parameters)
        return written

    def _parameters(self, change: Change, key: Values, values: Values) -> dict[str, Any]:
        database = connections[DEFAULT_DB_ALIAS]  # once: each step through the proxy costs more than preparing a value
        given = {**values, **{f"key_{name}": value for name, value in key.items()}, "superseded": change.superseded}
        prepare, adapted = _preparing(self), database.ops.adapt_datetimefield_value
        return {name: None if value is None else prepare[name](value, database) for name, value in given.items()} | {
            "now": adapted(change.now),
            "cutoff": adapted(change.now - timedelta(days=settings.REVISION_DAYS)),
            "kept": settings.REVISIONS_KEPT,
            "revisions_max": settings.REVISIONS_MAX,
            "agent": change.caller.agent_id,
            "via": change.caller.via,
            "stream": change.stream,
            "method": change.method,
            "resource_id": key[self.resource_id],
            "operation_key": change.operation_key,
            "fingerprint": change.fingerprint,
        }


@cache
def _preparing(write: VersionedWrite) -> dict[str, Any]:
    """What makes a column's value of each parameter that a field has."""
    fields = {name: concrete(write.head, name) for name in write.fields}
    fields |= {f"key_{name}": concrete(write.head, name) for name in write.key}
    fields["superseded"] = concrete(Receipt, "superseded")
    return {name: field.get_db_prep_save for name, field in fields.items()}


def fetch(statement: str, parameters: Values) -> Any:
    """The first row that a statement returns, or None."""
    rows = execute(statement, parameters)
    return rows[0] if rows else None


def stored_moment(value: datetime | str) -> datetime:
    """A time as SQLite gives it back from RETURNING: text or naive, in UTC."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return found.replace(tzinfo=UTC)


# The statements are built once for each act and shape.


@cache
def _head_statement(write: VersionedWrite, act: str) -> str:
    return _create(write) if act == "create" else _swap(write, revive=act == "revive")


def _swap(write: VersionedWrite, *, revive: bool) -> str:
    table, name = names(write.head)
    changes = [f"{name(field)} = %({field})s" for field in write.fields]
    changes += [f"{name('version')} = {name('version')} + 1", f"{name('updated_at')} = %(now)s"]
    changes += [f"{name('deleted_at')} = NULL", f"{name('created_at')} = %(now)s"] if revive else []
    matches = [f"{name(field)} = %(key_{field})s" for field in write.key]
    matches += [f"{name('version')} = %(expected)s"]
    if has_field(write.head, "deleted_at"):
        matches += [f"{name('deleted_at')} IS {'NOT ' if revive else ''}NULL"]
    return (
        f"UPDATE {table} SET {', '.join(changes)} WHERE {' AND '.join(matches)} "
        f"RETURNING {name('id')}, {name('version')}, {name('created_at')}"
    )


def _create(write: VersionedWrite) -> str:
    """An insert that the unique name or the quota may hold back; the count runs over an index of living rows."""
    table, name = names(write.head)
    values = {name(field): typed(write.head, field, f"key_{field}") for field in write.key}
    values |= {name(field): typed(write.head, field, field) for field in write.fields}
    values |= {name("version"): "1"}
    values |= {name(field): typed(write.head, field, "now") for field in ("created_at", "updated_at")}
    living = f"{name(write.key[0])} = %(key_{write.key[0]})s AND {name('deleted_at')} IS NULL"
    return (
        f"INSERT INTO {table} ({', '.join(values)}) SELECT {', '.join(values.values())} "
        f"WHERE (SELECT count(*) FROM {table} WHERE {living}) < %(room)s "
        f"ON CONFLICT ({', '.join(name(field) for field in write.key)}) DO NOTHING "
        f"RETURNING {name('id')}, {name('version')}, {name('created_at')}"
    )


@cache
def _one_statement(write: VersionedWrite, act: str, receipt: bool, prune: bool) -> str:
    parts = [f"head AS ({_head_statement(write, act)})"]
    parts += [f"part{number} AS ({text})" for number, text in enumerate(_following(write, receipt, prune))]
    return f"WITH {', '.join(parts)} SELECT id, version, created_at FROM head"


@cache
def _following(write: VersionedWrite, receipt: bool, prune: bool) -> list[str]:
    """The inserts and the clean-up that go with a change of the head."""
    copied = [field for field in write.fields if has_field(write.revision, field)]
    about = ("agent", "method", "resource_id", "version")
    statements = [
        _append(write.revision, (write.link, "version", *copied), write.link),
        _append(Event, (*about, "stream", "via"), None, write.resource_type),
    ]
    if receipt:
        own = ("operation_key", "fingerprint", "superseded")
        statements.append(_append(Receipt, (*about, *own), None, write.resource_type))
    return [*statements, _prune(write)] if prune else statements


def _append(model: type[models.Model], fields: Sequence[str], link: str | None, kind: str | None = None) -> str:
    """An insert of one row about the head: link and version come from the head, all else from parameters."""
    table, name = names(model)
    one_statement = connection.vendor == "postgresql"
    from_head = {link: "id", "version": "version"} if one_statement else {link: "%(id)s", "version": "%(version)s"}
    values = {name(field): from_head.get(field) or typed(model, field, field) for field in fields}
    values |= {name("created_at"): typed(model, "created_at", "now")}
    values |= {name("resource_type"): f"'{kind}'"} if kind else {}
    source = " FROM head" if one_statement else ""
    return f"INSERT INTO {table} ({', '.join(values)}) SELECT {', '.join(values.values())}{source}"


def _prune(write: VersionedWrite) -> str:
    """Remove the oldest revisions that are neither among the newest `kept` nor young, or beyond the maximum."""
    table, name = names(write.revision)
    one_statement = connection.vendor == "postgresql"
    head = {"id": "(SELECT id FROM head)", "version": "(SELECT version FROM head)"}
    head = head if one_statement else {"id": "%(id)s", "version": "%(version)s"}
    oldest = (
        f"SELECT {name('id')} FROM {table} WHERE {name(write.link)} = {head['id']} "
        f"AND {name('version')} <= {head['version']} - %(kept)s ORDER BY {name('version')} LIMIT {PRUNED_AT_ONCE}"
    )
    return (
        f"DELETE FROM {table} WHERE {name('id')} IN ({oldest}) AND ({name('created_at')} < %(cutoff)s "
        f"OR {name('version')} <= {head['version']} - %(revisions_max)s)"
    )


def names(model: type[models.Model]) -> tuple[str, Any]:
    """The quoted table, and a function from a field's name to its quoted column."""
    quote = connection.ops.quote_name

    def column(field: str) -> str:
        return quote(str(concrete(model, field).column))

    return quote(model._meta.db_table), column


def concrete(model: type[models.Model], name: str) -> "models.Field[Any, Any]":
    """The model's field of that name, one that is a column."""
    found = model._meta.get_field(name)
    assert isinstance(found, models.Field)
    return found


def has_field(model: type[models.Model], name: str) -> bool:
    """Whether the model has a field of that name."""
    return any(field.name == name for field in model._meta.get_fields())


def typed(model: type[models.Model], field: str, parameter: str) -> str:
    """A parameter in a SELECT list. PostgreSQL must be told its type, without a length, which would cut silently."""
    if connection.vendor != "postgresql":
        return f"%({parameter})s"
    kind = str(concrete(model, field).db_type(connection)).partition("(")[0]
    return f"CAST(%({parameter})s AS {kind})"
