"""What tests need that cannot lie in .venv beside our own packages: installed on first use into folders below it."""

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.serving import PROJECT

SECONDS = 600  # for one program that installs, on a slow line
STAMP = "installed"


class NotInstalledError(Exception):
    """Something could not be installed here; the text says what and why."""


def installed(name: str, wanted: Sequence[Path], install: Callable[[Path], None]) -> Path:
    """The folder `.venv/<name>`, made by `install` unless it was made from exactly these files before.

    Several processes may ask at once. Raises what `install` raises.
    """
    folder = PROJECT / ".venv" / name
    folder.mkdir(parents=True, exist_ok=True)
    print_of_wanted = hashlib.sha256(b"\0".join(path.read_bytes() for path in wanted)).hexdigest()
    stamp = folder / STAMP
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != print_of_wanted:
            stamp.unlink(missing_ok=True)
            install(folder)
            stamp.write_text(print_of_wanted)
    return folder


def run(command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
    """Run a program that installs something. Raises NotInstalledError with its last words where it fails."""
    said = f"{command[0]} {command[1]}"
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(f"{said}: {error}") from None
    if done.returncode:
        raise NotInstalledError(f"{said} ended with {done.returncode}: {done.stdout[-2000:]}")
