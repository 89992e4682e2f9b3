"""The name of a request, outside the API too."""

from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.serving import served

pytestmark = pytest.mark.no_database  # the server has its own

PATHS = ("/healthz", "/readyz", "/docs", "/nope", "/static/agentboard/agentboard.css", "/v1/help")


def named(port: int, path: str, given: str) -> str | None:
    """The X-Request-Id of the answer."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:  # seconds
        connection.request("GET", path, headers={"X-Request-Id": given})
        return connection.getresponse().getheader("X-Request-Id")


def test_every_answer_carries_the_name_of_its_request_and_a_fresh_one_for_odd_names(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert {named(server.port, path, "mine-1") for path in PATHS} == {"mine-1"}
        odd = [named(server.port, path, "not a word") for path in PATHS]
        assert len(set(odd)) == len(PATHS)
        assert "not a word" not in odd
