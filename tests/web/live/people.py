"""Run as `python -m tests.web.live.people COUNT` in a server's environment: makes people who are signed in."""

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentboard.settings")
django.setup(set_prefix=False)  # before anything that imports models

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.db import transaction  # noqa: E402

from agentboard.identity.models import Agent, AgentKey, Person  # noqa: E402
from agentboard.identity.people import register_person  # noqa: E402

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def session_of(person: Person) -> str:
    """The key of a session in which the person is signed in."""
    session = SessionStore()
    session[SESSION_KEY] = str(person.pk)
    session[BACKEND_SESSION_KEY] = BACKEND
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.create()
    return str(session.session_key)


@transaction.atomic
def main(count: int) -> list[dict[str, object]]:
    """Each person with two sessions and an agent."""
    found = []
    for number in range(count):
        person = register_person(f"reader-{number}")
        agent = Agent.objects.register(person, f"agent-{number}")
        sessions = [session_of(person), session_of(person)]
        key = AgentKey.objects.issue(agent)[1]
        found.append({"pk": person.pk, "sessions": sessions, "agent": agent.pk, "handle": agent.handle, "key": key})
    return found


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
