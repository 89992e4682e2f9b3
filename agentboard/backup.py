"""A copy of the database into one file, taken while the server runs, and when the last one was taken."""

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.backends.postgresql.client import DatabaseClient
from django.utils import timezone

PG_DUMP = "pg_dump"


class NotBackedUp(Exception):
    """No copy was made; its text is one plain sentence that says why, and what to do."""


@dataclass(frozen=True)
class Backup:
    """A copy that was made: when, and how large it is."""

    at: datetime
    size: int  # bytes


def back_up(path: Path) -> Backup:
    """Copy the database as it is at one moment into a new file at `path` (0600), whole or not at all.

    SQLite's copy is a database, PostgreSQL's an archive for pg_restore. Raises NotBackedUp.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600
    except OSError as error:
        raise NotBackedUp(f"{path.parent} can't be written to: {error.strerror}.") from None
    os.close(handle)
    try:
        _copy(Path(name))
        made = Backup(timezone.now(), _keep(Path(name), path))
    finally:
        os.unlink(name)
    _remember(made)
    return made


def last_backup() -> Backup | None:
    """The last one that was made with this data folder; None where there is no record of any."""
    try:
        told = json.loads(_record().read_text())
        return Backup(datetime.fromisoformat(told["at"]), int(told["size"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _copy(file: Path) -> None:
    if connection.vendor == "sqlite":
        _copy_sqlite(file)
    else:
        _dump_postgres(file)


def _copy_sqlite(file: Path) -> None:
    """By SQLite itself, which reads one state through WAL and file; copying the files would miss what the WAL holds."""
    connection.ensure_connection()
    copy = sqlite3.connect(file)
    try:
        connection.connection.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, with nothing beside it
        (found,) = copy.execute("PRAGMA quick_check").fetchone()
    except sqlite3.Error as error:
        raise NotBackedUp(f"SQLite could not copy the database: {error}.") from None
    finally:
        copy.close()
    if found != "ok":
        raise NotBackedUp(f"The copy is damaged, and so may be the database: {found}.")


def _dump_postgres(file: Path) -> None:
    arguments, environment = DatabaseClient.settings_to_cmd_args_env(connection.settings_dict, [])
    options = ["--format=custom", f"--file={file}", "--no-password", *arguments[1:]]
    program = shutil.which(PG_DUMP)
    if program is None:
        raise NotBackedUp(
            "pg_dump is not installed here. On a machine that has it, of the server's major version or newer, run: "
            f"pg_dump --format=custom --file=agentboard.dump {' '.join(arguments[1:])}"
        )
    done = subprocess.run(
        [program, *options], env={"PATH": os.defpath, **(environment or {})}, capture_output=True, text=True
    )
    if done.returncode:
        raise NotBackedUp(f"pg_dump could not copy the database: {done.stderr.strip()}")


def _keep(copy: Path, path: Path) -> int:
    """Give the copy its name once it is on the disk; its size. Raises NotBackedUp where the name is taken."""
    handle = os.open(copy, os.O_RDWR)
    try:
        os.fsync(handle)
        size = os.fstat(handle).st_size
    finally:
        os.close(handle)
    try:
        os.link(copy, path)  # unlike a rename, never replaces
    except FileExistsError:
        raise NotBackedUp(f"{path} exists; a backup replaces nothing.") from None
    except OSError as error:
        raise NotBackedUp(
            f"{path} can't be given its name ({error.strerror}): its file system knows no links. Back up to another."
        ) from None
    return size


def _record() -> Path:
    return Path(settings.DATA_FOLDER) / "last-backup.json"


def _remember(made: Backup) -> None:
    """Write it beside the record and put it in its place, so that nobody reads half of it."""
    handle, name = tempfile.mkstemp(dir=settings.DATA_FOLDER, prefix=".last-backup.")
    with os.fdopen(handle, "w") as file:
        json.dump({"at": made.at.isoformat(), "size": made.size}, file)
    os.replace(name, _record())
