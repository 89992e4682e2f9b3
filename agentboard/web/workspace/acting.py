"""Which of my agents a page acts as. Whoever does not own it finds no such page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from agentboard import rate
from agentboard.call import call, refuse_secrets
from agentboard.catalog import CATALOG
from agentboard.contract.errors import Refusal
from agentboard.contract.method import Answer, Method
from agentboard.identity.caller import BROWSER, Caller
from agentboard.identity.models import Agent, AgentKey
from agentboard.identity.scopes import ALL_SCOPES
from agentboard.ledger import feed
from agentboard.ledger.models import InboxItem
from agentboard.web.live.message import cursor_at
from agentboard.web.workspace.drafts import Draft, oldest

Object = dict[str, Any]
View = Callable[..., HttpResponse]
SCOPES = frozenset(ALL_SCOPES)
CSRF = "csrfmiddlewaretoken"


@dataclass(frozen=True)
class Section:
    """A part of an agent's workspace, as the side bar shows it."""

    name: str
    title: str
    icon: str
    key: str  # after `g`
    address: str
    count: int = 0


SECTIONS = (  # name, title, icon, key, whether it stands in the bar at the bottom, too
    ("home", "Home", "house", "h", True),
    ("memory", "Memory", "notebook-text", "m", True),
    ("spaces", "Spaces", "boxes", "s", True),
    ("posts", "Posts", "messages-square", "p", True),
    ("inbox", "Inbox", "message-circle", "i", False),
    ("activity", "Activity", "activity", "a", False),
    ("methods", "Methods", "square-terminal", "x", True),
)


@dataclass(frozen=True)
class Acting:
    """One of my agents, as whose caller everything is read and written; `agents` are all of mine, by handle."""

    agent: Agent
    agents: list[Agent]

    @property
    def caller(self) -> Caller:
        """The agent in a call: its owner acts, through the browser."""
        agent = self.agent
        return Caller(agent.pk, agent.handle, agent.owner_id, SCOPES, BROWSER, "session", None)

    @property
    def sections(self) -> list[Section]:
        """The parts of the workspace of this agent."""
        return [self._section(*told) for *told, _ in SECTIONS]

    @property
    def docked(self) -> list[Section]:
        """Those that a phone shows at the bottom."""
        return [self._section(*told) for *told, docked in SECTIONS if docked]

    def _section(self, name: str, title: str, icon: str, key: str) -> Section:
        address = reverse(f"workspace-{name}", args=[self.agent.handle])
        return Section(name, title, icon, key, address, self.unread if name == "inbox" else 0)

    @property
    def unread(self) -> int:
        """How many items of the agent's inbox are unread."""
        number: int = self.agent.unread  # type: ignore[attr-defined]  # see `mine`
        return number

    @property
    def since(self) -> str:
        """The cursor from which the page hears of changes: taken before anything that it shows was read."""
        agent: Any = self.agent  # with what `mine` adds to it
        return cursor_at(feed.place_of((agent.top_xact, agent.top_id)))

    def call(self, method: Method, id: str | None, data: Mapping[str, Any]) -> Answer:
        """What the method answers. Raises Refusal."""
        return call(method, self.caller, lambda: (id, data))

    def done(self, name: str, id: str | None = None, /, **data: Any) -> Object:
        """The content of what the method of this name answers; arguments that are None stay away. Raises Refusal."""
        given = {argument: value for argument, value in data.items() if value is not None}
        return self.call(CATALOG[name], id, given).content

    def check(self, method: Method, id: str | None, data: Mapping[str, Any]) -> None:
        """Raise Refusal where the arguments would be refused before anything is looked at. Does nothing else."""
        rate.spend(self.caller)
        refuse_secrets(method.check(id, data))


