"""The floors of the house: who may import whom, read from the source."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.serving import PROJECT

pytestmark = pytest.mark.no_database

APPS = ("agentboard", "memory", "spaces", "posts", "mcp_bridge")
DOMAINS = ("memory", "spaces", "posts")

# From the ground up. A module belongs to the longest entry that it is or lies in, and may import from its own entry and
# from all that stand before it: on lower floors, and to the left on its own.
FLOORS: dict[str, tuple[str, ...]] = {
    "ground: knows nothing of the board": (
        "agentboard",
        "agentboard.datafolder",
        "agentboard.environment",
        "agentboard.settings",
        "agentboard.apps",
        "agentboard.tally",
        "agentboard.logs",
        "agentboard.one_cpu",
        "agentboard.statements",
        "agentboard.static_files",
        "agentboard.closed",
        "agentboard.backup",
    ),
    "contract: knows no domain": ("agentboard.contract",),
    "what all domains stand on": (
        "agentboard.encryption",
        "agentboard.identity",
        "agentboard.ledger",
        "agentboard.search",
        "agentboard.rate",
    ),
    "domain models": DOMAINS,
    "domain methods": tuple(f"{domain}.methods" for domain in DOMAINS),
    "the board's own methods, all methods, and the one way in": (
        "agentboard.board",
        "agentboard.catalog",
        "agentboard.call",
    ),
    "doors": (
        "agentboard.request_name",
        "agentboard.threads",
        "agentboard.door",
        "agentboard.rest",
        "agentboard.rest_door",
        "agentboard.web",
        "agentboard.admin",
        "agentboard.numbers",
        "mcp_bridge",
    ),
    "the process": (
        "agentboard.health",
        "agentboard.relay",
        "agentboard.housekeeping",
        "agentboard.lifespan",
        "agentboard.foundations",
        "agentboard.asgi",
        "agentboard.urls",
        "agentboard.management",
    ),
}
ORDER = [entry for entries in FLOORS.values() for entry in entries]
DOORS = ({"agentboard.rest", "agentboard.rest_door"}, {"agentboard.web"}, {"mcp_bridge"})
# Beside the domains themselves: what tells an agent of all of them, all methods, and the operators' pages.
NAMES_DOMAINS = {"agentboard.board", "agentboard.catalog", "agentboard.admin", "agentboard.numbers"}


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the product by its dotted name, parsed."""
    found = {}
    for path in (path for app in APPS for path in (PROJECT / app).rglob("*.py")):
        parts = path.relative_to(PROJECT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text(), str(path))
    return found


def imported(tree: ast.AST) -> Iterator[str]:
    """The dotted names that a module imports; of `from a import b` it is a.b where that is a module of ours, else a."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a module lies"
            assert node.module
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules() else node.module for name in names)


@cache
def ours() -> dict[str, frozenset[str]]:
    """The modules of ours that each module imports."""
    return {
        name: frozenset(each for each in imported(tree) if each.partition(".")[0] in APPS)
        for name, tree in modules().items()
    }


class WithoutTyping(ast.NodeTransformer):
    """Takes away what only a type checker imports."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        typing_only = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return node.orelse if typing_only else self.generic_visit(node)


def lies_in(module: str, entry: str) -> bool:
    return module == entry or module.startswith(f"{entry}.")


def entry_of(module: str) -> str | None:
    """The longest entry of the table that the module lies in; `agentboard` itself takes in no other module."""
    inside = [entry for entry in ORDER if module == entry or (entry != "agentboard" and lies_in(module, entry))]
    return max(inside, key=len, default=None)


def test_every_module_has_its_floor() -> None:
    assert [name for name in modules() if entry_of(name) is None] == []


def test_every_floor_has_its_modules() -> None:
    later = {f"{domain}.methods" for domain in DOMAINS}  # a domain begins as an empty package
    assert {*ORDER} - {entry_of(name) for name in modules()} <= later


def test_imports_go_downward_only() -> None:
    height = {name: ORDER.index(entry) for name in modules() if (entry := entry_of(name))}
    upward = [
        f"{name} imports {other}"
        for name, others in ours().items()
        for other in others
        if height.get(other, 0) > height.get(name, 0)
    ]
    assert upward == []


def test_no_two_modules_import_each_other_by_any_way_round() -> None:
    running = {name: WithoutTyping().visit(ast.parse(ast.unparse(tree))) for name, tree in modules().items()}
    needs = {name: {*imported(tree)} & modules().keys() - {name} for name, tree in running.items()}
    settled: set[str] = set()

    def follow(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " → ".join((*way[way.index(name) :], name))
        if name not in settled:
            for other in sorted(needs[name]):
                follow(other, (*way, name))
            settled.add(name)

    for name in modules():
        follow(name, ())


def test_domains_do_not_know_each_other() -> None:
    for domain in DOMAINS:
        for name in (name for name in modules() if lies_in(name, domain)):
            strangers = {other for other in ours()[name] for each in DOMAINS if each != domain and lies_in(other, each)}
            assert not strangers, name


def test_only_what_stands_above_the_domains_names_them() -> None:
    naming = {
        entry_of(name)
        for name, others in ours().items()
        for domain in DOMAINS
        if any(lies_in(other, domain) for other in others) and not lies_in(name, domain)
    }
    assert naming <= NAMES_DOMAINS


def test_doors_do_not_know_each_other() -> None:
    for door in DOORS:
        others = set().union(*(each for each in DOORS if each != door))
        for name in (name for name in modules() if entry_of(name) in door):
            assert not {other for other in ours()[name] if entry_of(other) in others}, name


def test_nothing_is_imported_inside_a_function() -> None:
    found = [
        f"{name}: {function.name}"
        for name, tree in modules().items()
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(imported(function))
    ]
    assert found == []


def test_nothing_is_imported_by_its_name_as_text() -> None:
    names = {"import_module", "__import__", "import_string", "autodiscover_modules"}
    found = {
        name: node.id
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in names
    }
    assert found == {}


def test_there_are_no_signals() -> None:
    found = {
        (name, other)
        for name, tree in modules().items()
        for other in imported(tree)
        if other.startswith("django.dispatch") or other.endswith(".signals")
    }
    assert found == set()


def test_no_module_is_named_for_being_left_over() -> None:
    words = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [name for name in modules() if words & {*name.split(".")[-1].split("_")}] == []


def test_the_top_level_is_as_it_was_given() -> None:
    folders = {path.parent.name for path in Path(PROJECT).glob("*/__init__.py")}
    assert folders == {*APPS, "tests"}
