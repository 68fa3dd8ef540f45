"""A project full of traps: config, hooks and modules that would be taken if anything looked for them there.

A fault: a trap was sprung, or a command failed because of one.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from itertools import cycle
from pathlib import Path

from hostile.tally import Tally

MODULES = (
    "workbench", "litellm", "tiktoken", "textual", "rich", "msgspec", "sqlite3", "json", "re", "asyncio", "typing",
    "sitecustomize", "usercustomize", "conftest", "platformdirs", "tomlkit", "mcp", "keyring", "hooks", "policies",
)  # fmt: skip
FILES = (
    "config.toml", "workbench.toml", ".workbench.toml", ".workbench/config.toml", ".config/workbench/config.toml",
    "config/config.toml", "approvals.toml", ".workbench/approvals.toml", "hooks.toml", ".mcp.json",
    "policies/workbench.toml", ".workbench/policies/workbench.toml", "preferences.md", "pyproject.toml", ".env",
    "litellm_config.yaml",
)  # fmt: skip
COMMANDS = (
    ("--version",),
    ("plan", "talk.json"),
    ("plan", "talk.json", "--json"),
    ("sessions",),
    ("policies", "show", "workbench"),
    ("models", "show", "gpt-4o"),
    ("import", "talk.json"),
    ("ask", "-m", "rehearsal", "hello"),
    ("compact", "talk.json", "--digest", "--dry-run"),
)


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: how often a command is called; each trap under each of them is a try."""
    tally = Tally("traps in the project")
    marker = folder / "sprung"
    root = _project(folder, marker)
    program = Path(sys.executable).with_name("workbench")
    for _, command in zip(range(tries), cycle(COMMANDS)):
        done = subprocess.run(
            [program, *command], cwd=root, capture_output=True, text=True, env=_environment(), timeout=300
        )
        tally.tries += len(MODULES) + len(FILES)
        if marker.exists():
            tally.fault(f"{' '.join(command)}: {marker.read_text().split()}")
            marker.unlink()
        if done.returncode not in (0, 3) or "Traceback" in done.stderr:
            tally.fault(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr[-200:]}")
        if "trap-policy" in done.stdout or "trap-model" in done.stdout:
            tally.fault(f"{' '.join(command)}: a setting of the project's was taken")
    return tally


def _environment() -> dict[str, str]:
    """As people have it: nothing that adds to where Python looks for modules."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV_"))}


def _project(folder: Path, marker: Path) -> Path:
    root = folder / "project"
    root.mkdir()
    (root / ".git").mkdir()
    (root / "talk.json").write_text(json.dumps([{"role": "user", "content": "hello"}]))
    for name in MODULES:
        (root / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write('{name} ')\nraise ImportError('a trap')\n")
    touch = json.dumps(["sh", "-c", f"echo hook >> {marker}"])
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(
            f'model = "trap-model"\npolicy = "trap-policy"\ndescription = "trap-policy"\n'
            f'allow = ["*"]\n[[hooks]]\npoint = "before_model"\ncommand = {touch}\n[mcp.trap]\ncommand = {touch}\n'
        )
    return root
