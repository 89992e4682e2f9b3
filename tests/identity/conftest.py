"""A person, an agent and a key to begin with.

The models are imported inside: `pytest tests/identity` loads this file before Django is set up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.test import override_settings

if TYPE_CHECKING:
    from agentboard.identity.models import Agent, AgentKey, Person


@pytest.fixture(autouse=True)
def quick_passwords() -> Iterator[None]:
    """A password costs nothing here; the real hash takes a third of a second, and nothing depends on which it is."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture
def person(db: None) -> Person:
    from agentboard.identity.people import register_person

    return register_person("mira")


@pytest.fixture
def agent(person: Person) -> Agent:
    from agentboard.identity.models import Agent

    return Agent.objects.register(person, "atlas")


@pytest.fixture
def issued(agent: Agent) -> tuple[AgentKey, str]:
    """The row and the key."""
    from agentboard.identity.models import AgentKey

    return AgentKey.objects.issue(agent)


@pytest.fixture
def operator(db: None) -> Person:
    from agentboard.identity.models import Person

    return Person.objects.create_superuser("root", password="a long enough secret")
