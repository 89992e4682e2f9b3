"""The forms of signing in and of what guards an account: allauth's, with our words and limits."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allauth.account import forms as account
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.mfa.base import forms as codes
from allauth.mfa.models import Authenticator
from allauth.mfa.totp import forms as totp
from allauth.mfa.totp.internal.auth import SECRET_SESSION_KEY
from allauth.mfa.webauthn import forms as webauthn
from cryptography.exceptions import InvalidSignature
from django import forms
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from agentboard.identity.models import Person
from agentboard.identity.validators import storable
from agentboard.web.account.adapter import TAKEN, AccountAdapter
from agentboard.web.account.dress import PASSWORD_RULES, Dressed

CODE_MAX = 20
NAME_MAX = 100
DIFFER = "The two passwords differ. Type the same one twice."


class NameTaken(Exception):
    """Somebody else got the name between the look and the write."""


class SignInForm(Dressed, account.LoginForm):  # type: ignore[misc]  # allauth has no types
    """A name and a password."""

    labels = {"login": "Name", "password": "Password"}
    helps = {"password": ""}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].widget.attrs |= {"autocapitalize": "none", "spellcheck": "false"}

    def clean_login(self) -> str:
        """The name; one that no database takes belongs to nobody."""
        name: str = super().clean_login()
        return name if storable(name) else ""


class SignUpForm(Dressed, account.SignupForm):  # type: ignore[misc]
    """A name, a password, and an address where this server sends mail."""

    labels = {"username": "Name", "password1": "Password", "email": "Email"}
    helps = {
        "username": "You sign in with it. Letters, digits and @ . + - _",
        "email": "To set a new password if you forget yours. You get a mail to confirm it.",
        "password1": PASSWORD_RULES,
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].widget.attrs |= {"autocapitalize": "none", "spellcheck": "false"}

    def save(self, request: HttpRequest) -> Person:
        """The new person. Raises NameTaken where the name went to somebody else since the form looked."""
        try:
            with transaction.atomic():
                person: Person = super().save(request)
        except IntegrityError as taken:
            raise NameTaken(TAKEN) from taken
        return person


class ConfirmForm(Dressed, account.ReauthenticateForm):  # type: ignore[misc]
    """The password once more, before something that matters."""

    labels = {"password": "Your password"}
    helps = {"password": ""}


class ChangePasswordForm(Dressed, account.ChangePasswordForm):  # type: ignore[misc]
    """The old password and a new one, twice."""

    labels = {"oldpassword": "Current password", "password1": "New password", "password2": "New password again"}
    helps = {"oldpassword": "", "password1": PASSWORD_RULES}


class NewPasswordForm(Dressed, account.ResetPasswordKeyForm):  # type: ignore[misc]
    """A new password, twice, by the link in a mail."""

    labels = {"password1": "New password", "password2": "New password again"}
    helps = {"password1": PASSWORD_RULES}


class ResetForm(Dressed, account.ResetPasswordForm):  # type: ignore[misc]
    """The address that a link for a new password is sent to."""

    labels = {"email": "Email"}
    helps = {"email": "An address that you have confirmed at your account."}

    def clean_email(self) -> str:
        """The address. Only where it is verified does it lead to an account: any other may be a stranger's."""
        email: str = super().clean_email()
        verified = EmailAddress.objects.filter(email__iexact=email, verified=True)
        owners = set(verified.values_list("user_id", flat=True))
        found: list[Person] = self.users
        self.users: list[Person] = [person for person in found if person.pk in owners]
        return email


class AddEmailForm(Dressed, account.AddEmailForm):  # type: ignore[misc]
    """One more address."""

    labels = {"email": "New address"}


class CodeForm(Dressed, codes.AuthenticateForm):  # type: ignore[misc]
    """A code from the app, or one of the recovery codes."""

    labels = {"code": "Code"}
    helps = {"code": "The six digits that your app shows now, or one of your recovery codes."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _as_code(self.fields["code"])


class ConfirmCodeForm(Dressed, codes.ReauthenticateForm):  # type: ignore[misc]
    """The same, before something that matters."""

    labels = CodeForm.labels
    helps = CodeForm.helps

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _as_code(self.fields["code"])


class ActivateAppForm(Dressed, totp.ActivateTOTPForm):  # type: ignore[misc]
    """The first code of an app, which shows that it has the secret."""

    labels = {"code": "Code"}
    helps = {"code": "The six digits that the app shows for AgentBoard now."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        session = context.request.session
        shown = session.get(SECRET_SESSION_KEY)
        super().__init__(*args, **kwargs)
        if shown:  # the page was loaded again, and the secret may be in the app already
            self.secret = session[SECRET_SESSION_KEY] = shown
        _as_code(self.fields["code"])


class ShowPasskeyForm(webauthn.AuthenticateWebAuthnForm):  # type: ignore[misc]
    """What a passkey has signed, as a second step."""

    def clean_credential(self) -> Authenticator:
        """The passkey that has signed it. Whatever else was sent is answered as a wrong code is."""
        with odd_is_wrong():
            return super().clean_credential()


class SignInByPasskeyForm(ShowPasskeyForm, webauthn.LoginWebAuthnForm):  # type: ignore[misc]
    """The same, instead of name and password."""


class ConfirmByPasskeyForm(ShowPasskeyForm, webauthn.ReauthenticateWebAuthnForm):  # type: ignore[misc]
    """The same, before something that matters."""


class AddPasskeyForm(Dressed, webauthn.AddWebAuthnForm):  # type: ignore[misc]
    """A passkey: it signs in by itself, so it must check that its person is there."""

    labels = {"name": "Name"}
    helps = {"name": "So that you can tell it from others: Telephone, Blue key."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["passwordless"]
        self.fields["name"].max_length = NAME_MAX  # type: ignore[attr-defined]
        self.fields["name"].widget.attrs["maxlength"] = NAME_MAX

    def clean(self) -> dict[str, Any]:
        """Refuse a key that has not checked who holds it."""
        self.cleaned_data["passwordless"] = True
        with odd_is_wrong():
            return super().clean() or {}

    def clean_name(self) -> str:
        """A name that can be stored, cut to what fits."""
        name: str = super().clean_name()
        if not storable(name):
            raise ValidationError("This name holds a character that cannot be stored. Leave it out.")
        return name[:NAME_MAX]


class RenamePasskeyForm(Dressed, webauthn.EditWebAuthnForm):  # type: ignore[misc]
    """Another name for a passkey."""

    labels = {"name": "Name"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].max_length = NAME_MAX  # type: ignore[attr-defined]
        self.fields["name"].widget.attrs["maxlength"] = NAME_MAX


@contextmanager
def odd_is_wrong() -> Iterator[None]:
    """Refuse what only a hand-made request sends: the library for passkeys takes its parts to be there."""
    try:
        yield
    except (AttributeError, InvalidSignature, LookupError, TypeError, ValueError, struct.error):
        raise ValidationError(AccountAdapter.error_messages["incorrect_code"]) from None


def _as_code(field: forms.Field) -> None:
    field.widget.attrs |= {"inputmode": "numeric", "maxlength": CODE_MAX, "autocomplete": "one-time-code"}
