"""Public functions and classes have names of their own, so that a search finds them. Methods say what they do."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from support.source_code import PACKAGE as ROOT
from support.source_code import module_nodes, module_tree, parsed_once

pytestmark = parsed_once
OWN_NAMES: tuple[str, ...] = (
    # One folder per line. Folders join when they are clean, and never leave.
    "adapters",
    "agent",
    "cli",
    "compaction",
    "config",
    "context",
    "demo",
    "explain",
    "judge",
    "lab",
    "library",
    "live",
    "log",
    "models",
    "proxy",
    "rehearsal",
    "session",
    "sources",
    "testing",
    "traces",
    "tui",
    "usage",
    "views",
    "wire",
)
PROTOCOLS = frozenset({"main", "read", "recognises", "recognises_tables", "sessions"})
"""Each module that runs as a process has a `main`. Each reader of a format has the others: see `traces/formats`."""
OF_BODIES = frozenset({"answer_of", "is_body"})
"""Of readers of request bodies, which become objects in `wire/`."""


def public_functions(folder: str) -> dict[str, list[str]]:
    """By name: the modules below a folder that define it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in module_tree(path).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(ROOT).as_posix())
    return found


def test_no_two_modules_have_a_public_function_of_the_same_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for folder in OWN_NAMES:
        for name, modules in public_functions(folder).items():
            found[name] += modules
    allowed = PROTOCOLS | OF_BODIES
    doubles = [
        f"{name}: rename all but one, in {', '.join(modules)}"
        for name, modules in found.items()
        if len(modules) > 1 and name not in allowed
    ]
    assert not doubles, "\n".join(doubles)


VAGUE_CLASSES = frozenset(
    (
        *("About", "Belonging", "Blocks", "Cells", "Compacting", "Continuing", "Detail", "Drafting", "Files"),
        *("Gathered", "Growing", "Heads", "Holding", "Keys", "Look", "Measured", "Offers", "Opening", "Plain"),
        *("Recorded", "Retained", "Run", "Tab", "Tail", "Talk", "Thoughts", "Way", "Window"),
    )
)
"""Names of classes that do not say what the class is."""


def test_public_classes_have_names_of_their_own_that_say_what_they_are() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in module_nodes(path):  # also those inside another class
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(ROOT).as_posix())
    refused = [
        f"{name}: {'say what it is' if name in VAGUE_CLASSES else 'rename all but one'}, in {', '.join(modules)}"
        for name, modules in found.items()
        if len(modules) > 1 or name in VAGUE_CLASSES
    ]
    assert not refused, "\n".join(refused)


VAGUE_METHODS = (
    *("add", "answered", "ask", "asked", "change", "changed", "check", "do", "each", "find", "get", "give"),
    *("go", "handle", "has", "held", "hold", "keep", "kept", "known", "look", "make", "must", "note"),
    *("of", "over", "own", "process", "put", "read", "run", "said", "say", "set", "take", "taken"),
    *("tell", "told", "under", "update", "whole", "whose", "work"),
)
"""Words that do not say what is added, asked or read: `append_event` does. `open`, `close` and `send` may be alone."""
SHARED_METHODS: dict[str, tuple[str, ...]] = {
    "add": (
        *(
            "traces/building.py",
            "wire/event_builder.py",
        ),  # readers of dialects and formats add events
        "library/context.py",  # of a `Context`, for other programs: what it adds is said by its argument
    ),
    "read": ("proxy/unpacking.py",),
    "run": (
        *("cli/web_session.py", "tui/terminal_patches.py"),  # of classes of textual-serve and Textual
        "adapters/openai_agents.py",  # what `Runner.run` of the framework gets
    ),
}
"""Methods of a protocol, or of objects that take each other's place, and the modules or folders that have them."""


def public_methods(folder: str) -> Iterator[tuple[str, str, str]]:
    """Module, class and name of each public method below a folder; properties are no methods."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        for holder in module_nodes(path):
            if not isinstance(holder, ast.ClassDef):
                continue
            for node in holder.body:
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
                    continue
                if not any("property" in ast.unparse(each) for each in node.decorator_list):
                    yield path.relative_to(ROOT).as_posix(), holder.name, node.name


def test_methods_say_what_they_do_it_to() -> None:
    found = [
        f"{module}: {holder}.{name}: say what it acts on, as in append_event"
        for folder in OWN_NAMES
        for module, holder, name in public_methods(folder)
        if name in VAGUE_METHODS and not module.startswith(SHARED_METHODS.get(name, ()))
    ]
    assert not found, "\n".join(found)


THINGS = (
    "adapters",
    "agent",
    "cli",
    "config",
    "library",
    "live",
    "log",
    "models",
    "session",
    "sources",
    "views",
    "wire",
)
"""The folders in which no class is named after an activity alone. Folders join when they are clean, and never leave."""
NOUNS = ("Reasoning", "Setting")
"""Events, and steps of a turn."""


def test_a_class_is_named_after_a_thing() -> None:
    found = [
        f"{path.relative_to(ROOT).as_posix()}: {node.name}: name a thing, not an activity"
        for folder in THINGS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in module_tree(path).body
        if isinstance(node, ast.ClassDef) and re.fullmatch(r"_?[A-Z][a-z]+ing", node.name) and node.name not in NOUNS
    ]
    assert not found, "\n".join(found)
