"""The user's own keys: `[keys]` in the config, by the id of a command or binding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from workbench.config.tables import shown_value
from workbench.tui import screens
from workbench.tui.main.screen import MainScreen

TYPED = frozenset({"enter", "tab", "space", "backspace", "delete", "left", "right", "up", "down"})
"""Keys that edit text. A command cannot have them, because its keys work in the composer, too."""


class Keymap(NamedTuple):
    """The keymap for Textual, and the problems found."""

    keymap: dict[str, str]
    problems: tuple[str, ...]


def checked_keymap(wanted: Mapping[str, Any], screen: MainScreen) -> Keymap:
    """Check the user's keys against the existing bindings; wrong ones are reported and left out."""
    if not wanted:
        return Keymap({}, ())
    known = {binding.id for binding in (*bindings_on_screen(screen), *over_the_panes()) if binding.id}
    commands = {command.name: command.keys for command in screen.REGISTRY.commands}
    kept = {key: name for name, keys in commands.items() if name not in wanted for key in keys}
    taken: dict[str, str] = {}
    found: dict[str, str] = {}
    problems: list[str] = []
    for name, keys in wanted.items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "the help lists the commands"
            problems.append(f"keys.{name}: no such command; {hint}")
        elif not isinstance(keys, str):
            problems.append(f"keys.{name}: expected text such as ctrl+g,f8, got {shown_value(keys)}")
        else:
            others = taken | kept if name in commands else taken
            clash = next((others[key] for key in _split(keys) if key in others), None)
            if clash is not None:
                problems.append(f"keys.{name}: {keys} is the key of {clash} already")
                continue
            if name in commands and any(len(key) == 1 or key in TYPED for key in _split(keys)):
                problems.append(f"keys.{name}: {keys} is needed to write with; expected a key such as ctrl+l or f7")
                continue
            taken.update(dict.fromkeys(_split(keys), name))
            found[name] = ",".join(_split(keys))
    return Keymap(found, tuple(problems))


def _split(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",") if key.strip()]


def bindings_on_screen(screen: MainScreen) -> Iterator[Binding]:
    """Our own bindings on the screen and on its widgets."""
    kinds = {kind for widget in (screen, *screen.walk_children(Widget)) for kind in type(widget).__mro__}
    yield from _of_kinds(kinds)


def over_the_panes() -> Iterator[Binding]:
    """The bindings of the screens over the panes; imports these screens."""
    for module in iter_modules(screens.__path__):
        import_module(f"{screens.__name__}.{module.name}")
    kinds: set[type] = set()
    fresh: list[type] = [Screen]
    while fresh:
        kind = fresh.pop()
        kinds.add(kind)
        fresh += kind.__subclasses__()
    yield from _of_kinds(kinds)


def _of_kinds(kinds: Iterable[type]) -> Iterator[Binding]:
    for kind in kinds:
        if kind.__module__.startswith("workbench."):
            yield from (each for each in vars(kind).get("BINDINGS", ()) if isinstance(each, Binding))
