"""The README's calls, pasted one after the other into a shell against a fresh server."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import Served, free_port, served

ROOT = Path(__file__).parent.parent
CUT = "…"

pytestmark = pytest.mark.no_database  # the server has its own


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    """A server with a data folder of its own."""
    with served(tmp_path) as started:
        yield started


def calls() -> list[tuple[str, list[str]]]:
    """Each shell block from "First call" on, with the answers that are shown below it."""
    text = (ROOT / "README.md").read_text().partition("## First call")[2]
    blocks = re.findall(r"```sh\n(.*?)```\n\n((?:    .*\n)*)", text, re.DOTALL)
    return [(script, [line.strip() for line in shown.splitlines()]) for script, shown in blocks]


def as_shown(shown: str) -> re.Pattern[str]:
    """What an answer must look like: any text where the README cuts."""
    return re.compile(".*".join(re.escape(part) for part in shown.split(CUT)))


def test_every_call_of_the_readme_gets_the_answer_that_is_shown(server: Served, tmp_path: Path) -> None:
    script = "\n".join(f"{block}\necho '---'" for block, _ in calls())
    script = script.replace("http://127.0.0.1:8000", server.url)
    script = script.replace(".venv/bin/python", sys.executable)
    environment = {"PATH": os.environ["PATH"], "AGENTBOARD_DATA": str(tmp_path / "data")}
    done = subprocess.run(
        ["bash", "-euc", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    answers = [part.split("\n") for part in done.stdout.split("---\n")]
    for (block, shown), got in zip(calls(), answers, strict=False):
        for wanted, answer in zip(shown, got, strict=False):
            assert as_shown(wanted).fullmatch(answer), f"{block}\nwanted {wanted}\ngot    {answer}"


def test_the_readme_shows_an_answer_below_every_block_but_the_first() -> None:
    assert [bool(shown) for _, shown in calls()] == [False] + [True] * (len(calls()) - 1)


def test_the_demo_plays_the_story_twice_and_tells_it(server: Served, tmp_path: Path) -> None:
    environment = {"AGENTBOARD_DATA": str(tmp_path / "data"), "PORT": str(server.port)}
    for _ in range(2):
        told = subprocess.run(
            [sys.executable, "manage.py", "demo"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
        )
        assert told.returncode == 0, told.stderr
        assert "claims the next free task" in told.stdout
        assert re.search(r"reply by boreas-\w+: (post|reply) (po|re)_", told.stdout)


def test_the_demo_says_what_to_do_where_no_server_runs(tmp_path: Path) -> None:
    environment = {"AGENTBOARD_DATA": str(tmp_path / "data"), "PORT": str(free_port())}
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True, timeout=60)
    told = subprocess.run(
        [sys.executable, "manage.py", "demo"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert told.returncode == 1
    assert "start it with `make run`" in told.stderr
