"""Columns that several domains use: names in byte order and lists of slugs."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models.sql.compiler import SQLCompiler

# Only the stubs' classes take parameters; Django's own cannot be subscripted.
if TYPE_CHECKING:
    CharColumn = models.CharField[str, str]
    SlugsColumn = models.TextField[Sequence[str], list[str]]
else:
    CharColumn, SlugsColumn = models.CharField, models.TextField


class ByteOrdered(CharColumn):
    """Text that sorts by its bytes on every database, so that lists have one order everywhere."""

    def db_parameters(self, connection: Any) -> Any:
        """PostgreSQL would sort by the database's locale; SQLite sorts by bytes already."""
        collation = "C" if connection.vendor == "postgresql" else None
        return {**super().db_parameters(connection), "collation": collation}


class Slugs(SlugsColumn):
    """A list of slugs in the order given, stored as ` one two `: slugs hold no space, so one LIKE finds one slug."""

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> list[str] | None:
        """The list."""
        return None if value is None else value.split()

    def to_python(self, value: Any) -> Any:
        """The list, also from stored text."""
        return value.split() if isinstance(value, str) else value

    def get_prep_value(self, value: Sequence[str] | None) -> str | None:
        """The stored text."""
        return None if value is None else f" {' '.join(value)} " if value else ""

    def value_to_string(self, obj: models.Model) -> str:
        """For dumps: the slugs with spaces between."""
        return " ".join(self.value_from_object(obj))


@Slugs.register_lookup
class Has(models.Lookup):  # type: ignore[type-arg]
    """`tags__has="a"`: the list holds this slug."""

    lookup_name = "has"
    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> Any:
        """A LIKE on the stored text; a slug has no character that LIKE would read as a pattern."""
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} LIKE %s", [*parameters, f"% {self.rhs} %"]


@models.BigAutoField.register_lookup
class Among(models.Lookup):  # type: ignore[type-arg]
    """`pk__among=[…]`: one parameter for any number of rows, where `in` has one for each (PostgreSQL takes 65 535)."""

    lookup_name = "among"
    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> Any:
        """On SQLite, by its JSON functions."""
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} IN (SELECT value FROM json_each(%s))", [*parameters, json.dumps(self.rhs)]

    def as_postgresql(self, compiler: SQLCompiler, connection: Any) -> Any:
        """As an array."""
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} = ANY(CAST(%s AS bigint[]))", [*parameters, self.rhs]
