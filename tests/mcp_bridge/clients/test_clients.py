"""The clients that people use, each over a real socket: by key, and by asking a person through OAuth."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from agentboard.catalog import CATALOG
from tests.calls import Object
from tests.doors.board import UNLIMITED
from tests.installing import NotInstalledError
from tests.mcp_bridge.clients import installs
from tests.mcp_bridge.clients.inspector import TOOL_FAILED, Inspector
from tests.mcp_bridge.clients.installs import Programs
from tests.mcp_bridge.clients.running import Client, Told, javascript, python
from tests.mcp_bridge.person import Person, somebody
from tests.serving import served

pytestmark = pytest.mark.no_database

AT_ONCE = 3  # clients: while one waits the others work
MODERN = "2026-07-28"

CLIENTS = (
    Client("mcp-2-auto", python("current", "current.py"), ("auto",), MODERN),
    Client("mcp-2-legacy", python("current", "current.py"), ("legacy",)),
    Client("mcp-1", python("former", "former.py")),
    Client("fastmcp", python("current", "fast.py"), (), MODERN),
    Client("npm-sdk-1", javascript("former.cjs")),
    Client("npm-client-2-auto", javascript("current.cjs"), ("auto",), MODERN),
    Client("npm-client-2-legacy", javascript("current.cjs"), ("legacy",)),
    Client("mcp-remote", python("current", "remote.py"), (), MODERN),
)
WIDER = Client("wider", python("current", "wider.py"))
ERAS = ("legacy", "modern")

by_each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
in_each_era = pytest.mark.parametrize("era", ERAS)


@dataclass(frozen=True)
class Gathering:
    """A server, somebody with an account there, and what its clients tell."""

    url: str
    key: str
    programs: Programs
    by_key: dict[str, Future[Told]]
    asking: dict[str, Future[Told]]
    wider: Future[Told]

    def inspector(self, era: str) -> Inspector:
        return Inspector(self.programs, self.url, self.key, era)


@pytest.fixture(scope="module")
def programs() -> Programs:
    """Every client's program."""
    try:
        return installs.programs()
    except NotInstalledError as error:
        reason = f"the clients cannot be installed here: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="module")
def gathering(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gathering]:
    """One server that all clients come to, several at a time, from the first test on."""
    folder = tmp_path_factory.mktemp("clients")
    with served(folder, **UNLIMITED) as server, ThreadPoolExecutor(AT_ONCE) as pool:
        person, key = somebody(server, folder)
        yield _begun(pool, programs, f"{server.url}/mcp", key, person)


def _begun(pool: ThreadPoolExecutor, programs: Programs, url: str, key: str, person: Person) -> Gathering:
    def sent(way: str, shown: str | Person) -> dict[str, Future[Told]]:
        return {
            client.name: pool.submit(client.run, programs, url, f"{client.name}-by-{way}", shown) for client in CLIENTS
        }

    by_key, asking = sent("key", key), sent("person", person)
    wider = pool.submit(WIDER.run, programs, url, "widely-used", key)
    return Gathering(url, key, programs, by_key, asking, wider)


def lived_through(told: Told, client: Client) -> None:
    """The client got its tools and lived through the whole story."""
    assert told["protocol"] == client.speaks
    assert told["tools"] == [*CATALOG]
    for step in ("saved", "replaced", "refused", "restored", "read"):
        assert json.loads(told[step]["text"]) == told[step]["structured"]
        assert told[step]["is_error"] is (step == "refused")
    versions = {step: told[step]["structured"].get("version") for step in told if step not in ("protocol", "tools")}
    assert versions == {"saved": 1, "replaced": 2, "refused": None, "restored": 3, "read": 3}
    assert told["read"]["structured"]["body"] == "The first text"
    conflict(told["refused"]["structured"])


def conflict(refused: Object) -> None:
    """The refusal names the version that holds, what changed, and what to do."""
    assert list(refused) == ["error"]
    error = refused["error"]
    assert error["code"] == "version_conflict"
    assert error["current_version"] == 2
    assert "+The second text" in error["diff"]
    assert error["help"] == "/docs/errors#version_conflict"
    assert error["message"].strip()
    assert error["next_action"].strip()


@by_each_client
def test_with_a_key_a_client_gets_all_tools_and_lives_through_a_conflict(gathering: Gathering, client: Client) -> None:
    lived_through(gathering.by_key[client.name].result(), client)


@by_each_client
def test_a_client_without_a_key_finds_its_way_to_a_token_by_itself(gathering: Gathering, client: Client) -> None:
    lived_through(gathering.asking[client.name].result(), client)


def test_a_client_reads_resources_and_prompts_and_completes_names(gathering: Gathering) -> None:
    told = gathering.wider.result()
    note = "agentboard://memory/widely-used"
    assert note in told["resources"]
    assert "agentboard://memory/{name}" in told["templates"]
    assert told["read"] == ["The second text"]
    assert told["prompts"] == ["start_session", "hand_over", "review_due_notes"]
    assert told["handover"] == ["text", "resource"]
    assert told["completed"] == ["widely-used"]
    assert told["nobody"] == []


def test_a_client_that_listens_hears_of_a_change(gathering: Gathering) -> None:
    assert gathering.wider.result()["heard"] == ["ResourceUpdated", "ResourcesListChanged"]


def test_a_client_that_can_ask_its_person_does_so_before_a_note_is_deleted(gathering: Gathering) -> None:
    told = gathering.wider.result()
    assert len(told["asked"]) == 1
    assert "widely-used" in told["asked"][0]
    assert told["deleted"] is True


@in_each_era
def test_the_inspector_finds_the_tools_portable_to_every_model(gathering: Gathering, era: str) -> None:
    strict = gathering.inspector(era).ask("tools/list", "--strict")
    assert [tool["name"] for tool in strict.result["tools"]] == [*CATALOG]
    assert strict.said == ""
    assert strict.status == 0


@in_each_era
def test_the_inspector_shows_the_conflict_and_the_restored_note(gathering: Gathering, era: str) -> None:
    note, inspector = f"inspected-{era}", gathering.inspector(era)

    def save(body: str, version: int) -> int:
        return inspector.call("save_memory", id=note, data={"body": body, "expected_version": version}).status

    assert (save("The first text", 0), save("The second text", 1)) == (0, 0)
    refused = inspector.call("save_memory", id=note, data={"body": "Too late", "expected_version": 1})
    assert refused.status == TOOL_FAILED
    assert refused.result["isError"] is True
    conflict(refused.result["structuredContent"])
    restored = inspector.call("restore_memory", id=note, data={"version": 1, "expected_version": 2})
    assert restored.result["structuredContent"]["version"] == 3
    assert inspector.call("get_memory", id=note).result["structuredContent"]["body"] == "The first text"
