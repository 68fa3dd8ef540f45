"""What `import workbench` loads: a library must not bring a screen or a provider's client with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import workbench

UNWANTED = {"textual", "rich", "aiohttp", "litellm", "openai", "anthropic", "mcp", "pandas", "tomlkit", "psutil"}


def loaded_by(code: str) -> set[str]:
    """The modules in memory after some code ran in a process of its own."""
    script = f"import sys\n{code}\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import workbench",
        "import workbench; workbench.plan(['hi']).request('anthropic')",
        "import workbench; context = workbench.Context(); context.add('hi'); context.request(); context.due",
        "import workbench; context = workbench.Context(); context.add('hi'); context.compact_now()",
        "import workbench; workbench.open; workbench.Session",
    ],
)
def test_neither_a_screen_nor_a_client_is_loaded(code: str) -> None:
    assert {name.partition(".")[0] for name in loaded_by(code)} & UNWANTED == set()


def test_the_import_alone_loads_nothing_of_ours() -> None:
    assert {name for name in loaded_by("import workbench") if name.startswith("workbench")} == {"workbench"}


def test_every_public_name_is_there_and_listed() -> None:
    for name in workbench.__all__:
        assert getattr(workbench, name).__doc__
        assert name in dir(workbench)
    assert not hasattr(workbench, "banana")
