"""Which keys are configured, and whether they open what is stored."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from agentboard.encryption.models import KeyCheck

FINGERPRINT_DOMAIN = b"agentboard encryption key\n"  # so that no other hash of a key equals its fingerprint
KNOWN_TEXT = b"agentboard key check"


class WrongKeys(Exception):
    """The configured keys don't open what is stored; the text is one plain sentence on what to do."""


def configured_keys() -> list[str]:
    """The keys of FIELD_ENCRYPTION_KEY; the first seals, all open."""
    return list(settings.FIELD_ENCRYPTION_KEY)


def fingerprint(key: str) -> str:
    """16 hexadecimal digits that name the key and tell nothing about it."""
    return hashlib.sha256(FINGERPRINT_DOMAIN + base64.urlsafe_b64decode(key)).hexdigest()[:16]


def register(key: str) -> None:
    """Record that rows may exist under `key`. Safe when several processes do it at once."""
    # get_or_create alone would encrypt at every start; its defaults may be functions.
    KeyCheck.objects.get_or_create(
        fingerprint=fingerprint(key), defaults={"token": lambda: Fernet(key).encrypt(KNOWN_TEXT).decode("ascii")}
    )


def register_primary() -> None:
    """Record the key that seals. Every process that writes does this before its first write, after `verify`."""
    register(configured_keys()[0])


def verify() -> None:
    """Raise WrongKeys unless the configured keys open everything that may be stored."""
    keyring = MultiFernet([Fernet(key) for key in configured_keys()])
    missing = [check.fingerprint for check in KeyCheck.objects.order_by("created_at") if not _opens(keyring, check)]
    if missing:
        raise WrongKeys(
            f"Texts may be stored under an encryption key that is not configured (fingerprint {', '.join(missing)}): "
            "put that key back into encryption.keys in the data folder, which FIELD_ENCRYPTION_KEY is read from, "
            "as a line below the others, and start again."
        )


def _opens(keyring: MultiFernet, check: KeyCheck) -> bool:
    try:
        return keyring.decrypt(check.token.encode()) == KNOWN_TEXT
    except InvalidToken:
        return False
