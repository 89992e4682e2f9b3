"""Connected apps: mine alone, disconnected at once, and what came of attempts to connect."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agentboard.contract.errors import Refusal
from agentboard.identity.models import Agent, Person
from mcp_bridge.doctor.models import Attempt, Step
from mcp_bridge.doctor.peer import hashed
from mcp_bridge.oauth.bearer import from_token
from mcp_bridge.oauth.models import Connection
from tests.mcp_bridge.oauth.flow import Answer, App, Browser, Page, Tokens, Web

pytestmark = pytest.mark.django_db
PATH = "/account/connections"


@pytest.fixture
def tokens(app: App, browser: Browser, atlas: Agent) -> Tokens:
    """Of Notes, which mira has connected with atlas."""
    return app.connect(browser, agent=atlas.handle, scopes=["memory:read"])


def attempt(person: Person | None, **facts: object) -> Attempt:
    """An attempt that went on a minute ago, from this machine unless told otherwise."""
    at = timezone.now() - timedelta(minutes=1)
    known = {"address": hashed("127.0.0.1"), "client": "Some app", "started_at": at, "updated_at": at}
    return Attempt.objects.create(person=person, **{**known, **facts})


def end_of(connected: Connection) -> str:
    return f"{PATH}/{connected.pk}/end"


def disconnect(browser: Browser, connected: Connection) -> Answer:
    """Open the page that asks, and press its button."""
    shown = browser.get(end_of(connected))
    return browser.post(end_of(connected), Page(shown.text).hidden.items())


def text_of(answer: Answer) -> str:
    """The main part's words, on one line."""
    main = answer.text.partition("<main")[2].partition("</main>")[0]
    return " ".join(re.sub(r"<[^>]*>", " ", main).split())


def test_whoever_is_not_signed_in_is_sent_to_sign_in_and_back(web: Web, tokens: Tokens) -> None:
    for path in (PATH, end_of(Connection.objects.get())):
        answer = Browser(web).get(path)
        assert (answer.status, answer.location) == (302, f"/account/sign-in?next={path}")


def test_a_connected_app_is_shown_with_its_agent_and_scopes(tokens: Tokens, browser: Browser) -> None:
    shown = text_of(browser.get(PATH))
    assert "Notes acts as atlas" in shown
    assert "memory:read" in shown
    assert "memory:write" not in shown
    assert "never used" in shown


def test_a_person_without_apps_is_told_how_they_come(noors: Browser, tokens: Tokens) -> None:
    shown = text_of(noors.get(PATH))
    assert "No app is connected." in shown
    assert "Notes" not in shown
    assert "http://127.0.0.1:8000/mcp" in shown


def test_an_app_that_never_fetched_its_tokens_is_not_connected(app: App, browser: Browser, atlas: Agent) -> None:
    app.code(browser, agent=atlas.handle)
    assert "No app is connected." in text_of(browser.get(PATH))


def test_the_page_that_asks_names_the_consequence_and_ends_nothing(tokens: Tokens, browser: Browser) -> None:
    shown = text_of(browser.get(end_of(Connection.objects.get())))
    assert "It stops acting as atlas now" in shown
    assert from_token(tokens.access_token).handle == "atlas"


def test_disconnecting_ends_the_app_at_its_very_next_call(tokens: Tokens, browser: Browser, app: App) -> None:
    answer = disconnect(browser, Connection.objects.get())
    assert (answer.status, answer.location) == (302, PATH)
    with pytest.raises(Refusal, match="was ended"):
        from_token(tokens.access_token)
    assert app.refresh(tokens.refresh_token).json["error"] == "invalid_grant"
    shown = text_of(browser.get(PATH))
    assert "Notes is disconnected from atlas." in shown
    assert "No app is connected." in shown


def test_disconnecting_twice_is_no_error(tokens: Tokens, browser: Browser) -> None:
    found = Connection.objects.get()
    page = Page(browser.get(end_of(found)).text)
    answers = [browser.post(end_of(found), page.hidden.items()) for _ in range(2)]
    assert [answer.status for answer in answers] == [302, 302]
    assert "It is disconnected already." in text_of(browser.get(end_of(found)))


def test_disconnecting_without_the_forms_token_is_refused(tokens: Tokens, browser: Browser) -> None:
    assert browser.post(end_of(Connection.objects.get()), []).status == 403
    assert from_token(tokens.access_token)


def test_another_persons_connection_is_unknown(tokens: Tokens, noors: Browser) -> None:
    found = Connection.objects.get()
    page = Page(noors.get("/account/connections/999999999/end").text)
    for path in (end_of(found), f"{PATH}/0/end", f"{PATH}/{2**70}/end"):
        assert noors.get(path).status == 404
        assert noors.post(path, page.hidden.items()).status in (403, 404)
    assert from_token(tokens.access_token)


