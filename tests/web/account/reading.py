"""What a page of /account holds."""

from html.parser import HTMLParser

from django.http.response import HttpResponseBase
from django.test import Client

PASSWORD = "violet harbour 27"


class Page(HTMLParser):
    """The status of an answer, its text, and its inputs by name."""

    def __init__(self, answer: HttpResponseBase) -> None:
        super().__init__()
        self.status = answer.status_code
        self.text = b"".join(answer).decode()
        self.inputs: dict[str, dict[str, str | None]] = {}
        self.links: list[str] = []
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag in ("input", "select", "textarea") and known.get("name"):
            self.inputs[known["name"] or ""] = known
        if tag == "a":
            self.links.append(known.get("href") or "")

    def value(self, name: str) -> str:
        """What stands in a field."""
        return self.inputs[name]["value"] or ""


def sign_in(client: Client, name: str = "mira", password: str = PASSWORD, **more: str) -> HttpResponseBase:
    """The answer to the sign-in form."""
    return client.post("/account/sign-in", {"login": name, "password": password, **more})


def confirm(client: Client) -> None:
    """The person shows again that it is them."""
    assert client.post("/account/confirm", {"password": PASSWORD}).status_code == 302


def is_in(client: Client) -> bool:
    """Whether somebody is signed in."""
    return client.get("/account").status_code == 200
