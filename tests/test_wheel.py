"""The wheel that users install, in fresh environments: every command is there and works.

Each Python that is found is tried with `-m ""`; otherwise the one that runs the tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from email.parser import BytesParser
from email.policy import default
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
OLDEST, NEWEST = 11, 15
"""The minor versions of Python 3 that are looked for."""
ALL_COMMANDS = """
import contextlib, io, sys, workbench
from workbench.cli.help import GROUPS
from workbench.cli.main import main

for group, commands in GROUPS.items():
    for command in commands:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            try:
                main([command, "--help"])
            except SystemExit as end:
                assert not end.code, command
        assert said.getvalue().startswith(f"usage: workbench {command}"), command
        print(command)
print(workbench.count("hello", "gpt-4o"))
for command in (["policies"], ["tokens", sys.argv[1]], ["lab", sys.argv[1], "--policy", "window"]):
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(command) == 0, command
"""


REPOSITORY = "https://example.org/someone/workbench"


@pytest.fixture(scope="module", autouse=True)
def one_authority() -> None:
    """A package index is asked here: what the user trusts is trusted."""


def _uv(*arguments: str | Path) -> str:
    uv = shutil.which("uv")
    assert uv is not None, "uv runs the tests"
    env = {**os.environ, "WORKBENCH_REPOSITORY": f"{REPOSITORY}/"}
    return subprocess.run([uv, *map(str, arguments)], check=True, capture_output=True, text=True, env=env).stdout


def _pythons() -> list[object]:
    """The Pythons to try; all but our own are marked as wide."""
    own = sys.version_info.minor
    found: list[object] = [pytest.param(sys.executable, id=f"3.{own}")]
    for minor in range(OLDEST, NEWEST + 1):
        place = shutil.which(f"python3.{minor}")
        if place is not None and minor != own:
            found.append(pytest.param(place, id=f"3.{minor}", marks=pytest.mark.wide))
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made of the files here."""
    folder = tmp_path_factory.mktemp("dist")
    _uv("build", "--wheel", "-q", "--out-dir", folder, ROOT)
    [made] = folder.glob("*.whl")
    assert made.name.startswith("context_workbench-")
    return made


@pytest.mark.long
@pytest.mark.parametrize("python", _pythons())
def test_the_wheel_works_in_a_fresh_environment(python: str, wheel: Path, talk: Path, tmp_path: Path) -> None:
    place = tmp_path / "env"
    _uv("venv", "-q", "--python", python, place)
    _uv("pip", "install", "-q", "--python", place, wheel)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}

    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, stdin=subprocess.DEVNULL)

    workbench, interpreter = place / "bin" / "workbench", place / "bin" / "python"
    helped = run(interpreter, "-P", "-c", ALL_COMMANDS, talk)
    assert (helped.returncode, helped.stderr) == (0, "")
    *commands, count = helped.stdout.split()
    assert len(commands) > 30
    assert count == "1"
    version = run(workbench, "--version")
    assert (version.returncode, version.stderr) == (0, "")
    planned = run(workbench, "plan", talk, "--json")
    assert json.loads(planned.stdout)["items"][-1]["text"] == "must support Python 3.11"
    asked = run(workbench, "ask", "--model", "rehearsal", "read pyproject.toml")
    assert asked.returncode == 0, asked.stderr


@pytest.mark.long
def test_links_of_the_package_lead_to_files_of_the_repository(wheel: Path) -> None:
    """On a package index there is nothing next to the README."""
    with ZipFile(wheel) as files:
        [name] = [each for each in files.namelist() if each.endswith(".dist-info/METADATA")]
        about = BytesParser(policy=default).parsebytes(files.read(name))
    links = dict(each.split(", ") for each in about.get_all("Project-URL", []))
    assert links["Repository"] == REPOSITORY
    found = re.findall(r"(!?)\[[^\]]*\]\(([^)#]+)", about.get_content())
    found += [("", links[each]) for each in ("Documentation", "Changelog")]
    assert len(found) > 20
    for picture, address in found:
        shown = f"{REPOSITORY}/{'raw' if picture else 'blob'}/v{about['Version']}/"
        assert address.startswith(shown)
        assert (ROOT / address.removeprefix(shown)).is_file(), address
