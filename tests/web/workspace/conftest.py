"""People with agents, and the browsers they have signed in with."""

from collections.abc import Callable

import django
import pytest

django.setup()  # `pytest tests/web/workspace` loads this file before pytest is configured

from django.contrib.auth import get_user_model  # noqa: E402
from django.test import Client  # noqa: E402

from tests.board import Board, atlas, board, boreas, db, kept_database, made_people  # noqa: E402
from tests.calls import Agent  # noqa: E402

Browser = Callable[[Agent], Client]


@pytest.fixture
def owner_of(db: None) -> Browser:
    """A browser in which the owner of an agent has signed in; it minds CSRF as a real one."""

    def browser(agent: Agent) -> Client:
        client = Client()
        client.force_login(get_user_model().objects.get(agents__pk=agent.pk))
        return client

    return browser


@pytest.fixture
def mira(owner_of: Browser, atlas: Agent) -> Client:
    """The browser of the person who owns atlas."""
    return owner_of(atlas)


@pytest.fixture
def second(board: Board, atlas: Agent) -> Agent:
    """Another agent of the person who owns atlas."""
    return board.agent(owner=get_user_model().objects.get(agents__pk=atlas.pk))


__all__ = ["atlas", "board", "boreas", "db", "kept_database", "made_people", "mira", "owner_of", "second"]
