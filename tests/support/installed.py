"""Packages as an installer leaves them: a folder with the entry points, put on the module path."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

Entries = Mapping[str, Mapping[str, str]]
"""By group, without its prefix: names and their targets, `package.module:attribute`."""


def install(folder: Path, entries: Entries, name: str = "foreign", version: str = "1.2") -> Path:
    """Write a package's entry points into a folder of packages, as pip does."""
    home = folder / f"{name}-{version}.dist-info"
    home.mkdir(parents=True)
    lines = [
        line
        for group, found in entries.items()
        for line in (f"[workbench.{group}]", *(f"{name} = {target}" for name, target in found.items()), "")
    ]
    (home / "entry_points.txt").write_text("\n".join(lines))
    return folder


@contextmanager
def installed(folder: Path, entries: Entries, name: str = "foreign") -> Iterator[Path]:
    """As long as it lasts, the package is installed."""
    install(folder, entries, name)
    sys.path.insert(0, str(folder))
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