def mine(request: HttpRequest) -> list[Agent]:
    """The agents of whoever is signed in, by handle, each with its `last_call` and what waits for me there.

    That is `unread` and `drafts` (how many), and of the most pressing draft `draft_ref`, `draft_note`, `draft_conflict`
    and `draft_at`; `top_xact` and `top_id` say up to where changes are seen. One query.
    """
    used = AgentKey.objects.filter(agent=OuterRef("pk"), last_used_at__isnull=False).order_by("-last_used_at")
    unread = InboxItem.objects.filter(recipient=OuterRef("pk"), read_at=None)
    drafts = Draft.objects.filter(agent=OuterRef("pk"), saved_as=None, updated_at__gt=oldest())
    latest = drafts.order_by("-conflict", "-updated_at")
    found = Agent.objects.filter(owner_id=request.user.pk).annotate(
        last_call=Subquery(used.values("last_used_at")[:1]),
        unread=_count(unread),
        drafts=_count(drafts),
        draft_ref=Subquery(latest.values("ref")[:1]),
        draft_note=Subquery(latest.values("note")[:1]),
        draft_conflict=Subquery(latest.values("conflict")[:1]),
        draft_at=Subquery(latest.values("updated_at")[:1]),
    )
    return list(feed.with_top(found).order_by("handle"))


def _count(rows: QuerySet[Any]) -> Coalesce:
    """How many rows a correlated query finds."""
    one = rows.order_by().annotate(of=Value(1)).values("of")
    return Coalesce(Subquery(one.annotate(number=Count("*")).values("number")), 0)


def acting_as(request: HttpRequest, handle: str | None) -> Acting:
    """My agent of this handle; without one my first that is active. Raises Http404 where I have none such."""
    agents = mine(request)
    active = (agent for agent in agents if agent.active)
    found = next((agent for agent in agents if agent.handle == handle), None) if handle else next(active, None)
    if found is None:
        raise Http404
    return Acting(found, agents)


def page(view: View) -> View:
    """A page for whoever is signed in: it is kept in no cache, and a refusal is told in words."""

    @login_required
    def signed_in(request: HttpRequest, **named: str) -> HttpResponse:
        try:
            return view(request, **named)
        except Refusal as refused:
            return told(request, refused)
        except Http404:
            return render(request, "404.html", status=404)

    @wraps(view)
    def kept_nowhere(request: HttpRequest, **named: str) -> HttpResponse:
        lost = request.method == "POST" and not request.user.is_authenticated
        response = signed_out(request) if lost else signed_in(request, **named)
        response["Cache-Control"] = "no-store"
        return response

    return kept_nowhere


def of_agent(view: View) -> View:
    """A page of one of my agents, named in its address; the view gets the Acting."""

    @page
    @wraps(view)
    def shown(request: HttpRequest, handle: str, **named: str) -> HttpResponse:
        acting = acting_as(request, handle)
        if not acting.agent.active:
            return asleep(request, acting)
        try:
            return view(request, acting, **named)
        except Refusal as refused:
            return told(request, refused, acting)

    return shown


def told(request: HttpRequest, refused: Refusal, acting: Acting | None = None) -> HttpResponse:
    """The refusal as a page."""
    context = {"refused": refused, "acting": acting}
    response = render(request, "workspace/refused.html", context, status=refused.status)
    if wait := refused.more.get("retry_after_seconds"):
        response["Retry-After"] = str(wait)
    return response


def asleep(request: HttpRequest, acting: Acting) -> HttpResponse:
    """The page of an agent that is deactivated: it is out at every door, this one included."""
    return render(request, "workspace/asleep.html", {"acting": acting}, status=403)


SIGNED_OUT = "Your session has ended, so nothing was saved."
STALE = "You have signed in again since this form was opened, so nothing was saved."


def signed_out(request: HttpRequest, why: str = SIGNED_OUT, status: int = 401) -> HttpResponse:
    """A form that came from nobody: all that was typed, to be sent once more after signing in elsewhere."""
    typed = [(name, value) for name, values in request.POST.lists() for value in values if name != CSRF]
    texts = [(name, value) for name, value in typed if name not in ("once", "language", "draft", "do")]
    context = {"why": why, "typed": typed, "texts": texts, "again": request.get_full_path()}
    return render(request, "workspace/signed_out.html", context, status=status)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's CSRF_FAILURE_VIEW: what was typed on our own page is not lost to a token that signing in has changed.

    The page sends nothing by itself, and shows nothing that another site has posted.
    """
    own = request.headers.get("Origin") == f"{request.scheme}://{request.get_host()}"
    if own and request.path.startswith(reverse("workspace")):
        response = signed_out(request, STALE, 403)
    else:
        response = render(request, "workspace/foreign.html", status=403)
    response["Cache-Control"] = "no-store"
    return response
