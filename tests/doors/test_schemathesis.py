"""What Schemathesis makes of the OpenAPI document: requests that fit it and requests that don't, in great number.

All its checks are on but two, which this file replaces:

- positive_data_acceptance: published schemas are fixed, and some rules stand beside them (bytes of a text, slugs in
  names, cursors that must be a next_cursor), so a request may fit its schema and be refused; then for its arguments.
- negative_data_rejection: null for an optional argument is the same as leaving it out, which JSON Schema calls a wrong
  type. Everything else that does not fit has to be refused.
"""

import os
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck
from hypothesis import settings as bounds
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from agentboard.catalog import CATALOG
from agentboard.contract.openapi import document
from tests.doors.board import Board

# Requests made up at random for each operation, beside the many that cover its description. More take a second each.
EXAMPLES = 1 if os.environ.get("TEST_DATABASE_URL") else 5
DOCUMENT = document(CATALOG.values(), "http://127.0.0.1")  # as the server's own, see tests/contract/test_openapi.py

pytestmark = pytest.mark.usefixtures("no_faults")
schema = schemathesis.openapi.from_dict(DOCUMENT)


@pytest.fixture(scope="module")
def furnished(board: Board) -> Board:
    """A board where the ids of examples lead to something."""
    saved = board.save("working-context", key="fuzzer", tags=["example"])
    assert saved.status == 201
    return board


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """One for all requests: a connection is kept, and the environment is not searched for proxies each time."""
    with requests.Session() as made:
        made.trust_env = False
        yield made


def fits_without_nulls(case: Any) -> bool:
    """Whether the body holds nulls that may be left out, and fits without them."""
    if not isinstance(case.body, dict) or None not in case.body.values():
        return False
    kept = {name: value for name, value in case.body.items() if value is not None}
    fitting = case.operation.definition.raw["requestBody"]["content"]["application/json"]["schema"]
    return jsonschema_rs.is_valid(fitting, kept)


def what_does_not_fit_is_refused(ctx: Any, response: Any, case: Any) -> bool | None:
    return None if fits_without_nulls(case) else negative_data_rejection(ctx, response, case)


def what_fits_is_refused_for_its_arguments_only(ctx: Any, response: Any, case: Any) -> bool | None:
    if case.meta is not None and case.meta.generation.mode.is_positive and response.status_code == 400:
        assert response.json()["error"]["code"] == "invalid_arguments"
    return None


@schema.parametrize()
@bounds(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_every_operation_keeps_to_its_description(case: Any, furnished: Board, session: requests.Session) -> None:
    case.call_and_validate(
        base_url=furnished.url,
        session=session,
        headers=furnished.bearer("fuzzer"),
        excluded_checks=[negative_data_rejection, positive_data_acceptance],
        additional_checks=[what_does_not_fit_is_refused, what_fits_is_refused_for_its_arguments_only],
    )


def test_every_operation_was_asked_and_answered_well_at_least_once(board: Board) -> None:
    """Else the checks of answers had nothing to check."""
    answered = {line["method"] for line in board.lines() if line.get("status") in (200, 201)}
    reads = {method.name for method in CATALOG.values() if method.reads and method.id is None}
    assert reads <= answered
