"""The entry points of installed packages, found without `importlib.metadata`, whose import takes longer than a scan.

Only folders on the module path are read, and never the working folder: a project that is opened must not be able to
start code by lying there.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache, reduce
from importlib import import_module
from typing import Any, NamedTuple

from workbench.config.foreign_files import open_regular_file

PREFIX = "workbench."
"""How the names of our groups begin."""
GROUPS = ("formats", "policies", "stages", "dialects", "agents", "tools", "themes", "hooks")
_FILE = "entry_points.txt"
_MOST_BYTES = 1 << 20
_FOLDER = r"(?P<name>.+?)-(?P<version>[^-]+)(?:-py[\d.]+)?\.(?:dist|egg)-info"
_TARGET = r"(?P<module>[\w.]+)\s*(?::\s*(?P<attribute>[\w.]+))?\s*(?:\[.*\])?"


class PluginEntry(NamedTuple):
    """One entry point of an installed package."""

    group: str
    """Without the prefix: `formats`."""
    name: str
    target: str
    """`package.module:attribute`."""
    distribution: str
    version: str

    def load(self) -> Any:
        """Import it. Raises whatever the package raises, and ValueError for a wrong target."""
        found = re.fullmatch(_TARGET, self.target)
        if found is None:
            raise ValueError(f"expected package.module:attribute, got {self.target!r}")
        names = (found["attribute"] or "").split(".") if found["attribute"] else []
        return reduce(getattr, names, import_module(found["module"]))

    def __str__(self) -> str:
        return f"{self.name} of {self.distribution} {self.version} ({PREFIX}{self.group})"


def installed_entries(group: str) -> tuple[PluginEntry, ...]:
    """The entry points of one of our groups, in the order of the module path. Scans once per module path."""
    return _entries_of(group, tuple(sys.path), _working_folder())


def all_entries() -> tuple[PluginEntry, ...]:
    """The entry points of all our groups."""
    return _entries_on(tuple(sys.path), _working_folder())


def found_version(distribution: str) -> str | None:
    """The version of an installed package; None if it is not found in this way."""
    known = _distributions_on(tuple(sys.path), _working_folder()).get(_plain_name(distribution))
    return None if known is None else known.version


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


@cache
def _entries_of(group: str, path: tuple[str, ...], working_folder: str) -> tuple[PluginEntry, ...]:
    return tuple(each for each in _entries_on(path, working_folder) if each.group == group)


@cache
def _entries_on(path: tuple[str, ...], working_folder: str) -> tuple[PluginEntry, ...]:
    found = _distributions_on(path, working_folder)
    return tuple(entry for name, each in found.items() for entry in _entries_in(each.entry_points, name, each.version))


class _Distribution(NamedTuple):
    """An installed package."""

    name: str
    version: str
    entry_points: str


@cache
def _distributions_on(path: tuple[str, ...], working_folder: str) -> dict[str, _Distribution]:
    """The installed packages by name. The first on the path is the one that is imported."""
    found: dict[str, _Distribution] = {}
    here = os.path.realpath(working_folder or ".")
    for place in path:
        if os.path.isabs(place) and os.path.realpath(place) != here:
            for each in _distributions_in(place):
                found.setdefault(_plain_name(each.name), each)
    return found


def _plain_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _distributions_in(place: str) -> Iterator[_Distribution]:
    """The packages that are installed in a folder."""
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return
    for folder in names:
        known = re.fullmatch(_FOLDER, folder)
        if known is None:
            continue
        try:
            with open_regular_file(os.path.join(place, folder, _FILE)) as file:
                text = file.read(_MOST_BYTES)
        except OSError:
            text = b""
        yield _Distribution(known["name"], known["version"], text.decode("utf-8", "replace"))


def _entries_in(text: str, distribution: str, version: str) -> Iterator[PluginEntry]:
    if PREFIX not in text:
        return
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif "=" in line and not line.startswith(("#", ";")) and group.startswith(PREFIX):
            name, _, target = (part.strip() for part in line.partition("="))
            if group.removeprefix(PREFIX) in GROUPS:
                yield PluginEntry(group.removeprefix(PREFIX), name, target, distribution, version)
