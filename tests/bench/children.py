"""Parts of the suite that run in a process of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import workbench


def command(module: str, *arguments: str) -> list[str]:
    """Runs a module of this folder."""
    return [sys.executable, "-m", f"bench.{module}", *arguments]


def environment() -> dict[str, str]:
    """Ours, with the suite and the program to be found from anywhere."""
    roots = [Path(__file__).parent.parent, Path(workbench.__path__[0]).parent]
    inherited = os.environ.get("PYTHONPATH")
    search = os.pathsep.join([*map(str, roots), *([inherited] if inherited else [])])
    return {**os.environ, "PYTHONPATH": search}
