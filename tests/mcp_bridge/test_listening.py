"""subscriptions/listen over real sockets: what a listener is told, what it is not, and how it ends."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection

from agentboard import relay
from agentboard.identity import models
from agentboard.ledger import feed, notices
from agentboard.ledger.models import own_stream, space_stream
from mcp_bridge import endpoint
from mcp_bridge.listening import Changes
from mcp_bridge.request import Headers, Request
from tests.board import Board
from tests.calls import MODERN, Agent, Object
from tests.events.reading import caller_of, settled
from tests.events.test_late_commits import end, writers
from tests.events.test_waiting_servers import redis_url
from tests.mcp_bridge.here import Here, Listening, here
from tests.mcp_bridge.speaking import INVALID_PARAMS, INVALID_REQUEST, REFUSED, Client, fault
from tests.races.arena import Arena
from tests.serving import Served, wait_for
from tests.spaces.conftest import MakeEntry, MakeSpace, join

__all__ = ["redis_url"]

LISTS = "notifications/resources/list_changed"
PLAN = "agentboard://memory/plan"
SOON = 10  # seconds, for what takes milliseconds on a machine that has nothing else to do
TABLE_SECONDS = relay.LOOK_SECONDS + SOON

Listen = Callable[..., Listening]
out_of_order = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer")


@pytest.fixture(scope="module")
def served() -> Iterator[Here]:
    with here() as found:
        yield found


@pytest.fixture
def listen(board: Board, served: Here) -> Iterator[Listen]:
    """Begins to listen: `listen(agent, *uris, **wishes)`."""
    open: list[Listening] = []

    def begin(agent: Agent, *uris: str, **more: Any) -> Listening:
        settled()  # what is committed but not in order yet would be news
        open.append(Listening(served.port, agent.key, *uris, **more))
        return open[-1]

    yield begin
    for each in open:
        each.hang_up()
    served.idle()


def uri(kind: str, id: str) -> str:
    return f"agentboard://{kind}/{id}"


def waits(*streams: str) -> None:
    """Come back when somebody waits on these and on no others."""
    wait_for(lambda: notices.awaited() == set(streams), SOON)


# How it begins


def test_a_listener_is_acknowledged_first_with_what_it_will_hear_of(listen: Listen, atlas: Agent) -> None:
    uris = [PLAN, uri("spaces", "sp_x"), uri("space-entries", "en_x"), uri("posts", "po_x"), "agentboard://memory/%61"]
    wishes = {"toolsListChanged": True, "promptsListChanged": True, "other": 1, "resourcesListChanged": True}
    stream = listen(atlas, *uris, **wishes)
    assert stream.honoured == {"resourcesListChanged": True, "resourceSubscriptions": uris}
    assert stream.headers["content-type"] == "text/event-stream"
    assert stream.headers["cache-control"] == "no-store"
    assert stream.headers["x-accel-buffering"] == "no"
    assert "content-length" not in stream.headers


@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"toolsListChanged": True},
        {"resourcesListChanged": False},
        {"resourcesListChanged": "yes"},
        {"resourceSubscriptions": []},
        {"resourceSubscriptions": None},
        {"resourceSubscriptions": ["x", 5, None, "agentboard://memory/plan/versions/1", "agentboard://nothing/x"]},
    ],
)
def test_of_what_cannot_change_nothing_is_promised(listen: Listen, atlas: Agent, wishes: Object) -> None:
    assert listen(atlas, **wishes).honoured == {}


@pytest.mark.parametrize("id", [0, 7, "", "é\n", "x" * 1_000])
def test_every_message_names_the_request_that_it_belongs_to(listen: Listen, atlas: Agent, id: str | int) -> None:
    stream = listen(atlas, PLAN, id=id)
    atlas.save("plan")
    assert stream.told() == PLAN


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": None},
        {"notifications": []},
        {"notifications": "x"},
        {"notifications": {"resourceSubscriptions": "x"}},
        {"notifications": {"resourceSubscriptions": {"a": 1}}},
        {"notifications": {"resourceSubscriptions": [PLAN] * 201}},
    ],
)
def test_wishes_that_make_no_sense_are_told(atlas: Agent, params: Object) -> None:
    reply = Client(atlas.key, modern=True).ask("subscriptions/listen", params)
    fault(reply, 400, INVALID_PARAMS, "invalid_arguments")


def test_a_client_that_takes_no_stream_is_told(atlas: Agent) -> None:
    changes = {"accept": "application/json"}
    reply = Client(atlas.key, modern=True).ask("subscriptions/listen", {"notifications": {}}, changes=changes)
    fault(reply, 406, INVALID_REQUEST, "not_acceptable")


def test_a_lone_surrogate_in_a_uri_comes_back_as_the_escape_it_came_as(listen: Listen, atlas: Agent) -> None:
    odd = "agentboard://memory/\ud800"
    assert listen(atlas, odd).honoured == {"resourceSubscriptions": [odd]}


# What it hears of


def test_it_hears_of_the_notes_it_named_and_of_no_others(listen: Listen, atlas: Agent) -> None:
    atlas.save("plan")
    stream = listen(atlas, PLAN)
    atlas.save("other")
    atlas.save("plan", "More", 1)
    assert stream.told() == PLAN
    atlas.done("delete_memory", "other", expected_version=1)
    atlas.done("delete_memory", "plan", expected_version=2)
    assert stream.told() == PLAN
    atlas.save("last")
    atlas.save("plan", "Again")
    assert stream.told() == PLAN


def test_of_the_list_it_hears_only_where_it_asked_to(listen: Listen, atlas: Agent) -> None:
    lists, resources = listen(atlas, resourcesListChanged=True), listen(atlas, PLAN)
    atlas.save("other")
    assert lists.told() == LISTS
    atlas.save("plan")
    assert lists.told() == LISTS
    assert resources.told() == PLAN
    atlas.done("edit_memory", "plan", expected_version=1, append="!")
    assert resources.told() == PLAN
    atlas.done("delete_memory", "other", expected_version=1)
    assert lists.told() == LISTS


def test_it_hears_of_each_kind_of_resource_and_of_what_is_read_with_it(
    listen: Listen, atlas: Agent, boreas: Agent, space: str, make_entry: MakeEntry
) -> None:
    task = make_entry(atlas, space, kind="TASK")["id"]
    post = atlas.done("create_post", type="QUESTION", title="T", body="B")["id"]
    where, what, said = uri("spaces", space), uri("space-entries", task), uri("posts", post)
    stream = listen(atlas, where, what, said)
    join(atlas, space, boreas, "editor")
    assert stream.told() == where
    boreas.done("claim_task", task, expected_version=1)
    while (told := stream.told()) != what:  # of the answer to the invitation, unless it came with the invitation
        assert told == where
    boreas.done("add_evidence", task, body="Seen")
    assert stream.told() == what
    reply = boreas.done("reply_to_post", post, body="B")["id"]
    assert stream.told() == said
    atlas.done("resolve_post", post, expected_version=1, accepted_reply=reply)
    assert stream.told() == said


class Watching:
    """What a listener of an agent finds, look by look."""

    def __init__(self, agent: Agent, **wishes: object) -> None:
        request = Request(1, "subscriptions/listen", {"notifications": wishes}, Headers([]), MODERN)
        request.caller = caller_of(agent)
        settled()
        self.changes = Changes(request)
        assert self.look() == []

    def look(self) -> list[str]:
        return [message["params"].get("uri", message["method"]) for message in self.changes.news()]


def test_many_changes_that_one_look_finds_are_told_once(atlas: Agent) -> None:
    other = uri("memory", "other")
    watching = Watching(atlas, resourceSubscriptions=[PLAN, other], resourcesListChanged=True)
    for version in range(4):
        atlas.save("plan", "Text", version)
    atlas.save("other")
    settled()
    assert watching.look() == [PLAN, LISTS, other]
    assert (watching.look(), watching.changes.held_back) == ([], False)


def test_what_happened_before_it_listened_is_not_told(listen: Listen, atlas: Agent) -> None:
    atlas.save("plan")
    stream = listen(atlas, PLAN, "agentboard://memory/other")
    atlas.save("other")
    assert stream.told() == "agentboard://memory/other"


def test_what_happens_between_the_beginning_and_the_wait_is_told(
    listen: Listen, atlas: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change comes after the first look and before anybody hears notices."""
    news = endpoint.Endpoint._listener

    def late(self: endpoint.Endpoint, *arguments: Any) -> Any:
        found = news(self, *arguments)
        atlas.save("plan")
        return found

    monkeypatch.setattr(endpoint.Endpoint, "_listener", late)
    assert listen(atlas, PLAN).told() == PLAN


