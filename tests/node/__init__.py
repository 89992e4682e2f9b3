"""The Node and the npm packages that tests use, from package-lock.json beside this; npm itself is the machine's."""

import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.installing import NotInstalledError, installed, run

HERE = Path(__file__).parent
LOCKED = ("package.json", "package-lock.json", ".npmrc")
NODE_MIN = 22  # what both conformance suites need
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Node:
    """A Node and the folder of the packages that its programs may require."""

    program: Path
    modules: Path


def node() -> Node:
    """Node and packages, installed on first use. Raises NotInstalledError where that fails."""
    modules = installed("npm", [HERE / name for name in LOCKED], _install) / "node_modules"
    return Node(_program(modules), modules)


def _install(folder: Path) -> None:
    if shutil.which("npm") is None:
        raise NotInstalledError("npm is not on this machine (on Debian: apt-get install npm)")
    for name in LOCKED:
        shutil.copyfile(HERE / name, folder / name)
    run(["npm", "ci", "--prefer-offline", "--loglevel=error"], cwd=folder)


def _program(modules: Path) -> Path:
    """The Node that came with the packages; on machines that npm has none for, the machine's own."""
    packaged = modules / f"node-linux-{MACHINES.get(platform.machine(), 'none')}" / "bin" / "node"
    if packaged.exists():
        return packaged
    own = shutil.which("node")
    if own is None or _version(own) < NODE_MIN:
        raise NotInstalledError(f"npm has no Node for this machine, and it has none of version {NODE_MIN} or later")
    return Path(own)


def _version(program: str) -> int:
    said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(said.removeprefix("v").partition(".")[0])
