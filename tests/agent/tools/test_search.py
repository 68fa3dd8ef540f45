"""Searching: matches with their places, bounded in number, length and time."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.agent.tools import search_worker
from workbench.agent.tools.base import ToolFailure, ToolLimits, ToolOutcome
from workbench.agent.tools.search import run_search_worker
from workbench.agent.tools.search_worker import Search, clipped_line, make_matcher

Use = Callable[..., Awaitable[ToolOutcome]]


@pytest.fixture
def tree(root: Path) -> Path:
    (root / "src").mkdir()
    (root / "src" / "a.py").write_bytes(b"import os\r\nx = 1\r\nclass A:\r\n    pass\r\nx = 2\r\n")
    (root / "b.md").write_text("class B\nCLASS\n")
    (root / "c.bin").write_bytes(b"class\0")
    (root / "node_modules").mkdir()
    (root / "node_modules" / "d.js").write_text("class D")
    os.symlink("/etc/passwd", root / "leak")
    return root


async def test_lines_that_match_are_found_file_by_file(tree: Path, use: Use) -> None:
    assert await use("search_text", pattern=r"^class \w") == ToolOutcome("b.md\n1: class B\nsrc/a.py\n3: class A:\n")


async def test_glob_path_case_and_literal_text_narrow_or_widen(tree: Path, use: Use) -> None:
    assert (await use("search_text", pattern="class", glob="*.py")).text == "src/a.py\n3: class A:\n"
    assert (await use("search_text", pattern="class", path="src", context=0)).text == "src/a.py\n3: class A:\n"
    assert (await use("search_text", pattern="x", path="src/a.py", limit=1)).text.startswith(
        "src/a.py\n2: x = 1\n[stop"
    )
    assert "2: CLASS" in (await use("search_text", pattern="class", path="b.md", ignore_case=True)).text
    assert (await use("search_text", pattern="A:.", literal=True)).text == "[no match]"


async def test_nothing_is_read_through_a_link_that_leads_out(tree: Path, use: Use) -> None:
    assert (await use("search_text", pattern="root")).text == "[no match]"
    assert (await use("search_text", pattern="root", path="leak")).is_error


async def test_a_pattern_that_is_none_is_said(tree: Path, use: Use) -> None:
    outcome = await use("search_text", pattern="(")
    assert outcome.is_error
    assert outcome.text.startswith("pattern: expected a regular expression: missing )")


async def test_a_pattern_that_would_take_for_ever_is_stopped(root: Path, use: Use) -> None:
    (root / "0.txt").write_text("aaa\n")
    (root / "1.txt").write_text("a" * 60 + "b\n")
    outcome = await use("search_text", pattern="^(a+)+$", limits=ToolLimits(search_seconds=1))
    assert outcome.is_error
    assert outcome.text == ("0.txt\n1: aaa\n[stopped after 1 s: the pattern takes too long; make it simpler]")


async def test_a_module_in_the_project_never_runs(root: Path, use: Use) -> None:
    for name in ("json.py", "re.py", "sitecustomize.py"):
        (root / name).write_text("open('ran', 'w')")
    assert "json.py" in (await use("search_text", pattern="ran")).text
    assert not (root / "ran").exists()


def found(root: Path, pattern: str, **more: Any) -> str:
    """The same search without the process around it."""
    wanted: dict[str, Any] = {"base": str(root), "name": ".", "root": str(root), "glob": "", "context": 0, "limit": 100}
    wanted |= {"seconds": 10, **more}
    out = io.StringIO()
    Search(wanted, make_matcher(pattern, False, False), out).search_files()
    return out.getvalue()


async def test_of_long_output_the_beginning_is_kept_and_nothing_else(root: Path) -> None:
    limits = ToolLimits(output_bytes=10)
    found = await run_search_worker("search_text", "print('a' * 50 + 'z', end='')", (), root, b"", limits)
    assert found.text.startswith("a" * 10)
    assert "left out 41 of 51 bytes" in found.text
    assert "z" not in found.text
    with pytest.raises(ToolFailure, match="left out 4 of 4100 bytes") as failure:
        await run_search_worker("x", "import sys; sys.exit('a' * 4096 + 'zzz')", (), root, b"", limits)
    assert "z" not in str(failure.value)


def test_the_process_reads_what_is_wanted_and_prints(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "a").write_text("Xx\nx\nx")
    wanted = {"base": str(root), "name": ".", "root": str(root), "glob": "", "context": 0, "limit": 2, "seconds": 10}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(wanted | search_for("x"))))
    search_worker.main()
    assert capsys.readouterr().out.startswith("a\n1: Xx\n2: x\n[stopped at 2 matches; ")
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(wanted | search_for("["))))
    with pytest.raises(SystemExit) as end:
        search_worker.main()
    assert end.value.code == search_worker.BAD_PATTERN


def search_for(pattern: str) -> dict[str, Any]:
    return {"pattern": pattern, "literal": False, "ignore_case": False}


def test_lines_around_a_match_are_shown_once(root: Path) -> None:
    (root / "a").write_text("".join(f"{line}\n" for line in "0x1x2345x67"))
    assert found(root, "x", context=1) == "a\n1- 0\n2: x\n3- 1\n4: x\n5- 2\n--\n8- 5\n9: x\n10- 6\n"
    assert found(root, "7", context=2) == "a\n9- x\n10- 6\n11: 7\n"


def test_large_files_and_too_little_time_are_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").write_text("x" * 100)
    (root / "b").write_text("x")
    monkeypatch.setattr(search_worker, "MAX_FILE_BYTES", 50)
    assert found(root, "x") == "b\n1: x\n[passed over 1 files larger than 50 bytes]"
    assert found(root, "x", seconds=-1) == "[stopped after -1 s; narrow it with path or glob]"
    assert found(root, "x", base=str(root / "b"), seconds=-1).startswith("[stopped")
    assert found(root, "x", base=str(root / "gone")) == "[no match]"


def test_a_long_line_is_shown_around_its_match() -> None:
    line = "a" * 1000 + "b" + "c" * 1000
    shown = clipped_line(line, (1000, 1001))
    assert shown == "…" + "a" * 100 + "b" + "c" * 299 + "…"
    assert clipped_line(line, (2000, 2001)) == "…" + "c" * 400
    assert clipped_line("short", (0, 1)) == "short"
