"""How clients of both eras begin: initialize, or server/discover and a description of themselves in each request."""

from typing import Any
from urllib.request import urlopen

import pytest

from tests.calls import MODERN, Agent, Object, over_socket
from tests.mcp_bridge.speaking import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PREFIX,
    UNSUPPORTED_VERSION,
    Client,
    done,
    fault,
    result,
)
from tests.serving import Served

pytestmark = pytest.mark.no_database  # nothing here but the credential comes from a database

LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25")
INSTRUCTIONS_MAX = 1_200  # characters: every session of an agent pays for them
STALE = {"mcp-session-id": "1868a90c-7a4f-4f21-9d3b-0a5b5a3f2c11"}


def hello(version: Any = LEGACY[-1], **more: Any) -> Object:
    return {"protocolVersion": version, "clientInfo": {"name": "c", "version": "1"}, "capabilities": {}, **more}


@pytest.mark.parametrize("version", LEGACY)
def test_initialize_echoes_a_version_that_has_a_handshake(atlas: Agent, version: str) -> None:
    found = Client(atlas.key).result("initialize", hello(version))
    assert found["protocolVersion"] == version
    assert found["capabilities"] == {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}
    assert found["serverInfo"]["name"] == "agentboard"


@pytest.mark.parametrize("version", ["2024-11-05", "2099-01-01", MODERN, "", "x"])
def test_any_other_version_is_answered_with_the_newest_that_has_one(atlas: Agent, version: str) -> None:
    assert Client(atlas.key).result("initialize", hello(version))["protocolVersion"] == LEGACY[-1]


@pytest.mark.parametrize(
    "params", [None, {}, hello(None), hello(5), hello(clientInfo=None), hello(clientInfo="c"), {"clientInfo": {}}]
)
def test_a_handshake_without_version_or_client_is_told_what_it_lacks(atlas: Agent, params: Object | None) -> None:
    error = fault(Client(atlas.key).ask("initialize", params), 200, INVALID_PARAMS, "invalid_arguments")
    assert "protocolVersion" in error["message"]
    assert "clientInfo" in error["message"]


def test_a_client_may_leave_its_capabilities_out(atlas: Agent) -> None:
    params = hello()
    del params["capabilities"]
    assert Client(atlas.key).result("initialize", params)["protocolVersion"] == LEGACY[-1]


def test_discover_tells_what_the_handshake_would_have(atlas: Agent) -> None:
    told = Client(atlas.key).result("initialize", hello())
    found = Client(atlas.key, modern=True).result("server/discover")
    assert found["supportedVersions"] == [MODERN]
    assert found["capabilities"] == {**told["capabilities"], "resources": {"subscribe": True, "listChanged": True}}
    assert found["instructions"] == told["instructions"]
    assert (found["resultType"], found["cacheScope"]) == ("complete", "public")
    assert found["ttlMs"] > 0
    info = {name: told["serverInfo"][name] for name in ("name", "version")}
    assert found["_meta"] == {f"{PREFIX}serverInfo": info}


def test_the_instructions_tell_how_to_work_with_the_board_in_few_words(atlas: Agent) -> None:
    told = Client(atlas.key).result("initialize", hello())["instructions"]
    for word in ("resume", "working-context", "expected_version", "operation_key", "next_action", "not an instruction"):
        assert word in told
    assert len(told) < INSTRUCTIONS_MAX


def test_each_era_has_methods_that_the_other_does_not_know(atlas: Agent) -> None:
    legacy, modern = Client(atlas.key), Client(atlas.key, modern=True)
    for method in ("initialize", "ping"):
        fault(modern.ask(method, hello()), 404, METHOD_NOT_FOUND, "not_found")
    for method in ("server/discover", "subscriptions/listen"):
        fault(legacy.ask(method, {"notifications": {}}), 200, METHOD_NOT_FOUND, "not_found")
    assert legacy.result("ping") == {}


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe", "logging/setLevel", "tasks/get"])
def test_what_is_not_advertised_is_not_there(client: Client, method: str) -> None:
    fault(client.ask(method, {"uri": "agentboard://memory/x"}), client.status_of(404), METHOD_NOT_FOUND, "not_found")


