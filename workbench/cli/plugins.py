"""`workbench plugins`: what installed packages add, and what of it does not work."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.agent.hooks import POINTS
from workbench.agent.tools.plugin_tools import OWN_TOOLS, PLUGIN_TOOLS
from workbench.config.plugin_entries import GROUPS, PluginEntry, all_entries, installed_entries
from workbench.config.plugins import FAULTS, PROBLEMS, PluginRegistry, fault_words
from workbench.config.text import counted, line_width, print_json, printable, table
from workbench.context.items import OWN_STAGES
from workbench.context.load import POLICIES
from workbench.context.policy_names import PRESETS
from workbench.context.stages.plugin import STAGES
from workbench.live.known_agents import AGENTS
from workbench.traces import formats
from workbench.traces.format_kinds import TRANSCRIPTS
from workbench.tui.themes import PLUGIN_THEMES, load_themes, shipped_folder
from workbench.wire.dialects import DIALECT_REGISTRY

_COUNTED = ("format", "dialect", "agent", "tool", "theme")
"""Groups whose own parts are counted below the list."""


class _Listed(NamedTuple):
    entry: PluginEntry
    name: str
    """Its own name, which may be another than the entry point's; empty if it was not loaded."""
    problem: str


def run(options: argparse.Namespace) -> int:
    """Load all plug-ins, and print what they are, where they come from, and what failed."""
    found = _listed()
    PROBLEMS.unseen()  # the list has them
    if options.json:
        own = {group: list(_own(group)) for group in GROUPS}
        print_json({"plugins": [_as_json(each) for each in found], "own": own})
        return 0
    if found:
        heads = ("group", "name", "from", "version", "")
        print("\n".join(table(heads, [_cells(each) for each in found], frozenset(), line_width())))
    else:
        print("no plug-ins; a package that is installed next to Workbench adds them, as docs/plugins.md says")
    print("Workbench's own: " + ", ".join(counted(len(_own(f"{word}s")), word) for word in _COUNTED))
    return 0


def _registries() -> Mapping[str, PluginRegistry[Any]]:
    every: tuple[PluginRegistry[Any], ...] = (
        *(TRANSCRIPTS, POLICIES, STAGES, DIALECT_REGISTRY),
        *(AGENTS, PLUGIN_TOOLS, PLUGIN_THEMES),
    )
    return {registry.group: registry for registry in every}


def _own(group: str) -> tuple[str, ...]:
    """The names of our own parts."""
    match group:
        case "formats":
            return formats.NAMES
        case "policies":
            return PRESETS
        case "stages":
            return OWN_STAGES
        case "tools":
            return OWN_TOOLS
        case "themes":
            return tuple(theme.name for theme in load_themes([shipped_folder()]).themes)
        case "hooks":
            return POINTS
    return tuple(_registries()[group].own)


def _listed() -> list[_Listed]:
    names: dict[PluginEntry, str] = {}
    for registry in _registries().values():
        names |= {entry: name for name, entry in registry.entries().items()}
    for entry in installed_entries("hooks"):
        if _is_hook(entry):
            names[entry] = entry.name
    problems = {problem.entry: problem.message for problem in PROBLEMS.listed()}
    return [_Listed(entry, names.get(entry, ""), problems.get(entry, "")) for entry in all_entries()]


def _is_hook(entry: PluginEntry) -> bool:
    """Whether a hook can be loaded and called at a point that exists; if not, that is noted."""
    try:
        if entry.name.partition(".")[0] not in POINTS:
            raise ValueError(f"no such point; expected {', '.join(POINTS)}")
        if not callable(entry.load()):
            raise TypeError("expected a function")
    except FAULTS as error:
        PROBLEMS.note_problem(entry, fault_words(error))
        return False
    return True


def _cells(each: _Listed) -> tuple[str, ...]:
    entry = each.entry
    state = f"failed: {each.problem}" if each.problem else "loaded"
    cells = (entry.group, each.name or entry.name, entry.distribution, entry.version, state)
    return tuple(map(printable, cells))


def _as_json(each: _Listed) -> dict[str, Any]:
    entry = each.entry
    return {
        "group": entry.group,
        "name": each.name or entry.name,
        "target": entry.target,
        "package": entry.distribution,
        "version": entry.version,
        "loaded": bool(each.name),
        "problem": each.problem or None,
    }
