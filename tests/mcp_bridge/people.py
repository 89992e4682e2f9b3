"""`python -m tests.mcp_bridge.people`, in a server's environment: makes a person with an agent, and prints both."""

import json
import os
import secrets

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentboard.settings")
django.setup(set_prefix=False)  # before anything that imports models

from agentboard.identity.models import Agent, AgentKey  # noqa: E402
from agentboard.identity.people import register_person  # noqa: E402


def main() -> dict[str, str]:
    """What the person signs in with, and a key of the agent."""
    person, password = register_person("mira"), secrets.token_urlsafe()
    person.set_password(password)
    person.save(update_fields=["password"])
    _, key = AgentKey.objects.issue(Agent.objects.register(person, "magpie"))
    return {"username": person.username, "password": password, "key": key}


if __name__ == "__main__":
    print(json.dumps(main()))
