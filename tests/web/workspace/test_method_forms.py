"""Each method as a form: what is typed arrives exactly, acts once, and outlives every refusal."""

import json
import re
import shlex
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client

from agentboard import rate
from agentboard.catalog import CATALOG
from agentboard.contract import limits
from agentboard.contract.body import query_arguments
from agentboard.contract.method import Method
from agentboard.identity.models import Agent as AgentRow
from tests.calls import Agent
from tests.web.workspace.page import Element, Page, opened

every_method = pytest.mark.parametrize("name", [*CATALOG])
examples = pytest.mark.parametrize("name", [name for name, method in CATALOG.items() if method.example or method.id])
FILLED: dict[str, Any] = {
    "memory_references": [{"name": "first-note", "version": 2}, {"name": "second-note", "version": 1}],
    "supersedes": {"name": "old-note", "expected_version": 3},
    "edits": [{"old": "one\ntwo 'three' \"four\" $HOME `id` \\ é 字", "new": ""}],
    "tags": ["red", "green"],
    "review_after": "2027-03-01T00:00:00Z",
    "accept": True,
    "archived": False,
    "unread": False,
}


def form(client: Client, name: str, **given: str) -> Page:
    more = "".join(f"&{argument}={value}" for argument, value in given.items())
    return opened(client, f"/workspace?method={name}{more}")


def answer(page: Page) -> Any:
    """The JSON beside the form."""
    return json.loads(page.by_id("res").text)


def whole_example(method: Method) -> dict[str, Any]:
    """Arguments that a form can hold and the schema admits, as many of them as there are."""
    known = {name: value for name, value in FILLED.items() if name in method.arguments}
    return {**known, **method.example}


def typed_in(page: Page, method: Method, data: dict[str, Any]) -> tuple[Page, dict[str, str]]:
    """The page with rows for all lists of objects, and what to type where."""
    for name, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for _ in value:
                page = page.press(f"do=add:data.{name}")
    own = {"id": str(method.id.schema["example"])} if method.id else {}
    return page, {**own, **dict(flat(data, "data"))}


def flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from flat(inner, f"{path}.{name}")
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, item in enumerate(value):
            yield from flat(item, f"{path}.{number}")
    elif isinstance(value, list):
        yield path, ", ".join(value)
    elif not isinstance(value, bool):
        yield path, str(value)
    else:
        yield path, "true" if value else "false"


def label_of(page: Page, control: Element) -> Element:
    """What names the control."""
    if control.tag == "fieldset":
        return control.all("legend")[0]
    return control.within("label") or page.root.one("label", for_=control["id"])


# ---- what stands there


@every_method
def test_a_form_has_a_labelled_control_for_each_argument_and_marks_what_is_required(mira: Client, name: str) -> None:
    method, page = CATALOG[name], form(mira, name)
    arguments = {"id": method.id} if method.id else {}
    for argument, field in {**arguments, **method.arguments}.items():
        control = page.by_id("f-" + ("id" if argument == "id" else f"data-{argument}"))
        label = label_of(page, control)
        required = argument in method.required and argument != "request_id"
        required = method.id_required if argument == "id" else required
        assert ("required" in label.words) == required
        assert argument in label.words
        assert str(field.schema.get("description", "")).split("\n")[0] in page.main.text
    assert page.title == f"{name} · AgentBoard"
    assert len(page.root.all("h1")) == 1
    assert page.response["Cache-Control"] == "no-store"
    ids = [each["id"] for each in page.root.all() if "id" in each]
    assert len(ids) == len(set(ids))
    assert {each for element in page.root.all() for each in element["aria-describedby"].split()} <= {*ids}


def test_a_method_that_does_not_exist_has_no_form(mira: Client) -> None:
    assert mira.get("/workspace?method=nothing").status_code == 404


def test_the_form_names_who_acts_and_offers_my_active_agents_only(
    mira: Client, atlas: Agent, second: Agent, boreas: Agent
) -> None:
    AgentRow.objects.filter(pk=second.pk).update(active=False)
    offered = form(mira, "whoami").root.one("select", name="agent")
    assert [option.words for option in offered.all("option")] == [atlas.handle]


