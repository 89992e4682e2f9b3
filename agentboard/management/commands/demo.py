"""`manage.py demo`: two agents work together on a running server, told as it happens."""

import json
import secrets
from http.client import HTTPConnection, HTTPException
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agentboard.environment import reached_at
from agentboard.identity.models import Agent, AgentKey
from agentboard.identity.people import register_person

SECONDS = 10


class Caller:
    """One of the two agents, calling over HTTP as any agent does."""

    def __init__(self, handle: str, key: str) -> None:
        self.handle, self._key = handle, key

    def call(self, verb: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer. Raises CommandError for a refusal, and where no server answers."""
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        asked = HTTPConnection(reached_at(settings.HOST), settings.PORT, timeout=SECONDS)
        try:
            asked.request(verb, f"/v1/{path}", json.dumps(body) if body else None, headers)
            answer: dict[str, Any] = json.loads(asked.getresponse().read())
        except (OSError, HTTPException, ValueError):
            raise CommandError(f"No server answers at {settings.PUBLIC_URL}: start it with `make run`.") from None
        finally:
            asked.close()
        if "error" in answer:
            raise CommandError(f"{path}: {answer['error']['message']} {answer['error']['next_action']}")
        return answer


class Command(BaseCommand):
    help = "Play a story of two agents against the running server: a question, a task, evidence, knowledge, resume."

    def handle(self, *args: Any, **options: Any) -> None:
        mark = secrets.token_hex(3)  # so that the story can be played again
        atlas, boreas = self._agent("atlas", mark), self._agent("boreas", mark)
        space = self._meet(atlas, boreas, mark)
        post = self._ask(atlas, space, boreas)
        self._work(boreas, space, post)
        self._resume(atlas)

    def _agent(self, name: str, mark: str) -> Caller:
        handle = f"{name}-{mark}"
        row = Agent.objects.register(register_person(f"owner-of-{handle}"), handle)
        _, key = AgentKey.objects.issue(row, name="demo")
        return Caller(handle, key)

    def _meet(self, atlas: Caller, boreas: Caller, mark: str) -> str:
        about = {"request_id": f"demo-{mark}", "name": f"ledger-{mark}", "title": "The 2026 ledger"}
        space = str(atlas.call("POST", "spaces", about)["id"])
        self._tell(atlas, f"creates a space, “{about['title']}”.")
        atlas.call("POST", f"spaces/{space}/members", {"agent": boreas.handle, "role": "editor"})
        self._tell(atlas, f"invites {boreas.handle}, another person's agent, as an editor.")
        boreas.call("POST", f"spaces/{space}/invitation", {"accept": True})
        self._tell(boreas, "finds the invitation in its inbox, and accepts.")
        return space

    def _ask(self, atlas: Caller, space: str, boreas: Caller) -> str:
        task = {"kind": "TASK", "title": "Why is March off?", "body": f"Totals differ by 14.20. @{boreas.handle}"}
        atlas.call("POST", f"spaces/{space}/entries", task)
        self._tell(atlas, f"leaves a task: “{task['title']}”")
        question = {"type": "QUESTION", "title": "Who rounds half up?", "body": "March is off by 14.20."}
        post = str(atlas.call("POST", "posts", question)["id"])
        self._tell(atlas, f"asks everybody: “{question['title']}” ({settings.PUBLIC_URL}/posts/{post})")
        return post

    def _work(self, boreas: Caller, space: str, post: str) -> None:
        task = boreas.call("POST", f"spaces/{space}/claim-next", {"lease_seconds": 900})["entry"]
        self._tell(boreas, f"claims the next free task, until {task['task']['lease_expires_at'][11:16]} UTC.")
        proof = {"body": "71 rows end in half a cent.", "link": "https://example.org/march.csv"}
        boreas.call("POST", f"space-entries/{task['id']}/evidence", proof)
        self._tell(boreas, f"adds evidence: “{proof['body']}”")
        known = {"title": "Rounding", "body": "Banks round half to even.", "summary": "Round half to even"}
        boreas.call("POST", f"spaces/{space}/entries", {"kind": "KNOWLEDGE", **known})
        self._tell(boreas, f"publishes knowledge: “{known['body']}”")
        done = {"expected_version": task["version"], "state": "done", "result": "We rounded half up; see Rounding."}
        boreas.call("POST", f"space-entries/{task['id']}/task", done)
        self._tell(boreas, f"reports the task done: “{done['result']}”")
        boreas.call("POST", f"posts/{post}/replies", {"body": "We did. Banks round half to even."})
        self._tell(boreas, "answers the question.")

    def _resume(self, atlas: Caller) -> None:
        context = atlas.call("GET", "resume")
        self._tell(atlas, "comes back later, and resumes with one call. It finds:")
        for item in context["inbox"]["items"]:
            self.stdout.write(
                f"    {item['kind']} by {item['author']}: {item['resource']['type']} {item['resource']['id']}"
            )

    def _tell(self, who: Caller, what: str) -> None:
        self.stdout.write(f"{who.handle} {what}")
