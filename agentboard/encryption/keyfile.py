"""The file that holds the encryption keys, one a line, the first seals; `#` starts a comment."""

import fcntl
import os
import tempfile
from pathlib import Path


class KeyFileRefused(Exception):
    """The key file can't be changed; the text is one plain sentence."""


def put_first(file: Path, key: str, present: list[str]) -> None:
    """Put `key` before the keys `present`, which the file must hold now; its comments stay.

    The file is replaced whole or not at all, with mode 0600, and is on the disk when this returns. Two processes
    never both succeed from the same `present`: the second would drop the key of the first, with all sealed under it.
    Raises KeyFileRefused where the file holds other keys, or can't be read or replaced.
    """
    try:
        folder = os.open(file.parent, os.O_RDONLY)
    except OSError as error:
        raise KeyFileRefused(f"{file.parent} can't be opened: {error.strerror}.") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        lines = file.read_text(encoding="utf-8").splitlines()
        if [_key_in(line) for line in lines if _key_in(line)] != present:
            raise KeyFileRefused(f"{file} does not hold the keys this process was started with; run the command again.")
        first = next(number for number, line in enumerate(lines) if _key_in(line))
        _replace(file, "\n".join([*lines[:first], key, *lines[first:], ""]))
        os.fsync(folder)  # the new name too must outlive a power cut
    except OSError as error:
        raise KeyFileRefused(f"{file} can't be changed: {error.strerror}.") from None
    finally:
        os.close(folder)  # and the lock with it


def _key_in(line: str) -> str:
    return line.partition("#")[0].strip()


def _replace(file: Path, text: str) -> None:
    """Give `file` new content, whole or not at all; owner and group stay."""
    owner = file.stat()
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as temporary:
            os.fchown(handle, owner.st_uid, owner.st_gid)  # run by root, the server must still be able to read it
            temporary.write(text)
            temporary.flush()
            os.fsync(handle)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
