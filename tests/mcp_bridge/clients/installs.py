"""The clients' packages: npm's from tests/node, Python's in folders of their own, as releases exclude each other."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.installing import installed, run
from tests.node import Node, node

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Programs:
    """What runs the clients."""

    node: Node
    current: Path  # the Python with `mcp` 2.x and `fastmcp`
    former: Path  # the Python with `mcp` 1.x


@cache
def programs() -> Programs:
    """Everything, installed on first use. Raises NotInstalledError where that fails."""
    with ThreadPoolExecutor() as pool:
        packages, current, former = pool.submit(node), pool.submit(_python, "current"), pool.submit(_python, "former")
        return Programs(packages.result(), current.result(), former.result())


def _python(name: str) -> Path:
    """A Python that has what `<name>.txt` beside this lists, and nothing else."""
    wanted = HERE / f"{name}.txt"

    def install(folder: Path) -> None:
        run([sys.executable, "-m", "venv", "--without-pip", "--clear", folder / "venv"])
        pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", folder / "venv"]
        run([*pip, "install", "--quiet", "--disable-pip-version-check", "--no-compile", "-r", wanted])

    return installed(f"clients/{name}", [wanted], install) / "venv" / "bin" / "python"


if __name__ == "__main__":
    programs()
