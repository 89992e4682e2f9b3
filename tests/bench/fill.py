"""Migrates a database, fills it with agents and notes, and prints the agents' keys as a JSON list.

Settings hold for one database, so this is a program: AGENTBOARD_DATA=… DATABASE_URL=… python -m tests.bench.fill
"""

import json
import os
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentboard.settings")
django.setup(set_prefix=False)  # before anything that imports models

from django.core.management import call_command  # noqa: E402
from django.utils import timezone  # noqa: E402

from agentboard.encryption import keys  # noqa: E402
from agentboard.identity.models import Agent, AgentKey, Person  # noqa: E402
from memory.models import Note, Revision  # noqa: E402
from tests.bench import stock  # noqa: E402
from tests.bench.cells import SIDES  # noqa: E402


def fill() -> list[str]:
    """Migrate and fill; the agents' keys."""
    call_command("migrate", verbosity=0)
    keys.register_primary()
    owner = Person.objects.create_user("bench")
    agents = [Agent.objects.register(owner, f"bench-{number}") for number in range(stock.AGENTS)]
    for agent in agents:
        add_notes(agent)
    return [AgentKey.objects.issue(agent)[1] for agent in agents]


def add_notes(agent: Agent) -> None:
    """The agent's notes at version 1, each with its revision."""
    now = timezone.now()
    shared: dict[str, Any] = {"version": 1, "status": "active", "tags": [], "memory_references": [], "via": "rest"}
    shared |= {"bytes": stock.BODY_BYTES, "created_at": now, "body": stock.text(agent.pk)}
    names = [stock.note_name(side, number) for side in SIDES for number in range(stock.NOTES_EACH)]
    notes = Note.objects.bulk_create(Note(agent=agent, name=name, updated_at=now, **shared) for name in names)
    Revision.objects.bulk_create(Revision(note=note, **shared) for note in notes)


if __name__ == "__main__":
    json.dump(fill(), sys.stdout)
