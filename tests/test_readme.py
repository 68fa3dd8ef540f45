"""The README's reference is complete and true."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from workbench.cli.main import _parser
from workbench.context.knobs import knob_table
from workbench.context.load import describe, load_policy

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def _table(heading: str) -> list[list[str]]:
    section = README.split(f"### {heading}\n")[1].split("\n#")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in rows]


def test_every_knob_stands_in_the_reference_with_its_default_and_meaning() -> None:
    written = {row[0].strip("`"): (row[1].strip("`"), row[-1]) for row in _table("Every knob")}
    assert written == {row.name: (row.default, row.meaning) for row in knob_table()}


@pytest.mark.parametrize("row", _table("The documents' names"), ids=lambda row: f"{row[0]}-{row[1][:30]}")
def test_the_documents_names_lead_to_knobs_with_the_documented_values(row: list[str]) -> None:
    preset, _, target, value = (*row, "")[:4]
    knob = re.search(r"`([a-z]+\.[a-z_]+)`", target)
    if knob is None or not value.strip(" |"):
        pytest.skip("no knob stands behind this name")
    values = {each.name: each.value for each in describe(load_policy(preset.strip("`"), env={}))}
    assert values[knob[1]] == value.strip("` |")


def _commands(parser: argparse.ArgumentParser, name: str = "workbench") -> list[str]:
    found = [name]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, sub in action.choices.items():
                found += _commands(sub, f"{name} {word}")
    return found


@pytest.mark.parametrize("command", _commands(_parser()))
def test_every_command_stands_in_the_reference(command: str) -> None:
    assert f"`{command}" in README
