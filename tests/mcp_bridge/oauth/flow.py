"""A person's browser and an application, as far as OAuth needs them; in this process or over a socket.

web = over_socket(server.url)                      # or in_process()
browser = Browser(web, {"sessionid": …})           # or sign_in(web, "mira", "a password")
app = App(web); app.register(client_name="Notes")
tokens = app.connect(browser, agent="atlas", scopes=["memory:read"])
tokens.access_token; app.refresh(tokens.refresh_token); app.revoke(tokens.access_token)
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

SECONDS = 60  # far more than any answer takes, on a machine that does much else
HERE = "http://127.0.0.1:8000"  # what a server in this process is called, by default
CALLBACK = "http://127.0.0.1:7777/callback"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Answer:
    """One HTTP answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cookies: Mapping[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def location(self) -> str:
        return self.headers.get("location", "")

    @property
    def told(self) -> dict[str, str]:
        """What a redirect tells the application: `code` or `error`, `state`, `iss`."""
        return dict(parse_qsl(urlsplit(self.location).query))


Exchange = Callable[[str, str, Mapping[str, str], bytes], Answer]  # verb, path with query, headers, body


@dataclass(frozen=True)
class Web:
    """A server, by its URL and a way to ask it."""

    url: str
    exchange: Exchange

    def ask(
        self, verb: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b"", **named: str
    ) -> Answer:
        """Any request; `named` are headers by their names with _ for -."""
        return self.exchange(verb, path, {**(headers or {}), **spelled(named)}, body)

    def post(self, path: str, form: Mapping[str, str] | Iterable[tuple[str, str]], **named: str) -> Answer:
        """A form, without any cookie."""
        pairs = form.items() if isinstance(form, Mapping) else form
        return self.ask("POST", path, {**FORM, **spelled(named)}, urlencode(list(pairs)).encode())


def spelled(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers by their real names."""
    return {name.replace("_", "-"): value for name, value in headers.items()}


def over_socket(url: str) -> Web:
    """The server at this URL, a connection a request."""

    def exchange(verb: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        with closing(HTTPConnection(urlsplit(url).netloc, timeout=SECONDS)) as connection:
            connection.request(verb, path, body or None, dict(headers))
            response = connection.getresponse()
            cookies: SimpleCookie = SimpleCookie()
            for line in response.headers.get_all("set-cookie") or []:
                cookies.load(line)
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read(), {n: c.value for n, c in cookies.items()})

    return Web(url, exchange)


def in_process() -> Web:
    """Django in this process, in this thread's database connection."""
    from django.test import Client  # after conftest.py has named the settings

    def exchange(verb: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        given = {"host": urlsplit(HERE).netloc, **{name.lower(): value for name, value in headers.items()}}
        content_type = given.pop("content-type", "")
        response = client.generic(verb, path, body, content_type, headers=given)
        found = {name.lower(): value for name, value in response.items()}
        return Answer(response.status_code, found, response.content, {n: c.value for n, c in response.cookies.items()})

    return Web(HERE, exchange)


class Page(HTMLParser):
    """The controls of a page's forms: hidden fields, and for each choice its values and which are chosen."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.hidden: dict[str, str] = {}
        self.choices: dict[str, list[str]] = {}
        self.chosen: dict[str, list[str]] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        name, value = found.get("name") or "", found.get("value") or ""
        if tag == "input" and found.get("type") == "hidden":
            self.hidden[name] = value
        elif tag == "input" and found.get("type") in ("radio", "checkbox"):
            self.choices.setdefault(name, []).append(value)
            if "checked" in found:
                self.chosen.setdefault(name, []).append(value)


class Browser:
    """A person's browser: keeps cookies, follows no redirect, runs no script."""

    def __init__(self, web: Web, cookies: Mapping[str, str] | None = None) -> None:
        self.web, self.cookies = web, dict(cookies or {})

    def get(self, path: str, **named: str) -> Answer:
        return self._kept(self.web.ask("GET", path, {**self._cookie(), **spelled(named)}))

    def post(self, path: str, form: Iterable[tuple[str, str]], **named: str) -> Answer:
        """A form of a page of the same site."""
        body = urlencode(list(form)).encode()
        headers = {**self._cookie(), **FORM, "origin": self.web.url, **spelled(named)}
        return self._kept(self.web.ask("POST", path, headers, body))

    def consent(
        self,
        path: str,
        *,
        agent: str | None = None,
        scopes: Iterable[str] | None = None,
        decision: str = "allow",
        **more: str,
    ) -> Answer:
        """Open the authorization request and answer its page, with what the page has chosen unless told otherwise.

        A page that asks nothing (a refusal, a redirect) comes back as it is. `more` are further fields of the form.
        """
        shown = self.get(path)
        if shown.status != 200:
            return shown
        page = Page(shown.text)
        chosen = page.chosen.get("agent", []) if agent is None else [agent]
        ticked = page.chosen.get("scopes", []) if scopes is None else scopes
        form = [*page.hidden.items(), *(("agent", each) for each in chosen), *(("scopes", each) for each in ticked)]
        return self.post(path, [*form, ("decision", decision), *more.items()])

    def _cookie(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}

    def _kept(self, answer: Answer) -> Answer:
        self.cookies |= answer.cookies
        return answer


def sign_in(web: Web, username: str, password: str, path: str = "/account/sign-in") -> Browser:
    """A browser in which this person has signed in by the form; `path` may say where it leads (`?next=`)."""
    browser = Browser(web)
    signed_in(browser, username, password, path)
    return browser


def signed_in(browser: Browser, username: str, password: str, path: str = "/account/sign-in") -> Answer:
    """The redirect that a sign-in by the form in this browser answers."""
    page = Page(browser.get(path).text)
    answer = browser.post(path, [*page.hidden.items(), ("login", username), ("password", password)])
    assert answer.status == 302, answer.text
    return answer


@dataclass(frozen=True)
class Tokens:
    """What a code or a refresh token has got."""

    access_token: str
    refresh_token: str
    scope: str
    raw: Mapping[str, Any]


class App:
    """An application that a person connects."""

    def __init__(self, web: Web, redirect_uri: str = CALLBACK, client_id: str = "") -> None:
        self.web, self.redirect_uri, self.client_id = web, redirect_uri, client_id
        self.verifier = secrets.token_urlsafe(40)

    def register(self, **metadata: Any) -> Answer:
        """Dynamic registration; the application goes by the client_id that it gets."""
        sent = {"client_name": "Notes", "redirect_uris": [self.redirect_uri], **metadata}
        answer = self.web.ask("POST", "/oauth/register", JSON, json.dumps(sent).encode())
        if answer.status == 201:
            self.client_id = answer.json["client_id"]
        return answer

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def request(self, **changes: str | None) -> str:
        """The path of an authorization request; None leaves a parameter out."""
        parameters = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": "st",
            "scope": "memory:read posts:read",
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
            "resource": f"{self.web.url}/mcp",
            **changes,
        }
        return "/oauth/authorize?" + urlencode({name: v for name, v in parameters.items() if v is not None})

    def code(
        self, browser: Browser, *, agent: str | None = None, scopes: Iterable[str] | None = None, **changes: str
    ) -> str:
        """A code, after the person has allowed it."""
        answer = browser.consent(self.request(**changes), agent=agent, scopes=scopes)
        assert answer.status == 302, (answer.status, answer.text)
        assert "code" in answer.told, answer.told
        return answer.told["code"]

    def token(self, **form: str | None) -> Answer:
        """Any request to the token endpoint as this client; None leaves a parameter out."""
        sent = {"client_id": self.client_id, **form}
        return self.web.post("/oauth/token", {name: value for name, value in sent.items() if value is not None})

    def redeem(self, code: str, /, **changes: str | None) -> Answer:
        """Exchange a code."""
        known = {"redirect_uri": self.redirect_uri, "code_verifier": self.verifier, "resource": f"{self.web.url}/mcp"}
        return self.token(**{"grant_type": "authorization_code", "code": code, **known, **changes})

    def refresh(self, refresh_token: str, /, **changes: str | None) -> Answer:
        """Exchange a refresh token."""
        return self.token(**{"grant_type": "refresh_token", "refresh_token": refresh_token, **changes})

    def revoke(self, token: str, /, **changes: str | None) -> Answer:
        """Give a token back."""
        sent = {"client_id": self.client_id, "token": token, **changes}
        return self.web.post("/oauth/revoke", {name: value for name, value in sent.items() if value is not None})

    def connect(
        self, browser: Browser, *, agent: str | None = None, scopes: Iterable[str] | None = None, **changes: str
    ) -> Tokens:
        """The whole flow, after registration."""
        return tokens(self.redeem(self.code(browser, agent=agent, scopes=scopes, **changes)))


def tokens(answer: Answer) -> Tokens:
    """The tokens of an answer that must hold some."""
    assert answer.status == 200, (answer.status, answer.body)
    found = answer.json
    return Tokens(found["access_token"], found["refresh_token"], found["scope"], found)
