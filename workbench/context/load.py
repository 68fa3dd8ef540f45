"""Loads a policy: preset, policy file, the model's own knobs, environment, command line; later ones win.

Every value is checked at its source, so that an error names the file, variable or option it came from. The origin of
each knob is kept with the policy.
"""

from __future__ import annotations

import functools
import importlib.resources
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct

from workbench.config.errors import WrongCall
from workbench.config.paths import config_dir
from workbench.config.plugins import PluginRegistry
from workbench.config.settings import looks_like_path
from workbench.config.tables import escaped_name, read_toml, shown_value
from workbench.context.knobs import (
    KNOBS,
    SECTIONS,
    TOOLS,
    as_toml,
    closest_hint,
    find_knob,
    flatten_table,
    parse_text,
)
from workbench.context.policy import Policy, ToolTruncation, TruncationPolicy
from workbench.context.policy_names import DEFAULT, PRESETS, RECORDED

NOT_SET = "default"
"""The origin of a knob that nobody set."""
PREFIX = "WORKBENCH_"


class LoadedPolicy(Struct, frozen=True):
    """A policy, and where each of its knobs came from."""

    policy: Policy
    origins: Mapping[str, str]
    """Dotted knob to `default`, `preset NAME`, `policy file PATH`, `environment VARIABLE`, `--set`, or the caller's
    name for the model's knobs."""


class PolicyRow(NamedTuple):
    """One knob of a loaded policy, for `workbench policies show`."""

    name: str
    value: Any
    """None if it is not set."""
    origin: str
    meaning: str

    @property
    def written(self) -> str:
        """The value as a policy file has it; empty if it is not set."""
        return as_toml(self.value)


class _Layer(NamedTuple):
    """Checked values from one source."""

    origin: str
    where: str
    """How an error message names the source."""
    values: dict[str, Any]


class _Source(NamedTuple):
    """A preset or policy file with all that it extends, the base first."""

    name: str
    description: str
    layers: list[_Layer]


class _PolicyTable(NamedTuple):
    """A policy file or a plug-in's policy, before what it extends is added."""

    name: str
    description: str
    extends: str
    layer: _Layer


def load_policy(
    ref: str | None,
    *,
    sets: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    model_knobs: Mapping[str, Any] | None = None,
    model_origin: str = "model knobs",
) -> LoadedPolicy:
    """The policy named by `ref` (a preset, a policy of the config folder, a path), with the settings on top.

    `env`: None is the environment of the process; `folder` is the config folder; `sets` are the KEY=VALUE of `--set`.
    """
    home = config_dir() if folder is None else folder
    source = _source(ref or DEFAULT, home)
    layers = list(source.layers)
    if ref != RECORDED:
        if model_knobs:
            layers.append(_layer(model_origin, model_origin, dict(flatten_table(model_knobs))))
        layers.extend(_from_environment(os.environ if env is None else env))
    layers.extend(_from_option(each) for each in sets)
    return _assemble(source, layers)


def portable_policy(ref: str | None) -> tuple[str, tuple[str, ...]]:
    """A policy as a preset and KEY=VALUE changes, for a machine that has neither its file nor this environment."""
    source = _source(ref or DEFAULT, config_dir())
    layers = source.layers[1:] + (list(_from_environment(os.environ)) if ref != RECORDED else [])
    sets = {name: value for layer in layers for name, value in layer.values.items()}
    preset = source.layers[0].origin.removeprefix("preset ")
    return preset, tuple(f"{name}={as_toml(value)}" for name, value in sets.items())


def preset_names() -> list[str]:
    """The presets, the default first."""
    return list(PRESETS)


def plugin_policies() -> list[str]:
    """The policies of plug-ins, by name."""
    return list(POLICIES.plugins())


def user_policies(folder: Path | None = None) -> list[Path]:
    """The policy files of the config folder, by name."""
    home = config_dir() if folder is None else folder
    return sorted((home / "policies").glob("*.toml"))


def describe_policy(loaded: LoadedPolicy) -> list[PolicyRow]:
    """Every knob of a policy with its value, origin and meaning, in the order of the reference."""
    rows = []
    for name, origin in loaded.origins.items():
        if name in KNOBS:
            section, key = name.split(".")
            value = getattr(getattr(loaded.policy, section), key)
        else:
            tool, _, key = name.removeprefix(f"{TOOLS}.").rpartition(".")
            value = getattr(loaded.policy.truncation.tools[tool], key)
        rows.append(PolicyRow(name, value, origin, find_knob(name).meaning))
    return rows


