"""The user's own settings: `config.toml` in the config folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from workbench.config.errors import WrongCall
from workbench.config.paths import config_dir
from workbench.config.tables import Table, escaped_name, read_table, read_toml
from workbench.config.terminal_alerts import AlertWay

FILE_NAME = "config.toml"
KNOB_TABLES = ("budget", "instructions", "truncation", "masking", "history", "turn", "compaction", "stages")
"""The sections of a policy file, which people often put into this one by mistake."""
ADK_NAMES = {
    "enabled": "mode",
    "invocation_threshold": "turns",
    "overlap_size": "overlap",
    "safety_ratio": "threshold",
    "prompt_template": "prompt",
}
"""The names of compaction's knobs in the document that the preset `sliding` follows."""

NOTHING: Mapping[str, Any] = MappingProxyType({})

_Text = Annotated[str, Meta(description="text")]
_Table = Annotated[Mapping[str, Any], Meta(description="a table")]
_Names = Annotated[
    tuple[Annotated[str, Meta(pattern=r"\S")], ...],
    Meta(description='a list of models such as ["gpt-4o-mini", "local"]'),
]
_Ways = Annotated[tuple[AlertWay, ...], Meta(description='a list of "bell" and "desktop"')]


class _File(Table, frozen=True):
    """The keys of the file. Each table is checked by the code that uses it."""

    model: _Text = ""
    """The model of a new session."""
    policy: _Text = ""
    """The policy of a new session: a preset, a policy of the config folder, or a path."""
    theme: _Text = ""
    layout: Annotated[Literal["", "split", "single"], Meta(description="split or single")] = ""
    """All panes side by side, or one at a time; empty: as the terminal has room."""
    notify: _Ways = ()
    """How the screen draws attention to what happens: a bell, a notification of the desktop."""
    fallback: _Names = ()
    """Models to ask, in this order, if the chosen one cannot answer."""
    models: Annotated[Mapping[str, Any], Meta(description="a table of models")] = NOTHING
    """The user's own models by name; they override the catalogue."""
    hooks: _Table = NOTHING
    """Commands to run at certain points of a turn."""
    mcp: _Table = NOTHING
    """Servers whose tools the model may call, by name."""
    requests: _Table = NOTHING
    """How long and how often a provider is asked."""
    agents: _Table = NOTHING
    """Where else other agents have their sessions."""
    files: _Table = NOTHING
    """Limits for files that others wrote."""
    proxy: _Table = NOTHING
    """Where the proxy sends requests, and what it keeps of them."""
    servers: _Table = NOTHING
    """The ports of model servers on this machine, by kind."""
    tools: _Table = NOTHING
    """Settings of the built-in tools."""
    keys: _Table = NOTHING
    """Other keys for the screen's commands, by the commands' ids."""


class _Model(Struct):
    """The keys of a model's entry that the settings themselves need."""

    knobs: Annotated[Mapping[str, Any], Meta(description="a table of knobs")] = NOTHING
    fallback: _Names = ()


class Settings(_File, frozen=True):
    """What the user set for all sessions; empty where nothing is set."""

    file: Path | None = None
    """The file that was read, for messages; None if there is none."""

    def model_knobs(self, model: str) -> Mapping[str, Any]:
        """The policy knobs set for one model, `[models."NAME".knobs]`; empty where there are none."""
        knobs: Mapping[str, Any] = self.models.get(model, {}).get("knobs", {})
        return knobs

    def api_base(self, model: str) -> str:
        """The address of a model's server; empty: the provider's own."""
        return str(self.models.get(model, {}).get("api_base", ""))

    def fallbacks(self, model: str) -> tuple[str, ...]:
        """The models to ask if this one cannot answer. The model's own entry wins, even if it is empty."""
        found: tuple[str, ...] = self.models.get(model, {}).get("fallback", self.fallback)
        return found

    def model_origin(self, model: str) -> str:
        """How messages name the table with a model's knobs."""
        return f'{self.file} [models."{model}".knobs]'


def load_settings(folder: Path | None = None) -> Settings:
    """Read `config.toml`. Without a file the defaults apply; raises WrongCall, with the place, for a broken one."""
    home = config_dir() if folder is None else folder
    path = home / FILE_NAME
    if not os.path.lexists(path):
        return Settings()
    table = read_toml(path)
    misplaced = next((key for key in table if key in KNOB_TABLES), None)
    if misplaced is not None:
        hint = _as_policy_file(misplaced, table[misplaced], table.get("policy"))
        raise WrongCall(f"{path}: {misplaced}: {hint}")
    for name, entry in read_table(_File, table, str(path)).models.items():
        read_table(_Model, entry, str(path), f'models."{escaped_name(name)}"')
    if "policy" in table:
        table["policy"] = _policy_ref(table["policy"], home)
    return Settings(file=path, **{key: _frozen(value) for key, value in table.items()})


def _as_policy_file(section: str, content: Any, policy: Any) -> str:
    """What to write into a policy file, for knobs that were put into the settings."""
    given = content if isinstance(content, dict) else {}
    is_adk = section == "compaction" and not given.keys().isdisjoint(ADK_NAMES)
    if is_adk:
        given = {ADK_NAMES.get(key, key): value for key, value in given.items()}
        if isinstance(given.get("mode"), bool):
            given["mode"] = "auto" if given["mode"] else "off"
    base = policy if isinstance(policy, str) else "sliding" if is_adk else ""
    lines = [f"extends = {json.dumps(base)}"] if base else []
    knobs = [f"{escaped_name(key)} = {json.dumps(value, default=str)[:200]}" for key, value in given.items()]
    content = "; ".join([*lines, f"[{section}]", *knobs])
    file = f"write policies/mine.toml next to this one: {content}"
    return f'knobs belong in a policy file; {file}; and here: policy = "mine"'


def _policy_ref(ref: str, home: Path) -> str:
    """A relative path is relative to the config folder, where it is written, not to the working directory."""
    return str(home / os.path.expanduser(ref)) if looks_like_path(ref) else ref


def looks_like_path(ref: str) -> bool:
    """Whether a policy is named by its path rather than by its name."""
    return ref.endswith(".toml") or "/" in ref or os.sep in ref


def _frozen(value: Any) -> Any:
    """The same value, read-only at every level."""
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(each) for key, each in value.items()})
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    return value
