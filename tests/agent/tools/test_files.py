"""Reading, listing, searching, writing and editing real files."""

from __future__ import annotations

import itertools
import json
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbench.agent.tools import read
from workbench.agent.tools.base import Arguments, Tool, ToolContext, ToolFailure, ToolLimits, ToolOutcome, object_schema
from workbench.agent.tools.read import read_lines
from workbench.agent.tools.registry import Toolbox

Use = Callable[..., Awaitable[ToolOutcome]]


def put(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


# read_file


async def test_a_file_is_read_whole(root: Path, use: Use) -> None:
    put(root / "a.txt", b"\xef\xbb\xbfone\r\ntwo")
    assert await use("read_file", path="a.txt") == ToolOutcome("one\r\ntwo")


async def test_some_lines_are_read_and_the_rest_is_named(root: Path, use: Use) -> None:
    put(root / "a.txt", "".join(f"{n}\n" for n in range(1, 10)) + "10")
    assert (
        await use("read_file", path="a.txt", offset=3, limit=2)
    ).text == "3\n4\n[lines 3 to 4 of 10; more: offset=5]"
    assert (await use("read_file", path="a.txt", offset=9)).text == "9\n10\n[lines 9 to 10 of 10]"
    assert await use("read_file", path="a.txt", offset=11) == ToolOutcome("offset: a.txt has 10 lines", True)


async def test_a_large_file_is_bounded_by_whole_lines(root: Path, use: Use) -> None:
    put(root / "a.txt", "123456789\n" * 100)
    outcome = await use("read_file", path="a.txt", limits=ToolLimits(output_bytes=35))
    assert outcome.text == "123456789\n" * 3 + "[lines 1 to 3 of 100; more: offset=4]"


async def test_a_line_longer_than_all_room_is_cut_and_passed(root: Path, use: Use) -> None:
    put(root / "a.txt", "é" * 3_000_000 + "\nlast\n")
    limits = ToolLimits(output_bytes=11)
    assert (await use("read_file", path="a.txt", limits=limits)).text == (
        "ééééé\n[line 1 is cut: 5999990 bytes of it are missing; next: offset=2]"
    )
    assert (await use("read_file", path="a.txt", offset=2, limits=limits)).text == "last\n[lines 2 to 2 of 2]"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_a_line_of_which_only_the_line_end_does_not_fit_is_whole(root: Path, use: Use, end: str) -> None:
    put(root / "a.txt", f"0123456789{end}second{end}")
    for room, told in (
        (9, f"012345678\n[line 1 is cut: {1 + len(end)} bytes of it are missing; next: offset=2]"),
        (10, "0123456789\n[lines 1 to 1 of 2; more: offset=2]"),
        (10 + len(end), f"0123456789{end}[lines 1 to 1 of 2; more: offset=2]"),
    ):
        assert (await use("read_file", path="a.txt", limits=ToolLimits(output_bytes=room))).text == told


async def test_where_counting_takes_too_long_more_is_promised(root: Path, use: Use) -> None:
    put(root / "a.txt", "line\n" * 5_000)
    outcome = await use("read_file", path="a.txt", limit=1, limits=ToolLimits(search_seconds=-1))
    assert outcome.text == "line\n[lines 1 to 1; more follow: offset=2]"
    put(root / "b.txt", "x" * 5_000)
    outcome = await use("read_file", path="b.txt", limits=ToolLimits(output_bytes=10, search_seconds=-1))
    assert outcome.text == "xxxxxxxxxx\n[line 1 is cut: at least 2 bytes of it are missing; next: offset=2]"
    outcome = await use("read_file", path="a.txt", offset=9, limits=ToolLimits(search_seconds=-1))
    assert outcome == ToolOutcome("offset: a.txt is too long to find that line in time", True)


@pytest.mark.parametrize("ticks", range(1, 9))
def test_the_middle_of_a_line_is_never_another_line(root: Path, monkeypatch: pytest.MonkeyPatch, ticks: int) -> None:
    clock = itertools.count()  # a tick for each look at it
    monkeypatch.setattr(read, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    path = put(root / "a.txt", b"a" * 4 * 1024 * 1024 + b"\nsecond\n")
    if ticks < 6:
        with pytest.raises(ToolFailure, match="too long to find that line in time"):
            read_lines(path, "a.txt", ToolLimits(search_seconds=ticks), first=2)
    else:
        assert read_lines(path, "a.txt", ToolLimits(search_seconds=ticks), first=2).startswith("second\n[lines 2 to 2")


async def test_what_is_not_text_is_refused_kindly(root: Path, use: Use) -> None:
    put(root / "a.png", b"\x89PNG\0\0")
    os.mkfifo(root / "pipe")
    assert await use("read_file", path="a.png") == ToolOutcome(
        "a.png: is a binary file of 6 bytes, not text; a command may tell more about it", True
    )
    assert (await use("read_file", path="pipe")).text == "pipe: expected a file, this is a pipe"
    assert (await use("read_file", path=".")).text == ".: expected a file, this is a folder; use list_files"
    assert (await use("read_file", path="A.PNG")).text == "A.PNG: no such file; there is a.png"
    assert (await use("read_file", path="b/c")).text == "b/c: no such file"


@pytest.mark.parametrize(
    ("missing", "there"),
    [
        ("archive.tar.gz", "Archive.tar.gz"),
        ("app.test.tsx", "App.test.tsx, App.css, app.js"),
        ("app", "App.css, App.test.tsx, app.js"),
        (".ENV", ".env, .env.local"),
    ],
)
async def test_names_that_differ_in_case_or_endings_are_offered(root: Path, use: Use, missing: str, there: str) -> None:
    for name in ("Archive.tar.gz", "App.css", "App.test.tsx", "app.js", "app.json", ".env", ".env.local", ".profile"):
        put(root / name, "x")
    assert (await use("read_file", path=missing)).text == f"{missing}: no such file; there is {there}"


async def test_an_empty_file_and_one_in_another_encoding_are_read(root: Path, use: Use) -> None:
    put(root / "empty", "")
    put(root / "latin", b"caf\xe9\n")
    assert await use("read_file", path="empty") == ToolOutcome("[empty is empty]")
    assert await use("read_file", path="latin") == ToolOutcome("caf\ufffd\n")


# list_files


@pytest.fixture
def tree(root: Path) -> Path:
    for name in ("README", "src/a.py", "src/deep/er/b.py", "src/deep/c.c", ".git/config", "node_modules/x.js"):
        put(root / name, "x")
    put(root / "build/out.o", "x")
    put(root / "keep.log", "x")
    put(root / "drop.log", "x")
    put(root / ".gitignore", "# made\n\n/build/\n*.log\n!keep.log\nsrc/deep/c.[ch]\n/\n")
    os.symlink("..", root / "src/loop")
    return root


async def test_a_folder_is_listed_without_what_is_ignored(tree: Path, use: Use) -> None:
    assert (await use("list_files")).text.split("\n") == [
        ".gitignore",
        "README",
        "keep.log",
        "src/",
        "src/a.py",
        "src/deep/",
        "src/loop",
        "src/deep/er/",
    ]


async def test_path_depth_and_glob_narrow_the_list(tree: Path, use: Use) -> None:
    assert (await use("list_files", path="src", depth=1)).text == "src/a.py\nsrc/deep/\nsrc/loop"
    assert (await use("list_files", glob="*.py")).text == "src/a.py\nsrc/deep/er/b.py"
    assert (await use("list_files", path="src/deep", glob="src/**/b.*")).text == "src/deep/er/b.py"
    assert (await use("list_files", path="src/deep", glob="*.c")).text == "[nothing in src/deep matches *.c]"
    assert (await use("list_files", path="node_modules")).text == "node_modules/x.js"


async def test_a_list_is_bounded_in_length_and_time(tree: Path, use: Use) -> None:
    assert (await use("list_files", limits=ToolLimits(max_entries=2))).text == (
        ".gitignore\nREADME\n[the first 2 entries; narrow it with path, glob or depth]"
    )
    assert (await use("list_files", limits=ToolLimits(search_seconds=-1))).text.startswith("[stopped after")


async def test_what_is_no_folder_is_said(tree: Path, use: Use) -> None:
    (tree / "void").mkdir()
    assert (await use("list_files", path="void")).text == "[void is empty]"
    assert await use("list_files", path="README") == ToolOutcome("README: is a file; use read_file", True)
    assert await use("list_files", path="nowhere") == ToolOutcome("nowhere: no such folder", True)


# write_file and edit_file


async def test_a_file_is_written_with_its_folders(root: Path, use: Use) -> None:
    assert (await use("write_file", path="x/y/a.txt", content="é\n2")).text == "[created x/y/a.txt: 2 lines, 4 bytes]"
    assert (root / "x/y/a.txt").read_text() == "é\n2"
    assert os.listdir(root / "x/y") == ["a.txt"]


async def test_mode_and_link_are_kept_when_a_file_is_replaced(root: Path, use: Use) -> None:
    path = put(root / "run.sh", "old")
    path.chmod(0o754)
    os.symlink("run.sh", root / "link")
    assert (await use("write_file", path="link", content="new")).text == "[replaced run.sh: 1 line, 3 bytes]"
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert (root / "link").is_symlink()


async def test_what_cannot_be_written_is_left_as_it_was(root: Path, use: Use) -> None:
    put(root / "file", "x")
    (root / "folder").mkdir()
    for path, content in (("folder", "y"), ("file/below", "y"), ("file", "\ud800"), ("../out", "y"), (".git/x", "y")):
        assert (await use("write_file", path=path, content=content)).is_error
    assert (root / "file").read_text() == "x"
    assert sorted(os.listdir(root)) == ["file", "folder"]
    assert os.listdir(root.parent) == ["project"]


async def test_a_write_that_breaks_off_leaves_nothing_behind(
    root: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    put(root / "a", "x")
    monkeypatch.setattr(os, "replace", broken)
    assert await use("write_file", path="a", content="y") == ToolOutcome("write_file: No space left on device", True)
    assert os.listdir(root) == ["a"]
    assert (root / "a").read_text() == "x"


async def test_a_text_that_matches_once_is_replaced(root: Path, use: Use) -> None:
    path = put(root / "a.py", b"one\ntwo \xe9\nthree\n")
    outcome = await use("edit_file", path="a.py", old_text="three", new_text="four")
    assert outcome == ToolOutcome("[replaced 1 match in a.py, line 3]")
    assert path.read_bytes() == b"one\ntwo \xe9\nfour\n"


async def test_a_text_that_matches_more_often_needs_leave(root: Path, use: Use) -> None:
    path = put(root / "a.py", "x\ny\nx\nx\n")
    outcome = await use("edit_file", path="a.py", old_text="x", new_text="z")
    assert outcome.is_error
    assert outcome.text.startswith("old_text: 3 matches in a.py, at the lines 1, 3, 4; add lines")
    assert path.read_text() == "x\ny\nx\nx\n"
    outcome = await use("edit_file", path="a.py", old_text="x", new_text="z", replace_all=True)
    assert outcome == ToolOutcome("[replaced 3 matches in a.py, line 1]")
    assert path.read_text() == "z\ny\nz\nz\n"


async def test_without_a_match_the_nearest_lines_are_shown(root: Path, use: Use) -> None:
    put(root / "a.py", "import os\n\ndef first():\n    return 1\n")
    near = await use("edit_file", path="a.py", old_text="def firsts():\n    pass", new_text="")
    assert near.text == "old_text: no match in a.py; the nearest is line 3:\ndef first():\n    return 1"
    white = await use("edit_file", path="a.py", old_text="def first():\n\treturn 1", new_text="")
    assert white.text.startswith("old_text: no match in a.py; line 3 matches but for white space:\ndef first():")
    far = await use("edit_file", path="a.py", old_text="zzzz", new_text="")
    assert far.text.endswith("no line is like its first one; read the file again")


async def test_line_ends_of_windows_stay(root: Path, use: Use) -> None:
    path = put(root / "a.txt", b"one\r\ntwo\r\nthree\r\n")
    await use("edit_file", path="a.txt", old_text="one\ntwo", new_text="1\n2")
    assert path.read_bytes() == b"1\r\n2\r\nthree\r\n"


async def test_what_cannot_be_edited_is_said(root: Path, use: Use) -> None:
    put(root / "a", "x")
    put(root / "b", b"\0")
    with (root / "big").open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    assert (await use("edit_file", path="a", old_text="x", new_text="x")).text.startswith("new_text: is the same")
    assert "binary" in (await use("edit_file", path="b", old_text="x", new_text="y")).text
    assert "more than the" in (await use("edit_file", path="big", old_text="x", new_text="y")).text
    assert "no such file" in (await use("edit_file", path="c", old_text="x", new_text="y")).text


# The box


async def test_every_failure_is_an_outcome(root: Path) -> None:
    box = Toolbox(root, switched_off={"run_command"})
    assert (await box.run_tool("fly", "{}")).text == (
        "fly: no such tool; there are read_file, list_files, search_text, write_file, edit_file"
    )
    assert (await box.run_tool("run_command", "{}")).text == "run_command: the user has switched this tool off"
    assert (await box.run_tool("read_file", "{")).is_error
    assert (await box.run_tool("read_file", json.dumps({"path": "x" * 300}))).is_error
    assert [each["function"]["name"] for each in box.definitions()] == list(box.names)
    assert (box.kind("write_file"), box.kind("run_command"), box.kind("fly")) == ("write", "run", "read")


async def test_a_tool_from_elsewhere_that_breaks_is_an_outcome_too(root: Path) -> None:
    async def run(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        raise KeyError(arguments["x"])

    tool = Tool("odd", "run", "", object_schema(("x",), x={"type": "string"}), run, lambda arguments: arguments["y"])
    box = Toolbox(root, more=[tool])
    assert await box.run_tool("odd", '{"x": "z"}') == ToolOutcome("odd failed: KeyError: 'z'", True)
    assert box.call("odd", '{"x": "z"}').problem == "odd failed: KeyError: 'y'"
    assert box.kind("odd") == "run"
    with pytest.raises(ValueError, match="two tools are called odd"):
        Toolbox(root, more=[tool, tool])


async def test_what_a_tool_says_can_always_be_written_to_the_log(root: Path, use: Use) -> None:
    (root / os.fsdecode(b"caf\xe9")).touch()
    assert (await use("list_files")).text == "caf?"


def test_a_call_is_seen_by_its_real_path(root: Path) -> None:
    (root / "src").mkdir()
    os.symlink("src", root / "lib")
    box = Toolbox(root)
    call = box.call("write_file", json.dumps({"path": "lib/../lib/a.py", "content": ""}))
    assert (call.tool, call.kind, call.subject, call.problem) == ("write_file", "write", "src/a.py", "")
    assert box.call("run_command", '{"command": "ls"}').subject == "ls"
    assert "outside" in box.call("write_file", '{"path": "/etc/x", "content": ""}').problem
    assert "missing" in box.call("write_file", "{}").problem
    assert box.call("list_files", "{}").subject == box.call("search_text", '{"pattern": "x"}').subject == "."


def test_definitions_are_short(root: Path) -> None:
    assert len(json.dumps(Toolbox(root).definitions())) < 3000
