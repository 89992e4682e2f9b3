"""What holds for every page of /account."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.template.loader import get_template
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from agentboard.identity.models import Agent, AgentKey, Person
from agentboard.web.account.urls import urlpatterns
from tests.serving import PROJECT
from tests.web.account.reading import confirm

pytestmark = pytest.mark.django_db
INLINE = re.compile(r"<style|<script(?![^>]* src=)(?![^>]*application/json)[^>]*>| style=| on[a-z]+=\"", re.IGNORECASE)
FOR_ALL = (
    "/account/sign-in",
    "/account/sign-up",
    "/account/inactive",
    "/account/password/reset",
    "/account/password/reset/sent",
    "/account/password/reset/done",
    "/account/password/reset/1-x",
    "/account/email/confirm/x",
    "/account/deleted",
)
MINE = (
    "/account",
    "/account/new-agent",
    "/account/agents/atlas",
    "/account/agents/atlas/edit",
    "/account/agents/atlas/deactivate",
    "/account/agents/atlas/keys/new",
    "/account/agents/atlas/keys/{key}/replace",
    "/account/agents/atlas/keys/{key}/end",
    "/account/security",
    "/account/security/app",
    "/account/security/passkeys/add",
    "/account/security/recovery/new",
    "/account/password",
    "/account/email",
    "/account/email/sent",
    "/account/sessions",
    "/account/data",
    "/account/delete",
    "/account/confirm",
    "/account/sign-out",
)
ACTS = (
    "/account/new-agent",
    "/account/agents/atlas/edit",
    "/account/agents/atlas/deactivate",
    "/account/agents/atlas/activate",
    "/account/agents/atlas/keys/new",
    "/account/agents/atlas/keys/env",
    "/account/agents/atlas/keys/{key}/replace",
    "/account/agents/atlas/keys/{key}/end",
    "/account/sessions/1/end",
    "/account/sessions/others/end",
    "/account/security/app",
    "/account/security/app/remove",
    "/account/security/passkeys/add",
    "/account/security/recovery/new",
    "/account/password",
    "/account/email",
    "/account/delete",
    "/account/confirm",
)


@pytest.fixture(autouse=True)
def with_mail() -> object:
    with override_settings(MAIL_IS_SENT=True):
        yield


@pytest.mark.parametrize("path", MINE)
def test_a_page_of_mine_is_plain_quick_and_kept_nowhere(browser: Client, key: AgentKey, path: str) -> None:
    confirm(browser)
    with CaptureQueriesContext(connection) as queries:
        answer = browser.get(path.format(key=key.pk))
    text = answer.content.decode()
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    assert INLINE.findall(text) == []
    assert text.count("<h1") == 1
    assert re.search(r"<title>[^<]{3,} · AgentBoard</title>", text)
    assert len(queries) <= (20 if path == "/account/delete" else 12)


@pytest.mark.parametrize("path", FOR_ALL)
def test_a_page_for_all_is_plain_and_kept_nowhere(visitor: Client, path: str) -> None:
    answer = visitor.get(path)
    text = answer.content.decode()
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    assert INLINE.findall(text) == []
    assert text.count("<h1") == 1


@pytest.mark.parametrize("path", [path for path in MINE if path != "/account/sign-out"])
def test_whoever_is_not_signed_in_is_sent_to_sign_in_and_back(visitor: Client, path: str) -> None:
    answer = visitor.get(path.format(key=1))
    assert (answer.status_code, answer["Cache-Control"]) == (302, "no-store")
    assert answer["Location"] == f"/account/sign-in?next={path.format(key=1)}"


@pytest.mark.parametrize("path", ACTS)
def test_no_act_is_done_without_its_token(mira: Person, key: AgentKey, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(mira)
    answer = client.post(path.format(key=key.pk), {"name": "mira", "handle": "new", "overlap": "0"})
    assert answer.status_code == 403
    assert (Agent.objects.count(), Agent.objects.get().active) == (1, True)
    key.refresh_from_db()
    assert key.state == "active"


def test_every_route_is_in_these_lists_or_has_a_file_of_its_own() -> None:
    elsewhere = ("account/start/", "account/sign-in/", "account/confirm/", "account/security/passkeys")
    others = ("account/security/recovery", "account/password/set", "account/data/export")
    listed = {re.sub(r"\{key\}|\b1\b", "*", path.removeprefix("/")) for path in (*FOR_ALL, *MINE, *ACTS)}
    routes = {str(entry.pattern) for entry in urlpatterns}
    plain = {re.sub(r"<int:\w+>", "*", route.replace("<slug:handle>", "atlas")) for route in routes}
    missing = {route for route in plain - listed if not route.startswith(("^", *elsewhere, *others))}
    assert missing == set()


def test_no_page_has_the_look_of_the_library() -> None:
    views = (entry.callback for entry in urlpatterns)
    names = {getattr(getattr(view, "view_class", None), "template_name", None) for view in views} - {None}
    assert len(names) > 15
    loaded: dict[str, Any] = {str(name): get_template(str(name)) for name in names}
    origins = {name: Path(template.origin.name) for name, template in loaded.items()}
    assert {name for name, origin in origins.items() if not origin.is_relative_to(PROJECT / "templates")} == set()
