"""The keys of whatever has the focus, in a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.tui.widgets.cells import joined
from workbench.tui.widgets.key_names import key_name, key_names

Hints = Sequence[tuple[str, str]]
"""Keys by their names, and what they do, the important first."""


def key_hints(hints: Hints, width: int, renamed: Mapping[str, str]) -> Content:
    """As many as the line holds, each whole, and always the last one, which leads to all others.

    `renamed`: names of keys for which the user has chosen others.
    """
    parts = [
        Content.assemble((keys, "bold $primary"), (f" {word}", "$foreground")) for keys, word in chosen(hints, renamed)
    ]
    if not parts:
        return Content()
    line = joined(parts[:-1], width - parts[-1].cell_length - 4, "  ")
    return Content.assemble(" ", *((line, "  ") if line.plain.strip(" …") else ()), parts[-1], " ")


def chosen(hints: Hints, renamed: Mapping[str, str]) -> Hints:
    """The hints with the keys that the user has chosen."""
    return [(" ".join(renamed.get(key, key) for key in keys.split(" ")), word) for keys, word in hints]


def chosen_names(bindings: Iterable[BindingType], own_keys: Mapping[str, str]) -> dict[str, str]:
    """By the name of each key that no longer works: that of the one which does in its place."""
    return {
        key_name(key): key_names(own_keys[binding.id].partition(",")[0])
        for binding in bindings
        if isinstance(binding, Binding) and binding.id and binding.id in own_keys
        for key in binding.key.split(",")
    }
