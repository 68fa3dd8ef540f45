"""An answer from the cache comes without what only readers need."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from usage.homes import claude_reply, write_claude
from workbench.config.distribution import DISTRIBUTION, installed_version, litellm_version
from workbench.config.plugin_entries import found_version

SCRIPT = """
import sys
from workbench.cli.main import main
main(["usage", "--json"])
print(*(name for name in sys.modules if name.startswith("workbench.")), file=sys.stderr)
"""


def called(home: Path) -> tuple[str, set[str]]:
    """What the command prints, and the modules that it needs."""
    places = {f"WORKBENCH_{kind}_DIR": str(home / kind) for kind in ("CONFIG", "DATA", "CACHE")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **places, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, {*done.stderr.split()}


def test_the_second_answer_is_the_first_and_needs_no_reader(tmp_path: Path) -> None:
    write_claude(tmp_path, "s1", [claude_reply("m1", 1, 10, 1)])
    first, needed = called(tmp_path)
    assert "workbench.usage.claude_usage" in needed
    assert "workbench.traces.formats" not in needed
    second, kept = called(tmp_path)
    assert second == first
    assert not kept & {"workbench.usage.reading", "workbench.traces.building", "workbench.models.catalogue"}


@pytest.mark.parametrize("name", [DISTRIBUTION, "litellm", "Jinja2"])
def test_versions_are_those_of_the_standard_library(name: str) -> None:
    assert found_version(name) == version(name)


def test_a_package_that_is_not_installed_has_no_version() -> None:
    assert found_version("nobody-has-this") is None
    assert installed_version() == version(DISTRIBUTION)
    assert litellm_version() == version("litellm")
