"""The keys of the focused widget, in a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.tui.widgets.cells import join_cells
from workbench.tui.widgets.key_names import key_name, key_names

Hints = Sequence[tuple[str, str]]
"""Names of keys with what they do, the most important first."""


def key_hints(hints: Hints, width: int, renamed: Mapping[str, str]) -> Content:
    """The hints that fit, and always the last one, which shows all others.

    `renamed`: names of keys that the user has remapped.
    """
    parts = [
        Content.assemble((keys, "bold $primary"), (f" {word}", "$foreground"))
        for keys, word in hints_with_user_keys(hints, renamed)
    ]
    if not parts:
        return Content()
    line = join_cells(parts[:-1], width - parts[-1].cell_length - 4, "  ")
    return Content.assemble(" ", *((line, "  ") if line.plain.strip(" …") else ()), parts[-1], " ")


def hints_with_user_keys(hints: Hints, renamed: Mapping[str, str]) -> Hints:
    """The hints with the user's own keys."""
    return [(" ".join(renamed.get(key, key) for key in keys.split(" ")), word) for keys, word in hints]


def chosen_names(bindings: Iterable[BindingType], own_keys: Mapping[str, str]) -> dict[str, str]:
    """By the name of each remapped key: the name of its replacement."""
    return {
        key_name(key): key_names(own_keys[binding.id].partition(",")[0])
        for binding in bindings
        if isinstance(binding, Binding) and binding.id and binding.id in own_keys
        for key in binding.key.split(",")
    }
