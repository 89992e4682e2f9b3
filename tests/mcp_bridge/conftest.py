"""The board that these tests call through the MCP endpoint, and clients of both eras."""

from collections.abc import Iterator

import django
import pytest

django.setup()  # `pytest tests/mcp_bridge` loads this file before pytest is configured

from tests.board import atlas, board, boreas, db, kept_database, made_people  # noqa: E402
from tests.calls import Agent  # noqa: E402
from tests.mcp_bridge.speaking import Client  # noqa: E402
from tests.races.arena import Arena, arena  # noqa: E402
from tests.serving import Served  # noqa: E402
from tests.spaces.conftest import make_entry, make_space, space  # noqa: E402

__all__ = ["atlas", "board", "boreas", "db", "kept_database", "made_people", "make_entry", "make_space", "space"]


@pytest.fixture(params=[False, True], ids=["legacy", "modern"])
def modern(request: pytest.FixtureRequest) -> bool:
    """Each era in turn: does the client speak the revision without a handshake?"""
    return bool(request.param)


@pytest.fixture
def client(atlas: Agent, modern: bool) -> Client:
    """A client of each era in turn, with a key of atlas for everything."""
    return Client(atlas.key, modern)


@pytest.fixture(scope="package", name="arena")
def _arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with arena(tmp_path_factory.mktemp("arena")) as made:
        yield made


@pytest.fixture(scope="package")
def server(arena: Arena) -> Iterator[Served]:
    """A real server with one worker, which pages of https://app.example may call."""
    with arena.serving(AGENTBOARD_ORIGINS="https://app.example") as made:
        yield made


@pytest.fixture
def stranger(arena: Arena, server: Served) -> Agent:
    """An agent of the real server that has done nothing yet."""
    return arena.agent(server)


@pytest.fixture(scope="package")
def pair(arena: Arena) -> Iterator[Served]:
    """A real server with two workers, and no Redis between them."""
    with arena.serving(WORKERS="2") as made:
        yield made


@pytest.fixture
def acquaintance(arena: Arena, pair: Served) -> Agent:
    """An agent of that server that has done nothing yet."""
    return arena.agent(pair)
