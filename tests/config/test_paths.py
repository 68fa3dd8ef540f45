"""Where things lie."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.config.paths import config_dir, data_dir

FOLDERS = [(config_dir, "WORKBENCH_CONFIG_DIR"), (data_dir, "WORKBENCH_DATA_DIR")]


@pytest.mark.parametrize(("folder", "variable"), FOLDERS)
def test_the_environment_wins(
    folder: Callable[[], Path], variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "mine"))
    assert folder() == tmp_path / "mine"


@pytest.mark.parametrize(("folder", "variable"), FOLDERS)
def test_a_tilde_is_the_home_folder(
    folder: Callable[[], Path], variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, "~/mine")
    assert folder() == tmp_path / "mine"


@pytest.mark.parametrize(("folder", "variable"), FOLDERS)
def test_the_home_of_an_unknown_user_is_left_as_it_is(
    folder: Callable[[], Path], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "~nobody-has-this-name/mine")
    assert folder() == Path("~nobody-has-this-name/mine")


@pytest.mark.parametrize(("folder", "variable"), FOLDERS)
@pytest.mark.parametrize("empty", [None, ""])
def test_otherwise_the_platform_decides(
    folder: Callable[[], Path], variable: str, empty: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    if empty is None:
        monkeypatch.delenv(variable, raising=False)
    else:
        monkeypatch.setenv(variable, empty)
    found = folder()
    assert "workbench" in found.parts
    assert tmp_path in found.parents


@pytest.mark.parametrize(("folder", "variable"), FOLDERS)
def test_looking_creates_nothing(
    folder: Callable[[], Path], variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "mine"))
    folder()
    monkeypatch.delenv(variable)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    folder()
    assert list(tmp_path.iterdir()) == []


def test_importing_does_not_load_platformdirs() -> None:
    code = "import sys, workbench.config.paths; print('platformdirs' in sys.modules)"
    root = Path(sys.modules["workbench"].__path__[0]).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
