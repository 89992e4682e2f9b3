"""What entries put into inboxes: for those who may read them, never for whoever wrote, and never any text."""

from typing import Any

import pytest

from agentboard.identity import models
from agentboard.ledger.mentions import MENTIONS_MAX
from agentboard.ledger.models import InboxItem
from tests.board import Board
from tests.calls import Agent
from tests.spaces.conftest import MakeEntry, MakeSpace, inbox, join, lapse


@pytest.fixture
def mentioned(board: Board, atlas: Agent, space: str) -> Agent:
    """A reader of the space whose inbox is empty."""
    agent = board.agent()
    join(atlas, space, agent, "reader")
    InboxItem.objects.filter(recipient_id=agent.pk).delete()
    return agent


@pytest.mark.parametrize("place", ["title", "body", "summary"])
def test_a_mention_in_any_text_of_an_entry_reaches_who_may_read_it(
    atlas: Agent, mentioned: Agent, space: str, make_entry: MakeEntry, place: str
) -> None:
    entry = make_entry(atlas, space, **{place: f"Ask @{mentioned.handle}, please."})["id"]
    assert inbox(mentioned) == [("mention", entry, atlas.handle)]
    row = InboxItem.objects.filter(recipient_id=mentioned.pk).values().get()
    assert (row["resource_type"], row["space"], row["via"], row["read_at"]) == ("entry", space, "rest", None)
    assert "please" not in str(row)


TEXTS = [
    ("@{}", True),
    ("(@{})", True),
    ("**@{}**!", True),
    ("@{}.", True),
    ("x\n@{}\n", True),
    ("@{} and @{}", True),
    ("{}", False),
    ("mail@{}", False),
    ("@{}-not", False),
    ("@{}x", False),
    ("@@{}", False),
    ("https://example.org/@{}", False),
    ("@ {}", False),
]


def test_a_mention_is_the_whole_handle_after_an_at_sign(
    atlas: Agent, mentioned: Agent, space: str, make_entry: MakeEntry
) -> None:
    expected = []
    for text, calls in TEXTS:
        entry = make_entry(atlas, space, body=text.replace("{}", mentioned.handle))["id"]
        expected += [("mention", entry, atlas.handle)] * calls
        assert inbox(mentioned) == expected, text


def test_one_mention_an_entry_however_often_it_is_named(
    atlas: Agent, mentioned: Agent, space: str, make_entry: MakeEntry
) -> None:
    name = f"@{mentioned.handle}"
    make_entry(atlas, space, title=name, body=f"{name} {name}", summary=name)
    assert len(inbox(mentioned)) == 1


def test_an_update_calls_only_those_it_names_anew(
    atlas: Agent, editor: Agent, mentioned: Agent, space: str, make_entry: MakeEntry
) -> None:
    entry = make_entry(editor, space, body=f"@{mentioned.handle}")["id"]
    start = len(inbox(editor))

    def update(version: int, body: str) -> None:
        atlas.done("update_space_entry", entry, expected_version=version, title="x", body=body)

    update(1, f"Still @{mentioned.handle}")
    assert len(inbox(mentioned)) == 1
    update(2, f"Now @{editor.handle} and @{mentioned.handle}")
    assert inbox(editor)[start:] == [("mention", entry, atlas.handle)]
    assert len(inbox(mentioned)) == 1
    update(3, "Nobody")
    update(4, f"Again @{mentioned.handle}")
    assert len(inbox(mentioned)) == 2


def test_evidence_publications_and_restores_call_too(
    atlas: Agent, mentioned: Agent, space: str, make_entry: MakeEntry
) -> None:
    name = f"@{mentioned.handle}"
    knowledge = make_entry(atlas, space, kind="KNOWLEDGE", summary="s")["id"]
    atlas.done("add_evidence", knowledge, body=f"See {name}")
    atlas.done("publish_knowledge", knowledge, expected_version=1, body="x", summary=name)
    note = make_entry(atlas, space, body=name)["id"]
    atlas.done("update_space_entry", note, expected_version=1, title="x", body="x")
    atlas.done("restore_space_entry", note, version=1, expected_version=2)
    expected = [knowledge, knowledge, note, note]
    assert inbox(mentioned) == [("mention", entry, atlas.handle) for entry in expected]


def test_a_result_calls_those_that_the_one_before_did_not_name(
    atlas: Agent, editor: Agent, mentioned: Agent, space: str, make_entry: MakeEntry
) -> None:
    task = make_entry(atlas, space, kind="TASK")["id"]
    editor.done("claim_task", task, expected_version=1)
    for version, result in enumerate(
        ("Nothing yet", f"For @{mentioned.handle}", f"@{mentioned.handle}, done"), start=2
    ):
        editor.done("update_task", task, expected_version=version, result=result)
    editor.done("update_task", task, expected_version=5, progress=50)
    assert inbox(mentioned) == [("mention", task, editor.handle)]


