"""Transcripts that real clients wrote, where there are any, and what went over the wire beside them.

They are looked for in the folder that WORKBENCH_TRACES names, or in `shared/traces` beside the repository. A recording
of `NAME.jsonl` is `NAME.wire.jsonl`: one object per request, with its `path`, its body under `req` and its answer under
`resp`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(os.environ.get("WORKBENCH_TRACES") or Path(__file__).parents[3] / "shared" / "traces")
LARGE = 300_000
"""Bytes. A test that goes through such a file takes a second and more."""
NOT_READ_YET: set[str] = set()
"""Folders with transcripts that no reader knows, or not all of them."""


def readable_folders() -> list[Path]:
    """The folders whose formats have a reader."""
    found = FOLDER.iterdir() if FOLDER.is_dir() else ()
    return sorted(each for each in found if each.is_dir() and each.name not in NOT_READ_YET)


def readable_files(*suffixes: str) -> list[Path]:
    """The files of formats that have a reader; those with one of the suffixes, where any is given."""
    found = (file for folder in readable_folders() for file in folder.rglob("*") if file.is_file())
    told = (file for file in found if not file.name.endswith((".md", ".meta.json")))
    return sorted(file for file in told if not suffixes or file.suffix in suffixes)


def file_cases(*suffixes: str) -> list[Any]:
    """The same as cases of a test. The few large files are tried only where all cases run."""
    return [
        pytest.param(file, id=file.name, marks=[pytest.mark.wide] if file.stat().st_size > LARGE else [])
        for file in readable_files(*suffixes)
    ]


def recorded(client: str) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """The transcripts of a client that were recorded on the wire as well, with that recording."""
    for wire in sorted((FOLDER / client).glob("*.wire.jsonl")):
        lines = wire.read_text("utf-8").splitlines()
        yield wire.with_name(wire.name.replace(".wire.", ".")), [json.loads(line) for line in lines]