# What it does not hear of


def test_nothing_of_another_agent_is_told_whatever_was_asked_for(
    listen: Listen, atlas: Agent, boreas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    space = make_space(boreas)
    entry = make_entry(boreas, space)["id"]
    stream = listen(atlas, PLAN, uri("spaces", space), uri("space-entries", entry), resourcesListChanged=True)
    assert stream.honoured["resourceSubscriptions"]  # whether they exist is not told
    boreas.save("plan")
    boreas.done("update_space", space, expected_version=1, title="New")
    boreas.done("update_space_entry", entry, expected_version=1, title="New", body="New")
    atlas.save("last")
    assert stream.told() == LISTS
    atlas.done("edit_memory", "last", expected_version=1, append="!")
    atlas.save("plan")
    assert {stream.told(), stream.told()} == {LISTS, PLAN}


def test_what_the_scopes_do_not_open_is_not_told(
    listen: Listen, board: Board, atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    entry = make_entry(atlas, space)["id"]
    what = uri("space-entries", entry)
    stream = listen(board.with_scopes(atlas, "coordination:read"), PLAN, what)
    atlas.save("plan")
    atlas.done("update_space_entry", entry, expected_version=1, title="New", body="New")
    assert stream.told() == what
    listen(board.with_scopes(atlas, "memory:write", "posts:write"), PLAN, what)
    waits(space_stream(space))


def test_nobody_is_woken_for_what_a_listener_did_not_ask_for(listen: Listen, atlas: Agent, space: str) -> None:
    for uris, streams in (
        ([PLAN], {own_stream(atlas.pk)}),
        ([uri("spaces", space)], {space_stream(space)}),
        ([uri("posts", "po_x")], {"public"}),
        (["agentboard://nothing"], set()),
    ):
        stream = listen(atlas, *uris)
        waits(*streams)
        stream.hang_up()
        waits()


# Rights that change meanwhile


def test_a_space_that_it_joins_is_heard_of_from_then_on(
    listen: Listen, atlas: Agent, boreas: Agent, space: str, make_entry: MakeEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "CHECK_SECONDS", 0.2)
    entry = make_entry(atlas, space)["id"]
    what = uri("space-entries", entry)
    stream = listen(boreas, what)
    waits()
    join(atlas, space, boreas, "reader")
    waits(space_stream(space))
    atlas.done("update_space_entry", entry, expected_version=1, title="New", body="New")
    assert stream.told() == what


def test_a_space_that_it_leaves_is_heard_of_no_more(
    listen: Listen, atlas: Agent, boreas: Agent, space: str, make_entry: MakeEntry
) -> None:
    join(atlas, space, boreas, "reader")
    entry = make_entry(atlas, space)["id"]
    stream = listen(boreas, uri("space-entries", entry), PLAN)
    atlas.done("remove_space_member", space, agent=boreas.handle)
    waits(own_stream(boreas.pk))
    atlas.done("update_space_entry", entry, expected_version=1, title="New", body="New")
    boreas.save("plan")
    assert stream.told() == PLAN


@pytest.mark.parametrize("when", ["at the next change", "where nothing happens"])
@pytest.mark.parametrize("ended", ["revoked", "asleep"])
def test_a_listener_whose_credential_ends_is_told_so_and_let_go(
    listen: Listen, atlas: Agent, monkeypatch: pytest.MonkeyPatch, when: str, ended: str
) -> None:
    if when == "where nothing happens":
        monkeypatch.setattr(endpoint, "CHECK_SECONDS", 0.2)
    stream = listen(atlas, PLAN)
    waits(own_stream(atlas.pk))
    if ended == "revoked":
        models.AgentKey.objects.filter(agent=atlas.pk).revoke()  # type: ignore[attr-defined]
    else:
        models.Agent.objects.filter(pk=atlas.pk).update(active=False)
    if when == "at the next change":
        notices.publish([own_stream(atlas.pk)])
    message = stream.message()
    assert (message["id"], message["error"]["code"]) == (1, REFUSED)
    assert message["error"]["data"]["error"]["code"] == "unauthenticated"
    assert stream.ended()
    waits()


def test_a_database_that_does_not_serve_ends_it_with_a_reason(
    listen: Listen, atlas: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = listen(atlas, PLAN)
    waits(own_stream(atlas.pk))

    def gone(*_: object) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(feed, "events", gone)
    notices.publish([own_stream(atlas.pk)])
    assert stream.message()["error"]["data"]["error"]["code"] == "unavailable"
    assert stream.ended()


# Signs of life, and the end


def test_a_silent_stream_gives_signs_of_life(listen: Listen, atlas: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "KEEP_ALIVE_SECONDS", 0.1)
    stream = listen(atlas, PLAN)
    for _ in range(3):
        assert stream.event() == ":\r\n"
    atlas.save("plan")
    assert stream.told() == PLAN
    assert stream.event() == ":\r\n"


def test_so_does_one_that_is_woken_all_the_time_for_nothing(
    listen: Listen, atlas: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "KEEP_ALIVE_SECONDS", 0.3)
    stream = listen(atlas, PLAN)
    deadline = time.monotonic() + SOON
    looked = 0
    look = endpoint.Endpoint._look

    def again(self: endpoint.Endpoint, *arguments: Any) -> Any:
        nonlocal looked
        looked += 1
        notices.publish([own_stream(atlas.pk)])
        return look(self, *arguments)

    monkeypatch.setattr(endpoint.Endpoint, "_look", again)
    notices.publish([own_stream(atlas.pk)])
    assert stream.event() == ":\r\n"
    assert time.monotonic() < deadline
    assert looked > 2


def test_a_client_that_hangs_up_is_waited_for_no_longer(listen: Listen, atlas: Agent) -> None:
    streams = [listen(atlas, PLAN) for _ in range(5)]
    waits(own_stream(atlas.pk))
    for stream in streams[1:]:
        stream.hang_up()
    wait_for(lambda: len(notices._waiting[own_stream(atlas.pk)]) == 1, SOON)
    atlas.save("plan")
    assert streams[0].told() == PLAN
    streams[0].hang_up()
    waits()


def test_two_listeners_of_one_client_are_told_each_by_its_own_id(listen: Listen, atlas: Agent) -> None:
    one, other = listen(atlas, PLAN, id="one"), listen(atlas, PLAN, id="other")
    atlas.save("plan")
    assert one.told() == other.told() == PLAN


# Commits out of order (PostgreSQL)


@out_of_order
def test_what_an_older_transaction_holds_back_is_told_soon_after_it_ends(listen: Listen, atlas: Agent) -> None:
    stream = listen(atlas, PLAN, "agentboard://memory/late")
    with writers(atlas, 1) as (other,):
        other.write("late")
        atlas.save("plan")
        end(other.connection.commit)
        assert [stream.told(), stream.told()] == ["agentboard://memory/late", PLAN]


@out_of_order
def test_until_then_the_look_says_that_something_is_held_back(atlas: Agent) -> None:
    late = uri("memory", "late")
    watching = Watching(atlas, resourceSubscriptions=[PLAN, late])
    with writers(atlas, 1) as (other,):
        other.write("late")
        atlas.save("plan")
        assert (watching.look(), watching.changes.held_back) == ([], True)
        end(other.connection.commit)
        assert (watching.look(), watching.changes.held_back) == ([late, PLAN], False)


# Several workers


def by_all(server: Served, agent: Agent) -> None:
    """Listeners at whichever workers hear of what is written at whichever."""
    streams = [Listening(server.port, agent.key, PLAN) for _ in range(6)]
    for version in range(4):
        started = time.monotonic()
        agent.save("plan", "Text", version)
        assert [stream.told() for stream in streams] == [PLAN] * len(streams)
        assert time.monotonic() - started < TABLE_SECONDS
    for stream in streams:
        stream.hang_up()


def test_two_workers_tell_each_others_listeners_by_the_event_table(pair: Served, acquaintance: Agent) -> None:
    by_all(pair, acquaintance)
    assert '"level":"ERROR"' not in pair.err


def test_and_through_redis(arena: Arena, redis_url: str) -> None:
    with arena.serving(WORKERS="2", REDIS_URL=redis_url) as server:
        by_all(server, arena.agent(server))
        assert '"level":"ERROR"' not in server.err
