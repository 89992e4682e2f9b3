"""Queries that the ORM writes once and that then run as plain SQL.

Building and compiling a queryset costs several hundred microseconds a call; running its text costs one round trip.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, Expression, Field, QuerySet
from django.db.models.sql.compiler import SQLCompiler

Row = tuple[Any, ...]


class _Own(threading.local):
    """A thread's cursor, kept as long as its connection: making one costs psycopg half of what a query does."""

    connection: Any = None
    cursor: Any = None


_own = _Own()


class Parameter(Expression):
    """A place in a queryset that gets its value when the statement runs."""

    def __init__(self, name: str, field: "Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        """One placeholder, filled in by Statement."""
        return "%s", [self]


def execute(sql: str, parameters: Sequence[Any] | Mapping[str, Any]) -> list[Row]:
    """All rows that the statement gives, through the driver's own cursor: Django's wrappers cost more than the query.

    What they are there for holds: the connection is opened, errors are Django's, tests that count queries see it.
    """
    database = connections[DEFAULT_DB_ALIAS]
    if database.force_debug_cursor or database.execute_wrappers:
        return _through_django(database, sql, parameters)
    if database.connection is None:
        database.ensure_connection()
    database.validate_no_broken_transaction()
    if database.vendor == "sqlite":
        sql = _with_question_marks(sql)
    with database.wrap_database_errors:
        if _own.connection is not database.connection:
            _own.connection, _own.cursor = database.connection, database.connection.cursor()
        cursor = _own.cursor.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []


def _through_django(
    database: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any] | Mapping[str, Any]
) -> list[Row]:
    with database.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []


@cache
def _with_question_marks(sql: str) -> str:
    """The statement with SQLite's placeholders: `?` for each `%s`, `:name` for each `%(name)s`."""
    return re.sub(r"%\((\w+)\)s", r":\1", sql).replace("%s", "?").replace("%%", "%")


class Statement:
    """A `values_list` queryset, compiled at first use and run with new parameters each time.

    `build` makes the queryset; it is called once, when the database is known.
    """

    def __init__(self, build: Callable[[], QuerySet[Any, Any]]) -> None:
        self._build = build
        self._compiled: tuple[str, tuple[Any, ...], list[tuple[int, Any, Any]]] | None = None

    def rows(self, **values: Any) -> list[Row]:
        """All rows for these parameters, converted as the ORM would."""
        sql, places, converters = self._compiled or self._compile()
        rows = execute(sql, [values[p.name] if isinstance(p, Parameter) else p for p in places])
        return [converted(row, converters) for row in rows] if converters else rows

    def row(self, **values: Any) -> Row | None:
        """The first row, or None."""
        rows = self.rows(**values)
        return rows[0] if rows else None

    def _compile(self) -> tuple[str, tuple[Any, ...], list[tuple[int, Any, Any]]]:
        compiler = self._build().query.get_compiler(connection=connection)
        sql, places = compiler.as_sql()
        selected = [expression for expression, _, _ in compiler.select]
        converters = [(at, *_steps(*pair)) for at, pair in compiler.get_converters(selected).items()]
        self._compiled = (sql, tuple(places), converters)
        return self._compiled


def _steps(steps: list[Any], expression: Any) -> tuple[list[Any], Any]:
    """The conversions of one column; of SQLite's times a plain one, as Django's costs as much as the query."""
    if connection.vendor == "sqlite" and isinstance(expression.output_field, DateTimeField) and len(steps) == 1:
        return [_sqlite_time], expression
    return steps, expression


def _sqlite_time(value: datetime | str | None, expression: Any, connection: Any) -> datetime | None:
    """A time as Django has written it: UTC, without an offset (text where the column has no declared type)."""
    if value is None:
        return None
    return (value if isinstance(value, datetime) else datetime.fromisoformat(value)).replace(tzinfo=UTC)


def converted(row: Row, converters: list[tuple[int, Any, Any]]) -> Row:
    """The row with the fields' own conversions from the database applied."""
    cells = list(row)
    for at, steps, expression in converters:
        for step in steps:
            cells[at] = step(cells[at], expression, connection)
    return tuple(cells)
