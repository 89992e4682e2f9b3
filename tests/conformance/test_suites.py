"""What `make conformance` makes of the ways in which a scenario can end."""

import json
from pathlib import Path

import pytest

from tests.conformance.suites import SESSION_BOUND, Scenario, ended

pytestmark = pytest.mark.no_database


def left(folder: Path, name: str, *statuses: str) -> None:
    """Leave the result of a scenario as the suites do."""
    result = folder / f"server-{name}-2026-12-01T00-00-00-000Z"
    result.mkdir()
    checks = [{"id": f"{name}-{status}", "status": status, "description": "It holds"} for status in statuses]
    (result / "checks.json").write_text(json.dumps(checks))


def test_a_scenario_that_fails_is_wrong_and_says_which_check_did(tmp_path: Path) -> None:
    left(tmp_path, "ping", "SUCCESS", "FAILURE", "WARNING")
    (scenario,) = ended(tmp_path, {"ping"})
    assert scenario.wrong == "ping-FAILURE: It holds"
    assert (scenario.passed, len(scenario.warnings), scenario.excused) == (1, 1, False)


def test_a_scenario_without_a_result_is_wrong(tmp_path: Path) -> None:
    left(tmp_path, "ping", "SUCCESS")
    assert {each.name: each.wrong for each in ended(tmp_path, {"ping", "caching"})} == {
        "caching": "did not run",
        "ping": "",
    }


@pytest.mark.parametrize("name", sorted(SESSION_BOUND))
def test_a_scenario_that_takes_a_session_may_fail_and_must_not_pass_unnoticed(name: str) -> None:
    assert Scenario(name, failures=("no session",)).excused
    assert Scenario(name, passed=1).wrong


def test_a_scenario_of_an_extension_that_is_not_offered_is_not_counted() -> None:
    assert Scenario("tasks-lifecycle", failures=("no tasks",)).excused
    assert not Scenario("tasks-status-notifications", passed=1).wrong
