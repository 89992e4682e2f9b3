"""How allauth does things here: which addresses it goes back to, what it says, and how second factors are stored."""

import base64
import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet
from django.conf import settings
from django.contrib import messages
from django.core.mail import EmailMessage
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.http import url_has_allowed_host_and_scheme

from agentboard.identity.models import Person
from agentboard.identity.validators import storable
from agentboard.web.account.words import mail, said

PASSKEY_SIGN_IN = "mfa_login_webauthn"  # the one page that a script asks for JSON
UNSENT = "The mail could not be sent just now. Try again later; whoever runs this server finds the reason in its log."
TAKEN = "This name is taken, perhaps in other letter case. Choose another one."

WAYS = {  # by allauth's names
    "reauthenticate": "Use the password",
    "mfa_reauthenticate": "Use the app or a recovery code",
    "mfa_reauthenticate:webauthn": "Use a passkey",
}

logger = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Sign-in by username, with our words and without a way out to another site."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "cannot_remove_primary_email": "This is the address that mail goes to. Make another one that first.",
        "duplicate_email": "This address stands at your account already.",
        "email_taken": "This address cannot be used here. Name another one.",
        "enter_current_password": "This is not your current password.",
        "incorrect_password": "This is not your password.",
        "incorrect_code": "This code is not right, was used already, or has run out. Type the one that is shown now.",
        "invalid_password_reset": "This link no longer works.",
        "max_email_addresses": "An account has at most %d addresses. Remove one first.",
        "rate_limited": "These are too many tries. Wait a minute, then try again.",
        "too_many_login_attempts": "These are too many failed tries. Wait five minutes, then try again.",
        "unverified_primary_email": "Confirm this address first, by the link in the mail that was sent to it.",
        "username_password_mismatch": "This name and this password do not belong together.",
        "username_taken": TAKEN,
    }

    def is_safe_url(self, url: str) -> bool:
        """Whether `url` is a path on this very site; never another origin, not even one of ours by another name."""
        return url.startswith("/") and storable(url) and url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """As AGENTBOARD_SIGN_UP says."""
        return bool(settings.SIGN_UP == "OPEN")

    def is_ajax(self, request: HttpRequest) -> bool:
        """JSON is for the script that signs in with a passkey; all other pages are pages, whoever asks."""
        match = request.resolver_match
        return match is not None and match.url_name == PASSKEY_SIGN_IN and super().is_ajax(request)

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address that the connection came from; loopback where it came over a Unix socket."""
        return request.META.get("REMOTE_ADDR") or "127.0.0.1"

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """The ways in which a person can show again that it is them, in our words."""
        return [each | {"description": WAYS[each["id"]]} for each in super().get_reauthentication_methods(user)]

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """Back to where the password was chosen to be changed."""
        return reverse("mfa_index")

    def get_email_verification_redirect_url(self, email_address: Any) -> str:
        """To the addresses, or to sign in."""
        return reverse("account_email" if self.request.user.is_authenticated else "account_login")

    def get_reset_password_from_key_url(self, key: str) -> str:
        """By the server's own name: the one in the request's Host header is the client's choice."""
        uid, _, token = key.partition("-")
        return settings.PUBLIC_URL + reverse("account_reset_password_from_key", args=[uid, token])

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        """By the server's own name, for the same reason."""
        return settings.PUBLIC_URL + reverse("account_confirm_email", args=[emailconfirmation.key])

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """A line on the next page, in our words."""
        line = message or said(message_template, message_context)
        if line is not None:
            messages.add_message(request, level, line, extra_tags=extra_tags)

    def render_mail(
        self, template_prefix: str, email: str, context: dict[str, Any], headers: dict[str, str] | None = None
    ) -> EmailMessage:
        """A mail in our words, as plain text."""
        subject, text = mail(template_prefix, {"user": self.request.user, **context})
        return EmailMessage(self.format_email_subject(subject), text, self.get_from_email(), [email], headers=headers)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send it if a mail server is set; the page goes on without it where that server takes no mail."""
        if not settings.MAIL_IS_SENT:
            return
        try:
            super().send_mail(template_prefix, email, context)
        except OSError as refused:  # smtplib's exceptions are of this kind
            logger.error("A mail was not sent: %s", type(refused).__name__)  # their texts name addresses
            messages.error(self.request, UNSENT)


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    """Secrets of second factors are stored under a key made of the installation's secret."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": AccountAdapter.error_messages["incorrect_code"],
        "cannot_generate_recovery_codes": "Recovery codes come with an authenticator app or a passkey. Add one first.",
    }

    def encrypt(self, text: str) -> str:
        """The text as a Fernet token."""
        return _fernet().encrypt(text.encode()).decode("ascii")

    def decrypt(self, encrypted_text: str) -> str:
        """The text of a token."""
        return _fernet().decrypt(encrypted_text.encode()).decode()

    def get_totp_label(self, user: Person) -> str:
        """What an authenticator app calls the account: the name that one signs in with."""
        return user.username

    def generate_authenticator_name(self, user: Person, type: str) -> str:
        """The name that stands in the form for a new passkey."""
        count = user.authenticator_set.filter(type=type).count()  # type: ignore[attr-defined]
        return "Passkey" if not count else f"Passkey {count + 1}"


def _fernet() -> Fernet:
    key = salted_hmac("agentboard.web.account.adapter", "second factors", algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))
