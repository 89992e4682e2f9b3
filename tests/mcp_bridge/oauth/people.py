"""`python -m tests.mcp_bridge.oauth.people`, in a server's environment: makes two people with an agent each, signed in.

Prints {"mira": {"session": …, "key": …}, "noor": …}: the cookie of a session, and a key of the person's agent.
"""

import json
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentboard.settings")
django.setup(set_prefix=False)  # before anything that imports models

from agentboard.identity.models import Agent, AgentKey  # noqa: E402
from agentboard.identity.people import register_person  # noqa: E402
from tests.mcp_bridge.oauth.sessions import session_of  # noqa: E402


def main() -> dict[str, dict[str, str]]:
    """By the names of the people; mira owns atlas, noor owns boreas."""
    made = {}
    for name, handle in (("mira", "atlas"), ("noor", "boreas")):
        person = register_person(name)
        _, key = AgentKey.objects.issue(Agent.objects.register(person, handle))
        made[name] = {"session": session_of(person), "key": key}
    return made


if __name__ == "__main__":
    print(json.dumps(main()))
