"""Tools of plug-ins: our names are ours, and what a foreign tool raises becomes an answer to the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.installed import installed
from workbench.agent.tools.base import Tool, ToolContext, ToolFailure, ToolOutcome
from workbench.agent.tools.peek import peek_tools
from workbench.agent.tools.plugin_tools import OWN_TOOLS, plugin_tools
from workbench.agent.tools.registry import Toolbox
from workbench.config.plugins import PROBLEMS


async def act(arguments: Mapping[str, Any], context: ToolContext) -> Any:
    match arguments.get("how"):
        case "fail":
            raise RuntimeError("a mistake")
        case "leave":
            raise SystemExit(1)
        case "refuse":
            raise ToolFailure("expected something else")
        case "odd":
            return "a text"
    return ToolOutcome("done")


SCHEMA = {"type": "object", "properties": {"how": {"type": "string"}}}
ACT = Tool("act", "run", "Act.", SCHEMA, act, lambda arguments: "act")
ODD_NAME = Tool("has blanks", "run", "Act.", SCHEMA, act, lambda arguments: "act")
ODD_KIND = Tool("odd_kind", "delete", "Act.", SCHEMA, act, lambda arguments: "act")  # type: ignore[arg-type]
ODD_SCHEMA = Tool("odd_schema", "run", "Act.", {"type": object()}, act, lambda arguments: "act")


def test_the_names_of_our_tools_are_all_taken(tmp_path: Path) -> None:
    assert Toolbox(tmp_path, more=peek_tools(lambda: ())).names == OWN_TOOLS


@pytest.mark.parametrize(
    ("how", "said", "wrong"),
    [
        ("", "done", False),
        ("fail", "act failed: RuntimeError: a mistake", True),
        ("leave", "act failed: SystemExit: 1", True),
        ("refuse", "expected something else", True),
        ("odd", "act failed: TypeError: expected a ToolOutcome", True),
    ],
)
async def test_what_a_tool_raises_is_said_to_the_model(tmp_path: Path, how: str, said: str, wrong: bool) -> None:
    with installed(tmp_path, {"tools": {"act": f"{__name__}:ACT"}}, "acting"):
        box = Toolbox(tmp_path, more=plugin_tools())
        outcome = await box.run("act", json.dumps({"how": how}))
        assert outcome.text.startswith(said)
        assert outcome.is_error == wrong
        assert box.call("act", "{}").kind == "run"
        assert plugin_tools(taken={"act"}) == []


def test_a_tool_that_cannot_be_offered_is_refused(tmp_path: Path) -> None:
    names = ("ODD_NAME", "ODD_KIND", "ODD_SCHEMA")
    with installed(tmp_path, {"tools": {name: f"{__name__}:{name}" for name in names}}, "odd-tools"):
        assert plugin_tools() == []
    said = {each.entry.name: each.message for each in PROBLEMS.listed() if each.entry.distribution == "odd-tools"}
    assert said.keys() == {*names}
    assert "expected a name of letters" in said["ODD_NAME"]
    assert "expected one of read, write, run" in said["ODD_KIND"]
