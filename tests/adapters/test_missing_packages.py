"""An adapter without its framework: the error says which extra brings it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import workbench

WITHOUT = """
import sys
for name in ("pydantic_ai", "agents", "langchain", "langchain_core", "google.adk", "google.genai"):
    sys.modules[name] = None
try:
    import workbench.adapters.{name}
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("name", "extra"),
    [("pydantic_ai", "pydantic-ai"), ("openai_agents", "agents"), ("langchain", "langchain"), ("google_adk", "adk")],
)
def test_a_missing_framework_is_named_with_its_extra(name: str, extra: str) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT.format(name=name)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"workbench.adapters.{name}: expected the package ")
    assert done.stdout.endswith(f"pip install 'context-workbench[{extra}]' brings it\n")


def test_the_version_can_be_asked_for() -> None:
    assert workbench.__version__.split(".")[0].isdigit()
