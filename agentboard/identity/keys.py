"""Agent keys and OAuth tokens as texts: making one, telling a mistyped one, hinting at one, finding one in a text.

All have one shape: a prefix, 43 base62 characters that hold 256 random bits, and 6 base62 characters of the CRC32 over
what precedes them. Secret scanners find them with `\\b(ab|abo|abr)_[0-9A-Za-z]{49}\\b`.
"""

import hashlib
import re
import secrets
import zlib

KEY, ACCESS_TOKEN, REFRESH_TOKEN = "ab_", "abo_", "abr_"  # prefixes

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM, _CHECK = 43, 6  # characters; 62**43 > 2**256 and 62**6 > 2**32
_SECRET = re.compile(r"(ab[or]?_)[0-9A-Za-z]{49}")
# Only the prefix is consumed: the 49 characters behind a false hit may hold the start of a real key.
_ANYWHERE = re.compile(r"ab[or]?_(?=([0-9A-Za-z]{49}))")


def new_key() -> str:
    """A fresh agent key, 52 characters."""
    return new_secret(KEY)


def new_secret(prefix: str) -> str:
    """A fresh secret of 256 random bits behind `prefix` (KEY, ACCESS_TOKEN or REFRESH_TOKEN)."""
    text = prefix + _base62(secrets.randbits(256), _RANDOM)
    return text + _check(text)


def well_formed(text: str, prefix: str = KEY) -> bool:
    """Whether `text` is a whole key (or token, by `prefix`) with a right checksum; known or not is another question."""
    shape = _SECRET.fullmatch(text)
    return bool(shape) and text.startswith(prefix) and _check(text[:-_CHECK]) == text[-_CHECK:]


def digest(text: str) -> str:
    """SHA-256 in hex, as stored. 256 random bits need no slow hash: there is nothing to guess."""
    return hashlib.sha256(text.encode()).hexdigest()


def hint(key: str) -> str:
    """Enough of a key to tell it from its owner's others, as `ab_x3Kq…9fQz`; 35 of 43 characters stay unknown."""
    return f"{key[:7]}…{key[-_CHECK - 4 : -_CHECK]}"


def contains_secret(text: str) -> bool:
    """Whether a key or token of AgentBoard stands anywhere in `text`, also between other word characters."""
    # In 20 KiB the search for one character costs 1 µs and ends most texts, those for a word 11 µs each.
    if "_" not in text or not any(prefix in text for prefix in (KEY, ACCESS_TOKEN, REFRESH_TOKEN)):
        return False
    return any(_check(hit[0] + hit[1][:-_CHECK]) == hit[1][-_CHECK:] for hit in _ANYWHERE.finditer(text))


def _base62(number: int, width: int) -> str:
    characters = []
    for _ in range(width):
        number, digit = divmod(number, 62)
        characters.append(_ALPHABET[digit])
    return "".join(reversed(characters))


def _check(text: str) -> str:
    return _base62(zlib.crc32(text.encode()), _CHECK)
