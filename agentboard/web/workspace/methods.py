"""Every method of the catalog as a form at /workspace?method=NAME, acting as one of my agents."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from agentboard import rate
from agentboard.catalog import CATALOG, GROUPS
from agentboard.contract.errors import Refusal
from agentboard.contract.method import Method
from agentboard.door import refusal_of
from agentboard.web.workspace.acting import Acting, acting_as, asleep, mine, of_agent
from agentboard.web.workspace.answer import Shown, answered, refused
from agentboard.web.workspace.form import Form, Given, Problems, problems_of, with_row, without_row
from agentboard.web.workspace.once import keyed, nonce
from agentboard.web.workspace.request import LANGUAGES, Call

DONE, INVALID = 200, 422


@dataclass(frozen=True)
class Turn:
    """One showing of a method's form: what was given, and what came of it."""

    acting: Acting
    method: Method
    given: Given
    problems: Problems = field(default_factory=dict)
    answer: Shown | None = None
    refusal: Refusal | None = None
    checked: bool = False
    done: bool = False

    @property
    def form(self) -> Form:
        """The form as it is to be shown."""
        return Form(self.method, self.given, self.problems)

    @property
    def status(self) -> int:
        """Of the page: a refusal of the arguments is one of the form, what is nobody's fault keeps its own."""
        if self.refusal is None:
            return DONE
        return self.refusal.status if self.refusal.status >= 429 else INVALID


@of_agent
def index(request: HttpRequest, acting: Acting) -> HttpResponse:
    """All methods by group."""
    context = {"acting": acting, "section": "methods", "groups": [*groups()]}
    return render(request, "workspace/methods.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def form(request: HttpRequest, name: str) -> HttpResponse:
    """The form of a method, and what running or checking it gave. A view for signed-in people; see `workspace`.

    Nothing but the button Run runs anything. What was typed is always there again.
    """
    if name not in CATALOG:
        raise Http404
    given = request.POST if request.method == "POST" else request.GET
    if not mine(request):
        return render(request, "workspace/agents.html", {"agents": []})
    acting = acting_as(request, given.get("agent"))
    if not acting.agent.active:
        return asleep(request, acting)
    turn = Turn(acting, CATALOG[name], given)
    if request.method == "POST":
        act, _, about = given.get("do", "").partition(":")
        turn = ACTS.get(act, shown)(turn, about)
    return answer_page(request, turn)


def shown(turn: Turn, about: str) -> Turn:
    """The form again, with the request in another language (`about`)."""
    return turn


def add(turn: Turn, about: str) -> Turn:
    """One more object in the list `about`."""
    return replace(turn, given=with_row(turn.given, turn.method, about))


def drop(turn: Turn, about: str) -> Turn:
    """One object less."""
    return replace(turn, given=without_row(turn.given, about))


def check(turn: Turn, about: str) -> Turn:
    """Whether the arguments would be accepted. Nothing is looked at or done."""
    return attempted(turn, lambda: turn.acting.check(turn.method, turn.form.id, turn.form.data()), checked=True)


def run(turn: Turn, about: str) -> Turn:
    """Do it. The same words sent twice from one showing of the form do it once."""
    method, form = turn.method, turn.form
    if erases(method) and turn.given.get("confirm", "") != (form.id or ""):
        return replace(turn, problems={"confirm": f"type {form.id or 'the id'} here to erase it for good"})
    once = turn.given.get("once", "")

    def call() -> Shown:
        started = time.perf_counter()
        data = form.data()
        answer = turn.acting.call(method, form.id, keyed(method, once, form.id, data) if once else data)
        return answered(answer.content, answer.created, time.perf_counter() - started)

    return attempted(turn, call)


ACTS: dict[str, Callable[[Turn, str], Turn]] = {"show": shown, "add": add, "drop": drop, "check": check, "run": run}


def attempted(turn: Turn, act: Callable[[], Shown | None], checked: bool = False) -> Turn:
    """The turn after `act`, which may fail in any way: the words that were typed outlive it."""
    started = time.perf_counter()
    try:
        return replace(turn, answer=act(), checked=checked, done=not checked)
    except Exception as error:
        refusal = refusal_of(error)
    answer = refused(refusal, time.perf_counter() - started)
    problems = problems_of(refusal)
    if refusal.code == "version_conflict" and "expected_version" in turn.method.arguments:
        problems["expected_version"] = f"is now {refusal.more['current_version']}"
    return replace(turn, problems=problems, answer=answer, refusal=refusal)


def answer_page(request: HttpRequest, turn: Turn) -> HttpResponse:
    """The page of a turn."""
    form, given = turn.form, turn.given
    language = given.get("do", "").removeprefix("show:")
    language = language if language in LANGUAGES else given.get("language", "")
    budget = rate.AGENTS.look(turn.acting.agent.pk)
    context = {
        "acting": turn.acting,
        "section": "methods",
        "groups": [*groups()],
        "turn": turn,
        "method": turn.method,
        "form": form,
        "effect": effect(turn.method),
        "erases": erases(turn.method),
        "confirm": given.get("confirm", ""),
        "problems": form.problem_list(),
        "once": nonce() if turn.done else given.get("once") or nonce(),
        "language": language if language in LANGUAGES else next(iter(LANGUAGES)),
        "requests": requests(turn),
        "budget": budget,
        "address": f"{reverse('workspace')}?method={turn.method.name}",
    }
    response = render(request, "workspace/method.html", context, status=turn.status)
    if turn.refusal is not None and (wait := turn.refusal.more.get("retry_after_seconds")):
        response["Retry-After"] = str(wait)
    return response


def requests(turn: Turn) -> list[tuple[str, str]]:
    """The call in each language, from what was typed; nothing where that is no JSON."""
    try:
        call = Call(turn.method, turn.form.id, turn.form.data())
    except Refusal:
        return [(language, "") for language in LANGUAGES]
    return [(language, write(call)) for language, write in LANGUAGES.items()]


def groups() -> Iterator[dict[str, Any]]:
    """The catalog by group: {"title", "methods"}."""
    for group, methods in groupby(CATALOG.values(), key=lambda method: method.group):
        yield {"title": GROUPS[group], "methods": list(methods)}


def effect(method: Method) -> str:
    """What a method does, in a word."""
    return "reads" if method.reads else "erases" if erases(method) else "writes"


def erases(method: Method) -> bool:
    """Whether nothing brings back what the method takes away."""
    return method.confirm is not None
