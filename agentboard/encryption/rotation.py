"""Bringing every encrypted text in the database under one key, beside whatever else reads and writes there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps.registry import Apps
from django.db.models import F, Model, QuerySet, Value
from django.db.models.lookups import Exact

from agentboard.encryption.field import Ciphertext, EncryptedText

BATCH_ROWS = 500  # of at most some 100 KiB of tokens each: 50 MiB


class Keyring:
    """The keys of one rotation; the first is the one to bring everything under."""

    def __init__(self, keys: Sequence[str]) -> None:
        fernets = [Fernet(key) for key in keys]
        self._primary, self._all = fernets[0], MultiFernet(fernets)

    def is_primary(self, token: str) -> bool:
        """Whether the token is under the first key already."""
        try:
            self._primary.decrypt(token.encode())
        except InvalidToken:
            return False
        return True

    def brought_over(self, token: str) -> Ciphertext:
        """The same content and time under the first key. Raises InvalidToken where no key opens the token."""
        return Ciphertext(self._all.rotate(token.encode()).decode("ascii"))


@dataclass(frozen=True)
class Cell:
    """One encrypted text in the database."""

    model: str  # as in memory.note
    pk: Any
    column: str


@dataclass
class Found:
    """What one pass over the database found that was not under the first key."""

    moved: int = 0  # texts, now under the first key
    overtaken: int = 0  # rows that were written meanwhile and left alone
    unreadable: list[Cell] = field(default_factory=list)

    @property
    def changing(self) -> bool:
        """Whether another pass may find something else."""
        return self.moved + self.overtaken > 0


@dataclass(frozen=True)
class Progress:
    """How far a pass has come in one model."""

    model: str
    done: int  # rows
    total: int


def encrypted_models(registry: Apps) -> Iterator[tuple[type[Model], list[str]]]:
    """Every model whose own table has encrypted texts, with the names of those fields."""
    for model in registry.get_models(include_auto_created=True):
        names = [column.name for column in model._meta.local_concrete_fields if isinstance(column, EncryptedText)]
        if names:
            yield model, names


def rotate(registry: Apps, keyring: Keyring, found: Found) -> Iterator[Progress]:
    """One pass over every encrypted text; yields after each batch, and counts in `found`.

    Every row is one statement of its own that holds only where its texts are still what was read. So a pass can be
    interrupted anywhere and run beside others and beside writers, and it never holds one row while waiting for
    another. It needs no transaction and must not be run in one.
    """
    for model, names in encrypted_models(registry):
        done, total = 0, _rows_of(model).count()
        for batch in _batches(model, names):
            for pk, *tokens in batch:
                _rotate_row(model, pk, dict(zip(names, tokens, strict=True)), keyring, found)
            done += len(batch)
            yield Progress(model._meta.label_lower, done, max(done, total))


def _batches(model: type[Model], names: list[str]) -> Iterator[list[tuple[Any, ...]]]:
    rows = _rows_of(model).order_by("pk").values_list("pk", *names)
    batch = list(rows[:BATCH_ROWS])
    while batch:
        yield batch
        batch = list(rows.filter(pk__gt=batch[-1][0])[:BATCH_ROWS])


def _rotate_row(model: type[Model], pk: Any, stored: dict[str, str | None], keyring: Keyring, found: Found) -> None:
    old = {name: token for name, token in stored.items() if token is not None and not keyring.is_primary(token)}
    new: dict[str, Ciphertext] = {}
    for name, token in old.items():
        try:
            new[name] = keyring.brought_over(token)
        except InvalidToken:
            found.unreadable.append(Cell(model._meta.label_lower, pk, name))
    if not new:
        return
    if swap(model, pk, {name: old[name] for name in new}, new):
        found.moved += len(new)
    else:
        found.overtaken += 1


def swap(model: type[Model], pk: Any, old: dict[str, str], new: dict[str, Ciphertext]) -> bool:
    """Store `new` in the row where its columns still hold `old`; whether they did. One statement.

    The only comparison with stored tokens. EncryptedText refuses lookups by name, so this one is built by hand.
    """
    rows = _rows_of(model).filter(pk=pk)
    for name, token in old.items():
        rows = rows.filter(Exact(F(name), Value(token)))
    return rows.update(**new) == 1


def _rows_of(model: type[Model]) -> QuerySet[Model]:
    """All of them: a model's own managers may leave some out."""
    return QuerySet(model)
