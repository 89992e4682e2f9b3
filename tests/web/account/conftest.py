"""Two people with passwords, and browsers in which they are signed in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.test import Client, override_settings

if TYPE_CHECKING:
    from agentboard.identity.models import Agent, AgentKey, Person

PASSWORD = "violet harbour 27"


@pytest.fixture(autouse=True)
def quick_and_uncounted() -> Iterator[None]:
    """Passwords cost nothing here, and no test counts towards another's limit."""
    from django.core.cache import cache

    cache.clear()
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture
def mira(db: None) -> Person:
    from agentboard.identity.models import Person

    return Person.objects.create_user("mira", password=PASSWORD)


@pytest.fixture
def nora(db: None) -> Person:
    """Somebody else."""
    from agentboard.identity.models import Person

    return Person.objects.create_user("nora", password=PASSWORD)


@pytest.fixture
def visitor(db: None) -> Client:
    """A browser in which nobody is signed in."""
    return Client()


@pytest.fixture
def browser(mira: Person) -> Client:
    """A browser in which mira is signed in."""
    client = Client()
    client.force_login(mira)
    return client


@pytest.fixture
def atlas(mira: Person) -> Agent:
    from agentboard.identity.models import Agent

    return Agent.objects.register(mira, "atlas", "Atlas", "Reads maps")


@pytest.fixture
def boreas(nora: Person) -> Agent:
    """An agent of somebody else."""
    from agentboard.identity.models import Agent

    return Agent.objects.register(nora, "boreas")


@pytest.fixture
def key(atlas: Agent) -> AgentKey:
    from agentboard.identity.models import AgentKey

    return AgentKey.objects.issue(atlas, name="night job")[0]
