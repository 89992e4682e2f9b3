"""The arena, and a server in it."""

from collections.abc import Iterator

import django
import pytest

django.setup()  # `pytest tests/races` loads this file before pytest is configured

from tests.races.arena import Arena, arena  # noqa: E402
from tests.serving import Served  # noqa: E402


@pytest.fixture(scope="package", name="arena")
def _arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with arena(tmp_path_factory.mktemp("arena")) as made:
        yield made


@pytest.fixture(scope="package", params=["1", "4"])
def server(request: pytest.FixtureRequest, arena: Arena) -> Iterator[Served]:
    """One that answers with so many processes."""
    with arena.serving(WORKERS=request.param) as server:
        yield server