def _source(ref: str, home: Path, base: Path | None = None, seen: tuple[Path, ...] = ()) -> _Source:
    """Find a preset or policy file by name or path; `base` is the folder of the file that extends it."""
    own = home / "policies" / f"{ref}.toml"
    if ref in PRESETS:
        if os.path.lexists(own):
            raise WrongCall(f"{own}: has the name of a preset; expected another file name")
        return _preset(ref)
    if looks_like_path(ref):
        return _file((base or Path()) / os.path.expanduser(ref), home, seen)
    for candidate in (base / own.name, own) if base else (own, Path(ref)):
        if os.path.isfile(candidate):
            return _file(candidate, home, seen)
    plugin = POLICIES.find_named(ref)
    if plugin is not None:
        return _extended(plugin, home, None, _followed(Path(ref), plugin.layer.where, seen))
    known = [*PRESETS, *(each.stem for each in user_policies(home)), *plugin_policies()]
    where = f"{seen[-1]}: extends: " if seen else ""
    raise WrongCall(f"{where}no policy named {ref!r}{closest_hint(ref, known) or '; expected ' + ', '.join(known)}")


@functools.cache
def _preset(name: str) -> _Source:
    """A policy that ships with the program; it extends only the defaults of `policy.py`."""
    resource = importlib.resources.files("workbench") / "policies" / f"{name}.toml"
    with importlib.resources.as_file(resource) as path:
        table = read_toml(path)
    description = table.pop("description")
    layer = _layer(f"preset {name}", f"{name}.toml", dict(flatten_table(table)))
    return _Source(name, description, [layer])


def _file(path: Path, home: Path, seen: tuple[Path, ...]) -> _Source:
    """A user's policy file, on top of what it extends."""
    table = read_toml(path)
    followed = _followed(Path(os.path.realpath(path)), str(path), seen)
    return _extended(_policy_table(table, path, f"policy file {path}"), home, path.parent, followed)


def _followed(place: Path, where: str, seen: tuple[Path, ...]) -> tuple[Path, ...]:
    """The policies that extend each other up to here, with one more. Raises WrongCall for a loop."""
    if place in seen:
        loop = " -> ".join(each.name for each in (*seen[seen.index(place) :], place))
        raise WrongCall(f"{where}: extends: expected an end, got the loop {loop}")
    return (*seen, place)


def _policy_table(table: dict[str, Any], path: Path, origin: str) -> _PolicyTable:
    """A checked policy. `path`: the file, or the name of a plug-in's policy that has none."""
    words = {}
    for key, default in (("extends", DEFAULT), ("name", path.stem), ("description", "")):
        words[key] = table.pop(key, default)
        if not isinstance(words[key], str):
            raise WrongCall(f"{path}: {key}: expected text, got {shown_value(words[key])}")
    for key in table:
        if key not in SECTIONS and "." not in key:
            raise WrongCall(f"{path}: {escaped_name(key)}: no such section{closest_hint(key, [*SECTIONS, *words])}")
    layer = _layer(origin, str(path), dict(flatten_table(table)))
    return _PolicyTable(words["name"], words["description"], words["extends"], layer)


def _extended(policy: _PolicyTable, home: Path, base: Path | None, seen: tuple[Path, ...]) -> _Source:
    """A policy on top of what it extends."""
    source = _source(policy.extends, home, base, seen)
    description = policy.description or f"{source.name}, changed by {Path(policy.layer.where).name}"
    return _Source(policy.name, description, [*source.layers, policy.layer])


def _checked_policy(name: str, value: Any) -> _PolicyTable:
    """A plug-in's policy: a table of knobs as a policy file has it, or the path of such a file."""
    if name in PRESETS:
        raise ValueError(f"{name}: one of Workbench's own policies has this name; expected another one")
    if looks_like_path(name):
        raise ValueError(f"{name}: expected a name that is no path")
    if isinstance(value, os.PathLike):
        value = read_toml(Path(value))
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"expected a table of knobs, or the path of a policy file, got {shown_value(value)}")
    return _policy_table({**value, "name": name}, Path(name), f"plug-in policy {name}")


POLICIES: PluginRegistry[_PolicyTable] = PluginRegistry("policies", _checked_policy)
"""The policies of plug-ins. The presets are files, which are read when they are asked for."""


