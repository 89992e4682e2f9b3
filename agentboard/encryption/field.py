"""Text encrypted at rest: sealed for the one place it belongs to, opened when somebody reads it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar, cast

from cryptography.fernet import InvalidToken
from django.core.checks import CheckMessage, Error
from django.core.exceptions import FieldError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.fields import NOT_PROVIDED
from django.db.models.lookups import Lookup
from django.db.models.query_utils import DeferredAttribute
from encrypted_model_fields import fields

Given = TypeVar("Given", contravariant=True)  # what may be set on a row, and
Read = TypeVar("Read", covariant=True)  # what is read there: django-stubs fills in str, or str | None with null=True

if TYPE_CHECKING:
    LibraryField = models.TextField  # the library has no type hints; its field is this one with encryption mixed in
else:

    class LibraryField(fields.EncryptedTextField):
        """The library's field, with the type parameters that only the type checker knows of."""

        def __class_getitem__(cls, _: object) -> type:
            return cls


class Ciphertext(str):
    """A Fernet token as it is stored, not opened yet. Text from outside never becomes one, even where it is a token."""

    __slots__ = ()


class Unreadable(Exception):
    """A stored text no key opens, or one sealed for another place. The message names the place, never text or token."""


class Sealing(Protocol):
    """What a model with an EncryptedText must have."""

    def sealing_place(self) -> str:
        """The one place of this row among all rows of all models, as in `note:17:working-context:3`: no line break."""
        ...


def field_place(row_place: str, field_name: str) -> str:
    """The place of one field of one row: what its text is sealed for."""
    return f"{row_place}/{field_name}"


def seal(text: str, place: str) -> Ciphertext:
    """`text` under the primary key, readable at `place` only. Costs one Fernet encryption: 20 µs for 2 KiB.

    Raises UnicodeEncodeError for a lone surrogate and ValueError for a place with a line break.
    """
    return Ciphertext(fields.CRYPTER.encrypt((_heading(place) + text).encode()).decode("ascii"))


def unseal(token: str, place: str) -> str:
    """The text that was sealed for `place`.

    Raises Unreadable where no configured key opens the token, or it was sealed for another place: a row whose
    ciphertext was changed, or exchanged for that of another row, version or field.
    """
    try:
        plain = fields.CRYPTER.decrypt(token.encode("ascii")).decode()
    except (InvalidToken, UnicodeError):
        raise Unreadable(f"No configured key opens the text stored at {place}.") from None
    heading = _heading(place)
    if not plain.startswith(heading):
        raise Unreadable(f"The text stored at {place} was sealed for another place.")
    return cast(str, plain[len(heading) :])


def _heading(place: str) -> str:
    """What stands before the text inside the token."""
    if "\n" in place:  # the text's first lines could then pass for the end of a longer place
        raise ValueError(f"A place is one line, not {place!r}.")
    return place + "\n"


class OpeningAttribute(DeferredAttribute):
    """The text of an EncryptedText on a row: opened at the first reading, kept as plain text from then on."""

    field: "EncryptedText[Any, Any]"

    def __get__(self, instance: models.Model | None, cls: type[models.Model] | None = None) -> Any:
        if instance is None:
            return self
        held = self.field.held_by(instance)
        if isinstance(held, Ciphertext):
            held = instance.__dict__[self.field.attname] = unseal(held, self.field.place_in(instance))
        return held

    def __set__(self, instance: models.Model, value: object) -> None:
        instance.__dict__[self.field.attname] = value

    def __delete__(self, instance: models.Model) -> None:
        """Forget the value, so that the next reading loads the row again, as with every field of Django's."""
        del instance.__dict__[self.field.attname]


