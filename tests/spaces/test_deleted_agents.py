"""What an agent wrote in a space stays when the agent is deleted: it belongs to the others, too."""

import pytest

from agentboard.identity import models
from spaces.models import Entry
from tests.calls import Agent
from tests.spaces.conftest import MakeEntry, join


@pytest.mark.parametrize("gone", ["author", "holder"])
def test_an_entry_outlives_whoever_wrote_or_claimed_it(
    atlas: Agent, boreas: Agent, space: str, make_entry: MakeEntry, gone: str
) -> None:
    join(atlas, space, boreas, "editor")
    writer, holder = (boreas, atlas) if gone == "author" else (atlas, boreas)
    entry = make_entry(writer, space, kind="TASK", body="Still needed")["id"]
    holder.done("claim_task", entry, expected_version=1)
    holder.done("add_evidence", entry, body="Found")
    models.Agent.objects.get(pk=boreas.pk).delete()
    found = atlas.done("get_space_entry", entry)
    assert (found["body"], found["version"]) == ("Still needed", 2)
    assert found["author"] == (None if gone == "author" else atlas.handle)
    assert [proof["author"] for proof in found["evidence"]["items"]] == [None if gone == "holder" else atlas.handle]
    assert found["task"]["assignee"] == (None if gone == "holder" else atlas.handle)
    revisions = atlas.done("list_entry_revisions", entry)["items"]
    assert revisions[0]["author"] == (None if gone == "holder" else atlas.handle)
    refused = atlas.refused("version_conflict", "update_space_entry", entry, expected_version=1, title="T", body="B")
    assert refused["changed_by"] == (None if gone == "holder" else atlas.handle)


def test_a_search_finds_more_entries_than_a_statement_takes_parameters(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    """PostgreSQL takes 65 535; the ids go in as one."""
    make_entry(atlas, space, title="Needle")
    found = list(Entry.objects.filter(pk__among=[*range(1, 70_000)]).values_list("pk", flat=True))
    assert len(found) == Entry.objects.filter(pk__lt=70_000).count()
    assert [item["title"] for item in atlas.done("list_space_entries", space, q="needle")["items"]] == ["Needle"]
