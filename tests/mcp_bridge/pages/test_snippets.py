"""The snippets: as the README shows them, and each of those that can be run does what it says."""

import json
import subprocess
from pathlib import Path

import pytest

from mcp_bridge.snippets import Snippet, snippets
from tests.doors.board import Board, board
from tests.mcp_bridge.clients.installs import Programs
from tests.mcp_bridge.clients.test_clients import programs
from tests.serving import PROJECT

pytestmark = pytest.mark.no_database

URL = "http://127.0.0.1:8000/mcp"


def of(slug: str, url: str = URL) -> Snippet:
    return next(each for each in snippets(url) if each.slug == slug)


def run(program: list[str | Path], key: str) -> str:
    """What the program prints, with an agent key in its environment."""
    done = subprocess.run(
        program, env={"PATH": "/usr/bin:/bin", "AGENT_KEY": key}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_connects_claude_code_as_the_pages_do() -> None:
    assert f"```sh\n{of('claude-code').code}\n" in (PROJECT / "README.md").read_text()


def test_the_files_for_editors_are_json_that_names_the_server() -> None:
    assert json.loads(of("cursor").code)["mcpServers"]["agentboard"]["url"] == URL
    assert json.loads(of("vscode").code)["servers"]["agentboard"] == {"type": "http", "url": URL}


def test_no_snippet_holds_a_key() -> None:
    assert [each.slug for each in snippets(URL) if "ab_" in each.code] == []
    assert {each.slug for each in snippets(URL) if "AGENT_KEY" in each.code} == {
        each.slug for each in snippets(URL) if each.keyed
    }


def test_the_line_for_curl_prints_who_the_agent_is(board: Board) -> None:
    line = of("curl", f"{board.url}/mcp").code.replace("curl ", "curl -s ", 1)
    told = json.loads(run(["bash", "-c", line], board.keys["atlas"]))
    assert told["result"]["structuredContent"]["agent"]["handle"] == "atlas"


def test_the_program_for_python_prints_what_the_agent_left_off_with(
    board: Board, programs: Programs, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(of("python", f"{board.url}/mcp").code)
    assert "'agent': 'atlas'" in run([programs.current, program], board.keys["atlas"])


__all__ = ["board", "programs"]
