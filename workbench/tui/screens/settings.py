"""The settings: the config file's values, the folders, and what can be changed here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.paths import config_dir, data_dir
from workbench.config.settings import FILE_NAME, Settings
from workbench.config.variables import is_secret_name
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, paragraph
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.input_line import has_words
from workbench.tui.widgets.main_screen_api import MainScreenApi

DEFAULT = "–"


class SettingRow(NamedTuple):
    name: str
    value: str
    written: str
    """The value in the file; empty: none."""
    about: str
    command: str = ""
    """The command that changes it; empty: edit the file."""
    scope: str = ""
    """How long such a change applies."""


def lines_of(settings: Settings, model: str, policy: str, theme: str) -> Iterator[SettingRow]:
    """All settings; the first three with their current values."""
    new = "Enter changes it for this session; the file says what a new one begins with"
    first = f"{new}. The first model that you choose is written there."
    yield SettingRow("theme", theme, settings.theme, "The colours. Enter changes them, for good.", "theme", "kept")
    about = "All panes side by side, or one at a time; without it, as the terminal has room."
    yield SettingRow("layout", settings.layout, settings.layout, f"{about} Enter changes it.", "split", "kept")
    yield SettingRow("model", model, settings.model, f"The model that answers. {first}", "model", "this session")
    yield SettingRow("policy", policy, settings.policy, f"What the model gets to see. {new}.", "policy", "this session")
    others = ", ".join(settings.fallback)
    yield SettingRow("fallback", others, others, "Models to ask, in this order, where the first cannot answer.")
    yield from _table("keys", settings.keys, "Other keys for commands, by their names; the help lists them.")
    yield from _table("models", settings.models, "A model of your own, or your figures for a known one.")
    yield from _table("mcp", settings.mcp, "A server whose tools the model may call; /tools lists them.")
    yield from _table("agents", settings.agents, "Where else other agents have their sessions.")
    yield from _table("servers", settings.servers, "The port of a model server on this machine.")
    yield from _table("requests", settings.requests, "How long and how often a provider is asked.")
    yield from _table("hooks", settings.hooks, "A command to run at a certain point of a turn.")
    yield from _table("tools", settings.tools, "What holds for the built-in tools.")


def _table(name: str, table: Mapping[str, Any], about: str) -> Iterator[SettingRow]:
    if not table:
        yield SettingRow(name, "", "", about)
    for key, value in table.items():
        text = _value(value)
        yield SettingRow(f"{name}.{key}", text, text, about)


def _value(value: Any, name: str = "") -> str:
    """A value in a line. Values named like a key, and environments of servers, are hidden."""
    if name == "env" or is_secret_name(name):
        return "(not shown)"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_value(each, key)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    return str(value)


class SettingsScreen(Finder[str]):
    """Its result is the command that changes the chosen setting."""

    NAME = "settings"
    COLUMNS = (Column("setting", 18), Column("value"), Column("changes", 12, least=50))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "change it", id="settings.change", priority=True),
        Binding("ctrl+y", "copy", "copy the file's path", id="settings.copy", priority=True),
    ]

    def __init__(self, host: MainScreenApi) -> None:
        super().__init__(host)
        self._settings = host.services.settings
        self._path = str(self._settings.file or config_dir() / FILE_NAME)
        status = host.model.state.status
        found = lines_of(self._settings, status.model, status.policy, host.theme)
        self._lines = {line.name: line for line in found}

    async def search_rows(self, text: str) -> FinderResult:
        """Find settings by name and value."""
        matching = [each for each in self._lines.values() if has_words(f"{each.name} {each.value}", text)]
        there = "" if self._settings.file else " (there is none yet)"
        return FinderResult([self._row(each) for each in matching], f"file: {self._path}{there}")

    def _row(self, line: SettingRow) -> Row:
        can = Content.styled(line.scope, "$accent")
        return Row(line.name, (line.name, line.value or Content.styled(DEFAULT, "$quiet"), can))

    async def row_details(self, value: str) -> Content:
        """The meaning of a setting, and its origin."""
        line = self._lines[value]
        facts = name_value_rows(
            [
                ("now", line.value or "not set"),
                ("in the file", line.written or "not set"),
                ("file", self._path),
                ("config", str(config_dir())),
                ("data", str(data_dir())),
                ("environment", ", ".join(sorted(name for name in os.environ if name.startswith("WORKBENCH_")))),
            ],
            self.wide,
        )
        return join_blocks(Content.styled(value, "bold"), paragraph(line.about), facts)

    def choose_row(self, value: str) -> None:
        """Run the command that changes the setting, if there is one."""
        command = self._lines[value].command
        if command:
            self.dismiss(command)
        else:
            self.warning = f"{value} is changed in the file, and counts from the next start on: Ctrl+Y copies its path"

    def action_copy(self) -> None:
        """Copy the path of the config file."""
        self.app.copy_to_clipboard(self._path)
        self.warning = f"copied {self._path}"
