"""What an agent may read, as resources: all that is its own or shared with it, and nothing of anybody else's."""

import json
import re
from typing import Any

import pytest

from tests.board import Board
from tests.calls import Agent, Object, Reply
from tests.mcp_bridge.speaking import INVALID_PARAMS, RESOURCE_NOT_FOUND, Client, fault
from tests.spaces.conftest import MakeEntry, MakeSpace, join, like

ANSWER = "agentboard/answer"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"
TEMPLATES = {
    "agentboard://memory/{name}": "text/markdown",
    "agentboard://memory/{name}/versions/{version}": "text/markdown",
    "agentboard://spaces/{id}": "application/json",
    "agentboard://space-entries/{id}": "text/markdown",
    "agentboard://posts/{id}": "text/markdown",
}


def pages(client: Client) -> list[list[Object]]:
    """All pages of resources/list."""
    found: list[list[Object]] = []
    params: Object = {}
    while True:
        page = client.result("resources/list", params)
        found.append(page["resources"])
        if "nextCursor" not in page:
            return found
        params = {"cursor": page["nextCursor"]}


def uris(client: Client) -> list[str]:
    return [resource["uri"] for page in pages(client) for resource in page]


def read(client: Client, uri: str) -> Object:
    """The one content of a resource."""
    found = client.result("resources/read", {"uri": uri})
    (content,) = found["contents"]
    assert content["uri"] == uri
    return content  # type: ignore[no-any-return]


def missing(client: Client, uri: Any, code: str = "not_found") -> Object:
    """The error of a resource that is not there."""
    rpc = RESOURCE_NOT_FOUND if code == "not_found" and not client.modern else INVALID_PARAMS
    return fault(client.ask("resources/read", {"uri": uri}), client.status_of(400), rpc, code)


# The list


def test_the_list_has_the_agents_notes_by_name_and_then_its_spaces(
    client: Client, atlas: Agent, boreas: Agent, make_space: MakeSpace
) -> None:
    assert uris(client) == []
    for name in ("plan", "a-note"):
        atlas.save(name, "é" * 10, summary="In short" if name == "plan" else "")
    space, shared, foreign = make_space(atlas), make_space(boreas), make_space(boreas)
    join(boreas, shared, atlas, "reader")
    boreas.save("of-boreas")
    listed = [resource for page in pages(client) for resource in page]
    assert [resource["uri"] for resource in listed[:2]] == ["agentboard://memory/a-note", "agentboard://memory/plan"]
    assert {resource["uri"] for resource in listed[2:]} == {f"agentboard://spaces/{id}" for id in (space, shared)}
    assert f"agentboard://spaces/{foreign}" not in [resource["uri"] for resource in listed]
    assert listed[1] == {
        "uri": "agentboard://memory/plan",
        "name": "plan",
        "description": "In short",
        "mimeType": "text/markdown",
        "size": 20,
        "annotations": listed[1]["annotations"],
    }
    assert "description" not in listed[0]
    for resource in listed:
        assert re.fullmatch(TIME, resource["annotations"]["lastModified"])
        assert resource["name"]
    for resource in listed:
        assert read(client, resource["uri"])["mimeType"] == resource["mimeType"]


def test_more_than_a_page_holds_comes_page_by_page_each_once(client: Client, atlas: Agent, space: str) -> None:
    names = [f"n-{number:03}" for number in range(103)]
    for name in names:
        atlas.save(name)
    found = pages(client)
    assert [len(page) for page in found] == [100, 3, 1]
    expected = [f"agentboard://memory/{name}" for name in names] + [f"agentboard://spaces/{space}"]
    assert [resource["uri"] for page in found for resource in page] == expected


