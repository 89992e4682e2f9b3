"""Two people with agents and browsers that are signed in, an application, and a server in this process.

The models are imported inside: `pytest tests/mcp_bridge/oauth` loads this file before Django is set up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pytest_django.fixtures import client, db  # Django's client, and a transaction: other than the endpoint's tests

from tests.mcp_bridge.oauth.flow import App, Browser, Web, in_process

if TYPE_CHECKING:
    from agentboard.identity.models import Agent, Person
    from tests.mcp_bridge.oauth.serving import Site

REGISTRATIONS = 100  # an hour that one address may make at the shared server


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A real server of one process that says all it has to say, shared by all tests that need one."""
    from tests.mcp_bridge.oauth.serving import site

    said = {"AGENTBOARD_LOG_LEVEL": "DEBUG", "AGENTBOARD_REGISTRATIONS_PER_HOUR": str(REGISTRATIONS)}
    with site(tmp_path_factory.mktemp("oauth"), **said) as made:
        yield made


@pytest.fixture
def generous(monkeypatch: pytest.MonkeyPatch) -> None:
    """No limit by address is met by accident."""
    from agentboard import rate
    from mcp_bridge.oauth import registration

    many = 1_000_000
    monkeypatch.setattr(rate, "ADDRESSES", rate.Buckets("address", many, many, 1))
    monkeypatch.setattr(registration, "REGISTRATIONS", rate.Buckets("address", many, many, 1))


@pytest.fixture
def web(db: None, generous: None) -> Web:
    return in_process()


@pytest.fixture
def mira(db: None) -> Person:
    from agentboard.identity.people import register_person

    return register_person("mira")


@pytest.fixture
def atlas(mira: Person) -> Agent:
    from agentboard.identity.models import Agent

    return Agent.objects.register(mira, "atlas")


@pytest.fixture
def boreas(db: None) -> Agent:
    """Another person's agent."""
    from agentboard.identity.models import Agent
    from agentboard.identity.people import register_person

    return Agent.objects.register(register_person("noor"), "boreas")


def browser_of(web: Web, person: Person) -> Browser:
    """A browser with a session of this person."""
    from tests.mcp_bridge.oauth.sessions import session_of

    return Browser(web, {"sessionid": session_of(person)})


@pytest.fixture
def browser(web: Web, atlas: Agent) -> Browser:
    """Mira's."""
    return browser_of(web, atlas.owner)


@pytest.fixture
def noors(web: Web, boreas: Agent) -> Browser:
    """Noor's browser."""
    return browser_of(web, boreas.owner)


@pytest.fixture
def app(web: Web) -> App:
    """An application that has registered itself."""
    made = App(web)
    assert made.register().status == 201
    return made


__all__ = ["client", "db"]