def _from_environment(env: Mapping[str, str]) -> Iterator[_Layer]:
    """Variables such as WORKBENCH_MASKING__KEEP_LAST; those without a double underscore are no knobs."""
    for variable in sorted(env):
        if not variable.startswith(PREFIX) or "__" not in variable:
            continue
        parts = variable.removeprefix(PREFIX).split("__")
        name = ".".join(parts).lower()
        if name.startswith(f"{TOOLS}."):
            # A tool's name may contain a double underscore, and capitals if it is not all capitals.
            tool = "__".join(parts[2:-1])
            name = f"{TOOLS}.{tool.lower() if tool.isupper() else tool}.{parts[-1].lower()}"
        yield _layer(f"environment {variable}", variable, {name: parse_text(env[variable])})


def _from_option(text: str) -> _Layer:
    """One `--set KEY=VALUE`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise WrongCall(f"--set {escaped_name(text)}: expected KEY=VALUE, such as masking.keep_last=3")
    return _layer("--set", "--set", {name.strip(): parse_text(value.strip())})


def _layer(origin: str, where: str, raw: Mapping[str, Any]) -> _Layer:
    """Check values against their knobs. An error names the source, the knob, and what was expected."""
    values = {}
    for name, value in raw.items():
        try:
            values[name] = find_knob(name).check_value(value)
        except (LookupError, ValueError) as error:
            raise WrongCall(f"{where}: {escaped_name(name)}: {error}") from None
    return _Layer(origin, where, values)


def _assemble(source: _Source, layers: Sequence[_Layer]) -> LoadedPolicy:
    """Apply the layers to the defaults in order."""
    values: dict[str, Any] = {}
    origins = dict.fromkeys(KNOBS, NOT_SET)
    placed: dict[str, int] = {}
    for rank, layer in enumerate(layers):
        for name, value in layer.values.items():
            values[name] = value
            origins[name] = layer.origin
            placed[name] = rank
    policy = _built(source, values)
    for names, problem in _contradictions(policy):
        latest = layers[max(placed.get(name, 0) for name in names)]
        raise WrongCall(f"{latest.where}: {problem}")
    return LoadedPolicy(policy, MappingProxyType(origins))


def _built(source: _Source, values: Mapping[str, Any]) -> Policy:
    """The frozen policy with checked values."""
    sections: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    tools: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        if name in KNOBS:
            section, key = name.split(".")
            sections[section][key] = value
        else:
            tool, _, key = name.removeprefix(f"{TOOLS}.").rpartition(".")
            tools.setdefault(tool, {})[key] = value
    overrides = {tool: ToolTruncation(**keys) for tool, keys in tools.items()}
    sections["truncation"]["tools"] = MappingProxyType(overrides)
    built = {name: table(**sections[name]) for name, table in SECTIONS.items()}
    return Policy(name=source.name, description=source.description, **built)


def _contradictions(policy: Policy) -> Iterator[tuple[list[str], str]]:
    """Values that are allowed alone but contradict each other, with their knobs."""
    budget = policy.budget
    if budget.reserve_ratio + budget.margin_ratio >= 1:
        yield (
            ["budget.reserve_ratio", "budget.margin_ratio"],
            "budget: expected reserve_ratio + margin_ratio below 1, "
            f"got {budget.reserve_ratio:g} + {budget.margin_ratio:g}",
        )
    yield from _line_contradictions("truncation", policy.truncation, ToolTruncation())
    for tool, own in policy.truncation.tools.items():
        yield from _line_contradictions(f"{TOOLS}.{tool}", policy.truncation, own)


def _line_contradictions(
    section: str, general: TruncationPolicy, own: ToolTruncation
) -> Iterator[tuple[list[str], str]]:
    """Head and tail lines must fit under the cap on lines, if results are cut by lines."""
    keys = ("head_lines", "tail_lines", "max_lines")
    pairs = ((getattr(own, key), getattr(general, key)) for key in keys)
    head, tail, most = (wide if narrow is None else narrow for narrow, wide in pairs)
    if (own.strategy or general.strategy) == "lines" and head + tail > most:
        names = [f"{where}.{key}" for where in {section, "truncation"} for key in (*keys, "strategy")]
        rule = f"expected head_lines + tail_lines of at most max_lines ({most}), got {head} + {tail}"
        yield names, f"{escaped_name(section)}: {rule}"
