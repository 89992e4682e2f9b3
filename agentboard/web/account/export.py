"""Everything of mine as one zip, written while it is sent."""

import io
import threading
import time
import zipfile
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import orjson
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from asgiref.sync import sync_to_async
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from agentboard.board.belongings import File, belongings
from agentboard.identity.models import Agent, Person
from agentboard.web.account.agents import owner_of
from agentboard.web.workspace.drafts import Draft

BUSY = 503
EXPORTS_AT_ONCE = 2  # a process
EXPORT_SECONDS = 900
CHUNK = 64 * 1024  # bytes to gather before they are sent
README = """Everything that AgentBoard keeps of this account, as JSON in UTF-8.

account.json                 you: name, addresses, second factors (without their secrets), sessions, connected apps
agents/<handle>/agent.json   the agent, and what is known of its keys; the keys themselves nobody can read out
agents/<handle>/notes/       a file for each note, with the revisions that are retained
agents/<handle>/spaces/      a folder for each space that it is in: the space, and a file for each entry
agents/<handle>/*.jsonl      posts, replies, inbox, events and unsaved drafts, one JSON object a line
"""


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    """The zip. What changes while it is written may be in it or not."""
    turn = TURNS.take()
    if turn is None:
        return render(request, "account/busy.html", status=BUSY)
    pieces = in_turns(zipped(files(owner_of(request))), turn)
    response = StreamingHttpResponse(pieces, content_type="application/zip")
    name = f"agentboard-{timezone.now():%Y-%m-%d}.zip"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def files(person: Person) -> Iterator[File]:
    """All files but the first, by their names in the zip."""
    yield "account.json", [account_json(person)]
    for agent in person.agents.all():
        for name, objects in belongings(agent):
            yield f"agents/{agent.handle}/{name}", objects
        yield f"agents/{agent.handle}/drafts.jsonl", drafts(agent)


def drafts(agent: Agent) -> Iterator[dict[str, Any]]:
    """What was typed for the agent's notes and is not saved."""
    for draft in Draft.objects.living(agent):
        yield {"note": draft.note, "version": draft.version, "typed": draft.fields, "updated_at": draft.updated_at}


def account_json(person: Person) -> dict[str, Any]:
    """The person, without what lets anybody in."""
    mine: dict[str, QuerySet[Any]] = {
        "emails": EmailAddress.objects.filter(user=person).values("email", "verified", "primary"),
        "second_factors": Authenticator.objects.filter(user=person).values("type", "created_at", "last_used_at"),
        "sessions": UserSession.objects.filter(user=person).values("ip", "user_agent", "created_at", "last_seen_at"),
    }
    apps = person.connections.filter(ended_at=None)
    mine["apps"] = apps.values("application__name", "agent__handle", "scopes", "created_at", "last_used_at")
    told = {"username": person.username, "joined_at": person.date_joined, "last_sign_in": person.last_login}
    return told | {name: [*rows] for name, rows in mine.items()}


def zipped(named: Iterable[File]) -> Iterator[bytes]:
    """The bytes of a zip of these files, in pieces; nothing is read before its turn comes."""
    written, now = Written(), timezone.now()
    written_at = (now.year, now.month, now.day, now.hour, now.minute, now.second)
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", README)
        for name, objects in named:
            with archive.open(zipfile.ZipInfo(name, written_at), "w") as entry:
                for each in objects:
                    entry.write(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE | indent(name)))
                    if written.size >= CHUNK:
                        yield written.taken()
    yield written.taken()


def indent(name: str) -> int:
    """How orjson is to write the objects of a file: for people, unless each must be one line."""
    return 0 if name.endswith(".jsonl") else orjson.OPT_INDENT_2


class Written(io.RawIOBase):
    """What a zip file is written to: bytes to be taken away; it cannot go back."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0  # bytes

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, piece: Any) -> int:
        """Keep a copy until it is taken."""
        kept = bytes(piece)
        self._pieces.append(kept)
        self.size += len(kept)
        return len(kept)

    def taken(self) -> bytes:
        """What was written since the last time."""
        joined = b"".join(self._pieces)
        self._pieces, self.size = [], 0
        return joined


class Turns:
    """Who may export now. A page holds one of the server's few threads for pages until its reader has all of it."""

    def __init__(self, at_once: int, seconds: int) -> None:
        self._at_once, self._seconds = at_once, seconds
        self._ends: dict[object, float] = {}  # by turn, in time.monotonic()
        self._lock = threading.Lock()

    def take(self) -> object | None:
        """A turn, or None where all are taken. One that nobody gave back ends by itself."""
        now = time.monotonic()
        with self._lock:
            self._ends = {turn: end for turn, end in self._ends.items() if end > now}
            if len(self._ends) >= self._at_once:
                return None
            turn = object()
            self._ends[turn] = now + self._seconds
            return turn

    def lasts(self, turn: object) -> bool:
        """Whether the turn has not ended."""
        return self._ends.get(turn, 0) > time.monotonic()

    def give_back(self, turn: object) -> None:
        """End the turn."""
        with self._lock:
            self._ends.pop(turn, None)


TURNS = Turns(EXPORTS_AT_ONCE, EXPORT_SECONDS)


async def in_turns(pieces: Iterator[bytes], turn: object) -> AsyncIterator[bytes]:
    """The pieces, each made in the request's own thread; under ASGI Django would make all of them before the first.

    Raises TimeoutError, which cuts the answer, where a reader is too slow for its turn.
    """
    following = sync_to_async(lambda: next(pieces, None))
    try:
        while (piece := await following()) is not None:
            if not TURNS.lasts(turn):
                raise TimeoutError("An export was cut: its reader took too long.")
            yield piece
    finally:
        TURNS.give_back(turn)