@pytest.mark.parametrize(
    ("scopes", "kinds"),
    [
        (["memory:read"], {"memory"}),
        (["coordination:read"], {"spaces"}),
        (["posts:read", "memory:write", "coordination:write"], set()),
        (["memory:read", "coordination:read"], {"memory", "spaces"}),
    ],
)
def test_it_leaves_out_what_the_credentials_scopes_do_not_open(
    board: Board, atlas: Agent, space: str, modern: bool, scopes: list[str], kinds: set[str]
) -> None:
    atlas.save("plan")
    found = uris(Client(board.with_scopes(atlas, *scopes).key, modern))
    assert {uri.removeprefix("agentboard://").partition("/")[0] for uri in found} == kinds


def test_a_cursor_is_good_for_its_agent_only_and_as_it_was_given(client: Client, atlas: Agent, boreas: Agent) -> None:
    for number in range(101):
        atlas.save(f"n-{number}")
    cursor = client.result("resources/list")["nextCursor"]
    assert client.result("resources/list", {"cursor": cursor})["resources"]
    wrong = [cursor[:-1], cursor + "A", cursor[1:], "1" + cursor[1:], "7" + cursor[1:], ".", "0", "1.x", "-1.", "٣."]
    for changed in wrong:
        reply = client.ask("resources/list", {"cursor": changed})
        fault(reply, client.status_of(400), INVALID_PARAMS, "invalid_arguments")
    other = Client(boreas.key, client.modern).ask("resources/list", {"cursor": cursor})
    fault(other, client.status_of(400), INVALID_PARAMS, "invalid_arguments")


def test_clients_are_told_how_long_what_may_be_kept(atlas: Agent) -> None:
    atlas.save("plan")
    client = Client(atlas.key, modern=True)
    for method, params, kept, scope in (
        ("resources/list", {}, False, "private"),
        ("resources/read", {"uri": "agentboard://memory/plan"}, False, "private"),
        ("resources/templates/list", {}, True, "public"),
    ):
        found = client.result(method, params)
        assert (found["ttlMs"] > 0, found["cacheScope"]) == (kept, scope)


def test_the_templates_tell_what_there_is_to_read(client: Client) -> None:
    found = client.result("resources/templates/list")["resourceTemplates"]
    assert {template["uriTemplate"]: template["mimeType"] for template in found} == TEMPLATES
    assert len({template["name"] for template in found}) == len(TEMPLATES)
    assert all(template["title"] and template["description"] for template in found)


# Reading


