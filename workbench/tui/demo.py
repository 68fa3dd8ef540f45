"""`workbench demo`: a recorded session on the full screen, with no key, no network, and nothing left behind."""

from __future__ import annotations

import json
import os
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from workbench.demo.project import create
from workbench.log.codec import decode
from workbench.log.events import ToolCall
from workbench.log.store import FILE_NAME, Store
from workbench.tui import start

EDIT = "edit_file"


def run(options: Namespace) -> int:
    """Open the recording as a session like any other, in folders that go with the program."""
    with ground() as session:
        return start.run(Namespace(source=session))


@contextmanager
def ground() -> Iterator[str]:
    """A data folder with the recording in it, and its project to work in; the value is the session's id."""
    before, chosen = Path.cwd(), os.environ.get("WORKBENCH_DATA_DIR")
    with tempfile.TemporaryDirectory(prefix="workbench-demo-", ignore_cleanup_errors=True) as place:
        data, project = Path(place) / "data", Path(place) / "bakery"
        create(project)
        lines = recording()
        _edit(project, lines)
        os.environ["WORKBENCH_DATA_DIR"] = str(data)
        os.chdir(project)
        try:
            with Store.open(data / FILE_NAME) as store, store.import_events(lines, "demo") as session:
                found = session.id
            yield found
        finally:
            os.chdir(before)
            if chosen is None:
                os.environ.pop("WORKBENCH_DATA_DIR", None)
            else:
                os.environ["WORKBENCH_DATA_DIR"] = chosen


def recording() -> list[str]:
    """The recorded events, a line each."""
    source = files("workbench") / "demo" / "session.jsonl"
    return source.read_text(encoding="utf-8").splitlines()


def _edit(project: Path, lines: list[str]) -> None:
    """Bring the project to where the recording left it."""
    for line in lines:
        body = decode(line).body
        if isinstance(body, ToolCall) and body.tool == EDIT:
            asked = json.loads(body.arguments)
            path = project / asked["path"]
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(asked["old_text"], asked["new_text"]), encoding="utf-8")