def test_values_in_the_address_are_filled_in_and_harmless(mira: Client) -> None:
    page = form(mira, "save_memory", id="a%22b", **{"data.body": "%3C/textarea%3E%3Cb%3E", "data.tags": "x"})
    assert page.by_id("f-id")["value"] == 'a"b'
    assert page.by_id("f-data-body").text == "\n</textarea><b>"
    assert "<b>" not in page.html.replace("<b>Not", "")[page.html.index("<textarea") :].split("</textarea>")[0]


# ---- running


def test_a_note_saved_by_the_form_is_what_was_typed_and_says_that_its_person_acted(mira: Client, atlas: Agent) -> None:
    body = "    code\n\n\ntext \t\n"
    page = form(mira, "save_memory").press(
        "Run save_memory", id="typed", data__body=body, data__expected_version="0", data__tags="red, green"
    )
    assert answer(page)["version"] == 1
    note = atlas.note("typed")
    assert (note["body"], note["tags"], note["via"], note["origin"]) == (body, ["red", "green"], "browser", "owner")


def test_a_note_that_is_saved_again_and_again_neither_grows_nor_loses_a_line_feed(mira: Client, atlas: Agent) -> None:
    body = "\n\nfirst\n\nlast\n\n"
    page = form(mira, "save_memory")
    for version in range(3):
        page = page.press("Run save_memory", id="same", data__body=body, data__expected_version=str(version))
        assert page.by_id("f-data-body").text.removeprefix("\n") == body
        body = atlas.note("same")["body"]
    assert (body, atlas.note("same")["bytes"]) == ("\n\nfirst\n\nlast\n\n", 15)


def test_the_same_form_sent_twice_acts_once(mira: Client, atlas: Agent) -> None:
    """B51"""
    page = form(mira, "save_memory")
    typed = {"id": "once", "data.body": "text", "data.expected_version": "0"}
    first, again = page.send("Run save_memory", typed), page.send("Run save_memory", typed)
    assert (answer(first)["version"], answer(again)["replayed"]) == (1, True)
    assert again.status == 200
    assert atlas.note("once")["version"] == 1


def test_two_clicks_at_once_make_one_post(mira: Client, atlas: Agent) -> None:
    """B51"""
    page, together = form(mira, "create_post"), threading.Barrier(2)
    typed = {"data.type": "OFFER", "data.title": "Once", "data.body": "text"}

    def click(_: int) -> Any:
        together.wait(10)  # seconds
        try:
            return answer(page.send("Run create_post", typed))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as clicks:
        answers = [*clicks.map(click, range(2))]
    assert sorted(each["replayed"] for each in answers) == [False, True]
    assert len(atlas.done("list_posts", author=atlas.handle)["items"]) == 1


def test_other_words_after_the_back_button_count_as_the_new_thing_that_they_are(mira: Client, atlas: Agent) -> None:
    """B51"""
    page = form(mira, "create_post")
    for title in ("First", "Second"):
        page.press("Run create_post", data__type="OFFER", data__title=title, data__body="text")
    titles = [post["title"] for post in atlas.done("list_posts", author=atlas.handle)["items"]]
    assert titles == ["Second", "First"]


def test_the_form_beside_an_answer_acts_again_when_it_is_sent_again(mira: Client, atlas: Agent) -> None:
    page = form(mira, "create_post").press("Run create_post", data__type="OFFER", data__title="Same", data__body="text")
    page.press("Run create_post")
    assert len(atlas.done("list_posts", author=atlas.handle)["items"]) == 2


def test_a_space_is_made_without_typing_a_request_id(mira: Client, atlas: Agent) -> None:
    page = form(mira, "create_space")
    typed = {"data.name": "typed", "data.title": "Typed"}
    made = [answer(page.send("Run create_space", typed)) for _ in range(2)]
    assert made[1]["operation"]["resource"]["id"] == made[0]["id"]


