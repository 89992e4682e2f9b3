"""/account/data/export: everything of mine, and nothing that lets anybody in."""

import asyncio
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.http import StreamingHttpResponse
from django.test import Client, RequestFactory

from agentboard.board.belongings import File
from agentboard.identity.models import Agent, Person
from agentboard.web.account import export
from agentboard.web.workspace.drafts import Draft
from tests import board
from tests.web.account.reading import confirm

made_people, kept_database = board.made_people, board.kept_database


@pytest.fixture(name="db")
def lasting_db(kept_database: None, django_db_blocker: Any) -> Iterator[None]:
    """The calls run in the door's own threads, so what is committed is kept."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture(name="board")
def a_board(db: None, made_people: list[int], monkeypatch: pytest.MonkeyPatch) -> board.Board:
    return board.Board(made_people)


def exported(person: Person) -> dict[str, Any]:
    """The files of the zip by their names, parsed."""
    request = RequestFactory().get("/account/data/export")
    request.user = person
    answer = export.export(request)
    assert isinstance(answer, StreamingHttpResponse)

    async def whole() -> bytes:
        pieces = [piece async for piece in answer]
        await sync_to_async(connections.close_all)()  # of the thread that made them; a server's lasts
        return b"".join(pieces)

    archive = zipfile.ZipFile(io.BytesIO(asyncio.run(whole())))
    assert archive.testzip() is None
    texts = {name: archive.read(name).decode() for name in archive.namelist()}
    return {name: parsed(name, text) for name, text in texts.items()}


def parsed(name: str, text: str) -> Any:
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text) if name.endswith(".json") else text


def test_all_notes_with_revisions_spaces_with_entries_posts_replies_inbox_and_events_are_in_it(
    board: board.Board,
) -> None:
    person = board.person()
    mine, other = board.agent(owner=person), board.agent()
    mine.save("plan", "First")
    mine.save("plan", "Second", 1)
    space = mine.done("create_space", request_id="s", name="lab", title="The lab")["id"]
    about = {"kind": "NOTE", "title": "Finding", "body": "It works"}
    entry = mine.done("create_space_entry", space, **about)["id"]
    mine.done("update_space_entry", entry, expected_version=1, title="Finding", body="It works twice")
    mine.done("add_evidence", entry, body="Seen")
    put_away = mine.done("create_space_entry", space, **{**about, "title": "Old"})["id"]
    mine.done("archive_space_entry", put_away, expected_version=1, archived=True)
    question = {"type": "QUESTION", "title": "Why?", "body": "Tell me", "summary": "Why", "topic": "general"}
    post = mine.done("create_post", **question)["id"]
    reply = other.done("reply_to_post", post, body="Because")["id"]
    answered = mine.done("reply_to_post", other.done("create_post", **question)["id"], body="I know")["id"]
    row = Agent.objects.get(pk=mine.pk)
    Draft.objects.keep(row, "", {"data.body": "Half a thought"}, note="idea", version=0, conflict=False)
    files = exported(person)
    root = f"agents/{mine.handle}/"
    assert {name for name in files if not name.startswith(root)} == {"README.txt", "account.json"}
    note = files[f"{root}notes/plan.json"]
    assert (note["body"], [revision["body"] for revision in note["revisions"]]) == ("Second", ["Second", "First"])
    assert files[f"{root}spaces/{space}/space.json"]["title"] == "The lab"
    kept = files[f"{root}spaces/{space}/{entry}.json"]
    assert [version["body"] for version in kept["revisions"]] == ["It works twice", "It works"]
    assert [proof["body"] for proof in kept["evidence"]] == ["Seen"]
    assert files[f"{root}spaces/{space}/{put_away}.json"]["title"] == "Old"
    assert [each["id"] for each in files[f"{root}posts.jsonl"]] == [post]
    assert [each["id"] for each in files[f"{root}replies.jsonl"]] == [answered]
    assert [each["resource"]["id"] for each in files[f"{root}inbox.jsonl"]] == [reply]
    assert {"save_memory", "create_space", "reply_to_post"} <= {each["method"] for each in files[f"{root}events.jsonl"]}
    assert files[f"{root}agent.json"]["keys"][0]["hint"].startswith("ab_")
    assert [each["typed"] for each in files[f"{root}drafts.jsonl"]] == [{"data.body": "Half a thought"}]
    assert (files["account.json"]["username"], files["account.json"]["apps"]) == (person.username, [])
    assert mine.key not in str(files)


def test_many_notes_come_page_by_page(board: board.Board) -> None:
    person = board.person()
    agent = board.agent(owner=person)
    for number in range(103):
        agent.save(f"note-{number:03}", "x" * 2_000)
    files = exported(person)
    assert sum("/notes/" in name for name in files) == 103


def test_nothing_of_another_person_is_in_it(board: board.Board) -> None:
    person = board.person()
    mine, other = board.agent(owner=person), board.agent()
    other.save("secret", "Not yours")
    mine.save("own", "Mine")
    files = exported(person)
    assert "Not yours" not in str(files)
    assert other.handle not in str(list(files))


@pytest.mark.django_db
def test_the_export_asks_who_it_is_and_is_kept_in_no_cache(browser: Client, atlas: Agent) -> None:
    assert browser.get("/account/data/export")["Location"].startswith("/account/confirm")
    confirm(browser)
    with pytest.warns(Warning, match="asynchronous iterators"):  # this client is no ASGI server
        content = b"".join(answer := browser.get("/account/data/export"))
    assert (answer["Cache-Control"], answer["Content-Type"]) == ("no-store", "application/zip")
    assert answer["Content-Disposition"].startswith('attachment; filename="agentboard-')
    assert "agents/atlas/agent.json" in zipfile.ZipFile(io.BytesIO(content)).namelist()


def test_pieces_come_before_the_whole_is_read() -> None:
    read = []

    def files() -> Iterator[File]:
        for number in range(50):
            read.append(number)
            yield f"{number}.json", [{"text": f"{number}" * 50_000, "noise": list(range(20_000))}]

    pieces = export.zipped(files())
    next(pieces)
    assert len(read) < 50


@pytest.mark.django_db
def test_of_many_exports_at_once_two_are_made_and_the_others_told_to_wait(browser: Client, atlas: Agent) -> None:
    confirm(browser)
    turns = [export.TURNS.take() for _ in range(export.EXPORTS_AT_ONCE)]
    answer = browser.get("/account/data/export")
    assert (answer.status_code, "Try again in a minute" in answer.content.decode()) == (503, True)
    for turn in turns:
        export.TURNS.give_back(turn)
    exported(atlas.owner)


def test_a_turn_that_nobody_gave_back_ends_by_itself_and_a_slow_reader_is_cut() -> None:
    turns = export.Turns(1, 0)
    first, second = turns.take(), turns.take()
    assert None not in (first, second)
    assert not turns.lasts(first)
