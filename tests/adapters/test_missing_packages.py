"""An adapter without its framework: the error says which extra brings it."""

from __future__ import annotations

import subprocess
import sys

import workbench

WITHOUT = """
import importlib, sys
for name in ("pydantic_ai", "agents", "langchain", "langchain_core", "google.adk", "google.genai"):
    sys.modules[name] = None
for name in sys.argv[1:]:
    try:
        importlib.import_module(f"workbench.adapters.{name}")
    except ImportError as error:
        print(error)
"""
EXTRAS = {"pydantic_ai": "pydantic-ai", "openai_agents": "agents", "langchain": "langchain", "google_adk": "adk"}
"""Of adapters: what brings their frameworks."""


def test_a_missing_framework_is_named_with_its_extra() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT, *EXTRAS], capture_output=True, text=True, check=True)
    for (name, extra), line in zip(EXTRAS.items(), done.stdout.splitlines(), strict=True):
        assert line.startswith(f"workbench.adapters.{name}: expected the package ")
        assert line.endswith(f"pip install 'context-workbench[{extra}]' brings it")


def test_the_version_can_be_asked_for() -> None:
    assert workbench.__version__.split(".")[0].isdigit()
