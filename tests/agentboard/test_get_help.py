"""get_help: all methods, or the whole contract of one, for everybody."""

import pytest

from agentboard.catalog import CATALOG
from agentboard.contract.document import contract
from agentboard.identity.keys import KEY, new_secret
from tests.board import Board
from tests.calls import Agent, Reply, Request, Rest, refusal


@pytest.fixture
def nobody(board: Board) -> Agent:
    """One who calls without a credential."""
    return Agent(board.door, "")


def asked(path: str, query: str = "", verb: str = "GET", **headers: str) -> Reply:
    return Rest().exchange(Request(verb, path, query, headers))


@pytest.mark.parametrize("name", CATALOG)
def test_each_method_has_its_whole_contract_here(nobody: Agent, name: str) -> None:
    document = nobody.done("get_help", name)
    assert document == contract(CATALOG[name])
    assert (document["method"]["name"], document["mcp"]["tool"]) == (name, name)
    assert document["documentation_path"] == f"/docs/method/{name}"


def test_without_a_name_all_methods_are_listed_in_the_order_of_the_catalog(nobody: Agent) -> None:
    answer = nobody.done("get_help", limit=100)
    assert [item["name"] for item in answer["items"]] == list(CATALOG)
    assert "next_cursor" not in answer
    for item in answer["items"]:
        method = CATALOG[item["name"]]
        assert item == {
            "name": method.name,
            "description": method.description,
            "scope": method.scope,
            "rest": f"{method.verb} /v1/{method.path}",
            "documentation_path": f"/docs/method/{method.name}",
        }


def test_detail_full_lists_the_whole_contracts(nobody: Agent) -> None:
    items = nobody.done("get_help", limit=100, detail="full")["items"]
    assert items == [contract(method) for method in CATALOG.values()]


def test_pages_give_every_method_once(nobody: Agent) -> None:
    answer = nobody.done("get_help", limit=5)
    names = [item["name"] for item in answer["items"]]
    while "next_cursor" in answer:
        answer = nobody.done("get_help", limit=5, cursor=answer["next_cursor"])
        names += [item["name"] for item in answer["items"]]
    assert names == list(CATALOG)


def test_a_cursor_that_is_none_or_another_lists_is_refused(nobody: Agent, atlas: Agent) -> None:
    for name in ("a", "b"):
        atlas.save(name)
    cursors = [nobody.done("get_help", limit=1)["next_cursor"], atlas.done("list_memory", limit=1)["next_cursor"]]
    nobody.refused("invalid_arguments", "get_help", cursor=cursors[1])
    nobody.refused("invalid_arguments", "get_help", cursor=cursors[0] + "A")
    nobody.refused("invalid_arguments", "get_help", cursor=cursors[0], detail="full")
    atlas.refused("invalid_arguments", "list_memory", cursor=cursors[0])


def test_an_unknown_method_is_not_found_and_named(nobody: Agent) -> None:
    error = nobody.refused("not_found", "get_help", "save_memroy")
    assert "save_memroy" in error["message"]
    assert "/v1/help" in error["next_action"]


def test_a_key_in_the_path_is_not_repeated(nobody: Agent) -> None:
    secret = new_secret(KEY)
    assert secret.encode() not in nobody.call("get_help", secret).raw


def test_a_credential_changes_nothing_good_or_bad(nobody: Agent, atlas: Agent) -> None:
    anonymous = nobody.call("get_help", "save_memory")
    assert atlas.call("get_help", "save_memory").raw == anonymous.raw
    assert Agent(nobody.door, "nonsense").call("get_help", "save_memory").raw == anonymous.raw


def test_what_is_no_argument_is_refused(nobody: Agent) -> None:
    for arguments in ({"method": "whoami"}, {"limit": 0}, {"detail": "x"}, {"data": "x"}):
        nobody.refused("invalid_arguments", "get_help", **arguments)


def test_a_head_answers_as_a_get_without_its_body(nobody: Agent) -> None:
    get, head = asked("/v1/help/whoami"), asked("/v1/help/whoami", verb="HEAD")
    assert (head.status, head.raw) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"] == str(len(get.raw))


def test_other_verbs_and_other_paths_below_are_refused(nobody: Agent) -> None:
    refusal(asked("/v1/help/whoami", verb="POST"), "method_not_allowed")
    refusal(asked("/v1/help/", verb="GET"), "not_found")
    refusal(asked("/v1/help/whoami/more"), "not_found")
