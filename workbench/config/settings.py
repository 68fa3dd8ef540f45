"""The user's own settings: `config.toml` in the config folder."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from workbench.config.errors import WrongCall
from workbench.config.paths import config_dir

FILE_NAME = "config.toml"
TABLES = ("models", "hooks", "mcp", "requests", "servers", "tools", "keys")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user set once for all sessions; empty where nothing was said."""

    model: str = ""
    """The model of a new session."""
    policy: str = ""
    """The policy of a new session: a preset, a policy of the config folder, or a path."""
    theme: str = ""
    fallback: tuple[str, ...] = ()
    """Models to ask, in this order, where the one that was asked for cannot answer."""
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    """The user's own models by name, as written; the catalogue checks them, and they win over its own."""
    hooks: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Commands to run at certain points of a turn, as written; the hooks check them."""
    mcp: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Servers whose tools the model may call, by name, as written; the client checks them."""
    requests: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """How long and how often a provider is asked, as written; the gateway's side checks it."""
    servers: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The ports of model servers on this machine, by kind, as written; their discovery checks them."""
    tools: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """What holds for the built-in tools, as written; the tools check it."""
    keys: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Other keys for the screen's commands, by their ids, as written; the screen checks them."""
    file: Path | None = None
    """Where all this was read from, for messages; None when there is no such file."""

    def model_knobs(self, model: str) -> Mapping[str, Any]:
        """The policy knobs set for one model, `[models."NAME".knobs]`; empty where there are none."""
        knobs: Mapping[str, Any] = self.models.get(model, {}).get("knobs", {})
        return knobs

    def api_base(self, model: str) -> str:
        """The address of the server that a model is at; empty: the provider's own."""
        return str(self.models.get(model, {}).get("api_base", ""))

    def fallbacks(self, model: str) -> tuple[str, ...]:
        """Whom to ask where a model cannot answer; what its own entry says wins, also when that is nobody."""
        found: tuple[str, ...] = self.models.get(model, {}).get("fallback", self.fallback)
        return found

    def model_origin(self, model: str) -> str:
        """How messages name the place of a model's knobs."""
        return f'{self.file} [models."{model}".knobs]'


def load_settings(folder: Path | None = None) -> Settings:
    """Read `config.toml`; without one the defaults hold, a broken one is an error that names its place."""
    home = config_dir() if folder is None else folder
    path = home / FILE_NAME
    if not os.path.lexists(path):
        return Settings()
    table = read_toml(path)
    known = [each.name for each in fields(Settings) if each.name != "file"]
    for key, value in table.items():
        if key not in known:
            raise WrongCall(f"{path}: {escaped_name(key)}: {no_such_key(key, known)}")
        if key in TABLES:
            if key != "models" and not isinstance(value, dict):
                raise WrongCall(f"{path}: {key}: expected a table, got {shown(value)}")
        elif key == "fallback":
            _check_fallback(value, f"{path}: fallback")
        elif not isinstance(value, str):
            raise WrongCall(f"{path}: {key}: expected text, got {shown(value)}")
    _check_models(path, table.get("models", {}))
    if "policy" in table:
        table["policy"] = _policy_ref(table["policy"], home)
    return Settings(file=path, **{key: _frozen(value) for key, value in table.items()})


def read_toml(path: Path) -> dict[str, Any]:
    """The table of a TOML file; what is wrong with it is told with the file and, where known, the line."""
    text = _read_utf8(path)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise WrongCall(f"{path}: expected TOML, got brackets nested too deeply") from None
    except ValueError as error:
        raise WrongCall(_toml_problem(path, text, error)) from None


def _read_utf8(path: Path) -> str:
    """The text of a file that the user names or owns."""
    try:
        # Windows editors put a byte order mark before UTF-8, which TOML does not know.
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise WrongCall(f"{path}: no such file") from None
    except OSError as error:
        raise WrongCall(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        wrong = f"got the byte {error.object[error.start]:#04x}"
        raise WrongCall(f"{path}, line {line}: expected UTF-8 text, {wrong}") from None


def _toml_problem(path: Path, text: str, error: ValueError) -> str:
    """tomllib's message with the place, which it tells only inside its text, moved to the front."""
    said = " ".join(str(error).split())
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", said)
    if place is None:
        return f"{path}: expected TOML: {said}"
    line = place[1] or max(len(text.splitlines()), 1)
    return f"{path}, line {line}: expected TOML: {said[: place.start()]}"


def _check_models(path: Path, models: Any) -> None:
    """Entries and their knobs are tables; what is in an entry is the catalogue's business."""
    if not isinstance(models, dict):
        raise WrongCall(f"{path}: models: expected a table of models, got {shown(models)}")
    for name, entry in models.items():
        where = f'{path}: models."{escaped_name(name)}"'
        if not isinstance(entry, dict):
            raise WrongCall(f"{where}: expected a table, got {shown(entry)}")
        if not isinstance(entry.get("knobs", {}), dict):
            raise WrongCall(f"{where}.knobs: expected a table of knobs, got {shown(entry['knobs'])}")
        _check_fallback(entry.get("fallback", []), f"{where}.fallback")


def _check_fallback(value: Any, where: str) -> None:
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise WrongCall(f'{where}: expected a list of models such as ["gpt-4o-mini", "local"], got {shown(value)}')


def _policy_ref(ref: str, home: Path) -> str:
    """A path is meant from where it is written, which is the config folder, not the working directory."""
    return str(home / os.path.expanduser(ref)) if looks_like_path(ref) else ref


def looks_like_path(ref: str) -> bool:
    """Whether a policy is named by its path rather than by its name."""
    return ref.endswith(".toml") or "/" in ref or os.sep in ref


def shown(value: Any) -> str:
    """A wrong value for an error message: on one line, and short."""
    try:
        text = repr(value)
    except ValueError:
        # An integer of more digits than Python prints.
        text = "a number with thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."


def escaped_name(name: str) -> str:
    """A name that the user wrote, fit for one line on a terminal: as it is, or quoted with its escapes."""
    return name if name.isprintable() else repr(name)


def no_such_key(key: str, known: Iterable[str]) -> str:
    """What is said of a key that a table does not have: those it has, and which of them was probably meant."""
    names = list(known)
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"no such key; expected {'one of ' * (len(names) > 1)}{', '.join(names)}{hint}"


def _frozen(value: Any) -> Any:
    """The same value, unchangeable all the way down."""
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(each) for key, each in value.items()})
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    return value
