"""No text of a space is in the database in clear, public ones' neither, and no sealed text opens elsewhere."""

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from agentboard.encryption.field import Ciphertext, EncryptedText, Unreadable
from spaces.models import Entry, EntryRevision, Evidence, Space
from tests.calls import Agent
from tests.spaces.conftest import MakeEntry, MakeSpace, join

MARK = "xq-{}-qx"  # a text that occurs nowhere else


def marked(word: str) -> str:
    return MARK.format(word)


def database() -> bytes:
    """All that the database holds: the files of SQLite, its log too, or every column of every table."""
    if connection.vendor == "sqlite":
        file = Path(connection.settings_dict["NAME"])
        return b"".join(path.read_bytes() for path in file.parent.glob(f"{file.name}*"))
    found = b""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            with cursor.copy(f'COPY "{table}" TO STDOUT') as rows:
                found += b"".join(bytes(row) for row in rows)
    return found


def use(owner: Agent, editor: Agent, space: str) -> set[str]:
    """Write, change, restore, publish, report and fail; gives the words that were marked."""
    words: set[str] = set()

    def text(word: str) -> str:
        words.add(word)
        return marked(word)

    about = {"title": text("title"), "body": f"{text('body')} @{editor.handle}", "summary": text("summary")}
    note = owner.done("create_space_entry", space, kind="NOTE", **about, operation_key="k1")["id"]
    change = {"title": text("title2"), "body": text("body2")}
    editor.done("update_space_entry", note, expected_version=1, **change, operation_key="k2")
    owner.refused("version_conflict", "update_space_entry", note, expected_version=1, title="x", body=text("refused"))
    owner.refused("invalid_arguments", "update_space_entry", note, title=text("title3"), body=text("body3"))
    owner.done("restore_space_entry", note, version=1, expected_version=2)
    owner.done("archive_space_entry", note, expected_version=3, archived=True)
    editor.done("add_evidence", note, body=text("evidence"), operation_key="k3")
    knowledge = owner.done("create_space_entry", space, kind="KNOWLEDGE", **about)["id"]
    published = {"body": text("published"), "summary": text("summary2"), "title": text("title4")}
    owner.done("publish_knowledge", knowledge, expected_version=1, **published)
    task = owner.done("create_space_entry", space, kind="TASK", **about)["id"]
    editor.done("claim_next_task", space, operation_key="k4")
    editor.done("update_task", task, expected_version=2, state="done", result=text("result"), operation_key="k5")
    version = owner.done("get_space", space)["version"]
    more = {"title": text("space2"), "description": text("description2")}
    owner.done("update_space", space, expected_version=version, **more, operation_key="k6")
    for word in ("body", "title", "result"):
        assert owner.done("list_space_entries", space, q=marked(word), detail="full")["items"]
    return words


@pytest.mark.parametrize("visibility", ["private", "public"])
def test_no_text_of_a_space_is_stored_in_clear(
    atlas: Agent, boreas: Agent, make_space: MakeSpace, visibility: str
) -> None:
    texts = {"title": marked("space"), "description": marked("description")}
    space = make_space(atlas, visibility=visibility, **texts)
    join(atlas, space, boreas, "editor")
    words = use(atlas, boreas, space) | {"space", "description"}
    held = database()
    assert space.encode() in held, "looked into the right place"
    found = [word for word in words for coded in ("utf-8", "utf-16-le") if marked(word).encode(coded) in held]
    assert found == []


def test_every_text_column_of_the_app_is_an_encrypted_one_or_named_here() -> None:
    clear = {
        "Space": {"ref", "name", "visibility", "changed_via"},
        "Member": {"role", "state"},
        "Entry": {"ref", "kind", "via", "changed_via", "state", "tags"},
        "EntryRevision": {"via", "changed_via", "tags"},
        "Evidence": {"ref", "via", "link"},
    }
    for model in apps.get_app_config("spaces").get_models():
        fields: list[Any] = [field for field in model._meta.get_fields() if getattr(field, "column", None)]
        texts = {f.name for f in fields if f.get_internal_type() in ("CharField", "TextField", "JSONField")}
        sealed = {field.name for field in fields if isinstance(field, EncryptedText)}
        assert texts - sealed <= clear.get(model.__name__, set()), model


# ---- sealed for one place


def moved(model: Any, source: int, target: int, name: str, to: str | None = None) -> None:
    """Copy the ciphertext of a column from one row to another, or to another column."""
    held = model.objects.filter(pk=source).values_list(name, flat=True).get()
    assert isinstance(held, Ciphertext)
    model.objects.filter(pk=target).update(**{to or name: held})


def unreadable(row: Any, name: str) -> None:
    with pytest.raises(Unreadable):
        getattr(row, name)


def test_a_text_of_one_entry_does_not_open_in_another(atlas: Agent, space: str, make_entry: MakeEntry) -> None:
    about = {"title": "Title", "summary": "Summary", "body": "Body"}
    first, second = (Entry.objects.get(ref=make_entry(atlas, space, **about)["id"]) for _ in range(2))
    for name in about:
        moved(Entry, first.pk, second.pk, name)
        unreadable(Entry.objects.get(pk=second.pk), name)
    reply = atlas.call("get_space_entry", second.ref)
    assert (reply.status, reply.code) == (500, "internal_error")
    assert b"Body" not in reply.raw


def test_nor_in_another_column_or_at_another_version_or_as_evidence_or_a_space(
    atlas: Agent, space: str, make_entry: MakeEntry
) -> None:
    entry = make_entry(atlas, space, title="Title")["id"]
    atlas.done("update_space_entry", entry, expected_version=1, title="New", body="New")
    atlas.done("add_evidence", entry, body="Seen")
    row = Entry.objects.get(ref=entry)
    revisions = list(EntryRevision.objects.filter(entry=row).order_by("version"))
    moved(EntryRevision, revisions[0].pk, revisions[1].pk, "body")
    unreadable(EntryRevision.objects.get(pk=revisions[1].pk), "body")
    moved(EntryRevision, revisions[0].pk, revisions[0].pk, "title", to="body")
    unreadable(EntryRevision.objects.get(pk=revisions[0].pk), "body")
    token = Entry.objects.filter(pk=row.pk).values_list("body", flat=True).get()
    Evidence.objects.filter(entry=row).update(body=token)
    unreadable(Evidence.objects.get(entry=row), "body")
    Space.objects.filter(ref=space).update(title=token)
    unreadable(Space.objects.get(ref=space), "title")


def test_a_text_of_one_space_does_not_open_in_another(atlas: Agent, make_space: MakeSpace) -> None:
    first, second = (Space.objects.get(ref=make_space(atlas, description="For us")) for _ in range(2))
    for name in ("title", "description"):
        moved(Space, first.pk, second.pk, name)
        unreadable(Space.objects.get(pk=second.pk), name)
