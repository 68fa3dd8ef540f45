"""Themes: one TOML file each, from the package and from the config folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, defstruct
from textual.color import Color, ColorParseError
from textual.theme import Theme

from workbench.config.distribution import package_folder
from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.paths import config_dir
from workbench.config.plugins import PluginRegistry
from workbench.config.tables import Table, read_table, read_toml, shown_value
from workbench.config.text import printable

COLOURS = (
    *("primary", "secondary", "accent", "foreground", "background"),
    *("success", "warning", "error", "surface", "panel"),
)

VARIABLES = {
    "quiet": "#9a9fa8",
    "cursor": "#2f353f",
    "slot-system": "#6ea8fe",
    "slot-instructions": "#3fc1c9",
    "slot-memory": "#b98eff",
    "slot-tools": "#e6b455",
    "slot-unattributed": "#a9a6d6",
    "slot-summaries": "#f28fad",
    "slot-history": "#8ccf7e",
    "slot-turn": "#ff9d5c",
    "slot-framing": "#c3cad9",
    "slot-free": "#4a5468",
    "slot-margin": "#7d879c",
    "slot-reserve": "#7d879c",
    "state-sent": "#8ccf7e",
    "state-truncated": "#e6b455",
    "state-masked": "#6ea8fe",
    "state-summarised": "#f28fad",
    "state-dropped": "#ff7b72",
    "state-excluded": "#b98eff",
    "state-aside": "#9a9fa8",
}
"""Our own colour variables; a theme may set any of them under `[variables]`."""


LONGEST_NAME = 60
"""The most characters of a theme's name."""
A_COLOUR = "a colour such as #8ccf7e"
_Colour = Annotated[str, Meta(description=A_COLOUR)]
_Variables = defstruct(
    "_Variables", [(key.replace("-", "_"), _Colour, "") for key in VARIABLES], bases=(Table,), rename="kebab"
)
_ThemeFile = defstruct(
    "_ThemeFile",
    [
        *((key, _Colour) for key in COLOURS),
        ("dark", Annotated[bool, Meta(description="true or false")]),
        ("name", Annotated[str, Meta(min_length=1, description="text")], ""),
        ("variables", Any, None),
    ],
    bases=(Table,),
)


class Themes(Struct, frozen=True):
    """The themes, and the problems of broken files."""

    themes: tuple[Theme, ...]
    problems: tuple[str, ...]


def load_themes(folders: Iterable[Path] | None = None, *, plugins: bool = False) -> Themes:
    """All themes, dark before light. Of two with the same name the later wins; a broken one is reported and skipped.

    `plugins`: those of plug-ins, too. The user's own win over them.
    """
    found: dict[str, Theme] = dict(PLUGIN_THEMES.plugins()) if plugins else {}
    problems = []
    for folder in (shipped_folder(), config_dir() / "themes") if folders is None else folders:
        for path in sorted(folder.glob("*.toml")):
            try:
                theme = read_theme(path)
                found[theme.name] = theme
            except WorkbenchError as error:
                problems.append(str(error))
    themes = sorted(found.values(), key=lambda theme: (not theme.dark, theme.name))
    return Themes(tuple(themes), tuple(problems))


class ThemeFolder:
    """The user's themes, and whether any file has changed since."""

    def __init__(self, folder: Path | None = None) -> None:
        """The themes folder in the config folder by default."""
        self._folder = config_dir() / "themes" if folder is None else folder
        self._seen: Stamps = {}

    def load(self, *, plugins: bool = False) -> Themes:
        """Load all themes, including the shipped ones and, if wanted, those of plug-ins."""
        self._seen = self._stamps()
        return load_themes((shipped_folder(), self._folder), plugins=plugins)

    def has_changed(self) -> bool:
        """Whether a file was added, removed or written since."""
        return self._stamps() != self._seen

    def _stamps(self) -> Stamps:
        found: Stamps = {}
        with suppress(OSError):
            for path in self._folder.glob("*.toml"):
                status = path.stat()
                found[path.name] = (status.st_mtime_ns, status.st_size)
        return found


Stamps = dict[str, tuple[int, int]]
"""By file: its modification time in nanoseconds, and its size."""


def shipped_folder() -> Path:
    """The folder of the shipped themes: inside the installed package, or next to it in a checkout."""
    package = package_folder()
    inside = package / "themes"
    return inside if inside.is_dir() else package.parent / "themes"


def read_theme(path: Path) -> Theme:
    """Read one theme; raises WorkbenchError with a one-line message."""
    return _theme_of(read_toml(path), path)


def _theme_of(table: dict[str, Any], path: Path) -> Theme:
    read_table(_ThemeFile, table, str(path))
    name = str(table.get("name", path.stem))
    if printable(name) != name or len(name) > LONGEST_NAME:
        raise WrongCall(
            f"{path}: name: expected up to {LONGEST_NAME} characters that can be shown, got {shown_value(name)}"
        )
    variables = table.pop("variables", {})
    read_table(_Variables, variables, str(path), "variables")
    colours = {key: value for key, value in table.items() if key in COLOURS}
    for key, value in {**colours, **{f"variables.{key}": value for key, value in variables.items()}}.items():
        try:
            Color.parse(value)
        except (ColorParseError, ValueError, OverflowError):  # Textual accepts numbers of any size
            raise WrongCall(f"{path}: {key}: expected {A_COLOUR}, got {shown_value(value)}") from None
    return Theme(**{**table, "name": name, "variables": variables})


def _checked_theme(name: str, value: Any) -> Theme:
    """A plug-in's theme: a table as a theme's file has it, or the path of such a file."""
    if (shipped_folder() / f"{name}.toml").exists():
        raise ValueError(f"{name}: one of Workbench's own themes has this name; expected another one")
    if isinstance(value, os.PathLike):
        value = read_toml(Path(value))
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a table of colours, or the path of a theme's file, got {shown_value(value)}")
    return _theme_of({**value, "name": name}, Path(name))


PLUGIN_THEMES: PluginRegistry[Theme] = PluginRegistry("themes", _checked_theme)
"""The themes of plug-ins. The shipped ones are files."""
