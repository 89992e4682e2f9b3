"""The table of the test model, and other keys than the settings'."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from encrypted_model_fields import fields
from pytest_django import DjangoDbBlocker, Settings

if TYPE_CHECKING:
    from tests.encryption.page import Page

UseKeys = Callable[..., None]


@pytest.fixture(scope="session")
def page_table(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> "Iterator[type[Page]]":
    """Page, with its table made once beside the migrated ones."""
    from tests.encryption.page import Page  # models can't be imported yet when pytest reads this file

    with django_db_blocker.unblock(), connection.schema_editor() as editor:
        editor.create_model(Page)
    yield Page
    with django_db_blocker.unblock(), connection.schema_editor() as editor:
        editor.delete_model(Page)


@pytest.fixture
def pages(page_table: "type[Page]", db: None) -> None:
    """Page can be stored, in the transaction of the test."""


@pytest.fixture
def committed_pages(page_table: "type[Page]", transactional_db: None) -> Iterator[None]:
    """Page can be stored and is seen by other connections."""
    yield
    page_table.objects.all().delete()  # the flush after the test knows nothing of its table


@pytest.fixture
def several_connections(transactional_db: None) -> None:
    """Threads can have connections of their own: an in-memory SQLite would lock whole tables for one of them."""
    if connection.vendor == "sqlite" and connection.is_in_memory_db():  # type: ignore[attr-defined]
        pytest.skip("needs a database in a file or on a server")


@pytest.fixture
def use_keys(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> UseKeys:
    """Call it with keys to configure them, the first primary, as a process does that starts with them."""

    def use(*keys: str) -> None:
        settings.FIELD_ENCRYPTION_KEY = list(keys)
        monkeypatch.setattr(fields, "CRYPTER", fields.get_crypter())

    return use


@pytest.fixture
def stored() -> Callable[..., Any]:
    """The raw content of a column of one page, as the database has it."""

    def read(page: "Page", column: str = "body") -> Any:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {column} FROM encryption_page WHERE id = %s", [page.pk])
            return cursor.fetchone()[0]

    return read


def new_key() -> str:
    """A Fernet key nobody has used."""
    return Fernet.generate_key().decode("ascii")
