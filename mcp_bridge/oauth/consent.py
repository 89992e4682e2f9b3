"""The consent page: a signed-in person lets an application act as one of their agents, or doesn't."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from csp.decorators import csp_update
from django import forms
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods
from oauth2_provider.http import OAuth2ResponseRedirect
from oauthlib.common import generate_token

from agentboard.contract import limits
from agentboard.identity.models import Agent, Person
from agentboard.identity.scopes import WORDS
from mcp_bridge.oauth import names, redirects
from mcp_bridge.oauth.answers import origin
from mcp_bridge.oauth.asked import Asked, Returned, read
from mcp_bridge.oauth.models import Connection
from mcp_bridge.oauth.problem import Problem

NEW = "+"  # what the choice of a new agent is called in the form; no handle
TAKEN = "This handle is taken by another agent; choose another one."
DENIED = Problem("access_denied", "The person did not allow it.")

View = Callable[[HttpRequest], HttpResponse]


class ConsentForm(forms.Form):
    """One agent of the person's own, existing or new, and at least one of the scopes that were asked for."""

    agent = forms.ChoiceField(
        label="Agent",
        error_messages={
            "required": "Choose the agent that the app may act as.",
            "invalid_choice": "Choose one of your own active agents.",
        },
    )
    handle = forms.CharField(
        label="Handle of the new agent",
        required=False,
        max_length=limits.SLUG_MAX,
        widget=forms.TextInput(attrs={"class": "input", "autocapitalize": "none", "spellcheck": "false"}),
    )
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        error_messages={
            "required": "Leave at least one of these ticked, or don't allow it.",
            "invalid_choice": "Choose only from what the app has asked for.",
        },
    )

    def __init__(self, person: Person, asked: Asked, posted: Any = None) -> None:
        self.agents = list(person.agents.filter(active=True))
        chosen = self.agents[0].handle if self.agents else NEW
        super().__init__(posted, initial={"agent": chosen, "scopes": list(asked.scopes)})
        self._person = person
        self._choices("agent", [*(agent.handle for agent in self.agents), NEW])
        self._choices("scopes", asked.scopes)

    def _choices(self, name: str, values: Iterable[str]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(value, value) for value in values]

    def clean(self) -> None:
        """A new agent needs a handle."""
        if self.cleaned_data.get("agent") == NEW and not self.cleaned_data.get("handle"):
            self.add_error("handle", "Give the new agent a handle, such as my-helper.")

    def chosen(self) -> Agent:
        """The agent, made now if it is to be new. Raises ValidationError, IntegrityError or Agent.DoesNotExist."""
        handle: str = self.cleaned_data["agent"]
        own = Agent.objects.select_related("owner").filter(owner=self._person, active=True)
        if handle != NEW:
            return own.get(handle=handle)
        handle = self.cleaned_data["handle"]
        return own.filter(handle=handle).first() or Agent.objects.register(self._person, handle)  # posted twice: once


def _unstored(view: View) -> View:
    """The view, kept by no cache; a page that opened this one in a window may go on waiting for its client's answer."""

    @wraps(view)
    def answered(request: HttpRequest) -> HttpResponse:
        response = view(request)
        response["Cache-Control"] = "no-store"
        response["Cross-Origin-Opener-Policy"] = "unsafe-none"
        return response

    return answered


@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
@_unstored
def authorize(request: HttpRequest) -> HttpResponse:
    """The page that asks (GET, which allows nothing), and the person's answer (POST), sent on to the application.

    The form is posted to the same URL, which is read anew: no field repeats anything that was asked.
    """
    silent = "none" in request.GET.get("prompt", "").split()
    if not request.user.is_authenticated and not silent:
        return redirect_to_login(request.get_full_path())
    try:
        asked = read(request)
        if silent:
            raise _silently(request, asked)
    except Returned as returned:
        return _sent_back(request, returned.redirect_uri, returned.state, returned.problem.parameters)
    except Problem as problem:
        return _refused(request, problem)
    assert isinstance(request.user, Person)
    return _decided(request, request.user, asked) if request.method == "POST" else _shown(request, request.user, asked)


def _silently(request: HttpRequest, asked: Asked) -> Returned:
    """Why nothing can be allowed without asking (OpenID Connect Core, section 3.1.2.6)."""
    error, what = ("consent_required", "allow it") if request.user.is_authenticated else ("login_required", "sign in")
    return Returned(asked.redirect_uri, asked.state, Problem(error, f"The person has to {what}: leave prompt out."))


def _decided(request: HttpRequest, person: Person, asked: Asked) -> HttpResponse:
    decision = request.POST.get("decision")
    if decision == "deny":
        return _sent_back(request, asked.redirect_uri, asked.state, DENIED.parameters)
    form = ConsentForm(person, asked, request.POST)
    if decision == "allow" and form.is_valid():
        code = _allowed(form, asked)
        if code is not None:
            return _sent_back(request, asked.redirect_uri, asked.state, {"code": code})
    return _page(request, asked, form, 422)


def _allowed(form: ConsentForm, asked: Asked) -> str | None:
    """The code of the new connection; None where the agent cannot be had, which the form then says."""
    code = str(generate_token())
    try:
        with transaction.atomic():
            Connection.objects.allow(
                form.chosen(),
                asked.application,
                form.cleaned_data["scopes"],
                code=code,
                redirect_uri=asked.redirect_uri,
                code_challenge=asked.code_challenge,
            )
    except ValidationError as refused:
        form.add_error("handle", " ".join(f"The handle {message}." for message in refused.messages))
    except IntegrityError:
        form.add_error("handle", TAKEN)
    except Agent.DoesNotExist:  # deactivated since the form looked
        form.add_error("agent", "Choose one of your own active agents.")
    else:
        return code
    return None


def _shown(request: HttpRequest, person: Person, asked: Asked) -> HttpResponse:
    return _page(request, asked, ConsentForm(person, asked))


def _page(request: HttpRequest, asked: Asked, form: ConsentForm, status: int = 200) -> HttpResponse:
    """The page; its policy lets the form's answer redirect to the application."""
    about = {
        "form": form,
        "app": asked.application,
        "mixed": names.mixes_alphabets(asked.application.name),
        "redirect_uri": asked.redirect_uri,
        "loopback": redirects.is_loopback(asked.redirect_uri),
        "host": "" if redirects.is_program(asked.redirect_uri) else redirects.host(asked.redirect_uri),
        "scopes": [(scope, *WORDS[scope]) for scope in asked.scopes],
        "new": NEW,
    }
    policy = {"form-action": redirects.policy_sources(asked.redirect_uri)}
    page = csp_update(policy)(lambda asking: render(asking, "oauth/consent.html", about, status=status))(request)
    assert isinstance(page, HttpResponse)
    return page


def _refused(request: HttpRequest, problem: Problem) -> HttpResponse:
    """The page for a request that no application can be told about."""
    page = render(request, "oauth/refused.html", {"problem": problem}, status=problem.status)
    for name, value in problem.headers.items():
        page[name] = value
    return page


def _sent_back(request: HttpRequest, uri: str, state: str | None, parameters: dict[str, str]) -> HttpResponse:
    """The redirect to the application, with `iss` whatever the answer is (RFC 9207, section 2)."""
    told = {**parameters, **({} if state is None else {"state": state}), "iss": origin(request)}
    response: HttpResponse = OAuth2ResponseRedirect(
        f"{uri}{'&' if '?' in uri else '?'}{urlencode(told)}", redirects.SCHEMES
    )
    response["Referrer-Policy"] = "no-referrer"
    return response
