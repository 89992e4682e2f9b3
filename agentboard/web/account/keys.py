"""Keys of my agents. A key is shown by the answer that makes it, and by no other ever again."""

import re
import secrets
from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from agentboard.contract import limits
from agentboard.identity import keys
from agentboard.identity.models import Agent, AgentKey, AgentKeyQuerySet
from agentboard.identity.scopes import ALL_SCOPES, WORDS
from agentboard.web.account.agents import mine
from agentboard.web.account.dress import Dressed

CONFLICT = 409
LIVES = {"": "Never", "30": "In 30 days", "90": "In 90 days", "365": "In a year"}  # days
OVERLAPS = {"0": "At once", "60": "In an hour", "1440": "In 24 hours", "10080": "In 7 days"}  # minutes
MARK = re.compile(r"[0-9a-f]{32}\Z")


class Marked(Dressed):
    """A form that makes one key, however often it is sent: the mark stays the same through refusals and repeats."""

    mark = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["mark"] = secrets.token_hex(16)

    def clean_mark(self) -> str:
        """The mark; one that the page did not make is replaced."""
        mark: str = self.cleaned_data["mark"]
        return mark if MARK.match(mark) else secrets.token_hex(16)


class KeyForm(Marked):
    """A new key: its name, what it may do, when it ends."""

    name = forms.CharField(
        max_length=limits.SLUG_MAX,
        required=False,
        label="Name",
        help_text="Where it will be used: laptop, night job. Without one: key and a number.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    ends = forms.ChoiceField(choices=[*LIVES.items()], required=False, label="Stops working", initial="")
    scopes = forms.MultipleChoiceField(
        choices=[(scope, WORDS[scope][0]) for scope in ALL_SCOPES],
        label="What it may do",
        initial=list(ALL_SCOPES),
        error_messages={"required": "A key must be allowed to do something. Tick at least one."},
    )

    @property
    def scope_rows(self) -> list[tuple[str, str, str, bool]]:
        """Scope, what it lets do, what that means, whether it is ticked."""
        ticked = self["scopes"].value() or []
        return [(scope, *WORDS[scope], scope in ticked) for scope in ALL_SCOPES]


class ReplaceForm(Marked):
    """How long the old key goes on beside the new one."""

    overlap = forms.ChoiceField(choices=[*OVERLAPS.items()], initial="1440", label="The old key stops working")


def my_key(request: HttpRequest, handle: str, id: int) -> AgentKey:
    """A key of my agent. Raises Http404 for any other."""
    return get_object_or_404(AgentKey.objects.select_related("agent"), agent=mine(request, handle), pk=id)


@require_http_methods(["GET", "HEAD", "POST"])
def new_key(request: HttpRequest, handle: str) -> HttpResponse:
    """Make one and show it."""
    agent = mine(request, handle)
    form = KeyForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _page(request, "account/key_form.html", {"agent": agent, "form": form}, form)
    entered = form.cleaned_data
    ends = timezone.now() + timedelta(days=int(entered["ends"])) if entered["ends"] else None
    try:
        row, text = AgentKey.objects.issue(
            agent, name=entered["name"], granted=entered["scopes"], expires_at=ends, form=entered["mark"]
        )
    except (ValidationError, IntegrityError) as refused:
        return _made_already(request, agent, entered["mark"], refused)
    return _shown(request, row, text)


@require_http_methods(["GET", "HEAD", "POST"])
def replace_key(request: HttpRequest, handle: str, id: int) -> HttpResponse:
    """Make another like it and show that; the old one ends after the overlap."""
    old = my_key(request, handle, id)
    form = ReplaceForm(request.POST if request.method == "POST" else None)
    if old.state != "active" or not form.is_valid():
        return _page(request, "account/key_replace.html", {"agent": old.agent, "key": old, "form": form}, form)
    overlap, mark = timedelta(minutes=int(form.cleaned_data["overlap"])), form.cleaned_data["mark"]
    try:
        row, text = AgentKey.objects.replace(old, overlap, mark)
    except (ValidationError, IntegrityError) as refused:
        return _made_already(request, old.agent, mark, refused)
    return _shown(request, row, text, old)


@require_http_methods(["GET", "HEAD", "POST"])
def end_key(request: HttpRequest, handle: str, id: int) -> HttpResponse:
    """End it at once."""
    key = my_key(request, handle, id)
    if request.method != "POST":
        return render(request, "account/key_end.html", {"agent": key.agent, "key": key})
    _row(key).revoke()
    messages.success(request, f"{key.name} has ended.")
    return redirect("account-agent", key.agent.handle)


@sensitive_post_parameters("key")
@require_http_methods(["POST"])
def env_file(request: HttpRequest, handle: str) -> HttpResponse:
    """The key that the page before shows, as a file `.env`. The server only wraps it: it does not have it."""
    agent, text = mine(request, handle), request.POST.get("key", "")
    if not keys.well_formed(text) or not agent.keys.filter(digest=keys.digest(text)).exists():
        raise Http404
    response = HttpResponse(f"AGENTBOARD_URL={settings.PUBLIC_URL}\nAGENT_KEY={text}\n", content_type="text/plain")
    response["Content-Disposition"] = f'attachment; filename="{agent.handle}.env"'
    return response


def _row(key: AgentKey) -> AgentKeyQuerySet:
    return AgentKey.objects.get_queryset().filter(pk=key.pk)


def _shown(request: HttpRequest, row: AgentKey, text: str, old: AgentKey | None = None) -> HttpResponse:
    if old is not None:
        old.refresh_from_db(fields=["expires_at"])
    context = {"agent": row.agent, "key": row, "text": text, "old": old, "url": settings.PUBLIC_URL}
    return render(request, "account/key.html", context)


def _made_already(request: HttpRequest, agent: Agent, mark: str, refused: Exception) -> HttpResponse:
    """The page for a form that was sent before, with the way on for who has not stored the key."""
    made = agent.keys.filter(form=mark).first()
    context = {"agent": agent, "key": made, "refused": refused}
    return render(request, "account/key_made.html", context, status=CONFLICT)


def _page(request: HttpRequest, template: str, context: dict[str, Any], form: forms.Form) -> HttpResponse:
    return render(request, template, context, status=422 if form.errors else 200)
