"""Who comes in at the endpoint, what those are told who do not, and which pages may ask (B39, B43)."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.utils import timezone

from agentboard import rate
from agentboard.catalog import CATALOG
from agentboard.contract.document import example_arguments
from agentboard.identity import keys, models
from agentboard.identity.scopes import ALL_SCOPES
from mcp_bridge import exchange
from mcp_bridge.oauth import registration
from mcp_bridge.oauth.models import AccessToken, Application, Connection
from tests.board import Board
from tests.calls import Agent, Object, Reply, Rest, in_process, over_socket, refusal
from tests.mcp_bridge.oauth import flow
from tests.mcp_bridge.oauth.sessions import session_of
from tests.mcp_bridge.speaking import REFUSED, Client, Headers, done, failed, fault, result
from tests.serving import Served

PUBLIC = "http://127.0.0.1:8000"  # what the server is called by default
METADATA = "/.well-known/oauth-protected-resource/mcp"
SCOPES = " ".join(ALL_SCOPES)
STRANGER, TOKEN, REFRESH = keys.new_key(), keys.new_secret(keys.ACCESS_TOKEN), keys.new_secret(keys.REFRESH_TOKEN)
SAVE = {"name": "save_memory", "arguments": {"id": "plan", "data": {"body": "Text", "expected_version": 0}}}


def challenge(reply: Reply) -> dict[str, str]:
    """The parameters of the one challenge (RFC 9110, section 11.6.1)."""
    scheme, _, parameters = reply.headers["www-authenticate"].partition(" ")
    assert scheme == "Bearer"
    found = re.findall(r'([a-z_]+)="([^"\\]*)"(?:, |\Z)', parameters)
    assert ", ".join(f'{name}="{value}"' for name, value in found) == parameters
    return dict(found)


def kept_out(reply: Reply, *, sent: bool, origin: str = PUBLIC) -> str:
    """What a client is told whose credential is none, after everything that it needs to get one was checked."""
    told = fault(reply, 401, REFUSED, "unauthenticated", None)["data"]["error"]
    error = {"error": "invalid_token", "error_description": told["message"]} if sent else {}
    wanted = {**error, "scope": SCOPES, "resource_metadata": origin + METADATA}
    assert challenge(reply) == {name: value.replace('"', "") for name, value in wanted.items()}
    return f"{told['message']} {told['next_action']}"


def shown(client: Client, header: str | None, **changes: str) -> Reply:
    """The reply to a call with this Authorization header."""
    return client.ask("tools/call", SAVE, changes={"authorization": header, **changes})


# Those who stay outside (B43)


def test_without_a_credential_a_client_is_told_where_to_get_one(client: Client) -> None:
    assert "Bearer <agent_key>" in kept_out(shown(client, None), sent=False)
    kept_out(shown(client, ""), sent=False)
    for method in ("initialize", "server/discover", "tools/list", "ping", "nope", "subscriptions/listen"):
        kept_out(Client("", client.modern).ask(method), sent=False)
    body, headers = b'{"jsonrpc":"2.0","method":"notifications/initialized"}', client.message("x")[1]
    kept_out(Client("", client.modern).post(body, headers), sent=False)
    kept_out(Client("", client.modern).post(b"not even JSON", {}), sent=False)


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("Bearer", "has nothing after Bearer"),
        ("Basic abc", "does not begin with the scheme Bearer"),
        (STRANGER, "does not begin with the scheme Bearer"),
        ("Bearer nonsense", "is not an agent key"),
        ("Bearer \xe9\xff", "is not an agent key"),
        ("Bearer " + "x" * 50_000, "is not an agent key"),
        (f"Bearer {STRANGER[:-1]}", "mistyped or cut"),
        (f"Bearer {STRANGER}", "does not know this agent key"),
        (f"Bearer {STRANGER} {STRANGER}", "more than one word"),
        (f"Bearer {STRANGER}, Bearer {STRANGER}", "more than one credential"),
        (f"Bearer {TOKEN}", "does not know this access token"),
        (f"Bearer {TOKEN[:-1]}", "mistyped or cut"),
        (f"Bearer {REFRESH}", "is a refresh token"),
    ],
)
def test_a_credential_that_is_none_is_challenged_told_what_is_wrong_and_never_repeated(
    client: Client, header: str, told: str
) -> None:
    reply = shown(client, header)
    assert told in kept_out(reply, sent=True)
    for secret in (STRANGER, TOKEN, REFRESH):
        assert secret[15:].encode() not in reply.raw
        assert secret[15:] not in reply.headers["www-authenticate"]


def test_two_authorization_headers_are_refused_even_where_both_are_good(client: Client) -> None:
    good = f"Bearer {client.key}"
    for one, other in ((good, good), (good, "Basic abc"), ("Basic abc", good)):
        changes: Headers = {"authorization": one, "Authorization": other}  # in this process, two headers
        kept_out(client.ask("tools/call", SAVE, changes=changes), sent=True)


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        ("revoked", "was revoked"),
        ("expired", "has expired"),
        ("asleep", "is deactivated"),
        ("orphaned", "The person who owns the agent"),
        ("deleted", "does not know this agent key"),
    ],
)
def test_a_key_that_ends_is_out_at_the_very_next_call(client: Client, atlas: Agent, ended: str, told: str) -> None:
    assert client.result("tools/list")
    issued, agent = models.AgentKey.objects.filter(agent=atlas.pk), models.Agent.objects.filter(pk=atlas.pk)
    if ended == "revoked":
        issued.update(revoked_at=timezone.now())
    elif ended == "expired":
        issued.update(expires_at=timezone.now())
    elif ended == "asleep":
        agent.update(active=False)
    elif ended == "orphaned":
        models.Person.objects.filter(agents=atlas.pk).update(is_active=False)
    else:
        issued.delete()
    for reply in (client.ask("tools/list"), client.ask("tools/call", SAVE)):
        assert told in kept_out(reply, sent=True)


def test_the_challenge_names_the_server_as_the_client_knows_it_where_that_is_one_of_its_own_names(
    client: Client,
) -> None:
    for host, origin in (
        ("127.0.0.1:8000", PUBLIC),
        ("localhost:8000", "http://localhost:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("localhost:9", PUBLIC),
        ("LOCALHOST:8000", "http://localhost:8000"),
    ):
        kept_out(shown(client, None, host=host), sent=False, origin=origin)


@pytest.mark.parametrize("parameter", ["key", "api_key", "access_token", "token", "agent_key", "Authorization"])
def test_a_key_in_the_query_or_the_body_is_no_credential(client: Client, parameter: str) -> None:
    outside = Client("", client.modern)
    for reply in (
        outside.ask("tools/list", path=f"/mcp?{parameter}={client.key}"),
        outside.ask("tools/list", {parameter: client.key}),
    ):
        kept_out(reply, sent=False)
        assert client.key[15:].encode() not in reply.raw
    assert client.result("tools/list", path=f"/mcp?{parameter}={STRANGER}")


@pytest.mark.parametrize("header", ["cookie", "x-api-key", "proxy-authorization", "x-agent-key", "mcp-session-id"])
def test_no_other_header_is_a_credential(client: Client, header: str) -> None:
    for value in (client.key, f"Bearer {client.key}", f"sessionid={client.key}"):
        kept_out(shown(client, None, **{header: value}), sent=False)


def test_a_session_of_a_browser_is_no_credential(client: Client, board: Board) -> None:
    kept_out(shown(client, None, cookie=f"sessionid={session_of(board.people[0])}"), sent=False)


def test_failed_credentials_use_up_the_budget_of_their_address_and_good_ones_do_not(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate, "ADDRESSES", rate.Buckets("address", 1, 3, 1))
    for _ in range(5):
        assert client.result("tools/list")
    for _ in range(3):
        kept_out(shown(client, f"Bearer {STRANGER}"), sent=True)
    reply = shown(client, None)
    told = fault(reply, 429, REFUSED, "rate_limited", None)["data"]["error"]
    assert reply.headers["retry-after"] == str(told["retry_after_seconds"])
    assert "www-authenticate" not in reply.headers
    assert client.result("tools/list")


# Those who come in


class Connected:
    """An application that the person of atlas connects, by the whole flow."""

    def __init__(self, board: Board, atlas: Agent) -> None:
        web = flow.in_process()
        self._browser, self._handle = flow.Browser(web, {"sessionid": session_of(board.people[0])}), atlas.handle
        self.app = flow.App(web)
        assert self.app.register().status == 201

    def token(self, *scopes: str) -> str:
        """An access token with these scopes."""
        return self.app.connect(self._browser, agent=self._handle, scopes=scopes, scope=SCOPES).access_token


@pytest.fixture
def connected(board: Board, atlas: Agent, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connected]:
    monkeypatch.setattr(registration, "REGISTRATIONS", rate.ADDRESSES)  # which the board has made generous
    found = Connected(board, atlas)
    yield found
    Application.objects.filter(client_id=found.app.client_id).delete()


SPELLINGS = ["Bearer {}", "bearer {}", "BEARER {}", "Bearer  {}", " Bearer {} "]


def test_both_kinds_of_credential_come_in_however_the_scheme_is_spelt(client: Client, connected: Connected) -> None:
    token = connected.token(*ALL_SCOPES)
    for credential in (client.key, token):
        for spelling in SPELLINGS:
            reply = client.ask("tools/list", changes={"authorization": spelling.format(credential)})
            assert result(reply, client.modern)["tools"]


def test_a_key_comes_in_at_both_doors_and_a_token_at_this_one_only(
    atlas: Agent, modern: bool, connected: Connected
) -> None:
    token = connected.token(*ALL_SCOPES)
    assert done(Client(token, modern).tool("whoami"))["agent"]["handle"] == atlas.handle
    here, there = done(Client(atlas.key, modern).tool("whoami")), atlas.done("whoami")
    assert (here["agent"], here["scopes"]) == (there["agent"], there["scopes"])
    told = refusal(Rest(in_process).send(token, "whoami", None, {}), "unauthenticated")
    assert "only at /mcp" in told["message"]
    assert "/mcp" in told["next_action"]


def test_what_a_token_did_names_the_application_that_the_person_approved(modern: bool, connected: Connected) -> None:
    client = Client(connected.token("memory:read", "memory:write"), modern)
    assert done(client.result("tools/call", SAVE, changes={"user-agent": "other/1"}))["via"] == "mcp (Notes)"


@pytest.mark.parametrize("ended", ["expired", "connection", "blocked", "asleep"])
def test_a_token_that_ends_in_the_middle_is_challenged_as_one_so_that_its_client_gets_another(
    atlas: Agent, modern: bool, connected: Connected, ended: str
) -> None:
    client = Client(connected.token(*ALL_SCOPES), modern)
    assert done(client.tool("whoami"))
    if ended == "expired":
        AccessToken.objects.filter(connection__agent=atlas.pk).update(expires=timezone.now() - timedelta(seconds=1))
    elif ended == "connection":
        Connection.objects.filter(agent=atlas.pk).update(ended_at=timezone.now())
    elif ended == "blocked":
        Application.objects.filter(client_id=connected.app.client_id).update(active=False)
    else:
        models.Agent.objects.filter(pk=atlas.pk).update(active=False)
    kept_out(client.ask("tools/list"), sent=True)
    kept_out(client.ask("tools/call", SAVE), sent=True)


# Scopes


@pytest.mark.parametrize("scope", ALL_SCOPES)
def test_a_scope_that_a_key_lacks_is_told_in_the_results_of_all_its_tools(
    board: Board, atlas: Agent, modern: bool, scope: str
) -> None:
    others = [each for each in ALL_SCOPES if each != scope]
    client = Client(board.with_scopes(atlas, *others).key, modern)
    for method in (method for method in CATALOG.values() if method.scope == scope):
        answer = client.result("tools/call", {"name": method.name, "arguments": example_arguments(method)})
        assert f"{method.name} needs the scope {scope}" in failed(answer, "insufficient_scope")["message"]


def test_tools_that_need_no_scope_answer_a_key_with_whichever(board: Board, atlas: Agent, modern: bool) -> None:
    for scope in ALL_SCOPES:
        client = Client(board.with_scopes(atlas, scope).key, modern)
        for name in ("get_help", "whoami", "resume", "inbox", "list_events"):
            assert done(client.tool(name))


SCOPED: list[tuple[str, Object, str]] = [
    ("tools/call", SAVE, "memory:write"),
    ("tools/call", {"name": "list_posts", "arguments": {}}, "posts:read"),
    ("tools/call", {"name": "delete_memory", "arguments": {}}, "memory:write"),
    ("resources/read", {"uri": "agentboard://memory/plan"}, "memory:read"),
    ("resources/read", {"uri": "agentboard://spaces/sp_x"}, "coordination:read"),
    ("prompts/get", {"name": "review_due_notes"}, "memory:read"),
    ("prompts/get", {"name": "hand_over", "arguments": {"agent": "atlas"}}, "coordination:read"),
]


def test_a_scope_that_a_token_lacks_is_told_by_http_with_a_challenge_that_names_it(
    connected: Connected, modern: bool
) -> None:
    client = Client(connected.token("posts:write"), modern)
    for method, params, needed in SCOPED:
        reply = client.ask(method, params)
        error = fault(reply, 403, REFUSED, "insufficient_scope")
        assert error["data"]["error"]["scope"] == needed
        assert challenge(reply) == {
            "error": "insufficient_scope",
            "scope": " ".join(scope for scope in ALL_SCOPES if scope in (needed, "posts:write")),
            "resource_metadata": PUBLIC + METADATA,
        }


def test_a_scope_that_a_key_lacks_is_a_protocol_error_outside_of_tools(
    board: Board, atlas: Agent, modern: bool
) -> None:
    """No challenge: nobody can give a key more scopes, and a client that saw one would begin an OAuth flow."""
    client = Client(board.with_scopes(atlas, "posts:write").key, modern)
    for method, params, needed in SCOPED[3:]:
        reply = client.ask(method, params)
        error = fault(reply, client.status_of(400), REFUSED, "insufficient_scope")
        assert error["data"]["error"]["scope"] == needed
        assert "www-authenticate" not in reply.headers


# Pages of other origins (B39)

ALLOWED = ["http://localhost:6274", "http://127.0.0.1:1", "https://localhost", "http://[::1]:3000", PUBLIC]
FOREIGN = [
    "https://evil.example",
    "http://localhost.evil.example",
    "null",
    "",
    "http://127.0.0.1.nip.io",
    "file://",
    "x",
]
ASKED = "authorization,content-type,mcp-protocol-version,mcp-session-id,last-event-id,mcp-method,mcp-name"
SHOWN = {"mcp-session-id", "www-authenticate"}


def preflight(origin: str, path: str = "/mcp") -> Reply:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": ASKED}
    return Client("").post(b"", {"origin": origin, **asked}, verb="OPTIONS", path=path)


def names(header: str) -> set[str]:
    return {name.strip().lower() for name in header.split(",")}


@pytest.mark.parametrize("origin", ALLOWED)
def test_a_preflight_of_an_allowed_origin_is_granted_without_a_credential(origin: str) -> None:
    for path in ("/mcp", "/mcp/"):
        reply = preflight(origin, path)
        assert (reply.status, reply.raw) == (204, b"")
        assert reply.headers["access-control-allow-origin"] == origin
        assert names(reply.headers["access-control-allow-methods"]) == {"post", "get", "delete"}
        assert names(ASKED) <= names(reply.headers["access-control-allow-headers"])
        assert reply.headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in reply.headers


@pytest.mark.parametrize("origin", ALLOWED)
def test_every_answer_to_an_allowed_origin_can_be_read_by_its_page(client: Client, origin: str) -> None:
    changes = {"origin": origin}
    replies = [
        client.ask("tools/list", changes=changes),
        client.ask("nope", changes=changes),
        shown(client, None, origin=origin),
        shown(client, f"Bearer {STRANGER}", origin=origin),
        client.post(b"", changes, verb="DELETE"),
        client.post(b"", {**changes, "content-type": "text/plain"}),
        client.post(b"{", {**changes, "content-type": "application/json"}),
        client.post(b'{"jsonrpc":"2.0","method":"x"}', {**changes, "content-type": "application/json"}),
    ]
    assert [reply.status for reply in replies[2:]] == [401, 401, 405, 415, 400, 202]
    for reply in replies:
        assert reply.headers["access-control-allow-origin"] == origin
        assert names(reply.headers["access-control-expose-headers"]) >= SHOWN
        assert "access-control-allow-credentials" not in reply.headers


@pytest.mark.parametrize("origin", FOREIGN)
def test_another_origin_gets_nothing_and_no_permission(client: Client, origin: str) -> None:
    """A page that a person merely has open must not reach a server on the person's machine (DNS rebinding)."""
    for reply in (
        client.ask("tools/call", SAVE, changes={"origin": origin}),
        shown(client, None, origin=origin),
        client.post(b"", {"origin": origin}, verb="GET"),
    ):
        fault(reply, 403, REFUSED, "forbidden", None)
        assert not [name for name in reply.headers if name.startswith("access-control")]
    granted = preflight(origin)
    assert granted.status == 204
    assert not [name for name in granted.headers if name.startswith("access-control")]
    failed(client.tool("get_memory", "plan"), "not_found")


def test_an_operator_can_allow_an_origin(client: Client, settings: LazySettings) -> None:
    origin = "https://app.example"
    fault(client.ask("tools/list", changes={"origin": origin}), 403, REFUSED, "forbidden", None)
    settings.ORIGINS = frozenset({origin})
    exchange.origin_allowed.cache_clear()
    try:
        reply = client.ask("tools/list", changes={"origin": origin})
        assert reply.headers["access-control-allow-origin"] == origin
        assert preflight(origin).headers["access-control-allow-origin"] == origin
        fault(client.ask("tools/list", changes={"origin": "http://app.example"}), 403, REFUSED, "forbidden", None)
    finally:
        exchange.origin_allowed.cache_clear()


def test_the_setting_is_read_from_the_environment(server: Served, stranger: Agent, modern: bool) -> None:
    client = Client(stranger.key, modern, over_socket(server.url))
    reply = client.ask("tools/list", changes={"origin": "https://app.example"})
    assert reply.headers["access-control-allow-origin"] == "https://app.example"
    assert client.ask("tools/list", changes={"origin": "https://evil.example"}).status == 403
    assert client.ask("tools/list", changes={"origin": server.url}).status == 200