def test_nobody_is_called_who_may_not_read_it(
    atlas: Agent, boreas: Agent, board: Board, space: str, make_entry: MakeEntry
) -> None:
    invited, asleep, gone = board.agent(), board.agent(), board.agent()
    atlas.done("set_space_member", space, agent=invited.handle, role="owner")
    for agent in (asleep, gone):
        join(atlas, space, agent, "editor")
    models.Agent.objects.filter(pk=asleep.pk).update(active=False)
    atlas.done("remove_space_member", space, agent=gone.handle)
    before = [inbox(agent) for agent in (boreas, invited, asleep, gone)]
    names = " ".join(f"@{agent.handle}" for agent in (boreas, invited, asleep, gone))
    entry = make_entry(atlas, space, body=f"{names} @nobody-of-that-name")["id"]
    atlas.done("add_evidence", entry, body=names)
    assert [inbox(agent) for agent in (boreas, invited, asleep, gone)] == before


def test_in_a_public_space_everybody_can_be_called(
    atlas: Agent, boreas: Agent, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    entry = make_entry(atlas, make_space(atlas, visibility="public"), body=f"@{boreas.handle}")["id"]
    assert inbox(boreas) == [("mention", entry, atlas.handle)]


def test_when_it_becomes_private_nothing_of_it_waits_for_outsiders_any_more(
    atlas: Agent, boreas: Agent, board: Board, make_space: MakeSpace, make_entry: MakeEntry
) -> None:
    space, other = (make_space(atlas, visibility="public") for _ in range(2))
    member, invited = board.agent(), board.agent()
    join(atlas, space, member, "reader")
    atlas.done("set_space_member", space, agent=invited.handle, role="reader")
    names = " ".join(f"@{agent.handle}" for agent in (boreas, member, invited))
    make_entry(atlas, space, body=names)
    elsewhere = make_entry(atlas, other, body=names)["id"]
    version = atlas.done("get_space", space)["version"]
    atlas.done("update_space", space, expected_version=version, visibility="private")
    assert inbox(boreas) == [("mention", elsewhere, atlas.handle)]
    assert [kind for kind, _, _ in inbox(member)] == ["invitation", "mention", "mention"]
    assert [kind for kind, _, _ in inbox(invited)] == ["invitation", "mention"]


def test_nobody_calls_itself(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    task = make_entry(atlas, space, kind="TASK", body=f"@{atlas.handle}")["id"]
    atlas.done("claim_task", task, expected_version=1)
    atlas.done("update_task", task, expected_version=2, progress=1)
    atlas.done("release_task", task, expected_version=3)
    assert inbox(atlas) == []


def test_one_text_calls_a_bounded_number(atlas: Agent, mentioned: Agent, space: str, make_entry: MakeEntry) -> None:
    crowd = " ".join(f"@crowd-{number}" for number in range(MENTIONS_MAX))
    make_entry(atlas, space, body=f"{crowd} @{mentioned.handle}")
    assert inbox(mentioned) == []
    make_entry(atlas, space, body=f"@{mentioned.handle} {crowd}")
    assert len(inbox(mentioned)) == 1


def test_a_refused_and_a_replayed_call_tell_nobody(
    atlas: Agent, mentioned: Agent, space: str, make_entry: MakeEntry
) -> None:
    note = make_entry(atlas, space)["id"]
    text = {"title": "x", "body": f"@{mentioned.handle}", "operation_key": "k"}
    atlas.refused("version_conflict", "update_space_entry", note, expected_version=7, **text)
    assert inbox(mentioned) == []
    for _ in range(2):
        atlas.done("update_space_entry", note, expected_version=1, **text)
    assert len(inbox(mentioned)) == 1


# ---- tasks


ACTS: dict[str, dict[str, Any]] = {
    "claim_task": {},
    "update_task": {"progress": 5},
    "release_task": {},
}


def test_the_author_hears_of_every_act_on_its_task(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    task = make_entry(atlas, space, kind="TASK")["id"]
    for version, (method, data) in enumerate(ACTS.items(), start=1):
        editor.done(method, task, expected_version=version, **data)
    editor.done("claim_next_task", space)
    assert inbox(atlas) == [("task", task, editor.handle)] * 4


def test_the_holder_hears_of_being_taken_over(atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry) -> None:
    task = make_entry(atlas, space, kind="TASK")["id"]
    editor.done("claim_task", task, expected_version=1)
    lapse(task)
    before = len(inbox(editor))
    atlas.done("claim_task", task, expected_version=2)
    assert inbox(editor)[before:] == [("task", task, atlas.handle)]


def test_an_author_who_left_hears_nothing_more(atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry) -> None:
    task = make_entry(editor, space, kind="TASK")["id"]
    editor.done("remove_space_member", space, agent=editor.handle)
    atlas.done("claim_task", task, expected_version=1)
    atlas.done("update_task", task, expected_version=2, state="done")
    assert inbox(editor) == []
