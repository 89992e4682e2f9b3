"""What every test stands on: an environment of its own, set before Django reads it."""

import os
import tempfile

import django
import pytest
from django.db import connection

FOLDER = tempfile.TemporaryDirectory(prefix="agentboard-tests-")
OURS = ("HOST", "PORT", "WORKERS", "REDIS_URL", "DATABASE_URL", "EMAIL_URL")

for name in [name for name in os.environ if name in OURS or name.startswith("AGENTBOARD_")]:
    del os.environ[name]  # a developer's own settings decide nothing here
os.environ["AGENTBOARD_DATA"] = f"{FOLDER.name}/data"
if os.environ.get("TEST_DATABASE_URL"):  # see databases.py
    os.environ["DATABASE_URL"] = os.environ["TEST_DATABASE_URL"]
    os.environ["PGOPTIONS"] = "-c synchronous_commit=off"  # nobody cuts its power here
os.environ["DJANGO_SETTINGS_MODULE"] = "agentboard.settings"


def pytest_configure() -> None:
    django.setup()  # pytest-django only does it where the settings were named before it read this file


def pytest_unconfigure() -> None:
    FOLDER.cleanup()


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """A database of this run's own: on SQLite a file, as in production.

    In memory there is no WAL, and threads would share one lock on a table.
    """
    sqlite = connection.vendor == "sqlite"
    name = f"{FOLDER.name}/test.sqlite3" if sqlite else f"agentboard_tests_{os.getpid()}"
    connection.settings_dict["TEST"]["NAME"] = name