def test_each_kind_is_read_as_its_method_answers_it(
    client: Client, atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    body = "    code\n\nt\u2028ext\n"
    atlas.save("plan", body, tags=["a"])
    atlas.save("plan", "later", 1)
    entry = make_entry(atlas, space, kind="TASK", body=body)["id"]
    post = atlas.done("create_post", type="QUESTION", title="T", body=body)["id"]
    for uri, method, id, data in (
        ("memory/plan", "get_memory", "plan", {}),
        ("memory/plan/versions/1", "get_memory", "plan", {"version": 1}),
        (f"space-entries/{entry}", "get_space_entry", entry, {}),
        (f"posts/{post}", "get_post", post, {}),
    ):
        content, answer = read(client, f"agentboard://{uri}"), atlas.done(method, id, **data)
        assert content["text"] == answer.pop("body")
        assert content["text"] == ("later" if uri == "memory/plan" else body)
        assert (content["mimeType"], content["_meta"]) == ("text/markdown", {ANSWER: answer})
    content = read(client, f"agentboard://spaces/{space}")
    assert content["mimeType"] == "application/json"
    assert json.loads(content["text"]) == atlas.done("get_space", space)


def test_what_a_uri_may_escape_it_may_leave(client: Client, atlas: Agent) -> None:
    atlas.save("a-note", "Text")
    assert read(client, "agentboard://memory/%61%2Dnote")["text"] == "Text"


def test_what_is_anothers_answers_as_what_is_not_there(
    client: Client, boreas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    boreas.save("plan")
    space = make_space(boreas)
    entry = make_entry(boreas, space)["id"]
    for kind, theirs, nobodys in (
        ("memory", "plan", "plen"),
        ("spaces", space, like(space)),
        ("space-entries", entry, like(entry)),
    ):
        replies = [client.ask("resources/read", {"uri": f"agentboard://{kind}/{id}"}) for id in (theirs, nobodys)]
        told = [reply.raw.replace(id.encode(), b"<id>") for reply, id in zip(replies, (theirs, nobodys), strict=True)]
        assert told[0] == told[1]
        assert headers(replies[0]) == headers(replies[1])
        missing(client, f"agentboard://{kind}/{theirs}")
    missing(client, "agentboard://memory/plan/versions/1")


def headers(reply: Reply) -> dict[str, str]:
    return {name: value for name, value in reply.headers.items() if name not in ("x-request-id", "date")}


def test_what_everybody_may_read_a_stranger_reads(
    client: Client, boreas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    space = make_space(boreas, visibility="public")
    entry = make_entry(boreas, space)["id"]
    post = boreas.done("create_post", type="QUESTION", title="T", body="B")["id"]
    for uri in (f"spaces/{space}", f"space-entries/{entry}", f"posts/{post}"):
        assert read(client, f"agentboard://{uri}")["text"]


def test_a_version_that_is_not_kept_is_not_there(client: Client, atlas: Agent) -> None:
    atlas.save("plan")
    assert (
        missing(client, "agentboard://memory/plan/versions/2")["data"]["uri"] == "agentboard://memory/plan/versions/2"
    )
    atlas.done("delete_memory", "plan", expected_version=1)
    missing(client, "agentboard://memory/plan/versions/1")
    missing(client, "agentboard://memory/plan")


@pytest.mark.parametrize(
    "uri",
    [
        *("", "x", "agentboard:", "agentboard://", "agentboard://memory", "agentboard://memory/", "agentboard:///plan"),
        *("agentboard://memory/plan/", "agentboard://memory/plan?x=1", "agentboard://memory/plan#x", "//memory/plan"),
        *("agentboard://memory/a/b", "agentboard://memory/plan/versions", "agentboard://memory/plan/versions/"),
        *("agentboard://memory/plan/versions/1/x", "agentboard://memory/../memory/plan", "AGENTBOARD://memory/plan"),
        *("http://memory/plan", "file:///etc/passwd", "agentboard://answers/resume", "agentboard://nothing/plan"),
        *(" agentboard://memory/plan", "agentboard://memory/plan\n/x", "agentboard://post/x", "é", "a" * 50_000),
    ],
)
def test_a_uri_of_no_kind_is_not_there(client: Client, uri: str) -> None:
    assert missing(client, uri)["data"]["uri"] == uri


@pytest.mark.parametrize(
    "place",
    [
        *("memory/Plan", "memory/a_b", "memory/%", "memory/%ff", "memory/%00", "memory/%2F", "memory/a%0A", "memory/é"),
        *("memory/..", "memory/%2e%2e", "memory/" + "a" * 81, "memory/'", "memory/{name}", "memory/a b", "memory/*"),
        *("memory/plan/versions/x", "memory/plan/versions/-1", "memory/plan/versions/0", "memory/plan/versions/1.0"),
        *("memory/plan/versions/99999999999", "memory/plan/versions/4294967296", "memory/plan/versions/٣"),
        *("memory/plan/versions/%31%30x", "memory/plan/versions/1e1", "memory/" + "a" * 50_000),
    ],
)
def test_a_name_or_a_version_that_cannot_be_is_told_so(client: Client, place: str) -> None:
    missing(client, f"agentboard://{place}", "invalid_arguments")


@pytest.mark.parametrize("kind", ["spaces", "space-entries", "posts"])
def test_an_id_that_cannot_be_is_not_there_or_told_so(client: Client, kind: str) -> None:
    for id in ("x", "sp_", "..", "%00", "%ff", "a b", "a" * 200, "'", "%2F"):
        reply = client.ask("resources/read", {"uri": f"agentboard://{kind}/{id}"})
        assert reply.status in (200, 400)
        assert reply.json["error"]["data"]["error"]["code"] in ("not_found", "invalid_arguments")
