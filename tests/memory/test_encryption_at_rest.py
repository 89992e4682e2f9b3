"""No text of a note is stored or logged in clear, whatever was done with it, nor is any agent key."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

import psycopg
import pytest

from tests.calls import Agent, Rest, over_socket
from tests.doors.board import empty_database
from tests.serving import PROJECT, Served, served

WORDS = ("first", "second", "third", "edited", "appended", "summarised", "useful", "superseding")
ABOUT: dict[str, Any] = {"summary": "xq-summarised-qx", "use_when": "xq-useful-qx"}
OPERATOR = {"DJANGO_SUPERUSER_USERNAME": "root", "DJANGO_SUPERUSER_PASSWORD": "a long enough secret"}


def marked(word: str) -> str:
    """A text that occurs nowhere else."""
    return f"xq-{word}-qx"


def manage(folder: Path, variables: dict[str, str], *arguments: str) -> str:
    """What a command of manage.py prints."""
    environment = {"AGENTBOARD_DATA": str(folder / "data"), **variables}
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments], cwd=PROJECT, env=environment, check=True, capture_output=True
    )
    return done.stdout.decode()


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path, dict[str, str], str]]:
    """A server whose notes have been through everything; its folder, its variables and the agent's key."""
    folder = tmp_path_factory.mktemp("used")
    with empty_database() as variables, served(folder, AGENTBOARD_LOG_LEVEL="DEBUG", **variables) as server:
        made = json.loads(manage(folder, variables, "agent", "create", "atlas", "--owner", "mira", "--json"))
        manage(folder, variables | OPERATOR, "createsuperuser", "--noinput", "--email", "root@example.org")
        use(Agent(Rest(over_socket(server.url)), made["key"]))
        visit_admin(server.url)
        yield server, folder, variables, made["key"]


def use(agent: Agent) -> None:
    """Call every method with texts that can be told apart, successfully and not."""
    agent.save("plan", f"{marked('first')}\n", **ABOUT, operation_key="key-1")
    agent.save("plan", f"{marked('first')}\n", **ABOUT, operation_key="key-1")
    agent.save("plan", f"{marked('second')}\n", 1, **ABOUT)
    agent.done("edit_memory", "plan", expected_version=2, edits=[{"old": "second", "new": "edited"}])
    agent.done("edit_memory", "plan", expected_version=3, append=marked("appended"))
    agent.done("restore_memory", "plan", expected_version=4, version=1)
    agent.done("mark_memory_reviewed", "plan", expected_version=5)
    supersedes = {"name": "plan", "expected_version": 6}
    agent.done("save_memory", "next", body=marked("superseding"), expected_version=0, supersedes=supersedes)
    agent.save("gone", marked("third"), **ABOUT)
    agent.done("delete_memory", "gone", expected_version=1)
    for word in WORDS:
        agent.done("search_memory", q=marked(word), detail="full")
    agent.done("list_memory", detail="full")
    agent.done("list_memory_revisions", "plan", detail="full")
    agent.done("compare_memory", "plan", to=2)
    agent.note("plan")
    refused(agent)


def refused(agent: Agent) -> None:
    """Have texts refused: as arguments, for their version, under a spent key, and inside what is no JSON."""
    text = {"body": marked("first"), **ABOUT}
    agent.refused("invalid_arguments", "save_memory", "plan", **text, expected_version="x")
    agent.refused("invalid_arguments", "save_memory", "plan", **text, expected_version=7, **{marked("second"): 1})
    agent.refused(
        "invalid_arguments", "save_memory", marked("third"), **text, expected_version=7, status=marked("third")
    )
    agent.refused(
        "invalid_arguments", "edit_memory", "plan", expected_version=7, append=f"{marked('third')}{agent.key}"
    )
    agent.refused("invalid_arguments", "search_memory", q=marked("first"), cursor=marked("second"))
    agent.refused("version_conflict", "save_memory", "plan", **text, expected_version=1)
    agent.refused("operation_key_conflict", "save_memory", "plan", **text, expected_version=1, operation_key="key-1")
    agent.refused("not_found", "save_memory", "missing", **text, expected_version=1)
    stranger = Agent(agent.door, agent.key[:-1] + "x")
    stranger.refused("unauthenticated", "save_memory", "plan", **text, expected_version=1)


