"""What the person sees, and what their answer does."""

import re
from html import unescape

import pytest

from agentboard.identity.models import Agent, Person
from agentboard.identity.scopes import ALL_SCOPES
from mcp_bridge.oauth.models import Application, Connection, Grant
from mcp_bridge.oauth.redirects import HOPS
from tests.mcp_bridge.oauth.conftest import browser_of
from tests.mcp_bridge.oauth.flow import CALLBACK, HERE, Answer, App, Browser, Page, Web


def words(answer: Answer) -> str:
    """The page's text, without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def again(answer: Answer) -> str:
    """The text of a page that asks once more, since the answer could not be taken."""
    assert answer.status == 422
    assert "Nothing is allowed yet." in answer.text
    assert not Connection.objects.exists()
    return words(answer)


def test_the_page_says_who_asks_for_what_and_where_the_answer_goes(browser: Browser, app: App, mira: Person) -> None:
    Agent.objects.register(mira, "ledger")
    shown = browser.get(app.request(scope=None))
    text = words(shown)
    assert "Notes wants to act as one of your agents" in text
    assert "This app named itself. Go on only if you started this just now." in text
    assert f"Returns to {CALLBACK} a program on this computer" in text
    assert app.client_id in text
    page = Page(shown.text)
    assert page.choices == {"agent": ["atlas", "ledger", "+"], "scopes": list(ALL_SCOPES)}
    assert page.chosen == {"agent": ["atlas"], "scopes": list(ALL_SCOPES)}
    assert set(page.hidden) == {"csrfmiddlewaretoken"}, "what was asked is read from the URL, never from a field"
    for scope in ALL_SCOPES:
        assert scope in text


@pytest.mark.parametrize(
    ("uri", "returns"),
    [
        ("https://app.example/cb", "the site app.example"),
        ("cursor://anysphere.cursor-mcp/oauth/callback", "a program on this device"),
        ("http://localhost:3118/cb", "a program on this computer"),
    ],
)
def test_the_page_says_what_kind_of_place_the_answer_goes_to(
    web: Web, browser: Browser, uri: str, returns: str
) -> None:
    app = App(web, uri)
    app.register()
    assert f"Returns to {uri} {returns}" in words(browser.get(app.request()))


def test_the_page_may_be_kept_by_no_cache_and_framed_by_nobody(browser: Browser, app: App) -> None:
    for answer in (browser.get(app.request()), browser.consent(app.request(), scopes=[])):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("uri", "source"),
    [
        ("https://app.example:8443/cb", "https://app.example:8443"),
        ("https://App.Example:/cb", "https://app.example"),
        ("http://127.0.0.1:7777/cb", "http://127.0.0.1:7777"),
        ("http://[::1]:7777/cb", "http:"),
        ("vscode://ms.auth/cb", "vscode:"),
    ],
)
def test_only_this_page_lets_its_form_lead_to_the_application(
    web: Web, browser: Browser, uri: str, source: str
) -> None:
    app = App(web, uri)
    assert app.register().status == 201

    def form_action(answer: Answer) -> set[str]:
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        return set(policy["form-action"].split())

    onward = set() if source == "vscode:" else set(HOPS)
    assert form_action(browser.get(app.request())) == {"'self'", source, *onward}
    assert form_action(browser.consent(app.request(), scopes=[])) == {"'self'", source, *onward}
    assert form_action(browser.get("/posts")) == {"'self'"}


def test_refusing_tells_the_application_and_makes_nothing(browser: Browser, app: App) -> None:
    answer = browser.consent(app.request(), decision="deny")
    assert answer.status == 302
    assert answer.location.startswith(f"{CALLBACK}?")
    assert (answer.told["error"], answer.told["state"], answer.told["iss"]) == ("access_denied", "st", HERE)
    assert not Connection.objects.exists()


def test_allowing_sends_a_code_with_state_and_issuer(browser: Browser, app: App, atlas: Agent) -> None:
    answer = browser.consent(app.request())
    assert answer.location.startswith(f"{CALLBACK}?")
    assert set(answer.told) == {"code", "state", "iss"}
    assert (answer.told["state"], answer.told["iss"]) == ("st", HERE)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    connection = Connection.objects.get()
    assert (connection.agent, connection.person) == (atlas, atlas.owner)
    assert Grant.objects.get().code != answer.told["code"]


@pytest.mark.parametrize("decision", ["", "ALLOW", "yes", "1"])
def test_an_answer_that_is_neither_asks_again(browser: Browser, app: App, decision: str) -> None:
    assert browser.consent(app.request(), decision=decision).status == 422
    assert not Connection.objects.exists()


def test_another_persons_agent_cannot_be_chosen(browser: Browser, app: App, boreas: Agent) -> None:
    assert "boreas" not in browser.get(app.request()).text
    for agent in ("boreas", str(boreas.pk), "nobody", "atlas\0", "+atlas", "é"):
        assert "Choose one of your own active agents." in again(browser.consent(app.request(), agent=agent))


def test_an_agent_must_be_chosen(browser: Browser, app: App) -> None:
    shown = Page(browser.get(app.request()).text)
    answer = browser.post(app.request(), [*shown.hidden.items(), ("scopes", "memory:read"), ("decision", "allow")])
    assert "Choose the agent that the app may act as." in again(answer)


def test_a_deactivated_agent_is_not_offered(browser: Browser, app: App, atlas: Agent) -> None:
    Agent.objects.update(active=False)
    assert Page(browser.get(app.request()).text).choices["agent"] == ["+"]
    again(browser.consent(app.request(), agent="atlas"))


def test_what_is_unticked_is_not_given(browser: Browser, app: App) -> None:
    app.code(browser, scopes=["posts:read"], scope="memory:read memory:write posts:read")
    assert Connection.objects.get().scopes == "posts:read"


def test_at_least_one_scope_is_given(browser: Browser, app: App) -> None:
    assert "Leave at least one of these ticked" in again(browser.consent(app.request(), scopes=[]))


@pytest.mark.parametrize("scopes", [["memory:read", "posts:write"], ["memory:write"], ["wishes"], ["memory:read\0"]])
def test_what_was_not_asked_for_cannot_be_given(browser: Browser, app: App, scopes: list[str]) -> None:
    assert "Choose only from what the app has asked for." in again(browser.consent(app.request(), scopes=scopes))


def test_what_was_typed_and_chosen_comes_back(browser: Browser, app: App) -> None:
    answer = browser.consent(app.request(), agent="+", scopes=["posts:read"], handle="Not A Handle")
    page = Page(answer.text)
    assert page.chosen == {"agent": ["+"], "scopes": ["posts:read"]}
    assert 'value="Not A Handle"' in answer.text


def test_fields_of_the_form_change_nothing_of_what_was_asked(browser: Browser, app: App) -> None:
    tampered = {
        "redirect_uri": "https://evil.example/",
        "client_id": "other",
        "state": "evil",
        "scope": "memory:write",
        "code_challenge": "A" * 43,
        "code_challenge_method": "plain",
        "resource": "https://evil.example/mcp",
        "response_type": "token",
    }
    for decision in ("allow", "deny"):
        answer = browser.consent(app.request(), decision=decision, **tampered)
        assert answer.location.startswith(f"{CALLBACK}?")
        assert answer.told["state"] == "st"
    grant = Grant.objects.get()
    assert (grant.code_challenge, grant.code_challenge_method) == (app.challenge, "S256")
    assert (grant.scope, grant.redirect_uri, grant.resource) == ("memory:read posts:read", CALLBACK, [f"{HERE}/mcp"])


def test_an_answer_to_a_changed_url_is_an_answer_to_what_it_says_then(browser: Browser, app: App) -> None:
    shown = Page(browser.get(app.request()).text)
    form = [*shown.hidden.items(), ("agent", "atlas"), ("scopes", "memory:read"), ("decision", "allow")]
    assert browser.post(app.request(redirect_uri="https://evil.example/"), form).status == 400
    assert browser.post(app.request(client_id="unknown"), form).status == 400
    assert "error" in browser.post(app.request(code_challenge_method="plain"), form).told
    assert not Connection.objects.exists()


def test_a_form_of_another_site_is_refused(web: Web, browser: Browser, noors: Browser, app: App) -> None:
    form = [("agent", "atlas"), ("scopes", "memory:read"), ("decision", "allow")]
    browser.get(app.request())
    assert browser.post(app.request(), form).status == 403
    theirs = Page(noors.get(app.request()).text).hidden
    assert browser.post(app.request(), [*theirs.items(), *form]).status == 403
    own = Page(browser.get(app.request()).text).hidden
    elsewhere = browser.post(app.request(), [*own.items(), *form], origin="https://evil.example")
    assert elsewhere.status == 403
    assert not Connection.objects.exists()


def test_an_answer_after_the_session_has_ended_asks_to_sign_in_again(web: Web, browser: Browser, app: App) -> None:
    shown = Page(browser.get(app.request()).text)
    del browser.cookies["sessionid"]
    form = [*shown.hidden.items(), ("agent", "atlas"), ("scopes", "memory:read"), ("decision", "allow")]
    answer = browser.post(app.request(), form)
    assert (answer.status, answer.location.startswith("/account/sign-in?next=/oauth/authorize")) == (302, True)
    assert not Connection.objects.exists()


def test_a_person_who_was_deactivated_is_asked_to_sign_in(browser: Browser, app: App) -> None:
    Person.objects.update(is_active=False)
    assert browser.get(app.request()).location.startswith("/account/sign-in")


# ---- a new agent


def test_a_person_without_an_agent_makes_one_right_there(web: Web, app: App, mira: Person) -> None:
    browser = browser_of(web, mira)
    assert Page(browser.get(app.request()).text).chosen["agent"] == ["+"]
    assert "Give the new agent a handle" in again(browser.consent(app.request()))
    assert "code" in browser.consent(app.request(), handle="helper").told
    agent = Agent.objects.get()
    assert (agent.handle, agent.owner) == ("helper", mira)
    assert Connection.objects.get().agent == agent


def test_a_handle_beside_an_agent_that_is_chosen_makes_none(browser: Browser, app: App) -> None:
    browser.consent(app.request(), agent="atlas", handle="helper")
    assert Connection.objects.get().agent.handle == "atlas"
    assert Agent.objects.count() == 1


@pytest.mark.parametrize("handle", ["Helper", "a--b", "a b", "é", "a\0b", "x" * 81, "<b>"])
def test_a_handle_that_cannot_be_is_refused(browser: Browser, app: App, handle: str) -> None:
    again(browser.consent(app.request(), agent="+", handle=handle))
    assert Agent.objects.count() == 1


def test_a_handle_of_somebody_else_is_refused(browser: Browser, app: App, boreas: Agent) -> None:
    assert "taken by another agent" in again(browser.consent(app.request(), agent="+", handle="boreas"))


def test_the_same_form_posted_twice_makes_one_agent(browser: Browser, app: App) -> None:
    for _ in range(2):
        assert "code" in browser.consent(app.request(), agent="+", handle="helper").told
    assert Agent.objects.filter(handle="helper").count() == 1


# ---- what an application calls itself

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ request }}{% debug %}",
    "Claude\u202e\u2066evil",
    "A" * 5_000,
    "line\r\nSet-Cookie: x=y",
    "Clаude",  # with a Cyrillic а
    "\u0416" + "\u0489" * 30,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_does_any_harm(web: Web, browser: Browser, name: str) -> None:
    app = App(web)
    assert app.register(client_name=name).status == 201
    shown = browser.get(app.request())
    main = shown.text[shown.text.index("<main") :]
    assert shown.status == 200
    assert "<script" not in main
    assert "<img" not in main
    assert not set("\u202e\u2066\u200b") & set(shown.text)
    heading = re.search(r"<h1><bdi>(.*?)</bdi>", shown.text, re.DOTALL)
    assert heading
    assert len(unescape(heading[1])) <= 60


def test_a_name_of_several_alphabets_is_pointed_out(web: Web, browser: Browser, app: App) -> None:
    assert "several alphabets" not in browser.get(app.request()).text
    for name, told in (("Clаude", True), ("Заметки", False), ("メモ Notes", False), ("Nοtes", True)):
        other = App(web)
        other.register(client_name=name)
        assert ("several alphabets" in browser.get(other.request()).text) == told


def test_an_application_that_published_a_document_is_named_with_its_host(browser: Browser, app: App) -> None:
    about = {
        "registration_source": "cimd",
        "client_id": "https://app.example/client",
        "cimd_expires_at": "2099-01-01T00:00Z",
    }
    Application.objects.update(**about)
    app.client_id = "https://app.example/client"
    text = words(browser.get(app.request()))
    assert "app.example vouches for this app. The name is what it calls itself." in text
    assert "This app named itself" not in text
    assert "Any program on your computer can say that it is this app." in text
