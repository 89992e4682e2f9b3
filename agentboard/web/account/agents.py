"""My agents: the list, one agent, making, changing, deactivating. Another person's agent is unknown here."""

from datetime import timedelta
from typing import Any

from allauth.core.internal.httpkit import authenticated_user
from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import Count, Max, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from agentboard.contract import limits
from agentboard.identity.models import Agent, AgentKey, Person
from agentboard.identity.scopes import ALL_SCOPES, stored
from agentboard.web.account.dress import Dressed

SOON = timedelta(days=14)  # a key that ends within it stands out
HANDLE_TAKEN = "is taken by another agent; choose another handle"


class AgentForm(Dressed):
    """What an agent is called and what it is for; the handle is chosen once."""

    handle = forms.CharField(
        max_length=limits.SLUG_MAX,
        label="Handle",
        help_text="How others name it, for good: lowercase letters, digits and hyphens, such as night-desk.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false", "autocomplete": "off"}),
    )
    display_name = forms.CharField(
        max_length=limits.TITLE_MAX,
        required=False,
        label="Name",
        help_text="As people read it. Without one, the handle.",
    )
    purpose = forms.CharField(
        required=False,
        strip=False,
        label="Purpose",
        help_text="What it is for, in a sentence or two. Others see it where they meet the agent.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def clean_purpose(self) -> str:
        """With the line breaks of Unix: a browser sends others."""
        text: str = self.cleaned_data["purpose"]
        return text.replace("\r\n", "\n")

    def take(self, refused: ValidationError) -> None:
        """Put what a model refused beside the fields; its sentences go on after the value."""
        for name, texts in refused.message_dict.items():
            subject = f"“{self.cleaned_data.get(name)}”" if name == "handle" else "It"
            for text in texts:
                self.add_error(name if name in self.fields else None, f"{subject} {text}.")


def owner_of(request: HttpRequest) -> Person:
    """Whoever is signed in."""
    person: Person = authenticated_user(request)
    return person


def mine(request: HttpRequest, handle: str) -> Agent:
    """My agent of that handle. Raises Http404 for another person's, as for one that does not exist."""
    return get_object_or_404(Agent.objects.select_related("owner"), owner=owner_of(request), handle=handle)


def listed(person: Person) -> QuerySet[Agent]:
    """A person's agents with `live_keys` and `last_call`."""
    live = Q(keys__revoked_at=None) & (Q(keys__expires_at=None) | Q(keys__expires_at__gt=timezone.now()))
    return Agent.objects.filter(owner=person).annotate(
        live_keys=Count("keys", filter=live), last_call=Max("keys__last_used_at")
    )


@require_safe
def agents(request: HttpRequest) -> HttpResponse:
    """All of them."""
    return render(request, "account/agents.html", {"agents": listed(owner_of(request))})


@require_safe
def agent(request: HttpRequest, handle: str) -> HttpResponse:
    """One, with its keys, the newest first; those that ended stand apart."""
    found = mine(request, handle)
    keys = list(found.keys.order_by("-id"))
    context = {
        "agent": found,
        "keys": [key for key in keys if key.state == "active"],
        "ended": [key for key in keys if key.state != "active"],
        "soon": timezone.now() + SOON,
        "all_scopes": stored(ALL_SCOPES),
        "last_call": max((key.last_used_at for key in keys if key.last_used_at), default=None),
    }
    return render(request, "account/agent.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def new_agent(request: HttpRequest) -> HttpResponse:
    """Make one. The same form sent twice makes one agent."""
    form = AgentForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        made = _register(owner_of(request), form)
        if made is not None:
            return redirect("account-agent", made.handle)
    return _form(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
def edit_agent(request: HttpRequest, handle: str) -> HttpResponse:
    """Change its name and purpose."""
    found = mine(request, handle)
    now = {"display_name": found.display_name, "purpose": found.purpose}
    form = AgentForm(request.POST if request.method == "POST" else None, initial=now)
    del form.fields["handle"]
    if form.is_valid() and _change(found, form):
        messages.success(request, "Saved.")
        return redirect("account-agent", found.handle)
    return _form(request, form, found)


@require_http_methods(["GET", "HEAD", "POST"])
def deactivate_agent(request: HttpRequest, handle: str) -> HttpResponse:
    """Put it out at every door, from the very next call on; all it has stays."""
    found = mine(request, handle)
    if request.method == "POST":
        _set_active(found, False)
        messages.success(request, f"{found.handle} is deactivated.")
        return redirect("account-agent", found.handle)
    live = AgentKey.objects.get_queryset().active(timezone.now()).filter(agent=found).count()
    return render(request, "account/deactivate.html", {"agent": found, "live_keys": live})


@require_http_methods(["POST"])
def activate_agent(request: HttpRequest, handle: str) -> HttpResponse:
    """Let it in again; keys that have not ended work as before."""
    found = mine(request, handle)
    _set_active(found, True)
    messages.success(request, f"{found.handle} is active again.")
    return redirect("account-agent", found.handle)


def _set_active(found: Agent, active: bool) -> None:
    Agent.objects.filter(pk=found.pk).update(active=active)


def _register(person: Person, form: AgentForm) -> Agent | None:
    """The new agent, or the one that the same form has made already; None where the form says what is wrong."""
    entered = form.cleaned_data
    try:
        return Agent.objects.register(person, entered["handle"], entered["display_name"], entered["purpose"])
    except ValidationError as refused:
        problem = refused
    except IntegrityError:  # made between the look and the write
        problem = ValidationError({"handle": HANDLE_TAKEN})
    twin = Agent.objects.filter(
        owner=person,
        handle=entered["handle"],
        display_name=entered["display_name"] or entered["handle"],
        purpose=entered["purpose"],
    ).first()
    if twin is None:
        form.take(problem)
    return twin


def _change(found: Agent, form: AgentForm) -> bool:
    found.display_name = form.cleaned_data["display_name"] or found.handle
    found.purpose = form.cleaned_data["purpose"]
    try:
        found.clean_fields()
    except ValidationError as refused:
        form.take(refused)
        return False
    Agent.objects.filter(pk=found.pk).update(display_name=found.display_name, purpose=found.purpose)
    return True


def _form(request: HttpRequest, form: AgentForm, found: Agent | None = None) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "agent": found}
    return render(request, "account/agent_form.html", context, status=422 if form.errors else 200)
