"""What each part of the program pulls in: by its source, type imports counted, and from a process of its own."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from support.source_code import PACKAGE, module_nodes, parsed_once

ROOT = Path(__file__).parents[1]
Modules = Mapping[str, Path]
SCREEN = {"textual", "rich"}
TOKENIZERS = {"splintr", "tiktoken"}
HEAVY = {"aiohttp", "litellm", "openai", "mcp", "tokenizers", *TOKENIZERS}


def loaded_by(code: str) -> set[str]:
    """The modules in memory after some code ran."""
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


CORE = (
    *("workbench.cli.main", "workbench.cli.plan", "workbench.cli.sessions", "workbench.agent.instructions"),
    *("workbench.agent.memory", "workbench.context.planner", "workbench.models.catalogue", "workbench.log.store"),
)


def test_the_core_knows_no_screen_and_loads_nothing_heavy() -> None:
    assert not loaded_by(f"import {', '.join(CORE)}") & (SCREEN | HEAVY)


def test_a_question_loads_no_reader_of_other_agents_files_and_no_embedded_model() -> None:
    found = loaded_by("import workbench.cli.ask")
    assert "workbench.agent.loop" in found
    assert not found & {"workbench.traces.formats", "workbench.traces.building", "workbench.models.local.embedded"}


def test_what_a_command_imports_is_in_no_collection_and_what_it_makes_is() -> None:
    code = (
        "import gc\n"
        "from workbench.cli.main import main\n"
        "assert not gc.get_freeze_count()\n"
        "main(['tokens', 'workbench/__main__.py'])\n"
        "assert gc.isenabled() and gc.get_freeze_count() > 10_000"
    )
    assert "workbench.models.tokens" in loaded_by(code)


def test_planning_a_file_needs_no_litellm_and_no_screen(tmp_path: object) -> None:
    code = (
        "from workbench.sources.source import number_events\n"
        "from workbench.log.events import UserMessage\n"
        "from workbench.config.settings import Settings\n"
        "from workbench.context.setup import PlanOptions, set_up\n"
        "from workbench.models.catalogue import Catalogue\n"
        "made = set_up(PlanOptions(model='gpt-4o'), Settings(), Catalogue()).plan(number_events([UserMessage('hi')]))\n"
        "assert made.verdict.fits"
    )
    found = loaded_by(code)
    assert len(found & TOKENIZERS) == 1
    assert not found & (SCREEN | HEAVY - TOKENIZERS)


@pytest.fixture(scope="module")
def modules() -> Modules:
    """The whole program."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def imports(modules: Modules) -> Mapping[str, set[str]]:
    """What each module imports of ours, anywhere in it and for whatever reason."""
    return {name: set(_imported(path, modules)) - {name} for name, path in modules.items()}


def _imported(path: Path, modules: Modules) -> Iterator[str]:
    for node in module_nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.module in modules:
            names = (f"{node.module}.{each.name}" for each in node.names)
            yield from (name if name in modules else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)


DATACLASSES = {
    "workbench.agent.tools.base": "the process that searches loads it without any package",
    "workbench.context.budget": "fields that are computed from the others",
    "workbench.context.plan": "fields that are made when they are first read",
    "workbench.context.policy": "the fields carry what the knobs mean",
    "workbench.judge": "values that keep what they compute",
    "workbench.library": "what other programs get",
    "workbench.live.known_agents": "plug-ins make them: the error of a wrong call names the class",
    "workbench.mcp_server.asked_context": "values that keep what they compute",
    "workbench.models.endpoints": "a field that is never shown",
    "workbench.models.keys": "a field that is never shown",
    "workbench.traces.request_thread": "values that keep what they compute",
}
"""Where values are no structs of msgspec, and why. A dataclass's class takes forty times as long to make."""
FOR_EITHER = {"workbench.config.values", "workbench.library.plain_values", "workbench.context.knobs"}
"""Where it is known which of both a value is; all others ask `config.values`."""


@parsed_once
def test_a_dataclass_has_its_reason(modules: Modules) -> None:
    made = {name for name, path in modules.items() if _makes_dataclasses(path)}
    reasons = {
        name: next((place for place in DATACLASSES if f"{name}.".startswith(f"{place}.")), None) for name in made
    }
    assert [name for name, place in reasons.items() if place is None] == []
    assert set(DATACLASSES) == set(reasons.values()), "a reason for none"


ONE_WAY = {"dataclasses": ("replace", "asdict", "fields"), "msgspec.structs": ("replace",)}
"""What takes values of one kind alone, and of the other fails when it runs: a type checker does not tell."""


@parsed_once
def test_copies_are_made_in_one_way(modules: Modules) -> None:
    wrong = {
        f"{name}: {each.name}"
        for name, path in modules.items()
        if name not in FOR_EITHER
        for node in module_nodes(path)
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if each.name in ONE_WAY.get(node.module or "", ())
    }
    assert wrong == set()


def _makes_dataclasses(path: Path) -> bool:
    """Whether it has one that is no message of Textual's: these are classes of its own."""
    classes = (node for node in module_nodes(path) if isinstance(node, ast.ClassDef))
    values = (node for node in classes if not any(ast.unparse(base).endswith("Message") for base in node.bases))
    return any("dataclass" in ast.unparse(each) for node in values for each in node.decorator_list)


@parsed_once
def test_no_imports_run_in_a_circle(modules: Modules) -> None:
    try:
        TopologicalSorter(imports(modules)).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' <- '.join(error.args[1])}")


def floors() -> Mapping[str, int]:
    """The rooms of the contracts in pyproject.toml, each with its floor, counted from the top."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return {
        ".".join([*contract.get("containers", ()), room.strip()]): number
        for contract in contracts
        if contract["type"] == "layers"
        for number, rooms in enumerate(contract["layers"])
        for room in rooms.split("|")
    }


@parsed_once
def test_each_room_uses_only_those_below_it(modules: Modules) -> None:
    floor = floors()
    wrong = []
    for name, used in ((name, used) for name, found in imports(modules).items() for used in found):
        for depth in (2, 3):
            here, there = (".".join(each.split(".")[:depth]) for each in (name, used))
            if here != there and here in floor and there in floor and floor[here] >= floor[there]:
                wrong.append(f"{name} imports {used}")
    assert not wrong, "\n".join(wrong)
    assert {name for name in modules if name.count(".") == 1} - floor.keys() <= {"workbench.__main__"}
