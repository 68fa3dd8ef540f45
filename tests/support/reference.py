"""The parts of `docs/` that are made from the code: commands, keys, presets and knobs.

A page holds each between `<!-- begin: NAME -->` and `<!-- end -->`. `python tests/support/reference.py` writes them
anew; the tests fail while a page says something else.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from textual.binding import Binding
from textual.dom import DOMNode

import workbench.tui
from workbench.cli.help import manual_page
from workbench.cli.main import make_parser
from workbench.context.knobs import knob_table
from workbench.context.load import load_policy
from workbench.context.policy_names import PRESETS
from workbench.traces.agent_cuts import AGENT_CUTS
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.widgets.key_names import key_name

_WHERE = {"start": "at the beginning", "end": "at the end", "whole": "as all of it", "middle": "in the middle"}
DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"<!-- begin: (?P<name>[^\n]*) -->\n(?P<text>.*?)<!-- end -->", re.DOTALL)

PLANNING = ("--policy", "--set", "--model", "--window", "--reserve")
"""Options that several commands share; the page has them once."""

PLACES = {
    "letter": "Every pane, where nothing is typed",
    "timeline": "The timeline",
    "composer": "The input line",
    "chat": "The chat",
    "welcome": "The welcome",
    "question": "A question in the chat",
    "inspector": "The context inspector",
    "treemap": "The treemap of the context",
    "largest": "Free space",
    "detail": "The inspector's detail view",
    "text": "Any text with its own scroll bar",
    "ask": "The line for a filter or a search",
    "request": "The request as it will be sent",
    "resend": "A request to be sent again",
    "replay": "A request that is sent again",
    "explain": "What an answer depended on",
    "account": "The ledger",
    "compaction": "The compaction panel",
    "progress": "A compaction that is being made",
    "preview": "The preview of a compaction",
    "facts": "The facts of a summary",
    "source": "A text in full",
    "history": "The history of compactions",
    "sure": "A question with yes and no",
    "finder": "Every list that can be searched",
    "sessions": "The list of sessions",
    "usage": "What all agents used",
    "lanes": "Agents that run",
    "continue": "Continuing from a session",
    "models": "The list of models",
    "policies": "The list of policies",
    "knobs": "The policy editor",
    "lab": "The lab",
    "lab-knobs": "The knobs in the lab",
    "misses": "What a policy misses",
    "moment": "The next request in the lab",
    "policy-diff": "Two policies, item by item",
    "tools": "The list of tools",
    "instructions": "The list of instructions",
    "settings": "The settings",
    "breaks": "The list of breakpoints",
    "held": "A request that is held, or to be sent again",
    "way": "A policy on the way",
    "asking": "A line to type an answer",
    "edit": "A text to edit",
    "choose": "A short list of choices",
    "report": "A report",
    "fault": "The error report (`/report`)",
    "help": "The help",
    "app": "Everywhere",
}
"""What the first part of a binding's id stands for, in the order of the page."""


def blocks(page: str) -> dict[str, str]:
    """The made parts of a page, as they are written there."""
    return {found["name"]: found["text"] for found in BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))}


def made() -> dict[str, dict[str, str]]:
    """The same for all pages, as the code has it now."""
    return {
        "commands.md": dict(_commands(make_parser())),
        "keys.md": {"commands": _slash_commands(), "keys": _keys()},
        "policies.md": {"presets": _presets(), "knobs": _knobs()},
        "agents-decisions.md": {"cuts": _cuts()},
    }


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


# Commands


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """A block for each command, and one for the options they share."""
    shared: dict[str, argparse.Action] = {}
    for name, sub in _all_commands(parser):
        options = [each for each in sub._actions if each.option_strings and each.dest != "help"]
        planning = {option: each for each in options for option in each.option_strings if option in PLANNING}
        if len(planning) == len(PLANNING):
            shared = planning
            options = [each for each in options if each not in shared.values()]
        arguments = [each for each in sub._positionals._group_actions if not _is_commands(each)]
        rest = [each for each in arguments if each.nargs == argparse.REMAINDER]  # all that follows is its own
        given = [name, *(_argument(each) for each in arguments if each not in rest)]
        given += ["[planning options]"] if planning == shared and shared else []
        usage = " ".join([*given, *_usage(sub, options), *(f"[{_metavar(each)}]" for each in rest)])
        rows = [(f"`{_metavar(each)}`", _help(each)) for each in arguments if each.help]
        rows += [(f"`{_option(each)}`", _help(each)) for each in options]
        about = _sentence(sub.description or "")
        yield name, f"\n### `{name}`\n\n{about}\n\n    {usage}\n\n" + (_table(("", ""), rows) + "\n" if rows else "")
    yield (
        "planning options",
        "\n" + _table(("", ""), [(f"`{_option(each)}`", _help(each)) for each in shared.values()]),
    )


