"""The settings, each in a process of its own, as a server reads them."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.no_database

PROJECT = Path(__file__).resolve().parents[2]
SHOWN = """
import json, sys
import agentboard.settings as settings
print(json.dumps({name: getattr(settings, name) for name in sys.argv[1:]}, default=str))
"""


def run(arguments: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"AGENTBOARD_DATA": str(folder / "data"), **variables}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def settings(folder: Path, *names: str, **variables: str) -> dict[str, Any]:
    """The named settings under these variables, through JSON."""
    done = run(["-c", SHOWN, *names], folder, **variables)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


DEFAULTS = {
    "HOST": "127.0.0.1",
    "PORT": 8000,
    "WORKERS": 1,
    "THREADS": 8,
    "PUBLIC_URL": "http://127.0.0.1:8000",
    "REDIS_URL": None,
    "CALLS_PER_MINUTE": 6000,
    "CALLS_BURST": 600,
    "ADDRESS_CALLS_PER_MINUTE": 600,
    "ADDRESS_CALLS_BURST": 300,
    "REGISTRATIONS_PER_HOUR": 20,
    "NOTES_PER_AGENT": 10_000,
    "REVISIONS_KEPT": 50,
    "REVISION_DAYS": 30,
    "REVISIONS_MAX": 1000,
    "RECEIPT_DAYS": 30,
    "EVENT_DAYS": 90,
    "AUDIT_DAYS": 365,
    "SEARCH_MIB": 64,
    "DEBUG": False,
    "SESSION_COOKIE_SECURE": False,
}


def test_without_any_variable_the_settings_are_those_of_one_machine_alone(tmp_path: Path) -> None:
    assert settings(tmp_path, *DEFAULTS) == DEFAULTS


def test_without_database_url_the_database_is_a_private_sqlite_file_in_the_data_folder(tmp_path: Path) -> None:
    database = settings(tmp_path, "DATABASES")["DATABASES"]["default"]
    file = tmp_path / "data" / "agentboard.sqlite3"
    assert (database["ENGINE"], database["NAME"]) == ("django.db.backends.sqlite3", str(file))
    assert database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert "PRAGMA synchronous=NORMAL" in database["OPTIONS"]["init_command"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_database_url_of_postgresql_keeps_its_options_beside_ours(tmp_path: Path) -> None:
    url = "postgres://anna:s%40crit@db.example:6432/board?sslmode=require"
    assert settings(tmp_path, "DATABASES", DATABASE_URL=url)["DATABASES"]["default"] == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "board",
        "USER": "anna",
        "PASSWORD": "s@crit",
        "HOST": "db.example",
        "PORT": 6432,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": False,
        "ATOMIC_REQUESTS": False,
        "OPTIONS": {
            "server_side_binding": True,
            "prepare_threshold": 2,
            "connect_timeout": 5,
            "tcp_user_timeout": 20_000,
            "sslmode": "require",
        },
    }


def test_sqlite_synchronous_is_taken_in_any_case(tmp_path: Path) -> None:
    found = settings(tmp_path, "DATABASES", AGENTBOARD_SQLITE_SYNCHRONOUS="full")
    assert "PRAGMA synchronous=FULL" in found["DATABASES"]["default"]["OPTIONS"]["init_command"]


def test_a_public_https_address_is_trusted_and_makes_the_cookies_secure(tmp_path: Path) -> None:
    names = ("PUBLIC_URL", "ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE")
    assert settings(tmp_path, *names, AGENTBOARD_URL="https://Board.Example:443/", HOST="0.0.0.0") == {
        "PUBLIC_URL": "https://board.example",
        "ALLOWED_HOSTS": ["board.example", "0.0.0.0", "localhost", "127.0.0.1", "[::1]"],
        "CSRF_TRUSTED_ORIGINS": ["https://board.example"],
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
    }


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("::1", "http://[::1]:8000"),
        ("board", "http://board:8000"),
    ],
)
def test_the_public_address_follows_the_host_and_a_wildcard_stands_for_this_machine(
    tmp_path: Path, host: str, url: str
) -> None:
    assert settings(tmp_path, "PUBLIC_URL", HOST=host)["PUBLIC_URL"] == url


def test_redis_carries_the_channel_layer_where_it_is_set(tmp_path: Path) -> None:
    alone, shared = settings(tmp_path, "CHANNEL_LAYERS"), settings(tmp_path, "CHANNEL_LAYERS", REDIS_URL="redis://r/1")
    assert alone["CHANNEL_LAYERS"]["default"]["BACKEND"] == "channels.layers.InMemoryChannelLayer"
    assert shared["CHANNEL_LAYERS"]["default"]["CONFIG"]["hosts"] == ["redis://r/1"]


def test_mail_is_sent_where_its_server_is_set(tmp_path: Path) -> None:
    names = ("MAIL_IS_SENT", "EMAIL_HOST", "EMAIL_PORT", "EMAIL_USE_TLS", "EMAIL_HOST_PASSWORD", "DEFAULT_FROM_EMAIL")
    url = {"EMAIL_URL": "smtp+tls://board:p%40ss@mail.example", "AGENTBOARD_URL": "https://board.example"}
    assert settings(tmp_path, *names, **url) == {
        "MAIL_IS_SENT": True,
        "EMAIL_HOST": "mail.example",
        "EMAIL_PORT": 587,
        "EMAIL_USE_TLS": True,
        "EMAIL_HOST_PASSWORD": "p@ss",
        "DEFAULT_FROM_EMAIL": "agentboard@board.example",
    }
    assert settings(tmp_path, "MAIL_IS_SENT", "SIGN_UP") == {"MAIL_IS_SENT": False, "SIGN_UP": "OPEN"}


REFUSED = [
    (
        "EMAIL_URL",
        "smtp://a:secret@",
        "EMAIL_URL must be a URL like smtp+tls://user:password@host:587 (or smtp+ssl://; smtp:// does not encrypt).",
    ),
    (
        "AGENTBOARD_MAIL_FROM",
        "The board",
        "AGENTBOARD_MAIL_FROM must be an email address like board@example.org, not 'The board'.",
    ),
    ("AGENTBOARD_SIGN_UP", "maybe", "AGENTBOARD_SIGN_UP must be one of OPEN, CLOSED, not 'maybe'."),
    ("PORT", "http", "PORT must be a whole number from 1 to 65535, not 'http'."),
    ("PORT", "0", "PORT must be a whole number from 1 to 65535, not '0'."),
    ("PORT", "65536", "PORT must be a whole number from 1 to 65535, not '65536'."),
    ("PORT", "80_00", "PORT must be a whole number from 1 to 65535, not '80_00'."),
    ("PORT", "", "PORT is empty: give it a value, or leave it out for the default."),
    ("WORKERS", "-1", "WORKERS must be a whole number from 1 to 64, not '-1'."),
    ("WORKERS", "1.5", "WORKERS must be a whole number from 1 to 64, not '1.5'."),
    ("HOST", "http://here", "HOST must be a host name or an IP address, not 'http://here'."),
    ("HOST", "here:80", "HOST must be a host name or an IP address, not 'here:80'."),
    ("AGENTBOARD_CALLS_BURST", "many", "AGENTBOARD_CALLS_BURST must be a whole number from 1 to 1000000, not 'many'."),
    ("AGENTBOARD_REVISIONS_MAX", "49", "AGENTBOARD_REVISIONS_MAX must be a whole number from 50 to 1000000, not '49'."),
    ("AGENTBOARD_LOG_LEVEL", "loud", "AGENTBOARD_LOG_LEVEL must be one of DEBUG, INFO, WARNING, ERROR, not 'loud'."),
    ("AGENTBOARD_SQLITE_SYNCHRONOUS", "OFF", "AGENTBOARD_SQLITE_SYNCHRONOUS must be one of NORMAL, FULL, not 'OFF'."),
    ("AGENTBOARD_DATE", "9", "AGENTBOARD_DATE is not a setting of AgentBoard; did you mean AGENTBOARD_DATA?"),
    ("AGENTBOARD_DATABASE_URL", "9", "AGENTBOARD_DATABASE_URL is not a setting of AgentBoard."),
    ("AGENTBOARD_SEARCH_MIB", "$MIB", "AGENTBOARD_SEARCH_MIB refers to a variable that is not set."),
    ("AGENTBOARD_XYZ", "9", "AGENTBOARD_XYZ is not a setting of AgentBoard."),
    *(
        ("AGENTBOARD_URL", url, "AGENTBOARD_URL must be http:// or https:// with a host, an optional port and no path.")
        for url in (
            "board.example",
            "ftp://board.example",
            "https://",
            "https://board.example/path",
            "https://board.example?x",
            "https://board.example:99999",
            "https://me@board.example",
            "https://bo ard.example",
            "https://[::1",
        )
    ),
    *(
        ("DATABASE_URL", url, "DATABASE_URL must be a URL like sqlite:////folder/file or postgres://user:password@host:5432/name.")
        for url in ("mysql://a:secret@b/c", "board.sqlite3", "postgres://a:secret@b:port/c", "sqlite://:memory:")
    ),
    *(
        ("DATABASE_URL", url, "DATABASE_URL must end in the name of a database, as in postgres://user:password@host:5432/name.")
        for url in ("postgres://a:secret@b", "postgres://a:secret@b/")
    ),
    *(
        ("DATABASE_URL", url, "DATABASE_URL must name a file, as in sqlite:////folder/file (four slashes: absolute).")
        for url in ("sqlite://", "sqlite:///:memory:", "sqlite:////f?mode=ro", "sqlite://folder/file")
    ),
    *(
        ("REDIS_URL", url, "REDIS_URL must be a URL like redis://host:6379/0 (or rediss:// for TLS).")
        for url in ("http://:secret@host", "redis://", "host:6379")
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "sentence"), REFUSED, ids=[f"{name}={value}" for name, value, _ in REFUSED])
def test_a_wrong_setting_ends_the_process_with_status_2_and_one_sentence_that_names_it(
    tmp_path: Path, name: str, value: str, sentence: str
) -> None:
    done = run(["-c", "import agentboard.settings"], tmp_path, **{name: value})
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{sentence}\n")


@pytest.mark.parametrize("command", [["manage.py", "check"], ["manage.py", "serve"], ["-c", "import agentboard.asgi"]])
def test_every_way_to_start_ends_in_the_same_sentence(tmp_path: Path, command: list[str]) -> None:
    done = run(command, tmp_path, PORT="none")
    assert (done.returncode, done.stderr) == (2, "PORT must be a whole number from 1 to 65535, not 'none'.\n")


def test_a_data_folder_that_cannot_be_used_ends_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    done = run(["-c", "import agentboard.settings"], tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"AGENTBOARD_DATA must be a folder, but {tmp_path / 'data'} is not one.\n"


def reads_environment(path: Path) -> bool:
    """Whether the module does; a program that it shows as a text may."""
    attributes = (node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute))
    return not {"environ", "getenv"}.isdisjoint(attributes)


def test_no_other_module_reads_the_environment() -> None:
    folders = ("agentboard", "memory", "spaces", "posts", "mcp_bridge")
    modules = [path for folder in folders for path in (PROJECT / folder).rglob("*.py")]
    reads = {path.relative_to(PROJECT).as_posix() for path in modules if reads_environment(path)}
    assert reads <= {"agentboard/settings.py", "agentboard/asgi.py"}  # asgi.py names the settings module in it
