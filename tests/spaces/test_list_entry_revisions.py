"""list_entry_revisions: the retained versions, newest first."""

from pytest_django import Settings

from tests.calls import Agent
from tests.spaces.conftest import MakeEntry, broken, pages


def test_revisions_come_newest_first_with_who_made_each(
    atlas: Agent, editor: Agent, space: str, make_entry: MakeEntry
) -> None:
    made = make_entry(atlas, space, kind="TASK", tags=["a"])
    entry = made["id"]
    updated = editor.done("update_space_entry", entry, expected_version=1, title="x", body="Second", tags=["b"])
    claimed = atlas.done("claim_task", entry, expected_version=2)
    items = atlas.done("list_entry_revisions", entry)["items"]
    assert items == [
        {
            "version": version,
            "current": version == 3,
            "tags": tags,
            "bytes": size,
            "author": author.handle,
            "via": "rest",
            "created_at": at["updated_at"],
        }
        for version, tags, size, author, at in (
            (3, ["b"], 6, atlas, claimed),
            (2, ["b"], 6, editor, updated),
            (1, ["a"], 4, atlas, made),
        )
    ]
    bodies = [item["body"] for item in atlas.done("list_entry_revisions", entry, detail="full")["items"]]
    assert bodies == ["Second", "Second", "Body"]


def test_revisions_are_paged_each_exactly_once_while_more_come(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    entry = make_entry(atlas, space)["id"]

    def update(version: int) -> None:
        atlas.done("update_space_entry", entry, expected_version=version, title="x", body=f"{version}")

    for version in range(1, 6):
        update(version)
    seen: list[int] = []
    for number, page in enumerate(pages(atlas, "list_entry_revisions", entry, limit=2)):
        seen += [item["version"] for item in page]
        update(6 + number)
    assert seen == [6, 5, 4, 3, 2, 1]


def test_revisions_of_a_private_entry_are_not_found_by_others_and_their_cursors_not_taken(
    atlas: Agent, boreas: Agent, reader: Agent, space: str, make_entry: MakeEntry
) -> None:
    entries = [make_entry(atlas, space)["id"] for _ in range(2)]
    for entry in entries:
        atlas.done("update_space_entry", entry, expected_version=1, title="x", body="y")
    cursor = atlas.done("list_entry_revisions", entries[0], limit=1)["next_cursor"]
    boreas.refused("not_found", "list_entry_revisions", entries[0])
    reader.refused("invalid_arguments", "list_entry_revisions", entries[0], cursor=cursor)
    atlas.refused("invalid_arguments", "list_entry_revisions", entries[1], cursor=cursor)
    atlas.refused("invalid_arguments", "list_entry_revisions", entries[0], cursor=cursor, detail="full")
    for text in broken(cursor):
        atlas.refused("invalid_arguments", "list_entry_revisions", entries[0], cursor=text)
    assert len(atlas.done("list_entry_revisions", entries[0], cursor=cursor)["items"]) == 1


def test_old_revisions_are_pruned_as_the_settings_say(
    atlas: Agent, space: str, make_entry: MakeEntry, settings: Settings
) -> None:
    settings.REVISIONS_KEPT, settings.REVISION_DAYS = 3, 0
    entry = make_entry(atlas, space)["id"]
    for version in range(1, 6):
        atlas.done("update_space_entry", entry, expected_version=version, title="x", body=f"{version}")
    assert [item["version"] for item in atlas.done("list_entry_revisions", entry)["items"]] == [6, 5, 4]
