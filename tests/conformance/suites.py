"""What the suites run, and how each scenario ended."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.node import Node

SECONDS = 120  # for one run of a suite; each takes a few
OLDER, NEWER = "0.1", "0.2"  # the two releases, as package.json names them
VERSIONS = {OLDER: "0.1.16", NEWER: "0.2.0-alpha.12"}

# They ask the client something in the middle of a call, which takes a session, and this server keeps none.
SESSION_BOUND = frozenset(
    {
        "tools-call-sampling",
        "tools-call-elicitation",
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
    }
)
# Of extensions, which the requirement sets run without counting them: this server offers no tasks.
NOT_COUNTED = re.compile(r"tasks-")

_FOLDER = re.compile(r"(?:authorization-)?server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@dataclass(frozen=True)
class Run:
    """One run of one release over scenarios that its arguments choose."""

    title: str
    release: str
    arguments: tuple[str, ...]
    listed: tuple[str, ...] = ()  # what makes `list` name the same scenarios


RUNS = (
    Run("every server scenario", OLDER, ("--suite", "all")),
    Run("required by 2025-11-25", NEWER, ("--requirements", "2025-11-25"), ("--requirements", "2025-11-25")),
    Run("required by 2026-07-28", NEWER, ("--requirements", "2026-07-28"), ("--requirements", "2026-07-28")),
    Run(
        "every server scenario of 2025-06-18",
        NEWER,
        ("--suite", "all", "--spec-version", "2025-06-18"),
        ("--spec-version", "2025-06-18"),
    ),
    Run(
        "every server scenario of 2026-07-28",
        NEWER,
        ("--suite", "all", "--spec-version", "2026-07-28"),
        ("--spec-version", "2026-07-28"),
    ),
)


@dataclass(frozen=True)
class Scenario:
    """How one scenario ended: `passed` and `warnings` count its checks, `failures` tell of those that failed."""

    name: str
    passed: int = 0
    warnings: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    missing: bool = False  # it was to run and left no result

    @property
    def wrong(self) -> str:
        """What is wrong with how it ended, or `""`."""
        if self.missing:
            return "did not run"
        if self.name in SESSION_BOUND:
            return "" if self.failures else "passes, so it is to be counted on: take it off the list"
        return "" if NOT_COUNTED.match(self.name) else "; ".join(self.failures)

    @property
    def excused(self) -> bool:
        """Whether it failed and that is expected."""
        return bool(self.failures) and not self.wrong


def program(node: Node, release: str) -> list[str]:
    """The command line of a release."""
    return [str(node.program), str(node.modules / f"conformance-{release}" / "dist" / "index.js")]


def ran(node: Node, run: Run, url: str, folder: Path) -> list[Scenario]:
    """Run the suite against `url`; the scenarios that ran and those that should have, sorted by name."""
    command = [*program(node, run.release), "server", "--url", url, *run.arguments, "--output-dir", str(folder)]
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=SECONDS)
    return ended(folder, named(node, run))


def ended(folder: Path, names: set[str]) -> list[Scenario]:
    """The scenarios with results in `folder`, and those of `names` without, sorted by name."""
    found = {name: _scenario(name, path) for name, path in _results(folder)}
    lost = [Scenario(name, missing=True) for name in names - found.keys()]
    return sorted([*found.values(), *lost], key=lambda scenario: scenario.name)


def named(node: Node, run: Run) -> set[str]:
    """The names of the scenarios that the run consists of, as the release itself lists them."""
    command = [*program(node, run.release), "list", "--server", *run.listed]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=SECONDS).stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("Server scenarios"))
    names: set[str] = set()
    for line in lines[start + 1 :]:
        if not line.startswith("  - "):
            break
        names.add(line.removeprefix("  - ").partition(" ")[0])
    return names


def _results(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("checks.json"):
        matched = _FOLDER.fullmatch(path.parent.name)
        assert matched, path
        yield matched[1], path


def _scenario(name: str, path: Path) -> Scenario:
    checks = json.loads(path.read_text())

    def told(status: str) -> tuple[str, ...]:
        return tuple(f"{each['id']}: {_why(each)}" for each in checks if each["status"] == status)

    return Scenario(name, len(told("SUCCESS")), told("WARNING"), told("FAILURE"))


def _why(check: dict[str, object]) -> str:
    return str(check.get("errorMessage") or check["description"])
