"""`make conformance`: run both releases of the suite, print how each run went, and fail where one went wrong."""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.conformance.authorization import authorization
from tests.conformance.suites import RUNS, VERSIONS, Scenario, ran
from tests.doors.board import UNLIMITED
from tests.installing import NotInstalledError
from tests.node import Node, node
from tests.serving import Served, served

COLUMNS = "{:<16}{:<40}{:>9}{:>8}{:>9}{:>9}{:>7}{:>9}"
HEADS = ("suite", "run", "scenarios", "checks", "excused", "warnings", "wrong", "seconds")


def main() -> int:
    """The exit status."""
    try:
        packages = node()
    except NotInstalledError as error:
        print(f"The conformance suites cannot be installed here: {error}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="agentboard-conformance-") as made:
        folder = Path(made)
        variables = {"DJANGO_SETTINGS_MODULE": "tests.conformance.settings", **UNLIMITED}
        with served(folder, **variables) as server:
            return _report(_runs(packages, server, folder))


def _runs(packages: Node, server: Served, folder: Path) -> Iterator[tuple[str, str, list[Scenario]]]:
    """The release, the title and the scenarios of each run, as soon as it is over."""
    for number, run in enumerate(RUNS):
        yield VERSIONS[run.release], run.title, ran(packages, run, f"{server.url}/mcp", folder / f"run-{number}")
    yield from authorization(packages, server, folder / "authorization")


def _report(runs: Iterator[tuple[str, str, list[Scenario]]]) -> int:
    print(COLUMNS.format(*HEADS))
    wrong: list[str] = []
    since = time.monotonic()
    for version, title, scenarios in runs:
        bad = [f"{version}, {title}: {each.name}: {each.wrong}" for each in scenarios if each.wrong]
        counts = (
            len(scenarios),
            sum(each.passed for each in scenarios),
            sum(each.excused for each in scenarios),
            sum(len(each.warnings) for each in scenarios),
            len(bad),
        )
        print(COLUMNS.format(version, title, *counts, f"{time.monotonic() - since:.1f}"), flush=True)
        wrong += bad
        since = time.monotonic()
    print("\n".join(["", *wrong]) if wrong else "Nothing is wrong.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
