"""`workbench demo`: a recorded session on the full screen, with no key, no network, and nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path

from workbench.config.paths import config_dir
from workbench.config.writing import copy_file
from workbench.demo.project import create
from workbench.log.codec import decode_event
from workbench.log.events import ToolCall
from workbench.log.store import FILE_NAME, Store

EDIT = "edit_file"


@contextmanager
def demo_folders() -> Iterator[str]:
    """Create a data folder with the recording, and the project as the current folder; yields the session's id.

    The user's configuration is copied, so approvals and policies saved in the demo are not kept.
    """
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="workbench-demo-", ignore_cleanup_errors=True) as place:
        data, config, project = (Path(place) / name for name in ("data", "config", "bakery"))
        create(project)
        lines = recording_lines()
        _edit(project, lines)
        _copy(config_dir(), config)
        with _instead(WORKBENCH_DATA_DIR=data, WORKBENCH_CONFIG_DIR=config):
            os.chdir(project)
            try:
                with Store.open(data / FILE_NAME) as store, store.import_events(lines, "demo") as session:
                    found = session.id
                yield found
            finally:
                os.chdir(before)


def _copy(source: Path, target: Path) -> None:
    """Copy the readable files of a folder."""
    target.mkdir()
    with suppress(OSError):  # shutil.Error, which lists the failed files, is an OSError
        shutil.copytree(
            source,
            target,
            ignore=shutil.ignore_patterns(".git"),
            copy_function=copy_file,
            ignore_dangling_symlinks=True,
            dirs_exist_ok=True,
        )


@contextmanager
def _instead(**folders: Path) -> Iterator[None]:
    """Use other folders for a while, by their environment variables."""
    before = {name: os.environ.get(name) for name in folders}
    os.environ.update({name: str(folder) for name, folder in folders.items()})
    try:
        yield
    finally:
        for name, folder in before.items():
            if folder is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = folder


def recording_lines() -> list[str]:
    """The lines of the recording, one for each event."""
    source = files("workbench") / "demo" / "session.jsonl"
    return source.read_text(encoding="utf-8").splitlines()


def _edit(project: Path, lines: list[str]) -> None:
    """Bring the project to the state at the end of the recording."""
    for line in lines:
        body = decode_event(line).body
        if isinstance(body, ToolCall) and body.tool == EDIT:
            asked = json.loads(body.arguments)
            path = project / asked["path"]
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(asked["old_text"], asked["new_text"]), encoding="utf-8")
