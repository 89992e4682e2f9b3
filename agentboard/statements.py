"""Queries that the ORM writes once and that then run as plain SQL.

Building and compiling a queryset costs several hundred microseconds a call; running its text costs one round trip.
"""

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import Expression, Field, QuerySet
from django.db.models.sql.compiler import SQLCompiler

Row = tuple[Any, ...]


class Parameter(Expression):
    """A place in a queryset that gets its value when the statement runs."""

    def __init__(self, name: str, field: "Field[Any, Any]") -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        """One placeholder, filled in by Statement."""
        return "%s", [self]


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
        with connection.cursor() as cursor:
            cursor.execute(sql, [values[p.name] if isinstance(p, Parameter) else p for p in places])
            rows = cursor.fetchall()
        return [converted(row, converters) for row in rows] if converters else rows

    def row(self, **values: Any) -> Row | None:
        """The first row, or None."""
        rows = self.rows(**values)
        return rows[0] if rows else None

    def _compile(self) -> tuple[str, tuple[Any, ...], list[tuple[int, Any, Any]]]:
        compiler = self._build().query.get_compiler(connection=connection)
        sql, places = compiler.as_sql()
        selected = [expression for expression, _, _ in compiler.select]
        converters = [(at, *pair) for at, pair in compiler.get_converters(selected).items()]
        self._compiled = (sql, tuple(places), converters)
        return self._compiled


def converted(row: Row, converters: list[tuple[int, Any, Any]]) -> Row:
    """The row with the fields' own conversions from the database applied."""
    cells = list(row)
    for at, steps, expression in converters:
        for step in steps:
            cells[at] = step(cells[at], expression, connection)
    return tuple(cells)
