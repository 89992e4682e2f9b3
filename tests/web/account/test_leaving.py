"""/account/delete: consequences counted, the name typed, and then everything gone but what belongs to others too."""

from collections.abc import Iterator
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client

from agentboard.board.leaving import consequences
from agentboard.identity.models import Agent, Person
from memory.models import Note
from posts.models import Post
from spaces.models import Space
from tests import board
from tests.web.account.reading import PASSWORD, Page, confirm, is_in, sign_in

made_people, kept_database = board.made_people, board.kept_database


@pytest.fixture(name="db")
def lasting_db(kept_database: None, django_db_blocker: Any) -> Iterator[None]:
    """The calls run in the door's own threads, so what is committed is kept."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture(name="board")
def a_board(db: None, made_people: list[int]) -> board.Board:
    return board.Board(made_people)


@pytest.fixture
def person(board: board.Board) -> Person:
    found = board.person()
    found.set_password(PASSWORD)
    found.save()
    return found


@pytest.fixture
def own(person: Person) -> Client:
    """The person's browser."""
    client = Client()
    sign_in(client, person.username)
    return client


def new_space(agent: Any, name: str) -> str:
    found: str = agent.done("create_space", request_id=name, name=name, title=name)["id"]
    return found


def joined(owner: Any, space: str, agent: Any, role: str) -> None:
    owner.done("set_space_member", space, agent=agent.handle, role=role)
    agent.done("respond_to_invitation", space, accept=True)


def test_the_page_counts_what_goes_and_what_stays(board: board.Board, person: Person, own: Client) -> None:
    mine, other = board.agent(owner=person), board.agent()
    mine.save("plan", "First")
    mine.save("plan", "Second", 1)
    mine.save("idea")
    post = mine.done("create_post", type="QUESTION", title="Why?", body="Tell me", summary="Why", topic="general")["id"]
    other.done("reply_to_post", post, body="Because")
    mine.done("reply_to_post", post, body="Thanks")
    new_space(mine, "alone")
    joined(mine, new_space(mine, "shared"), other, "editor")
    counted = consequences(person)
    assert (counted.agents, counted.keys, counted.notes, counted.revisions) == (1, 1, 2, 3)
    assert (counted.posts, counted.replies, counted.replies_of_others) == (1, 1, 1)
    assert (counted.spaces, counted.spaces_left, counted.last_operator) == (1, 1, False)
    confirm(own)
    text = " ".join(Page(own.get("/account/delete")).text.split())
    assert "<dt>2</dt><dd>notes, with 3 revisions</dd>" in text
    assert f"Type {person.username} to delete this account" in text


def test_nothing_happens_before_the_person_has_confirmed_and_typed_the_very_name(person: Person, own: Client) -> None:
    right = {"name": person.username}
    assert own.post("/account/delete", right)["Location"].startswith("/account/confirm")
    confirm(own)
    for name in ("", person.username.upper(), f"{person.username} ", "delete"):
        assert own.post("/account/delete", {"name": name}).status_code == 422
    assert Person.objects.filter(pk=person.pk).exists()


def test_the_person_goes_with_agents_notes_posts_and_sessions(board: board.Board, person: Person, own: Client) -> None:
    mine = board.agent(owner=person)
    mine.save("plan")
    mine.done("create_post", type="QUESTION", title="Why?", body="Tell me", summary="Why", topic="general")
    space = new_space(mine, "alone")
    elsewhere = Client()
    sign_in(elsewhere, person.username)
    confirm(own)
    assert own.post("/account/delete", {"name": person.username})["Location"] == "/account/deleted"
    assert "The account is deleted" in Page(own.get("/account/deleted")).text
    assert (is_in(own), is_in(elsewhere)) == (False, False)
    assert not Person.objects.filter(pk=person.pk).exists()
    assert not Agent.objects.filter(pk=mine.pk).exists()
    assert not Note.objects.filter(agent_id=mine.pk).exists()
    assert not Post.objects.filter(author_id=mine.pk).exists()
    assert not Space.objects.filter(ref=space).exists()
    assert not UserSession.objects.filter(user_id=person.pk).exists()
    mine.refused("unauthenticated", "whoami")
    assert sign_in(Client(), person.username).status_code == 422


def test_a_space_that_others_are_in_stays_with_its_entries_and_gets_an_owner_among_them(
    board: board.Board, person: Person, own: Client
) -> None:
    mine, reader, first, second = board.agent(owner=person), board.agent(), board.agent(), board.agent()
    space = new_space(mine, "shared")
    for agent, role in ((reader, "reader"), (first, "editor"), (second, "editor")):
        joined(mine, space, agent, role)
    entry = mine.done("create_space_entry", space, kind="NOTE", title="Finding", body="It works")["id"]
    before = reader.done("get_space", space)["version"]
    confirm(own)
    own.post("/account/delete", {"name": person.username})
    found = reader.done("get_space", space)
    roles = {member["agent"]: member["role"] for member in found["members"]}
    assert roles == {reader.handle: "reader", first.handle: "owner", second.handle: "editor"}
    assert found["version"] == before + 1
    assert reader.done("get_space_entry", entry)["author"] is None


def test_where_another_owner_is_left_nobody_rises(board: board.Board, person: Person, own: Client) -> None:
    mine, owner, editor = board.agent(owner=person), board.agent(), board.agent()
    space = new_space(mine, "shared")
    joined(mine, space, owner, "owner")
    joined(mine, space, editor, "editor")
    confirm(own)
    own.post("/account/delete", {"name": person.username})
    roles = {member["agent"]: member["role"] for member in owner.done("get_space", space)["members"]}
    assert roles == {owner.handle: "owner", editor.handle: "editor"}


def test_the_last_operator_is_told_what_comes_of_it(person: Person, own: Client) -> None:
    Person.objects.filter(pk=person.pk).update(is_staff=True, is_superuser=True)
    confirm(own)
    assert "You are the only operator" in Page(own.get("/account/delete")).text


def test_whoever_an_operator_deletes_leaves_in_the_same_way(board: board.Board, person: Person) -> None:
    mine, editor = board.agent(owner=person), board.agent()
    space = new_space(mine, "shared")
    joined(mine, space, editor, "editor")
    operator = Client()
    root = board.person()
    Person.objects.filter(pk=root.pk).update(is_staff=True, is_superuser=True)
    root.refresh_from_db()
    operator.force_login(root)
    assert operator.post(f"/admin/identity/person/{person.pk}/delete/", {"post": "yes"}).status_code == 302
    assert [member["role"] for member in editor.done("get_space", space)["members"]] == ["owner"]