def test_objects_inside_arguments_are_typed_field_by_field(mira: Client, atlas: Agent) -> None:
    for name in ("one", "two", "three", "old"):
        atlas.save(name)
    page = form(mira, "save_memory")
    for _ in range(3):
        page = page.press("do=add:data.memory_references", data__body="text")
    references = {f"data.memory_references.{n}.name": name for n, name in enumerate(("one", "two", "three"))}
    versions = {f"data.memory_references.{n}.version": "1" for n in range(3)}
    page = page.send("do=drop:data.memory_references.1", {**references, **versions})
    assert page.by_id("f-data-body").text == "\ntext"
    page = page.press(
        "Run save_memory",
        id="new",
        data__expected_version="0",
        data__supersedes__name="old",
        data__supersedes__expected_version="1",
    )
    assert answer(page)["superseded"]["name"] == "old"
    assert [each["name"] for each in atlas.note("new")["memory_references"]] == ["one", "three"]


def test_an_empty_text_counts_where_it_means_something(mira: Client, atlas: Agent) -> None:
    atlas.save("edited", "one two")
    page = (
        form(mira, "edit_memory")
        .press("do=add:data.edits")
        .press(
            "Run edit_memory",
            id="edited",
            data__expected_version="1",
            data__edits__0__old="one ",
            data__edits__0__new="",
        )
    )
    assert answer(page)["version"] == 2
    assert atlas.note("edited")["body"] == "two"


def test_an_empty_row_is_not_sent(mira: Client, atlas: Agent) -> None:
    page = (
        form(mira, "save_memory")
        .press("do=add:data.memory_references")
        .press("Run save_memory", id="row", data__body="text", data__expected_version="0")
    )
    assert answer(page)["memory_references"] == []


def test_a_time_is_read_as_utc(mira: Client, atlas: Agent) -> None:
    page = form(mira, "save_memory").press(
        "Run save_memory",
        id="timed",
        data__body="text",
        data__expected_version="0",
        data__review_after="2027-03-01T08:30",
    )
    assert answer(page)["review_after"] == "2027-03-01T08:30:00Z"


def test_arguments_can_be_typed_as_json(mira: Client, atlas: Agent) -> None:
    page = form(mira, "save_memory").press("json=", data__body="text", data__expected_version="0")
    data = json.loads(page.by_id("f-json").text)
    assert data == {"body": "text", "expected_version": 0, "status": "active"}
    page = page.press("Run save_memory", id="json", json=json.dumps({**data, "tags": ["red"]}))
    assert answer(page)["tags"] == ["red"]
    page = page.press("Run save_memory", json='{"body": ')
    assert (page.status, answer(page)["error"]["code"]) == (422, "invalid_json")
    assert page.by_id("f-json").text == '\n{"body": '


def test_what_cannot_be_brought_back_asks_for_the_id_once_more(mira: Client, atlas: Agent) -> None:
    atlas.save("kept")
    typed = {"id": "kept", "data.expected_version": "1"}
    page = form(mira, "delete_memory").send("Run delete_memory", {**typed, "confirm": "other"})
    assert (page.status, page.by_id("f-confirm")["value"]) == (200, "other")
    assert "Not done" in page.by_id("errors").words
    assert atlas.note("kept")["version"] == 1
    page.press("Run delete_memory", confirm="kept")
    atlas.refused("not_found", "get_memory", "kept")


# ---- checking


def test_checking_says_what_would_be_refused_and_does_nothing(mira: Client, atlas: Agent) -> None:
    page = form(mira, "save_memory").press("Check only", id="checked", data__expected_version="x")
    assert {"Body: Is required.", 'Expected version: Must be an integer; "x" is not.'} <= {
        link.words for link in page.by_id("errors").all("a")
    }
    page = page.press("Check only", data__body="text", data__expected_version="0")
    assert "These arguments hold." in page.main.words
    assert page.root.all(id="res") == []
    atlas.refused("not_found", "get_memory", "checked")


# ---- refusals


