"""How the measurements are shown: a table for people, JSON for programs."""

from dataclasses import asdict, dataclass, field
from typing import Any

from tests.bench.cells import DATABASES, DOOR_NAMES, MEMORY_MIB, SIDES, TITLES, Database
from tests.bench.load import CREATED
from tests.bench.rounds import Line
from tests.bench.stock import AGENTS, BODY_BYTES, NOTES_EACH

SHOWN = ("throughput", "p50", "p99", "cpu", "database_cpu")
FIELDS = (*SHOWN, "load", "others")
BUSY = 0.85  # of its CPU: beyond, the load may be what is measured
DISTURBED = 0.4  # CPUs: beyond, somebody else may be; PostgreSQL's own writers and the kernel take some
HEADINGS = (
    "work", "door", "database", "clients", "/s", "p50 ms", "p99 ms", "CPU µs", "db µs",
    "limit /s", "p50 ms", "p99 ms", "CPU µs", "db µs", "of limit", "CPU ×", "at least", "",
)  # fmt: skip


@dataclass
class Report:
    """All that was measured, and why what is missing is missing."""

    lines: list[Line] = field(default_factory=list)
    memory: dict[Database, float] = field(default_factory=dict)  # MiB
    left_out: dict[Database, str] = field(default_factory=dict)

    @property
    def missed(self) -> bool:
        """Whether a target was missed."""
        return any(line.missed for line in self.lines) or self.memory.get("sqlite", 0) >= MEMORY_MIB

    def text(self) -> str:
        """The table and what there is to say of it."""
        rows = [HEADINGS, *(_row(line) for line in self.lines)]
        return "\n".join([*_aligned(rows), "", *self._notes()])

    def _notes(self) -> list[str]:
        return [
            f"Bodies of {BODY_BYTES} bytes; {AGENTS} agents with {NOTES_EACH} notes each for either side. "
            f"Every save has an operation_key; one in {CREATED} makes a new note.",
            "Medians over the rounds; `of limit` and `CPU ×` are medians of what neighbouring rounds compare. "
            "CPU is that of the server's process, db that of PostgreSQL's backends, both a request.",
            *(f"{database}: {mib:.0f} MiB of anonymous memory{_target(database, mib)}." for database, mib in self._mib),
            *(f"{database}: left out, because {reason}." for database, reason in self.left_out.items()),
            *self._doubts(),
        ]

    def _doubts(self) -> list[str]:
        """What the figures may owe to something else than the servers."""
        if not self.lines:
            return []
        load, others = (
            max(line.median(side, of) for line in self.lines for side in SIDES) for of in ("load", "others")
        )
        return [
            f"The load kept its CPU busy for {load:.0%} at most{', too much to trust' if load > BUSY else ''}.",
            f"Other processes kept {others:.2f} CPUs busy at most{': measure again' if others > DISTURBED else ''}.",
        ]

    @property
    def _mib(self) -> list[tuple[Database, float]]:
        return [(database, self.memory[database]) for database in DATABASES if database in self.memory]

    def as_json(self) -> dict[str, Any]:
        """Everything, each round of it."""
        lines = [
            {
                **asdict(line.cell),
                "target": line.cell.target,
                "missed": line.missed,
                "of_limit": {what: line.share(what) for what in ("throughput", "cpu")},
                **{side: {what: line.median(side, what) for what in FIELDS} for side in SIDES},
                "rounds": {side: [asdict(measured) for measured in line.rounds[side]] for side in SIDES},
            }
            for line in self.lines
        ]
        return {"lines": lines, "memory_mib": self.memory, "left_out": self.left_out, "missed": self.missed}


def _row(line: Line) -> tuple[str, ...]:
    cell = line.cell
    digits = dict(zip(SHOWN, (0, 2, 2, 0, 0), strict=True))
    sides = [f"{line.median(side, what):.{digits[what]}f}" for side in SIDES for what in SHOWN]
    verdict = "" if cell.target is None else "MISSED" if line.missed else "ok"
    least = "–" if cell.target is None else f"{cell.target:.2f}"
    shares = [f"{line.share(what):.2f}" for what in ("throughput", "cpu")]
    return (TITLES[cell.work], DOOR_NAMES[cell.door], cell.database, str(cell.clients), *sides, *shares, least, verdict)


def _target(database: Database, mib: float) -> str:
    if database != "sqlite":
        return ""
    return f" ({'ok' if mib < MEMORY_MIB else 'MISSED'}: below {MEMORY_MIB})"


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """The rows in columns: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    form = "  ".join(f"{{:{'<' if number < 2 else '>'}{width}}}" for number, width in enumerate(widths))
    return [form.format(*row) for row in rows]
