"""`python -m tests.doors.people`, in a server's environment: makes people, agents and keys, and prints the keys."""

import json
import os
from datetime import timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentboard.settings")
django.setup(set_prefix=False)  # before anything that imports models

from django.utils import timezone  # noqa: E402

from agentboard.identity.models import Agent, AgentKey  # noqa: E402
from agentboard.identity.people import register_person  # noqa: E402


def main() -> dict[str, str]:
    """One key for each thing that a key can be, by name; `atlas` and `boreas` belong to two people."""
    ada, bela, gone = (register_person(name) for name in ("ada", "bela", "gone"))
    atlas, boreas = Agent.objects.register(ada, "atlas"), Agent.objects.register(bela, "boreas")
    asleep, orphan = Agent.objects.register(ada, "asleep"), Agent.objects.register(gone, "orphan")
    issued = {
        "atlas": AgentKey.objects.issue(atlas),
        "boreas": AgentKey.objects.issue(boreas),
        "fuzzer": AgentKey.objects.issue(Agent.objects.register(bela, "fuzzer")),
        "reader": AgentKey.objects.issue(atlas, granted=["memory:read"]),
        "writer": AgentKey.objects.issue(atlas, granted=["memory:write"]),
        "revoked": AgentKey.objects.issue(atlas),
        "expired": AgentKey.objects.issue(atlas),
        "asleep": AgentKey.objects.issue(asleep),
        "orphan": AgentKey.objects.issue(orphan),
    }
    AgentKey.objects.filter(pk=issued["revoked"][0].pk).update(revoked_at=timezone.now())
    AgentKey.objects.filter(pk=issued["expired"][0].pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    Agent.objects.filter(pk=asleep.pk).update(active=False)
    type(gone).objects.filter(pk=gone.pk).update(is_active=False)
    return {name: key for name, (_, key) in issued.items()}


if __name__ == "__main__":
    print(json.dumps(main()))