def _all_commands(
    parser: argparse.ArgumentParser, name: str = "workbench"
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, sub in action.choices.items():
                yield from _all_commands(sub, f"{name} {word}")


def _is_commands(action: argparse.Action) -> bool:
    return isinstance(action, argparse._SubParsersAction)


def _metavar(action: argparse.Action) -> str:
    if action.choices is not None and action.metavar is None:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def _argument(action: argparse.Action) -> str:
    shown = {"?": f"[{_metavar(action)}]", "*": f"[{_metavar(action)} ...]"}
    return shown.get(str(action.nargs), _metavar(action))


def _help(action: argparse.Action) -> str:
    """The text as `--help` shows it: argparse reads a per cent sign as the beginning of a name."""
    return (action.help or "") % {"prog": "workbench"}


def _option(action: argparse.Action, *, all_names: bool = True) -> str:
    names = sorted(action.option_strings, key=len) if all_names else [max(action.option_strings, key=len)]
    return ", ".join(names) + ("" if action.nargs == 0 else f" {_metavar(action)}")


def _usage(parser: argparse.ArgumentParser, options: Sequence[argparse.Action]) -> Iterator[str]:
    """Each option in brackets; those of which only one may be given share a pair."""
    groups = [tuple(group._group_actions) for group in parser._mutually_exclusive_groups]
    for each in options:
        together = next((group for group in groups if each in group), (each,))
        if each is together[0]:
            yield f"[{' | '.join(_option(one, all_names=False) for one in together)}]"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}." if text else ""


# Keys


def _slash_commands() -> str:
    parts = []
    for group, commands in REGISTRY.grouped():
        rows = [
            (
                _pressed(",".join(command.keys)),
                ", ".join(f"`{f'/{slash} {command.argument}'.strip()}`" for slash in command.slashes),
                command.help,
                f"`{command.name}`",
            )
            for command in commands
        ]
        parts.append(f"\n### {group.capitalize()}\n\n{_table(('keys', 'typed', 'what it does', 'id'), rows)}")
    return "".join(parts) + "\n"


def _keys() -> str:
    commands = {command.name for command in REGISTRY.commands}
    found = {each.id: each for each in bindings() if each.id and each.id not in commands}
    parts = []
    for place, title in PLACES.items():
        rows = [
            (_pressed(each.key), each.description, f"`{each.id}`")
            for each in sorted(found.values(), key=lambda each: str(each.id))
            if str(each.id).partition(".")[0] == place
        ]
        parts.append(f"\n### {title}\n\n{_table(('keys', 'what it does', 'id'), rows)}")
    return "".join(parts) + "\n"


def bindings() -> Iterator[Binding]:
    """Every binding that a widget or screen of the program has of its own."""
    for module in walk_packages(workbench.tui.__path__, "workbench.tui."):
        import_module(module.name)
    kinds: list[type] = [DOMNode]
    for kind in kinds:
        below: list[type] = kind.__subclasses__()
        kinds += [each for each in below if each not in kinds]
        if kind.__module__.startswith("workbench."):
            yield from (each for each in vars(kind).get("BINDINGS", ()) if isinstance(each, Binding))


def _pressed(keys: str) -> str:
    return " ".join(f"`{key_name(key)}`" for key in keys.split(",") if key)


# Policies


def _presets() -> str:
    policies = [load_policy(name, env={}).policy for name in PRESETS]
    return "\n" + _table(("preset", "in one line"), [(f"`{each.name}`", each.description) for each in policies]) + "\n"


def _knobs() -> str:
    rows = [
        (f"`{row.name}`", f"`{row.default}`" if row.default else "", row.allowed, row.meaning) for row in knob_table()
    ]
    return "\n" + _table(("knob", "default", "allowed", "meaning"), rows) + "\n"


# Cuts of other agents


def _cuts() -> str:
    """The words by which each agent's cuts are known; those that it writes in several ways stand once."""
    rows: dict[tuple[str, str], tuple[str, ...]] = {}
    for agent, known in AGENT_CUTS.items():
        for each in known:
            row = (agent, f"`{each.sign}`", _WHERE[each.place], each.state, each.shown_by)
            rows.setdefault((agent, each.sign), row)
    return "\n" + _table(("agent", "what it writes", "where", "shown as", "shown by"), rows.values()) + "\n"


def manual() -> str:
    """The man page, which is made as a whole."""
    return manual_page(make_parser())


def update() -> None:
    """Write every made part anew."""
    for page, parts in made().items():
        path = DOCS / page
        text = path.read_text(encoding="utf-8")
        for name, part in blocks(page).items():
            text = text.replace(f"begin: {name} -->\n{part}", f"begin: {name} -->\n{parts[name]}")
        path.write_text(text, encoding="utf-8")
    (DOCS / "workbench.1").write_text(manual(), encoding="utf-8")


if __name__ == "__main__":
    update()
