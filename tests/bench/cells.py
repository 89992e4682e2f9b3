"""What is measured, and how near its limit each piece of work must come."""

from dataclasses import dataclass
from typing import Literal

Work = Literal["save", "get"]
Door = Literal["rest", "mcp"]
Side = Literal["product", "limit"]
Database = Literal["postgresql", "sqlite"]

WORKS: tuple[Work, ...] = ("save", "get")
DOORS: tuple[Door, ...] = ("rest", "mcp")
SIDES: tuple[Side, ...] = ("product", "limit")
DATABASES: tuple[Database, ...] = ("postgresql", "sqlite")
CLIENTS = (1, 8, 64)

TITLES: dict[Work, str] = {"save": "save_memory", "get": "get_memory"}
DOOR_NAMES: dict[Door, str] = {"rest": "REST", "mcp": "MCP"}
SHARES: dict[tuple[Work, Door, Database], float] = {  # of the limit program's throughput, at least
    ("save", "rest", "postgresql"): 0.6,
    ("save", "rest", "sqlite"): 0.55,
    ("save", "mcp", "postgresql"): 0.8,
    ("save", "mcp", "sqlite"): 0.75,
    ("get", "rest", "postgresql"): 0.5,
    ("get", "rest", "sqlite"): 0.6,
    ("get", "mcp", "postgresql"): 0.7,
    ("get", "mcp", "sqlite"): 0.8,
}
MEMORY_MIB = 200  # anonymous memory of the product's process on SQLite, below


@dataclass(frozen=True)
class Cell:
    """One line of the table: a piece of work through a door, on a database, by so many clients at once.

    The limit program has one door, to which the same work comes in as at REST.
    """

    work: Work
    door: Door
    database: Database
    clients: int

    @property
    def target(self) -> float | None:
        """The least share of the limit's throughput, or None: a single client mostly waits, and has no target."""
        return None if self.clients == 1 else SHARES[self.work, self.door, self.database]
