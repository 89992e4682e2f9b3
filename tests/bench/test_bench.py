"""The benchmark itself: that it still runs, not how fast anything is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import PROJECT

pytestmark = pytest.mark.no_database


def test_both_sides_answer_rightly_to_every_piece_of_work(tmp_path: Path) -> None:
    wanted = "--database sqlite --clients 4 --rounds 2 --seconds 0.2".split()
    command = [sys.executable, "-m", "tests.bench", *wanted, "--json", str(tmp_path / "found.json")]
    done = subprocess.run(command, cwd=PROJECT, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert "of limit" in done.stdout, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert done.returncode == (1 if found["missed"] else 0)
    measured = [(line["work"], line["door"], line["clients"]) for line in found["lines"]]
    assert measured == [("save", "rest", 4), ("save", "mcp", 4), ("get", "rest", 4), ("get", "mcp", 4)]
    assert all(
        round["throughput"] > 0 for line in found["lines"] for rounds in line["rounds"].values() for round in rounds
    )
