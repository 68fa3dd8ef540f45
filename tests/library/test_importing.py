"""What `import workbench` loads: a library must not bring a screen or a provider's client with it."""

from __future__ import annotations

import subprocess
import sys

import workbench

UNWANTED = {"textual", "rich", "aiohttp", "litellm", "openai", "anthropic", "mcp", "pandas", "tomlkit", "psutil"}


STEPS = [
    "import workbench",
    "workbench.plan(['hi']).request('anthropic')",
    "context = workbench.Context(); context.add('hi'); context.request(); context.due",
    "context.compact_now()",
    "workbench.open; workbench.Session",
]


def test_neither_a_screen_nor_a_client_is_loaded_and_by_the_import_alone_nothing_of_ours() -> None:
    script = "\n".join(["import sys", *(f"{step}\nprint(*sorted(sys.modules))" for step in STEPS)])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = [set(line.split()) for line in done.stdout.splitlines()]
    assert {name for name in loaded[0] if name.startswith("workbench")} == {"workbench"}
    for step, names in zip(STEPS, loaded, strict=True):
        assert {name.partition(".")[0] for name in names} & UNWANTED == set(), step


def test_every_public_name_is_there_and_listed() -> None:
    for name in workbench.__all__:
        assert getattr(workbench, name).__doc__
        assert name in dir(workbench)
    assert not hasattr(workbench, "banana")
