"""The encrypted field: what goes in comes out, and the library's seven faults are closed."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from django.core import serializers
from django.core.checks import CheckMessage
from django.core.exceptions import FieldError
from django.db import connection, models, transaction
from django.db.migrations.writer import MigrationWriter
from django.db.models import F, TextField, Value
from django.db.models.functions import Concat, Length, Upper
from django.forms import modelform_factory
from django.forms.models import model_to_dict
from django.test.utils import CaptureQueriesContext, isolate_apps, register_lookup
from encrypted_model_fields import fields
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentboard.encryption.field import Ciphertext, EncryptedText, Unreadable, field_place, seal, unseal
from tests.encryption.conftest import UseKeys, new_key
from tests.encryption.page import Page

TEXT = "The rain in Spain"
TOKEN = str(seal("inner text", "page:other:1/body"))  # a user's text that happens to be a valid token
UNICODE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))

Stored = Callable[..., Any]


def save_page(name: str = "first", body: Any = TEXT, **values: Any) -> Page:
    return Page.objects.create(name=name, body=body, **values)


def found_by_checks(model: type[models.Model]) -> list[CheckMessage]:
    columns = [column for column in model._meta.local_fields if isinstance(column, EncryptedText)]
    return [message for column in columns for message in column.check()]


def loaded(page: Page) -> Page:
    return Page.objects.get(pk=page.pk)


class CountingCrypter:
    """The configured keys, counting what they do."""

    def __init__(self) -> None:
        self.crypter, self.sealed, self.opened = fields.CRYPTER, 0, 0

    def encrypt(self, plain: bytes) -> bytes:
        self.sealed += 1
        return bytes(self.crypter.encrypt(plain))

    def decrypt(self, token: bytes) -> bytes:
        self.opened += 1
        return bytes(self.crypter.decrypt(token))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> CountingCrypter:
    crypter = CountingCrypter()
    monkeypatch.setattr(fields, "CRYPTER", crypter)
    return crypter


# What goes in comes out


@given(UNICODE)
def test_any_text_is_opened_as_it_was_sealed(text: str) -> None:
    assert unseal(seal(text, "a/b"), "a/b") == text


@given(UNICODE | st.sampled_from(["", "\n", "page:first:1/body\n", TOKEN]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
def test_any_text_comes_back_from_the_database(pages: None, text: str) -> None:
    page = save_page(body=text, summary=text)
    assert (loaded(page).body, loaded(page).summary) == (text, text)


def test_what_is_stored_is_a_token_the_library_opens(pages: None, stored: Stored) -> None:
    token = stored(save_page())
    assert TEXT not in token
    assert fields.decrypt_str(token) == f"page:first:1/body\n{TEXT}"


def test_the_place_of_a_field_is_its_row_and_its_name() -> None:
    assert field_place("note:17:working-context:3", "body") == "note:17:working-context:3/body"


def test_null_stays_null(pages: None, stored: Stored) -> None:
    page = save_page(summary=None)
    assert stored(page, "summary") is None
    assert loaded(page).summary is None


def test_bulk_create_seals_each_row_for_its_place(pages: None) -> None:
    Page.objects.bulk_create([Page(name="a", body="text a"), Page(name="b", body="text b")])
    assert {page.name: page.body for page in Page.objects.all()} == {"a": "text a", "b": "text b"}


def test_a_row_that_was_read_can_be_saved_again(pages: None) -> None:
    page = loaded(save_page())
    assert page.body == TEXT
    page.version = 2
    page.save()
    assert loaded(page).body == TEXT


def test_a_row_that_was_not_read_is_saved_as_it_is_stored(
    pages: None, stored: Stored, counted: CountingCrypter
) -> None:
    page = save_page()
    before, counted.sealed = stored(page), 0
    loaded(page).save()
    assert stored(page) == before
    assert (counted.sealed, counted.opened) == (0, 0)


def test_sealed_text_is_stored_as_it_is_so_that_two_rows_can_share_it(pages: None, stored: Stored) -> None:
    token = seal(TEXT, "page:first:1/body")
    page, revision = save_page(body=token), save_page(body=token)
    assert stored(page) == stored(revision) == token
    assert loaded(page).body == loaded(revision).body == page.body == TEXT
    assert Page.objects.filter(pk=page.pk).update(body=seal("new", "page:first:1/body"), summary=None) == 1
    assert loaded(page).body == "new"


def test_a_text_is_sealed_once_a_write(pages: None, counted: CountingCrypter) -> None:
    save_page()
    assert (counted.sealed, counted.opened) == (1, 0)


def test_a_list_that_does_not_show_the_text_opens_none(pages: None, counted: CountingCrypter) -> None:
    save_page()
    assert [page.name for page in Page.objects.all()] == ["first"]
    assert type(Page.objects.values_list("body", flat=True).get()) is Ciphertext
    assert counted.opened == 0


def test_a_text_is_opened_once_however_often_it_is_read(pages: None, counted: CountingCrypter) -> None:
    page = loaded(save_page())
    assert page.body == page.body == TEXT
    assert counted.opened == 1


def test_a_deferred_text_is_loaded_in_one_query(pages: None) -> None:
    page = Page.objects.only("pk").get(pk=save_page().pk)
    with CaptureQueriesContext(connection) as queries:
        assert page.body == TEXT
    assert len(queries) == 1
    assert "summary" in page.get_deferred_fields()


def test_a_deferred_text_can_be_saved_and_loaded_again(pages: None) -> None:
    page = Page.objects.defer("body").get(pk=save_page().pk)
    page.save()
    page.save(update_fields=["body"])
    Page.objects.filter(pk=page.pk).update(body=seal("new", "page:first:1/body"))
    page.refresh_from_db(fields=["body"])
    assert page.body == "new"
    del page.body
    assert page.body == "new"


def test_a_token_survives_pickling_as_a_token() -> None:
    assert type(pickle.loads(pickle.dumps(seal(TEXT, "a/b")))) is Ciphertext


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        seal("\ud800", "a/b")


def test_a_place_of_two_lines_is_refused_as_it_could_end_inside_a_text() -> None:
    with pytest.raises(ValueError, match="one line"):
        seal("text", "a\nb/c")
    with pytest.raises(ValueError, match="one line"):
        unseal(seal("b/c\ntext", "a"), "a\nb/c")


# Fault 1


@pytest.mark.parametrize(
    "value",
    [
        TEXT,
        TOKEN,
        Value(TEXT),
        Value(seal(TEXT, "page:first:1/body")),
        F("name"),
        F("summary"),
        Concat("body", Value("x")),
    ],
    ids=["text", "token", "value", "sealed value", "other column", "other text", "concat"],
)
def test_an_update_never_stores_an_expression_or_unsealed_text(pages: None, value: Any) -> None:
    page = save_page()
    with (
        pytest.raises(FieldError, match=r"encryption\.Page\.body is encrypted and takes only sealed text"),
        transaction.atomic(),
    ):
        Page.objects.filter(pk=page.pk).update(body=value)
    assert loaded(page).body == TEXT


def test_a_bulk_update_never_stores_an_expression(pages: None) -> None:
    page = save_page()
    page.body = "new"
    with pytest.raises(FieldError, match="seal it for its row"), transaction.atomic():
        Page.objects.bulk_update([page], ["body"])
    assert loaded(page).body == TEXT


@pytest.mark.parametrize("value", [F("name"), 7, b"bytes"], ids=["expression", "number", "bytes"])
def test_a_save_takes_nothing_but_text(pages: None, value: Any) -> None:
    with pytest.raises(FieldError, match="takes text or None"):
        save_page(body=value)


# Fault 2


def test_a_text_that_is_a_valid_token_is_never_decrypted(pages: None) -> None:
    page = save_page(body=TOKEN)
    assert loaded(page).body == TOKEN
    page.full_clean()
    page.save()
    assert loaded(page).body == TOKEN


def test_the_own_stored_token_as_a_text_is_never_decrypted(pages: None, stored: Stored) -> None:
    page = save_page()
    token = stored(page)
    page.body = token
    page.save()
    assert loaded(page).body == token


# Fault 3


def test_a_text_under_a_missing_key_never_passes_for_its_token(pages: None, use_keys: UseKeys, stored: Stored) -> None:
    page = save_page()
    token = stored(page)
    use_keys(new_key())
    row = loaded(page)
    with pytest.raises(Unreadable) as refused:
        _ = row.body
    assert str(refused.value) == "No configured key opens the text stored at page:first:1/body."
    assert refused.value.__suppress_context__
    row.save()
    assert stored(page) == token


@pytest.mark.parametrize("tamper", [lambda token: token[:-6] + "AAAA==", lambda token: "", lambda token: "ünlesbar"])
def test_a_tampered_text_never_passes_for_a_text(pages: None, tamper: Callable[[str], str]) -> None:
    page = save_page()
    token = vars(loaded(page))["body"]
    Page.objects.filter(pk=page.pk).update(body=Ciphertext(tamper(token)))
    with pytest.raises(Unreadable):
        _ = loaded(page).body


def test_bytes_under_the_right_key_that_are_no_text_are_unreadable() -> None:
    with pytest.raises(Unreadable):
        unseal(fields.CRYPTER.encrypt(b"\xff").decode(), "a/b")


# Fault 4


def test_a_ciphertext_moved_to_another_row_version_or_field_is_never_opened(pages: None, stored: Stored) -> None:
    page, other = save_page(summary="a summary"), save_page("second")
    Page.objects.filter(pk=other.pk).update(body=Ciphertext(stored(page)))
    with pytest.raises(Unreadable, match="page:second:1/body was sealed for another place"):
        _ = loaded(other).body
    Page.objects.filter(pk=page.pk).update(version=2)
    with pytest.raises(Unreadable, match="page:first:2/body was sealed for another place"):
        _ = loaded(page).body
    Page.objects.filter(pk=page.pk).update(version=1, body=Ciphertext(stored(page, "summary")))
    with pytest.raises(Unreadable, match="page:first:1/body was sealed for another place") as refused:
        _ = loaded(page).body
    assert "a summary" not in str(refused.value)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")), UNICODE)
def test_no_place_opens_what_was_sealed_for_another(place: str, text: str) -> None:
    with pytest.raises(Unreadable):
        unseal(seal(text, place), place + "x")
    with pytest.raises(Unreadable):
        unseal(seal(text, place + "x"), place)


# Fault 5


@pytest.mark.parametrize(
    "lookup", ["exact", "iexact", "in", "contains", "startswith", "gt", "regex", "range", "nonsense"]
)
def test_a_lookup_never_silently_matches_nothing(pages: None, lookup: str) -> None:
    for method in (Page.objects.filter, Page.objects.exclude):
        with pytest.raises(FieldError, match=f"body is encrypted: it can be looked up with isnull, not with {lookup}"):
            method(**{f"body__{lookup}": [TEXT, TEXT]})


def test_no_way_around_the_lookups_sends_the_text_to_the_database(pages: None) -> None:
    save_page()
    with register_lookup(TextField, Length), pytest.raises(FieldError, match="not with length"):
        Page.objects.filter(body__length=3)
    with pytest.raises(FieldError, match="not with exact"):
        Page.objects.get_or_create(body=TEXT)
    with pytest.raises(FieldError, match="not with exact"):
        Page.objects.filter(body=None)
    with pytest.raises(FieldError, match="not with contains"):
        Page.objects.annotate(shown=F("body")).filter(shown__contains=TEXT)
    with pytest.raises(FieldError, match="not with exact"):
        Page.objects.annotate(shown=Upper("body")).filter(shown=TEXT)


def test_null_can_be_looked_up(pages: None) -> None:
    save_page("with", summary="a summary")
    save_page("without")
    assert Page.objects.get(summary__isnull=True).name == "without"
    assert Page.objects.exclude(summary__isnull=True).get().name == "with"


@pytest.mark.parametrize(
    "option", [{"unique": True}, {"db_index": True}, {"primary_key": True}, {"db_default": Value("x")}]
)
def test_an_encrypted_column_is_never_unique_or_indexed(option: dict[str, Any]) -> None:
    with pytest.raises(FieldError, match="unique, indexed"):
        EncryptedText(**option)


@isolate_apps("agentboard.encryption")
def test_the_system_check_refuses_indexes_constraints_and_models_without_a_place() -> None:
    class Bad(models.Model):
        body = EncryptedText()
        summary = EncryptedText()
        title = EncryptedText()

        class Meta:
            app_label = "encryption"
            indexes = [models.Index(fields=["-body"], name="bad_body")]
            constraints = [models.UniqueConstraint(fields=["summary"], name="bad_summary")]
            unique_together = [("id", "title")]

    assert [error.id for error in found_by_checks(Bad)] == ["encryption.E001", "encryption.E002"] * 3
    assert found_by_checks(Page) == []


# Fault 6 is in test_rotation.py: rotation never loses a text.

# Fault 7


@pytest.mark.parametrize("form", ["json", "xml", "python"])
def test_a_dump_never_shows_the_text(pages: None, form: str, stored: Stored) -> None:
    page = save_page(summary=None)
    assert TEXT not in str(serializers.serialize(form, [page]))
    untouched = str(serializers.serialize(form, Page.objects.defer(None)))
    assert TEXT not in untouched
    assert form == "xml" or stored(page) in untouched


@pytest.mark.parametrize("body", [TEXT, TOKEN], ids=["text", "token"])
def test_loading_a_dump_is_refused(pages: None, body: str) -> None:
    with pytest.raises(FieldError, match="takes only sealed text"):
        Page(name="first", body=body).save_base(raw=True)


@isolate_apps("agentboard.encryption")
def test_a_form_never_has_the_field(pages: None) -> None:
    class Editable(models.Model):
        name = models.CharField(max_length=9)
        body = EncryptedText(editable=True)

        class Meta:
            app_label = "encryption"

    assert list(modelform_factory(Page, fields="__all__").base_fields) == ["name", "version"]
    assert "body" not in model_to_dict(save_page())
    assert list(modelform_factory(Editable, fields="__all__").base_fields) == ["name"]


# Migrations


def test_a_migration_names_the_field_and_no_defaults_of_its_own() -> None:
    written, imports = MigrationWriter.serialize(EncryptedText(null=True, max_length=9))
    assert written == "agentboard.encryption.field.EncryptedText(null=True)"
    assert imports == {"import agentboard.encryption.field"}
    assert EncryptedText(editable=True).deconstruct()[3] == {"editable": True}
    assert EncryptedText().deconstruct()[3] == {}


def test_the_column_is_a_text_column(pages: None) -> None:
    assert Page._meta.get_field("body").db_type(connection) == "text"
