"""What is measured, and how near its limit each piece of work must come."""

from dataclasses import dataclass
from typing import Literal

Work = Literal["save", "get"]
Side = Literal["product", "limit"]
Database = Literal["postgresql", "sqlite"]

WORKS: tuple[Work, ...] = ("save", "get")
SIDES: tuple[Side, ...] = ("product", "limit")
DATABASES: tuple[Database, ...] = ("postgresql", "sqlite")
CLIENTS = (1, 8, 64)

TITLES: dict[Work, str] = {"save": "save_memory over REST", "get": "get_memory over REST"}
SHARES: dict[tuple[Work, Database], float] = {  # of the limit program's throughput, at least
    ("save", "postgresql"): 0.6,
    ("save", "sqlite"): 0.55,
    ("get", "postgresql"): 0.5,
    ("get", "sqlite"): 0.6,
}
MEMORY_MIB = 200  # anonymous memory of the product's process on SQLite, below


@dataclass(frozen=True)
class Cell:
    """One line of the table: a piece of work on a database by so many clients at once."""

    work: Work
    database: Database
    clients: int

    @property
    def target(self) -> float | None:
        """The least share of the limit's throughput, or None: a single client mostly waits, and has no target."""
        return None if self.clients == 1 else SHARES[self.work, self.database]
