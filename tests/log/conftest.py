"""What the tests of the log share: random bodies, fresh stores, and processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import strategies as st

import workbench
from workbench.log import events as e
from workbench.log.store import Store

LINE = st.text(max_size=12)
BIG = st.builds(lambda piece, times: (piece or "x") * times, st.text(max_size=6), st.integers(1500, 6000))
TEXT = st.one_of(
    st.text(max_size=60), st.sampled_from(["", "\x00\x01\x1f", "\x01" + "0" * 64, '"\\"', "ünï 漢字 🎉"]), BIG
)
WHOLE = st.integers(-(2**60), 2**60)
NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False) | WHOLE
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LINE, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(LINE, JSON, max_size=3)
PART = st.one_of(
    st.builds(e.TextPart, TEXT),
    st.builds(e.ImagePart, TEXT, st.sampled_from(["auto", "low", "high"])),
    st.builds(e.OtherPart, OBJECT),
)
CONTENT = TEXT | st.lists(PART, max_size=3).map(tuple)
ENVELOPE = ("v", "seq", "id", "at", "kind")
UNKNOWN = st.builds(
    lambda kind, data, version: e.Unknown(kind, {"v": version, **data} if version > 1 else data),
    LINE.map(lambda name: "x-" + name),
    OBJECT.map(lambda data: {key: value for key, value in data.items() if key not in ENVELOPE}),
    st.integers(1, 3),
)
BODY = st.one_of(
    st.builds(e.SystemMessage, CONTENT, LINE, LINE),
    st.builds(e.UserMessage, CONTENT, LINE),
    st.builds(e.AssistantMessage, CONTENT, LINE, LINE, st.sampled_from(["stop", "broken", ""]), LINE),
    st.builds(e.Reasoning, TEXT, LINE, LINE),
    st.builds(e.ToolCall, LINE, LINE, TEXT, LINE),
    st.builds(e.ToolResult, LINE, CONTENT, LINE, st.booleans()),
    st.builds(e.SlotContent, st.sampled_from(get_args(e.Slot)), LINE, TEXT),
    st.builds(
        e.Compaction,
        WHOLE,
        WHOLE,
        TEXT,
        st.lists(st.builds(e.KeptEvent, WHOLE, st.none() | TEXT), max_size=3).map(tuple),
        st.sampled_from(["start", "end"]),
        TEXT,
        TEXT,
        OBJECT,
    ),
    st.builds(e.Revert, WHOLE),
    st.builds(e.Override, st.sampled_from(get_args(e.OverrideAction)), WHOLE, WHOLE),
    st.builds(e.Usage, LINE, WHOLE, st.none() | WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, NUMBER, NUMBER, WHOLE),
    st.builds(e.Request, st.sampled_from(get_args(e.OwnDialect)), LINE, st.sampled_from(get_args(e.Purpose)), LINE),
    st.builds(e.RequestPart, LINE, JSON),
    st.builds(e.RequestAnswer, WHOLE, WHOLE, LINE, st.none() | WHOLE, st.none() | WHOLE, TEXT),
    st.builds(e.Hold, WHOLE, LINE, TEXT, WHOLE, st.sampled_from(get_args(e.HoldEnd))),
    st.builds(e.Snapshot, LINE, LINE, TEXT),
    st.builds(e.Setting, st.sampled_from(["title", "model", "policy"]) | LINE, JSON),
    st.builds(e.Failure, LINE, TEXT),
    UNKNOWN,
)


@pytest.fixture(scope="session")
def body() -> st.SearchStrategy[e.Body]:
    """A strategy: any body, with texts of all sizes."""
    return BODY


@pytest.fixture(scope="session")
def event() -> st.SearchStrategy[e.Event]:
    """A strategy: any event."""
    return st.builds(e.Event, st.integers(1, 2**53), st.text(min_size=1, max_size=13), st.integers(0, 2**53), BODY)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store for all examples of a property: making a file for each would cost more than the examples."""
    with Store.open(tmp_path_factory.mktemp("shared") / "workbench.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A second such store."""
    with Store.open(tmp_path_factory.mktemp("elsewhere") / "workbench.db") as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store of this test lies."""
    return tmp_path / "data" / "workbench.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        yield opened


@pytest.fixture
def python(path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts Python code in another process, with the store's path as first argument; killed at the end."""
    started: list[subprocess.Popen[str]] = []
    environment = {**os.environ, "PYTHONPATH": str(Path(workbench.__path__[0]).parent)}

    def start(code: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(path), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
