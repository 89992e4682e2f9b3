"""How the forms of /account look: every field with the style sheet's name, a label of ours, and no placeholder."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from agentboard.identity.validators import storable

PASSWORD_MAX = 1_000  # characters
# What AUTH_PASSWORD_VALIDATORS check, in words.
PASSWORD_RULES = (
    "At least 10 characters, and nothing that is easily guessed: no common password, not digits alone, not your name."
)


class Dressed(forms.Form):
    """Fields with the style sheet's names and with our labels; a label says what stands in the field, always."""

    labels: dict[str, str] = {}
    helps: dict[str, str] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.label = self.labels.get(name, field.label)
            field.help_text = self.helps.get(name, field.help_text)
            field.widget.attrs.pop("placeholder", None)
            if not field.widget.is_hidden and not isinstance(field, forms.BooleanField):
                field.widget.attrs["class"] = _class_of(field.widget)
            if isinstance(field.widget, forms.PasswordInput):
                field.widget.attrs["maxlength"] = PASSWORD_MAX
                field.max_length = PASSWORD_MAX  # type: ignore[attr-defined]
                field.validators.append(_short_enough)


def _short_enough(password: str) -> None:
    """Refuse what would only cost hashing time."""
    if len(password) > PASSWORD_MAX or not storable(password):
        raise ValidationError(f"A password has at most {PASSWORD_MAX} characters, all of them valid Unicode.")


def _class_of(widget: forms.Widget) -> str:
    if isinstance(widget, forms.Select):
        return "select"
    return "input input-text" if isinstance(widget, forms.Textarea) else "input"
