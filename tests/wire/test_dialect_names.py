"""A dialect is written once: outside wire/ nothing asks for a dialect's name to decide what to do."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import get_args

from support.source_code import PACKAGE, module_nodes, parsed_once
from workbench.log.events import OwnDialect
from workbench.wire.dialects import DIALECTS

NAMES = frozenset(get_args(OwnDialect))
MAY_SAY = {
    "log/events.py": "declares the names",
    "traces/": "the reader of an agent's files knows which dialect that agent speaks",
    "models/": "names of providers and of families of models",
    "adapters/anthropic.py": "the client of one provider speaks its dialect",
    "live/agent_starts.py": "names of providers in the settings of agents",
    "live/known_agents.py": "names of programs",
    "tui/": "the name of a pane",
    "proxy/routes.py": "Google as a provider, which also takes OpenAI's dialect",
}
"""Where a word that is a dialect's name may be, and why."""


def words(nodes: Iterable[ast.AST]) -> set[str]:
    """The names of dialects that are written in a piece of code."""
    return {each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)} & NAMES


def decisions(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The pieces of code that decide something by the name of a dialect."""
    for node in nodes:
        match node:
            case ast.Compare() if words(ast.walk(node)) and "dialect" in ast.unparse(node):
                yield ast.unparse(node)
            case ast.Match(subject) if "dialect" in ast.unparse(subject):
                yield ast.unparse(subject)
            case ast.AnnAssign(annotation=of) if words(ast.walk(node)) and "[DialectName," in ast.unparse(of):
                yield ast.unparse(node)


@parsed_once
def test_nothing_outside_decides_by_the_name_of_a_dialect_or_says_it_without_a_reason() -> None:
    said: set[str] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("wire/"):
            continue
        nodes = module_nodes(path)
        assert list(decisions(nodes)) == [], f"{name}: look the dialect up in DIALECTS and ask it"
        if words(nodes):
            said.add(name)
    unlisted = {name for name in said if not name.startswith(tuple(MAY_SAY))}
    assert unlisted == set(), "ask the dialect in place of naming it, or say in MAY_SAY why not"
    assert all(any(name.startswith(place) for name in said) for place in MAY_SAY), "no longer needed"


def test_the_log_names_all_dialects_and_no_others() -> None:
    assert set(DIALECTS) == NAMES
    assert all(dialect.name == name for name, dialect in DIALECTS.items())