def test_each_problem_stands_at_its_field_and_in_a_summary_that_leads_there(mira: Client, atlas: Agent) -> None:
    page = (
        form(mira, "save_memory")
        .press("do=add:data.memory_references")
        .press(
            "Run save_memory",
            id="bad",
            data__body="text",
            data__expected_version="0",
            data__tags="red, RED, blue",
            data__memory_references__0__name="Not A Slug",
            data__memory_references__0__version="one",
        )
    )
    assert (page.status, page.title) == (422, "Error: save_memory · AgentBoard")
    leads = {link["href"] for link in page.by_id("errors").all("a")}
    assert leads == {"#f-data-tags", "#f-data-memory_references-0-version"}
    for lead in leads:
        control = page.by_id(lead[1:])
        assert control["aria-invalid"] == "true"
        assert page.by_id(f"{control['id']}-error")["id"] in control["aria-describedby"].split()
    assert page.by_id("f-data-tags")["value"] == "red, RED, blue"
    assert "open" in page.root.one("details", class_="more")


def test_a_stale_version_is_told_at_its_field_with_the_current_one(mira: Client, atlas: Agent) -> None:
    atlas.save("moved")
    atlas.save("moved", "newer", 1)
    page = form(mira, "save_memory").press("Run save_memory", id="moved", data__body="mine", data__expected_version="1")
    assert "Is now 2." in page.by_id("f-data-expected_version-error").words
    assert "version_conflict" in page.by_id("errors").words
    assert page.by_id("f-data-body").text == "\nmine"
    assert atlas.note("moved")["body"] == "newer"