class EncryptedText(LibraryField[Given, Read]):
    """A text column that holds Fernet tokens; the storage format is the library's.

    Its model says with `sealing_place()` where a row's texts belong. Whatever that is made of must be set before the
    row is saved, and a row whose place changes must have its texts read first: a text not yet opened is saved as it
    is stored, sealed for the old place. `save()` and `bulk_create()` seal; everything that writes without a row
    (`update()`, `bulk_update()`, expressions) takes only None or what `seal` made. No lookup but `isnull` exists, and
    neither forms nor `dumpdata` show the text. A new column of this kind on an existing table must allow NULL: no
    default could be sealed for every row.
    """

    descriptor_class = OpeningAttribute

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)
        # Two tokens of one text differ, so an index finds nothing; the database's own default could not be sealed.
        indexed = self.unique or self.db_index  # type: ignore[attr-defined]  # django-stubs has no db_index
        if indexed or self.db_default is not NOT_PROVIDED:
            raise FieldError("An encrypted text can't be a primary key, unique, indexed or given a db_default.")

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        """As for every field, but `editable` stands there only where it differs from this field's own default."""
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("editable", None)
        return name, path, args, kwargs | ({"editable": True} if self.editable else {})

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """Django's own checks, and that the model names its places and neither indexes nor constrains the column."""
        found = super().check(**kwargs)
        if not hasattr(self.model, "sealing_place"):
            found.append(Error("A model with an encrypted text needs sealing_place().", obj=self, id="encryption.E001"))
        if self.name in _indexed_names(self.model._meta):
            found.append(Error("An encrypted text can't be indexed or unique.", obj=self, id="encryption.E002"))
        return found

    def place_in(self, instance: models.Model) -> str:
        """What this field's text is sealed for in this row."""
        return field_place(cast(Sealing, instance).sealing_place(), self.name)

    def held_by(self, instance: models.Model) -> object:
        """What the row holds: text, a Ciphertext or None (or what only a mistake sets). A deferred column is loaded."""
        if self.attname not in instance.__dict__:
            # The whole row, though one column is missing: its place is made of others, which must be as old as it.
            rows: models.QuerySet[models.Model] = models.QuerySet(type(instance), using=instance._state.db)
            instance.__dict__[self.attname] = getattr(rows.get(pk=instance.pk), self.attname)
        return instance.__dict__[self.attname]

    def sealed_in(self, instance: models.Model) -> Ciphertext | None:
        """The token of this field for this row: text is sealed, a token is itself. Raises FieldError for all else."""
        held = self.held_by(instance)
        if held is None or isinstance(held, Ciphertext):
            return held
        if not isinstance(held, str):
            raise FieldError(f"{self.label} takes text or None, not a value of type {type(held).__name__}.")
        return seal(held, self.place_in(instance))

    @property
    def label(self) -> str:
        """Model and field, as in `memory.Note.body`."""
        return f"{self.model._meta.label}.{self.name}"

    # From and to the database

    def from_db_value(self, value: str | None, *_: object) -> Ciphertext | None:
        """The token, unopened: a list that never shows the text doesn't pay for it."""
        return None if value is None else Ciphertext(value)

    def to_python(self, value: Any) -> Any:
        """Text as it is. Never opened, as the library does: a text that is a token would come back as its content."""
        return models.TextField.to_python(self, value)

    def pre_save(self, model_instance: models.Model, add: bool) -> Ciphertext | None:
        """The token to store for this row."""
        return self.sealed_in(model_instance)

    def get_db_prep_save(self, value: Any, connection: BaseDatabaseWrapper) -> Ciphertext | None:
        """A token or None, as it is. Raises FieldError for what nobody sealed: plain text and expressions."""
        if value is None or isinstance(value, Ciphertext):
            return value
        raise FieldError(
            f"{self.label} is encrypted and takes only sealed text: seal it for its row with "
            "agentboard.encryption.field.seal() first, or save the row with save() or bulk_create()."
        )

    def get_lookup(self, lookup_name: str) -> "type[Lookup[Any]] | None":
        """The `isnull` lookup. Raises FieldError for every other: it would match nothing, and exclude everything."""
        return super().get_lookup(lookup_name) if lookup_name == "isnull" else self._refuse_lookup(lookup_name)

    def get_transform(self, lookup_name: str) -> NoReturn:
        """Raise FieldError: what the database would transform is the token."""
        self._refuse_lookup(lookup_name)

    def _refuse_lookup(self, lookup_name: str) -> NoReturn:
        raise FieldError(f"{self.label} is encrypted: it can be looked up with isnull, not with {lookup_name}.")

    # Where the text must not show

    def formfield(self, *_: object, **__: object) -> None:
        """None: no form, and so no admin page, has this field."""
        return None

    def value_from_object(self, obj: models.Model) -> Any:
        """The token, which is what serializers and `model_to_dict` see."""
        return self.sealed_in(obj)

    def value_to_string(self, obj: models.Model) -> str:
        """The token, for `dumpdata`. `loaddata` refuses it, as it does plain text: a dump is not a backup."""
        return self.sealed_in(obj) or ""


def _indexed_names(options: Any) -> set[str]:
    """The fields that the model's indexes, constraints and `unique_together` name."""
    groups = [
        *options.unique_together,
        *(part.fields for part in (*options.indexes, *options.constraints) if hasattr(part, "fields")),
    ]
    return {name.lstrip("-") for group in groups for name in group}
