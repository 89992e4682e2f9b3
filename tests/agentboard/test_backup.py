"""`manage.py backup`: one private file that holds the whole database, taken while others write."""

import os
import shutil
import sqlite3
import stat
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from agentboard.backup import Backup, last_backup
from tests.calls import Agent

on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="copies SQLite")
on_postgres = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="copies PostgreSQL")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATA_FOLDER = tmp_path / "kept"
    settings.DATA_FOLDER.mkdir()
    return tmp_path


def backup(file: Path) -> str:
    out = StringIO()
    call_command("backup", str(file), stdout=out)
    return out.getvalue()


def names_in(file: Path, agent: int) -> list[str]:
    copy = sqlite3.connect(file)
    try:
        return [name for (name,) in copy.execute("SELECT name FROM memory_note WHERE agent_id = ?", [agent])]
    finally:
        copy.close()


@on_sqlite
def test_the_copy_holds_what_only_the_wal_does_and_stands_alone(atlas: Agent, folder: Path) -> None:
    atlas.save("plan")
    backup(folder / "copy.sqlite3")
    atlas.save("later")
    assert names_in(folder / "copy.sqlite3", atlas.pk) == ["plan"]
    assert sorted(path.name for path in folder.iterdir()) == ["copy.sqlite3", "kept"]


@on_postgres
def test_the_copy_is_an_archive_that_pg_restore_reads(atlas: Agent, folder: Path) -> None:
    if shutil.which("pg_dump") is None:
        pytest.skip("pg_dump is not installed")
    atlas.save("plan")
    backup(folder / "copy.dump")
    told = subprocess.run(["pg_restore", "--list", folder / "copy.dump"], capture_output=True, text=True, check=True)
    assert "TABLE DATA public memory_note" in told.stdout


def test_only_its_owner_can_read_it_and_it_is_remembered(atlas: Agent, folder: Path) -> None:
    assert last_backup() is None
    before = timezone.now()
    told = backup(folder / "copy")
    size = (folder / "copy").stat().st_size
    assert stat.S_IMODE((folder / "copy").stat().st_mode) == 0o600
    assert f"{size} bytes" in told
    made = last_backup()
    assert isinstance(made, Backup)
    assert made.size == size
    assert before <= made.at <= timezone.now()


def test_a_file_that_exists_is_kept_and_nothing_is_left_beside_it(atlas: Agent, folder: Path) -> None:
    (folder / "copy").write_text("mine")
    with pytest.raises(CommandError, match="exists; a backup replaces nothing"):
        backup(folder / "copy")
    assert (folder / "copy").read_text() == "mine"
    assert sorted(os.listdir(folder)) == ["copy", "kept"]
    assert last_backup() is None


def test_a_folder_that_is_not_there_is_named(atlas: Agent, folder: Path) -> None:
    with pytest.raises(CommandError, match="none can't be written to"):
        backup(folder / "none" / "copy")


@on_postgres
def test_without_pg_dump_it_says_what_to_run_and_never_the_password(
    atlas: Agent, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setitem(connection.settings_dict, "PASSWORD", "hush-hush")
    with pytest.raises(CommandError, match="pg_dump --format=custom") as refused:
        backup(folder / "copy")
    assert "hush-hush" not in str(refused.value)
    assert not (folder / "copy").exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"at": "yesterday", "size": 1}', '{"at": "2026-12-01T00:00:00+00:00"}']
)
def test_a_record_that_cannot_be_read_is_none(folder: Path, text: str) -> None:
    (folder / "kept" / "last-backup.json").write_text(text)
    assert last_backup() is None