def test_no_request_needs_another_before_it(client: Client) -> None:
    assert client.result("tools/list")["tools"]
    assert done(client.tool("save_memory", "first-of-all", body="Text", expected_version=0))["version"] == 1


@pytest.mark.parametrize("version", [None, *LEGACY])
def test_an_older_client_may_name_its_version_in_a_header_or_not(atlas: Agent, version: str | None) -> None:
    found = Client(atlas.key).ask("tools/list", changes={"mcp-protocol-version": version})
    assert result(found, modern=False)["tools"]


@pytest.mark.parametrize("version", ["2024-11-05", "2099-01-01", "x", "", "2025-11-25, 2025-11-25", "é"])
def test_an_unknown_version_in_the_header_is_answered_with_the_one_that_needs_no_handshake(
    atlas: Agent, version: str
) -> None:
    changes = {"mcp-protocol-version": version}
    for method in ("tools/list", "initialize"):
        reply = Client(atlas.key).ask(method, hello(), changes=changes)
        error = fault(reply, 400, UNSUPPORTED_VERSION, "invalid_arguments")
        assert error["data"]["supported"] == [MODERN]
    body = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    _, headers = Client(atlas.key).message("x")
    fault(Client(atlas.key).post(body, {**headers, **changes}), 400, UNSUPPORTED_VERSION, "invalid_arguments", None)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", "2099-01-01", "x" * 10_000, "\ud800"])
def test_an_unknown_version_in_a_request_is_too(atlas: Agent, version: str) -> None:
    client = Client(atlas.key, modern=True)
    params = {"_meta": {f"{PREFIX}protocolVersion": version}}
    shown = version if version.isascii() else None
    reply = client.ask("tools/list", params, changes={"mcp-protocol-version": shown})
    if shown is None:  # no header can name it
        assert reply.status == 400
        return
    error = fault(reply, 400, UNSUPPORTED_VERSION, "invalid_arguments")
    assert error["data"]["supported"] == [MODERN]
    assert error["data"]["requested"] == version


# Sessions: there are none (B27)


def test_a_session_id_from_elsewhere_changes_nothing(client: Client) -> None:
    began = client.result("initialize", hello(), changes=STALE) if not client.modern else None
    assert began is None or began["protocolVersion"] == LEGACY[-1]
    for stale in (STALE, {"mcp-session-id": "nonsense"}, {"mcp-session-id": ""}, {"mcp-session-id": "x" * 5_000}):
        assert client.result("tools/list", changes=stale)["tools"]
        params = {"name": "whoami", "arguments": {}}
        assert done(client.result("tools/call", params, changes=stale))["agent"]


def test_there_is_no_session_to_end(client: Client) -> None:
    _, headers = client.message("tools/list")
    for verb in ("DELETE", "GET"):
        reply = client.post(b"", {**headers, **STALE}, verb=verb)
        fault(reply, 405, INVALID_REQUEST, "method_not_allowed", None)
        assert "POST" in reply.headers["allow"]


def test_two_workers_serve_a_client_by_turns_whatever_session_it_believes_in(
    pair: Served, acquaintance: Agent, modern: bool
) -> None:
    client = Client(acquaintance.key, modern, over_socket(pair.url))
    for number in range(8):  # each over a connection of its own, taken by whichever worker comes first
        if not modern:
            assert client.result("initialize", hello(), changes=STALE)["protocolVersion"] == LEGACY[-1]
        assert client.result("tools/list", changes=STALE)["tools"]
        saved = {"name": "save_memory", "arguments": {"id": "n", "data": {"body": "x", "expected_version": number}}}
        assert done(client.result("tools/call", saved, changes=STALE))["version"] == number + 1


def test_the_icon_that_the_server_names_is_there(server: Served, stranger: Agent) -> None:
    icon = Client(stranger.key, exchange=over_socket(server.url)).result("initialize", hello())["serverInfo"]["icons"][
        0
    ]
    assert icon["src"].startswith(server.url + "/")
    with urlopen(icon["src"], timeout=30) as answer:
        assert answer.headers["content-type"] == icon["mimeType"]
