"""The data folder: what one installation keeps on disk, with the two secrets it makes for itself at the first start."""

import os
import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.fernet import Fernet

SECRET_KEY_CHARACTERS_MIN = 32  # below that Django's signatures could be guessed
KEYS_HEADING = (
    "# The keys of the encrypted texts, one a line; the first writes. Lost keys are lost texts: keep a copy.\n"
)


class WrongSetting(Exception):
    """A setting this process can't start with; its text is one plain sentence that names the setting."""


@dataclass(frozen=True)
class Secrets:
    """The installation's secrets; their values stay out of its repr."""

    folder: Path
    secret_key: str = field(repr=False)
    encryption_keys: tuple[str, ...] = field(repr=False)
    encryption_keys_file: Path


def open_folder(path: Path) -> Secrets:
    """The secrets kept in `path`, which is made (0700), as are its two files (0600), where missing.

    Of several processes that start at once on an empty folder, all come back with the same secrets.
    Raises WrongSetting where the folder or one of its files can't be used.
    """
    _make_folder(path)
    secret_key, keys_file = path / "secret.key", path / "encryption.keys"
    return Secrets(
        folder=path,
        secret_key=_secret_key(secret_key, _text_of(secret_key, lambda: secrets.token_urlsafe(64) + "\n")),
        encryption_keys=_encryption_keys(keys_file, _text_of(keys_file, _new_keys)),
        encryption_keys_file=keys_file,
    )


def private_file(setting: str, path: Path) -> None:
    """Make `path` empty and readable by its owner alone where it is missing: SQLite gives its WAL the same mode.

    Raises WrongSetting naming `setting` where it can't be made or written to.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        raise WrongSetting(f"{setting}: {path} can't be written: {error.strerror}.") from None


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise WrongSetting(f"AGENTBOARD_DATA must be a folder, but {path} is not one.") from None
    except OSError as error:
        raise WrongSetting(f"AGENTBOARD_DATA: the folder {path} can't be made: {error.strerror}.") from None
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise WrongSetting(f"AGENTBOARD_DATA must be a folder this process may write to, but {path} is not.")


def _new_keys() -> str:
    return f"{KEYS_HEADING}{Fernet.generate_key().decode()}\n"


def _text_of(file: Path, new: Callable[[], str]) -> str:
    try:
        if not file.exists():
            _write_once(file, new())
        return _read_private(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise WrongSetting(f"AGENTBOARD_DATA: {file} can't be used: {reason}.") from None


def _write_once(file: Path, text: str) -> None:
    """Give `file` its first content, whole or not at all; where another process was first, its content stays."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as temporary:
            temporary.write(text)
            temporary.flush()
            os.fsync(temporary.fileno())
        try:
            os.link(name, file)  # unlike a rename, never replaces
        except FileExistsError:
            return
        _sync_folder(file.parent)
    finally:
        os.unlink(name)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read_private(file: Path) -> str:
    """The text of `file`. Readable by others: closed to them where it is ours, refused where it isn't."""
    with file.open(encoding="utf-8") as opened:
        status = os.fstat(opened.fileno())
        if status.st_mode & 0o077:
            if status.st_uid != os.geteuid():
                raise WrongSetting(f"AGENTBOARD_DATA: {file} must be readable by its owner alone (mode 0600).")
            os.fchmod(opened.fileno(), 0o600)
        return opened.read()


def _secret_key(file: Path, text: str) -> str:
    key = text.strip()
    if len(key) < SECRET_KEY_CHARACTERS_MIN:
        raise WrongSetting(
            f"AGENTBOARD_DATA: {file} must hold one secret of at least {SECRET_KEY_CHARACTERS_MIN} characters."
        )
    return key


def _encryption_keys(file: Path, text: str) -> tuple[str, ...]:
    lines = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), start=1))
    keys = [(number, key) for number, key in lines if key]
    if not keys:
        raise WrongSetting(f"AGENTBOARD_DATA: {file} holds no key; it must hold at least one, one a line.")
    for number, key in keys:
        if not _is_fernet_key(key):
            raise WrongSetting(f"AGENTBOARD_DATA: line {number} of {file} is not a Fernet key (32 bytes in base64url).")
    return tuple(key for _, key in keys)


def _is_fernet_key(key: str) -> bool:
    try:
        Fernet(key)
    except ValueError:
        return False
    return True