def test_a_connection_of_an_agent_that_was_given_away_is_nobodys(
    tokens: Tokens, atlas: Agent, browser: Browser, noors: Browser, boreas: Agent
) -> None:
    Agent.objects.filter(pk=atlas.pk).update(owner=boreas.owner)
    for each in (browser, noors):
        assert "Notes acts as" not in text_of(each.get(PATH))
        assert each.get(end_of(Connection.objects.get())).status == 404


def test_no_page_holds_a_token_or_may_be_kept(tokens: Tokens, browser: Browser) -> None:
    for path in (PATH, end_of(Connection.objects.get())):
        answer = browser.get(path)
        assert answer.headers["cache-control"] == "no-store"
        assert not re.search("ab[or]?_[0-9A-Za-z]{20}", answer.text)


def test_a_hostile_name_is_only_text(web: Web, browser: Browser, atlas: Agent) -> None:
    app = App(web)
    app.register(client_name="<script>alert(1)</script>")
    app.connect(browser, agent=atlas.handle)
    found = Connection.objects.get()
    for path in (PATH, end_of(found)):
        assert "<script>alert" not in browser.get(path).text
        assert "&lt;script&gt;alert(1)" in browser.get(path).text
    assert disconnect(browser, found).status == 302
    assert "&lt;script&gt;alert(1)" in browser.get(PATH).text


def test_the_flow_itself_is_shown_as_an_attempt(tokens: Tokens, browser: Browser) -> None:
    shown = text_of(browser.get(PATH))
    assert "Discovery : done Registration : done Consent : done Token : done First call : not reached" in shown
    assert "The app has its token, and has not called yet." in shown


def test_a_stopped_attempt_says_where_why_and_what_to_do(mira: Person, browser: Browser, atlas: Agent) -> None:
    attempt(mira, client_id="c", step=Step.CONSENT, stopped_at=Step.TOKEN, reason="code_expired")
    shown = text_of(browser.get(PATH))
    assert "Some app" in shown
    assert "Consent : done Token : stopped here First call : not reached" in shown
    assert "The app came back for its token too late. Start again in the app." in shown


def test_an_attempt_that_waits_for_its_person_says_so(mira: Person, browser: Browser, atlas: Agent) -> None:
    attempt(mira, client_id="c", step=Step.REGISTRATION, stopped_at=Step.CONSENT, reason="consent_open")
    assert "Consent : waits here Token : not reached" in text_of(browser.get(PATH))


def test_an_attempt_with_a_key_needs_no_consent(mira: Person, browser: Browser, atlas: Agent) -> None:
    attempt(mira, agent=atlas, step=Step.FIRST_CALL)
    shown = text_of(browser.get(PATH))
    assert (
        "Discovery : done Registration : not needed Consent : not needed Token : not needed First call : done" in shown
    )
    assert "Some app as atlas" in shown
    assert "with an agent key" in shown


def test_nobody_sees_the_attempts_of_another_person(
    mira: Person, browser: Browser, noors: Browser, atlas: Agent
) -> None:
    attempt(mira, client="Of Mira")
    attempt(None, client="Of nobody yet")
    attempt(None, client="From elsewhere", address=hashed("203.0.113.1"))
    assert "Of Mira" in text_of(browser.get(PATH))
    seen = text_of(noors.get(PATH))
    assert "Of nobody yet" in seen
    assert "Of Mira" not in seen
    assert "From elsewhere" not in seen


@pytest.mark.parametrize(
    "chosen", ["claude-code", "claude", "cursor", "vscode", "chatgpt", "curl", "python", "nothing"]
)
def test_each_app_has_a_snippet_with_the_address_by_which_the_page_was_reached(browser: Browser, chosen: str) -> None:
    answer = browser.get(f"{PATH}?app={chosen}", host="localhost:8000")
    assert answer.status == 200
    shown = answer.text.partition('<pre id="snippet"')[2].partition("</pre>")[0]
    assert "http://localhost:8000/mcp" in shown


@pytest.mark.parametrize(("chosen", "warned"), [("claude-code", False), ("chatgpt", True), ("claude", True)])
def test_a_hosted_app_that_cannot_reach_this_machine_is_warned_of(browser: Browser, chosen: str, warned: bool) -> None:
    assert ("they need a public address with https" in text_of(browser.get(f"{PATH}?app={chosen}"))) == warned


def test_many_apps_and_attempts_cost_no_more_queries_than_few(
    tokens: Tokens, mira: Person, browser: Browser, atlas: Agent, web: Web
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            browser.get(PATH)
        return len(asked)

    queries()  # notes the session
    few = queries()
    for number in range(15):
        other = App(web)
        other.register(client_name=f"App {number}")
        other.connect(browser, agent=atlas.handle)
        attempt(mira, agent=atlas, client_id=f"c{number}")
    assert queries() == few <= 12