def visit_admin(url: str) -> None:
    """Sign in as the operator and look at every list and one row of each."""
    opener = build_opener(HTTPCookieProcessor(CookieJar()))
    token = re.search('name="csrfmiddlewaretoken" value="([^"]+)"', opened(opener, f"{url}/account/sign-in"))
    assert token
    form = {"login": "root", "password": OPERATOR["DJANGO_SUPERUSER_PASSWORD"], "csrfmiddlewaretoken": token[1]}
    login = Request(f"{url}/account/sign-in?next=/admin/", urlencode(form).encode(), {"Referer": url, "Origin": url})
    with opener.open(login, timeout=10) as response:  # seconds
        index = response.read().decode()
    lists = set(re.findall(r'href="(/admin/\w+/\w+/)"', index))
    assert "/admin/identity/agent/" in lists
    for path in lists:
        page = opened(opener, url + path)
        rows = re.findall(rf'href="({path}\d+/change/[^"]*)"', page)
        pages = [page, *(opened(opener, url + row.replace("&amp;", "&")) for row in rows[:3])]
        for text in pages:
            assert "xq-" not in text, path


def opened(opener: OpenerDirector, url: str) -> str:
    with opener.open(url, timeout=10) as response:  # seconds
        text: str = response.read().decode()
    return text


def clear(content: bytes, key: str) -> list[str]:
    """The texts and keys that stand in the content, as UTF-8 or as UTF-16."""
    secrets = [*map(marked, WORDS), key, OPERATOR["DJANGO_SUPERUSER_PASSWORD"]]
    return [secret for secret in secrets if secret.encode() in content or secret.encode("utf-16-le") in content]


def test_no_file_of_the_data_folder_holds_a_text(used: tuple[Served, Path, dict[str, str], str]) -> None:
    _, folder, variables, key = used
    files = [path for path in (folder / "data").rglob("*") if path.is_file()]
    names = {path.name for path in files}
    if not variables:
        assert {"agentboard.sqlite3", "agentboard.sqlite3-wal", "agentboard.sqlite3-shm"} <= names
    assert {path.name: clear(path.read_bytes(), key) for path in files} == {name: [] for name in names}


def test_no_table_holds_a_text_but_names_tags_and_the_hint_of_the_key(
    used: tuple[Served, Path, dict[str, str], str],
) -> None:
    _, folder, variables, key = used
    dump = manage(folder, variables, "dumpdata", "--all").encode() + tables(variables)
    assert b'"plan"' in dump
    assert key[:7].encode() in dump
    assert clear(dump, key) == []


def tables(variables: dict[str, str]) -> bytes:
    """Every row of every table on PostgreSQL; nothing on SQLite, whose files are looked at."""
    if not variables:
        return b""
    names = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'"
    with psycopg.connect(variables["DATABASE_URL"]) as server, server.cursor() as cursor:
        found = b""
        for (name,) in cursor.execute(names).fetchall():
            with cursor.copy(f"COPY {name} TO STDOUT".encode()) as rows:
                found += b"".join(bytes(row) for row in rows)
    return found


def test_no_line_of_the_log_holds_a_text_or_a_query(used: tuple[Served, Path, dict[str, str], str]) -> None:
    server, _, _, key = used
    log = (server.out + server.err).encode()
    assert log.count(b'"message":"call"') >= 30
    assert clear(log, key) == []
    assert b"q=" not in log
    assert b"xq-" not in log


def test_a_deleted_note_leaves_no_token_in_its_row(used: tuple[Served, Path, dict[str, str], str]) -> None:
    _, folder, variables, _ = used
    rows = json.loads(manage(folder, variables, "dumpdata", "memory.note", "memory.revision"))
    gone = [row for row in rows if row["fields"].get("name") == "gone"]
    assert [row["fields"]["body"] for row in gone] in ([""], [None])
    held = [row["fields"]["body"] for row in rows if row not in gone]
    assert len(held) > 5
    assert all(text.startswith("gAAAAA") for text in held)


def test_the_key_of_the_encryption_is_not_in_the_database(used: tuple[Served, Path, dict[str, str], str]) -> None:
    _, folder, variables, _ = used
    lines = (folder / "data" / "encryption.keys").read_text().splitlines()
    (key,) = [line for line in lines if line and not line.startswith("#")]
    database = tables(variables)
    for path in (folder / "data").glob("agentboard.sqlite3*"):
        database += path.read_bytes()
    assert database
    assert key.encode() not in database
    assert os.stat(folder / "data" / "encryption.keys").st_mode & 0o077 == 0
