"""What allauth says in our words: the lines on pages after something was done, and the mails."""

from typing import Any

from django.conf import settings

SAID = {  # by the template that allauth would take the line from; a template that is not here says nothing
    "account/messages/cannot_delete_primary_email.txt": "Mail goes to {email}. Make another the main address first.",
    "account/messages/email_confirmation_failed.txt": "{email} is confirmed at another account.",
    "account/messages/email_confirmation_sent.txt": "A mail with a link is on its way to {email}.",
    "account/messages/email_confirmed.txt": "{email} is confirmed.",
    "account/messages/email_deleted.txt": "{email} is removed.",
    "account/messages/password_changed.txt": "The password is changed. All other sessions have ended.",
    "account/messages/password_set.txt": "The password is set.",
    "account/messages/primary_email_set.txt": "Mail now goes to this address.",
    "account/messages/unverified_primary_email.txt": "Confirm this address first.",
    "mfa/messages/recovery_codes_generated.txt": "There are new recovery codes. Keep them where you can reach them.",
    "mfa/messages/totp_activated.txt": "The app is added. From now on it is asked for after the password.",
    "mfa/messages/totp_deactivated.txt": "The app is removed.",
    "mfa/messages/webauthn_added.txt": "The passkey is added.",
    "mfa/messages/webauthn_removed.txt": "The passkey is removed.",
}
LINK_DAYS = 3  # ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS and PASSWORD_RESET_TIMEOUT

_NEWS = (
    "{what} for your account {name}, at {when} from the address {ip}.\n\n"
    "If that was you, all is well. If not, set another password now: {reset}"
)
MAILS = {  # by allauth's template: subject, and text
    "account/email/email_confirmation": (
        "confirm your address",
        "Somebody, probably you, has named this address for the account {name}. To confirm it, open this link within "
        f"{LINK_DAYS} days:\n\n"
        "{link}\n\nIf it was not you, do nothing; the address is then of no use to anybody.",
    ),
    "account/email/password_reset_key": (
        "a new password",
        "Somebody, probably you, wants to set a new password for the account {name}. To do that, open this link within "
        f"{LINK_DAYS} days:\n\n"
        "{link}\n\nIf it was not you, do nothing; the password stays as it is.",
    ),
    "account/email/unknown_account": (
        "a new password",
        "Somebody, perhaps you, wants to set a new password here and named this address, which is confirmed at no "
        "account of this server. If you have an account, it may know another address of yours:\n\n{reset}",
    ),
}
MAILS["account/email/email_confirmation_signup"] = MAILS["account/email/email_confirmation"]
NEWS = {  # by allauth's template: what happened
    "account/email/email_changed": "The main address was changed",
    "account/email/email_confirm": "An address was confirmed",
    "account/email/email_deleted": "An address was removed",
    "account/email/password_changed": "The password was changed",
    "account/email/password_reset": "The password was set anew by a link in a mail",
    "account/email/password_set": "A password was set",
    "mfa/email/recovery_codes_generated": "New recovery codes were made",
    "mfa/email/totp_activated": "An authenticator app was added",
    "mfa/email/totp_deactivated": "The authenticator app was removed",
    "mfa/email/webauthn_added": "A passkey was added",
    "mfa/email/webauthn_removed": "A passkey was removed",
}


def said(template: str | None, context: dict[str, Any] | None) -> str | None:
    """The line for one of allauth's templates, or None where nothing is said."""
    line = SAID.get(template or "")
    return None if line is None else line.format(**(context or {}))


def mail(template: str, context: dict[str, Any]) -> tuple[str, str]:
    """Subject and text of a mail. Raises KeyError for one that allauth has and we don't know."""
    user = context.get("user")
    given = {
        "name": user.get_username() if user is not None else "",
        "link": context.get("activate_url") or context.get("password_reset_url") or "",
        "reset": f"{settings.PUBLIC_URL}/account/password/reset",
    }
    if template in NEWS:
        when = f"{context['timestamp']:%d %B %Y, %H:%M} UTC"
        return "news of your account", _NEWS.format(what=NEWS[template], when=when, ip=context["ip"], **given)
    subject, text = MAILS[template]
    return subject, text.format(**given)
