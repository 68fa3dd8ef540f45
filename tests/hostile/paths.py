"""Paths that lead out of the project, given to every tool that takes one.

A fault: a tool gives away what lies outside, or changes it; or it raises.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path
from urllib.parse import quote

from hostile.tally import Tally
from workbench.agent.tools.registry import Toolbox

SECRET = "the-secret-lies-outside"
NAME = "a-name-outside.txt"
TOOLS: dict[str, dict[str, object]] = {
    "read_file": {},
    "list_files": {"depth": 9},
    "search_text": {"pattern": "secret"},
    "write_file": {"content": "taken"},
    "edit_file": {"old_text": SECRET, "new_text": "taken", "replace_all": True},
}
STEPS = ("..", ".", "", "a", "a/b", "link", "loop", "up", "up/up", "abs", "chain", "file", "~", "...", ".. ", "a/../..")
ENDS = ("secret.txt", "secrets", "secrets/secret.txt", "", "new.txt", "project-2/secret.txt", ".git/config")


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("paths out of the project")
    root = _project(folder)
    outside = _outside(folder)
    box = Toolbox(root)
    refused = 0
    for _ in range(tries):
        tool, path = chance.choice(list(TOOLS)), _path(chance, folder, root)
        arguments = {**TOOLS[tool], "path": path}
        if tool in ("list_files", "search_text") and chance.random() < 0.5:
            arguments["glob"] = chance.choice((path, f"{path}/**", "../**", "{..,a}/**/*", "/**"))
            arguments["path"] = chance.choice((".", path))
        with tally.watching(f"{tool} {arguments!r}"):
            outcome = asyncio.run(box.run_tool(tool, json.dumps(arguments)))
            refused += outcome.is_error
            assert SECRET not in outcome.text, "it was read"
            assert NAME not in outcome.text, "it was listed"
            assert _outside(folder) == outside, "something outside was changed"
        if _outside(folder) != outside:
            return tally  # nothing that follows would be worth anything
        _mend(root)
    tally.told = f"{refused:,} refused, the others stayed inside"
    return tally


def _project(folder: Path) -> Path:
    root = folder / "project"
    (root / "a" / "b").mkdir(parents=True)
    for place in (folder, folder / "secrets", folder / "project-2"):
        place.mkdir(exist_ok=True)
        (place / "secret.txt").write_text(f"{SECRET}\n")
        (place / NAME).write_text(f"{SECRET}\n")
    _mend(root)
    return root


def _mend(root: Path) -> None:
    """The links, again: a tool may have written over one, inside the project."""
    links = {
        "link": "../secrets",
        "loop": "loop",
        "up": "..",
        "abs": str(root.parent),
        "chain": "a/next",
        "a/next": "../up/secrets",
        "file": "../secret.txt",
    }
    for name, target in links.items():
        if not os.path.lexists(root / name):
            os.symlink(target, root / name)


def _outside(folder: Path) -> dict[str, str]:
    """All files that are not the project's, and what is in them."""
    found = {}
    for top, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if Path(top, each) != folder / "project"]
        found.update({os.path.join(top, each): Path(top, each).read_text() for each in files})
    return found


def _path(chance: random.Random, folder: Path, root: Path) -> str:
    """A path as an attacker would write it."""
    if chance.random() < 0.6:
        ways = ("..", "up", "abs", "link", "chain", "a/../..", "a/b/../../up", "link/..", f"{root}/..", str(folder))
        noise = "".join(chance.choice(("", "./", "a/../", "a/b/../../", ".//")) for _ in range(3))
        way = chance.choice(ways)
        path = f"{way if way.startswith('/') else noise + way}/{chance.choice(ENDS)}"
    else:
        steps = [chance.choice(STEPS) for _ in range(chance.randrange(0, 6))]
        starts = ("", "", "/", f"{root}/", f"{folder}/", "~/", "./", "//", f"{root}/../", "/proc/self/root/")
        path = chance.choice(starts) + "/".join([*steps, chance.choice(ENDS)])
    match chance.randrange(20):
        case 0:
            return quote(path)
        case 1:
            return path.replace("..", "%2e%2e").replace("/", "%2f")
        case 2:
            return path.replace("/", "\\")
        case 3:
            return path + chance.choice(("\0", "\0.txt", " ", "\n", "/.", "/"))
        case 4:
            return f"file://{path}"
        case 5:
            return path.replace("..", "\uff0e\uff0e").replace("/", chance.choice(("\u2215", "\uff0f", "/")))
        case 6:
            return (
                chance.choice(("/proc/self/cwd/..", "/proc/self/environ", "/etc/passwd", "/dev/fd/0/..", "~root"))
                + path
            )
        case 7:
            return path.upper() if chance.random() < 0.5 else path * 30
    return path
