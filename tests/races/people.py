"""Run as `python -m tests.races.people COUNT` in a server's environment: makes tables and agents, prints their keys."""

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentboard.settings")
django.setup(set_prefix=False)  # before anything that imports models

from agentboard import foundations  # noqa: E402
from agentboard.identity.models import Agent, AgentKey  # noqa: E402
from agentboard.identity.people import register_person  # noqa: E402


def main(count: int) -> list[tuple[int, str, str]]:
    """Id, handle and key of each."""
    foundations.prepare_database()
    foundations.check_keys()
    person = register_person("racer")
    agents = [Agent.objects.register(person, f"racer-{number}") for number in range(count)]
    return [(agent.pk, agent.handle, AgentKey.objects.issue(agent)[1]) for agent in agents]


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
