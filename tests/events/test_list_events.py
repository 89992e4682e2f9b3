"""list_events: what an agent may see now, oldest first, with a cursor to go on from after any absence."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from agentboard.identity import models
from agentboard.identity.scopes import ALL_SCOPES
from agentboard.ledger.models import Event
from tests.board import Board
from tests.calls import Agent
from tests.events.reading import EventReader, happened, later, settled, told, unshared
from tests.spaces.conftest import MakeEntry, MakeSpace, broken, join

# ---- shape


def test_an_event_says_what_was_done_to_what_by_whom_when_and_through_which_door(board: Board, atlas: Agent) -> None:
    saved = atlas.save("plan", "The secret text", summary="secret", tags=["tag-of-it"])
    (event,) = EventReader(unshared(board, atlas)).rest()
    assert isinstance(event.pop("id"), str)
    assert event == {
        "method": "save_memory",
        "resource": {"type": "note", "id": "plan"},
        "version": 1,
        "space": None,
        "author": atlas.handle,
        "via": "rest",
        "created_at": saved["updated_at"],
    }


def test_an_event_of_a_space_names_the_space_and_never_a_text(
    board: Board, atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    entry = make_entry(editor, space, title="secret", body="secret", tags=["tag-of-it"])
    event = EventReader(unshared(board, atlas)).rest()[-1]
    assert (event["resource"], event["space"]) == ({"type": "entry", "id": entry["id"]}, space)
    assert (event["author"], event["method"]) == (editor.handle, "create_space_entry")
    assert "secret" not in str(event)
    assert "tag-of-it" not in str(event)


def test_an_event_of_a_post_belongs_to_no_space(board: Board, atlas: Agent, boreas: Agent) -> None:
    cursor = EventReader(atlas)
    cursor.rest(limit=100)
    post = boreas.done("create_post", type="QUESTION", title="secret", body="secret")
    (event,) = cursor.rest()
    assert (event["resource"], event["space"], event["author"]) == (
        {"type": "post", "id": post["id"]},
        None,
        boreas.handle,
    )
    assert "secret" not in str(event)


# ---- order and cursors


def test_events_of_all_streams_come_in_one_order(
    board: Board, atlas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    agent = unshared(board, atlas)
    first, second = make_space(atlas), make_space(atlas)
    expected = [("create_space", first, 1), ("create_space", second, 1)]
    for number in range(3):
        atlas.save(f"note-{number}")
        expected.append(("save_memory", f"note-{number}", 1))
        for place in (second, first):
            expected.append(("create_space_entry", make_entry(atlas, place)["id"], 1))
    assert happened(agent) == expected
    assert told(EventReader(agent).rest(limit=1)) == expected
    assert told(EventReader(agent).rest(limit=4)) == expected


def test_there_is_always_a_cursor_and_it_goes_on_after_any_absence(board: Board, atlas: Agent) -> None:
    agent = unshared(board, atlas)
    empty = agent.done("list_events")
    assert empty["items"] == []
    start = empty["next_cursor"]
    assert agent.done("list_events", cursor=start)["items"] == []
    atlas.save("a")
    atlas.save("b")
    settled()
    assert told(agent.done("list_events", cursor=start)["items"]) == [("save_memory", "a", 1), ("save_memory", "b", 1)]
    assert told(agent.done("list_events", cursor=start, limit=1)["items"]) == [("save_memory", "a", 1)]
    reader = EventReader(agent, start)
    assert len(reader.rest()) == 2
    assert reader.page() == []
    with later(days=80):
        assert reader.page() == []
        assert reader.page() == []
    atlas.save("c")
    assert told(reader.page()) == [("save_memory", "c", 1)]


def test_a_page_has_as_many_events_as_asked_for_and_twenty_unless_told(board: Board, atlas: Agent) -> None:
    agent = unshared(board, atlas)
    for number in range(101):
        atlas.save(f"note-{number}")
    for limit in (1, 2, 99, 100):
        assert len(EventReader(agent).page(limit=limit)) == limit
    assert len(EventReader(agent).page()) == 20
    for wrong in (0, -1, 101, True, "many"):
        agent.refused("invalid_arguments", "list_events", limit=wrong)


def test_a_cursor_belongs_to_its_agent_whichever_key_it_uses(board: Board, atlas: Agent, boreas: Agent) -> None:
    atlas.save("a")
    settled()
    cursor = atlas.done("list_events")["next_cursor"]
    atlas.save("b")
    other_key = unshared(board, atlas)
    settled()
    assert told(other_key.done("list_events", cursor=cursor)["items"]) == [("save_memory", "b", 1)]
    boreas.refused("invalid_arguments", "list_events", cursor=cursor)
    sibling = board.agent(owner=models.Agent.objects.get(pk=atlas.pk).owner)
    sibling.refused("invalid_arguments", "list_events", cursor=cursor)


def test_a_cursor_that_was_tampered_with_or_is_of_another_list_is_refused(atlas: Agent) -> None:
    atlas.save("a")
    atlas.save("b")
    cursor = atlas.done("list_events")["next_cursor"]
    for text in broken(cursor):
        atlas.refused("invalid_arguments", "list_events", cursor=text)
    other = atlas.done("list_memory", limit=1)["next_cursor"]
    atlas.refused("invalid_arguments", "list_events", cursor=other)
    atlas.refused("invalid_arguments", "list_memory", limit=1, cursor=cursor)


# ---- what is kept


def test_a_cursor_older_than_events_are_kept_is_expired_and_one_a_moment_younger_is_not(
    board: Board, atlas: Agent, settings: Settings
) -> None:
    agent = unshared(board, atlas)
    with later(days=-settings.EVENT_DAYS, seconds=-2):
        old = agent.done("list_events")["next_cursor"]
    with later(days=-settings.EVENT_DAYS, seconds=60):
        younger = agent.done("list_events")["next_cursor"]
    atlas.save("a")
    settled()
    error = agent.refused("cursor_expired", "list_events", cursor=old)
    assert str(settings.EVENT_DAYS) in error["message"]
    assert "resume" in error["next_action"]
    assert told(agent.done("list_events", cursor=younger)["items"]) == [("save_memory", "a", 1)]


def test_an_event_older_than_events_are_kept_is_not_listed(board: Board, atlas: Agent, settings: Settings) -> None:
    agent = unshared(board, atlas)
    settings.EVENT_DAYS = 7
    for name in ("old", "young"):
        atlas.save(name)
    mine = Event.objects.filter(agent_id=atlas.pk)
    mine.filter(resource_id="old").update(created_at=timezone.now() - timedelta(days=7, seconds=1))
    mine.filter(resource_id="young").update(created_at=timezone.now() - timedelta(days=7, seconds=-60))
    assert happened(agent) == [("save_memory", "young", 1)]


def test_a_reader_far_behind_is_told_where_events_went_that_it_had_not_read(board: Board, atlas: Agent) -> None:
    reader = EventReader(unshared(board, atlas))
    for days, name in ((89.5, "a"), (89.4, "b"), (1, "c")):
        atlas.save(name)
        Event.objects.filter(agent_id=atlas.pk, resource_id=name).update(created_at=timezone.now() - timedelta(days))
    assert told(reader.page(limit=1)) == [("save_memory", "a", 1)]
    with later(days=1):  # b is gone, unread
        reader.agent.refused("cursor_expired", "list_events", cursor=reader.cursor)
        assert happened(reader.agent) == [("save_memory", "c", 1)]


# ---- who sees what


SCOPES_OF = {"memory:read": "save_memory", "coordination:read": "create_space", "posts:read": "create_post"}


@pytest.mark.parametrize("scope", [*ALL_SCOPES])
def test_each_read_scope_opens_its_own_events_and_nothing_else(
    board: Board, atlas: Agent, make_space: MakeSpace, scope: str
) -> None:
    atlas.save("plan")
    make_space(atlas)
    atlas.done("create_post", type="QUESTION", title="x", body="x")
    items = EventReader(board.with_scopes(atlas, scope)).rest(limit=100)
    mine = {event["method"] for event in items if event["author"] == atlas.handle}
    assert mine == ({SCOPES_OF[scope]} if scope in SCOPES_OF else set())


def test_nobody_sees_anothers_notes_not_even_an_agent_of_the_same_person(board: Board, atlas: Agent) -> None:
    sibling = board.agent(owner=models.Agent.objects.get(pk=atlas.pk).owner)
    atlas.save("plan")
    assert happened(unshared(board, sibling)) == []


@pytest.mark.parametrize("visibility", ["private", "public"])
def test_events_of_a_space_are_for_its_members_only(
    board: Board, atlas: Agent, boreas: Agent, make_space: MakeSpace, make_entry: MakeEntry, visibility: str
) -> None:
    space = make_space(atlas, visibility=visibility)
    make_entry(atlas, space)
    outsider, invited = unshared(board, boreas), board.agent()
    atlas.done("set_space_member", space, agent=invited.handle, role="owner")
    assert happened(outsider) == []
    assert happened(unshared(board, invited)) == []


@pytest.mark.parametrize("role", ["reader", "editor", "owner"])
def test_who_joins_later_sees_what_happened_before(
    board: Board, atlas: Agent, boreas: Agent, space: str, make_entry: MakeEntry, role: str
) -> None:
    entry = make_entry(atlas, space)["id"]
    agent = unshared(board, boreas)
    assert happened(agent) == []
    join(atlas, space, boreas, role)
    assert happened(agent) == [
        ("create_space", space, 1),
        ("create_space_entry", entry, 1),
        ("set_space_member", space, 2),
        ("respond_to_invitation", space, 3),
    ]


def test_a_removed_members_cursor_gives_nothing_more_and_goes_on_when_it_is_back(
    board: Board, atlas: Agent, reader: Agent, space: str, make_entry: MakeEntry
) -> None:
    events = EventReader(unshared(board, reader))
    assert len(events.rest()) == 3
    unread = make_entry(atlas, space)["id"]
    atlas.done("remove_space_member", space, agent=reader.handle)
    make_entry(atlas, space)
    assert events.page() == []
    assert happened(events.agent) == []
    reader.save("mine")
    assert told(events.rest()) == [("save_memory", "mine", 1)]
    join(atlas, space, reader, "reader")
    assert unread in [resource for _, resource, _ in happened(events.agent)]
    assert told(events.page())[-1][0] == "respond_to_invitation"


def test_a_member_who_left_an_archived_space_and_a_member_who_stayed_see_what_they_may(
    board: Board, atlas: Agent, reader: Agent, editor: Agent, space: str
) -> None:
    version = atlas.done("get_space", space)["version"]
    editor.done("remove_space_member", space, agent=editor.handle)
    atlas.done("update_space", space, expected_version=version + 1, archived=True)
    assert happened(unshared(board, reader))[-1] == ("update_space", space, version + 2)
    assert happened(unshared(board, editor)) == []


def test_refused_and_replayed_calls_and_reads_make_no_event(board: Board, atlas: Agent, space: str) -> None:
    agent = unshared(board, atlas)
    atlas.save("plan", operation_key="k")
    before = happened(agent)
    atlas.save("plan", operation_key="k")
    atlas.refused("version_conflict", "save_memory", "plan", body="x", expected_version=7)
    for name in ("resume", "inbox", "list_events", "whoami"):
        agent.done(name)
    agent.done("mark_inbox_read", ids=["in_x"])
    assert happened(agent) == before