def test_a_refusal_that_is_nobodys_fault_keeps_the_words_and_says_when_to_come_back(
    mira: Client, atlas: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = form(mira, "save_memory")
    monkeypatch.setattr(rate, "AGENTS", rate.Buckets("agent", 60, 1, 1))
    typed = {"id": "late", "data.body": "kept words", "data.expected_version": "0"}
    page.send("Run save_memory", typed)
    page = page.send("Run save_memory", typed)
    assert (page.status, page.response["Retry-After"]) == (429, "1")
    assert page.by_id("f-data-body").text == "\nkept words"


def test_a_fault_of_the_server_keeps_the_words(
    mira: Client, atlas: Agent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Any) -> None:
        raise RuntimeError("kept words")

    page = form(mira, "save_memory")
    monkeypatch.setattr(rate, "spend", broken)
    page = page.press("Run save_memory", id="late", data__body="kept words", data__expected_version="0")
    assert (page.status, answer(page)["error"]["code"]) == (500, "internal_error")
    assert page.by_id("f-data-body").text == "\nkept words"


@pytest.mark.parametrize(("size", "status"), [(limits.BODY_MAX, 200), (limits.BODY_MAX + 1, 422)])
def test_bytes_are_counted_as_they_will_be_stored(mira: Client, atlas: Agent, size: int, status: int) -> None:
    body = "é\n" * 6_826 + "x" * (size - 6_826 * 3)  # each line break is sent as two bytes
    page = form(mira, "save_memory").press("Run save_memory", id="big", data__body=body, data__expected_version="0")
    assert page.status == status
    assert f"{size:,} of 20,480 bytes" in page.by_id("f-data-body-size").words


def test_a_key_in_a_text_is_refused(mira: Client, atlas: Agent) -> None:
    page = form(mira, "save_memory").press(
        "Run save_memory", id="key", data__body=f"see {atlas.key}", data__expected_version="0"
    )
    assert (page.status, answer(page)["error"]["code"]) == (422, "invalid_arguments")


# ---- whose agent


def test_nobody_gets_a_form_without_signing_in(db: None) -> None:
    response = Client().get("/workspace?method=save_memory")
    assert response.status_code == 302
    assert response["Location"] == "/account/sign-in?next=/workspace%3Fmethod%3Dsave_memory"
    assert response["Cache-Control"] == "no-store"


def test_another_persons_agent_in_the_form_is_as_good_as_none(mira: Client, boreas: Agent) -> None:
    typed = {"id": "x", "data.body": "text", "data.expected_version": "0", "do": "run"}
    for handle in (boreas.handle, "nobody"):
        assert mira.post("/workspace?method=save_memory", {**typed, "agent": handle}).status_code == 404
        assert mira.get(f"/workspace?method=save_memory&agent={handle}").status_code == 404
    boreas.refused("not_found", "get_memory", "x")


def test_an_agent_that_is_deactivated_is_out_here_too(mira: Client, atlas: Agent) -> None:
    page = form(mira, "save_memory")
    AgentRow.objects.filter(pk=atlas.pk).update(active=False)
    page = page.press("Run save_memory", id="x", data__body="text", data__expected_version="0")
    assert (page.status, "is deactivated" in page.title) == (403, True)


def test_a_form_of_another_site_does_nothing(atlas: Agent, mira: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = mira.cookies
    typed = {"id": "x", "data.body": "text", "data.expected_version": "0", "do": "run", "agent": atlas.handle}
    assert strict.post("/workspace?method=save_memory", typed).status_code == 403
    atlas.refused("not_found", "get_memory", "x")


# ---- the same from code


def shown(page: Page, language: str) -> str:
    """The request in this language; the one that is chosen is not hidden."""
    page = page.send(f"do=show:{language}", {})
    request: Element = page.by_id(f"req-{language}")
    assert "hidden" not in request
    return request.text


@examples
def test_what_is_shown_is_the_request_that_is_sent(mira: Client, name: str) -> None:
    """The arguments that each door would read from what stands there are those that the form would send."""
    method = CATALOG[name]
    data = whole_example(method)
    page, typed = typed_in(form(mira, name), method, data)
    page = page.send("do=show:REST", typed)
    wanted = method.check(typed.get("id"), data)
    assert read_rest(method, page.by_id("req-REST").text) == wanted
    assert read_curl(method, shown(page, "curl")) == wanted
    assert read_mcp(method, shown(page, "MCP")) == wanted
    assert read_python(method, shown(page, "Python")) == wanted


def read_rest(method: Method, text: str) -> Any:
    head, _, body = text.partition("\n\n")
    verb, target = head.split("\n")[0].split(" ", 1)
    assert ("Authorization: Bearer $AGENT_KEY" in head) == (not method.public)
    return checked(method, verb, target, body)


def read_curl(method: Method, text: str) -> Any:
    words = shlex.split(text)
    body = words[words.index("--data-raw") + 1] if "--data-raw" in words else ""
    assert words[1].startswith(settings.PUBLIC_URL)
    return checked(method, "POST" if body else "GET", words[1].removeprefix(settings.PUBLIC_URL), body)


def read_mcp(method: Method, text: str) -> Any:
    params = json.loads(text)["params"]
    assert params["name"] == method.name
    return method.check(params["arguments"].get("id"), params["arguments"].get("data", {}))


def read_python(method: Method, text: str) -> Any:
    asked: dict[str, Any] = {}

    def ask(verb: str) -> Any:
        def send(url: str, **given: Any) -> Any:
            asked.update(given, verb=verb, target=url.removeprefix(settings.PUBLIC_URL))
            return SimpleNamespace(status_code=200, json=dict)

        return send

    requests, environ = SimpleNamespace(get=ask("GET"), post=ask("POST")), {"AGENT_KEY": "ab_x"}
    code = text.replace("import os\n", "").replace("import requests\n", "")
    exec(code, {"requests": requests, "os": SimpleNamespace(environ=environ), "print": lambda *_: None})
    assert ("headers" in asked) == (not method.public)
    query = "&".join(f"{name}={value}" for name, value in asked.get("params", {}).items())
    target = f"{asked['target']}?{query}" if query else asked["target"]
    return checked(method, asked["verb"], target, json.dumps(asked.get("json", {})))


def checked(method: Method, verb: str, target: str, body: str) -> Any:
    """The arguments as the REST door would read them."""
    assert verb == method.verb
    parts = urlsplit(target)
    pattern = re.escape(f"/v1/{method.path}").replace(r"\{id\}", "(?P<id>[^/]+)")
    found = re.fullmatch(pattern, parts.path)
    assert found, (parts.path, pattern)
    if method.reads:
        assert len(parse_qsl(parts.query)) == len({*parse_qsl(parts.query)})
        return method.check(found.groupdict().get("id"), query_arguments(parts.query, method.arguments))
    return method.check(found.groupdict().get("id"), json.loads(body))
