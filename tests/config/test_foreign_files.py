"""Only regular files are opened, never more than a limit is read, and no module has a way of its own."""

from __future__ import annotations

import ast
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.source_code import PACKAGE, module_nodes, parsed_once
from workbench.config.errors import WrongCall
from workbench.config.file_limits import largest_file
from workbench.config.foreign_files import (
    NotRegularFile,
    TooLargeFile,
    check_regular_or_missing,
    is_regular_file,
    open_regular_file,
    read_regular_file,
    read_to_end,
)

pytest.importorskip("fcntl", reason="a system without pipes that have names")


def a_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket may have 108 bytes
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


def a_link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("p"))
    path.symlink_to("p")


OTHER_KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "expected a file, this is a pipe"),
    "socket": (a_socket, "expected a file, this is a socket"),
    "folder": (Path.mkdir, "expected a file, this is a folder"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "expected a file, this is a device"),
    "terminal": (lambda path: path.symlink_to("/dev/tty"), "expected a file, this is a device"),
    "link to a pipe": (a_link_to_a_pipe, "expected a file, this is a pipe"),
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_what_is_no_regular_file_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    make, message = OTHER_KINDS[kind]
    path = tmp_path / "x"
    make(path)
    for read in (open_regular_file, read_regular_file, check_regular_or_missing):
        with pytest.raises(NotRegularFile) as caught:
            read(path)
        assert caught.value.strerror == message
    assert not is_regular_file(path)


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_the_check_is_on_what_was_opened_and_not_on_a_look_before(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind in ("socket", "terminal"):
        pytest.skip("the system itself does not open it")
    make, message = OTHER_KINDS[kind]
    path = tmp_path / "x"
    (tmp_path / "before").write_bytes(b"x")
    make(path)
    known = os.stat(tmp_path / "before")
    monkeypatch.setattr("os.stat", lambda *_, **__: known)
    with pytest.raises(NotRegularFile, match=message):
        open_regular_file(path)


def test_a_descriptor_is_not_left_open_by_a_refusal(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(20):
        with pytest.raises(NotRegularFile):
            open_regular_file(tmp_path)
    assert not before or len(os.listdir("/proc/self/fd")) == before


def test_a_file_above_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(200 * 1024**3)
    with pytest.raises(TooLargeFile) as caught:
        read_regular_file(path, 1_000_000)
    assert caught.value.strerror == "expected at most 1,000,000 bytes, this has 214,748,364,800 bytes"
    with open_regular_file(path) as file:  # of its beginning a little may still be read
        assert file.read(10) == bytes(10)


def test_a_stream_without_an_end_is_read_up_to_the_limit() -> None:
    with open("/dev/zero", "rb") as file, pytest.raises(TooLargeFile, match="at most 5,000,000 bytes, this has more"):
        read_to_end(file, 5_000_000)


@given(st.binary(max_size=200), st.integers(0, 200), st.integers(0, 200))
def test_up_to_the_limit_everything_is_read_and_above_it_nothing(content: bytes, start: int, limit: int) -> None:
    file = BytesIO(content)
    begin = file.read(start)
    if len(content) > limit:
        with pytest.raises(TooLargeFile):
            read_to_end(file, limit, begin)
    else:
        assert read_to_end(file, limit, begin) == content


def test_a_link_may_lead_anywhere_in_the_project_and_not_out_of_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "deep").mkdir(parents=True)
    (project / "a").write_bytes(b"inside")
    (tmp_path / "projects-secret").write_bytes(b"outside")
    (project / "deep" / "in").symlink_to("../a")
    for name, target in {
        "out": "../projects-secret",
        "far": f"{tmp_path}/projects-secret",
        "twice": "out",
        "proc": f"/proc/self/root{tmp_path}/projects-secret",
    }.items():
        (project / name).symlink_to(target)
        with pytest.raises(NotRegularFile, match="this is a link out of the project"):
            open_regular_file(project / name, inside=project)
        assert not is_regular_file(project / name, inside=project)
    assert read_regular_file(project / "deep" / "in", inside=project) == b"inside"
    with pytest.raises(NotRegularFile, match="this is a link"):
        open_regular_file(project / "deep" / "in", follow_links=False)


def test_the_limit_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CONFIG_DIR", str(tmp_path))
    assert largest_file() == 2 * 1024**3
    (tmp_path / "config.toml").write_text("[files]\nmax_bytes = 5_000_000\n")
    assert largest_file() == 5_000_000
    (tmp_path / "config.toml").write_text("[files]\nmax_bytes = 12\n")
    with pytest.raises(WrongCall, match=r"files\.max_bytes: expected a number of bytes, at least 1_000_000, got 12"):
        largest_file()


# No other way

ALLOWED = {
    ("config/foreign_files.py", "os.open"): "the one way",
    ("config/writing.py", "open"): "writes",
    ("config/writing.py", "os.open"): "writes",
    ("config/variables.py", "Path('/proc/self/stat').read_text"): "the system's own",
    ("log/migrations.py", "sqlite3.connect"): "whose head was read by open_regular_file",
    ("config/processes.py", "Path(f'/proc/{pid}/stat').read_bytes"): "the system's own",
    ("config/system.py", "open"): "the system's own, in /proc",
    ("config/system.py", "os.open"): "a folder, or a lock of ours",
    ("agent/tools/process.py", "os.fdopen"): "a pipe that this process made",
    ("models/local/serve.py", "FileIO"): "standard input of a process of ours",
    ("cli/main.py", "open"): "os.devnull",
    ("cli/mcp_serve.py", "os.fdopen"): "standard output of this process",
    ("agent/slots.py", "(files('workbench') / 'prompts' / 'system.md').read_text"): "shipped with the program",
    ("compaction/prompts.py", "(files('workbench') / 'prompts' / f'{name}.md').read_text"): "shipped with the program",
    ("demo/project.py", "source.read_text"): "shipped with the program",
    ("tui/demo.py", "source.read_text"): "shipped with the program",
    ("tui/demo.py", "path.read_text"): "the demo wrote it a moment ago",
    ("tui/demo.py", "shutil.copytree"): "copies with copy_file",
    ("views/session_page.py", "(files('workbench.views') / 'page' / name).read_text"): "shipped with the program",
    ("models/model_table.py", "path.read_bytes"): "shipped with litellm",
    ("lab/running/code_stamp.py", "path.read_bytes"): "our own package",
    ("lab/running/code_stamp.py", "found.read_bytes"): "shipped with litellm",
    ("log/database.py", "sqlite3.connect"): "the program's own database, which check_file looked at before",
    ("log/lock.py", "os.open"): "the program's own locks",
    ("log/lock.py", "self.path.read_text"): "the program's own locks",
    ("log/recovery.py", "mmap.mmap"): "of a file that open_regular_file opened",
    ("config/cache_files.py", "sqlite3.connect"): "the program's own cache",
    ("proxy/journal.py", "os.open"): "writes",
    ("proxy/recorder_link.py", "open"): "a pipe to a process of ours",
    ("lab/running/fetching.py", "system.open"): "a file of another machine, read up to the limit",
    ("traces/tables.py", "sqlite3.connect"): "memory, or a file that open_tables looked at before",
    ("traces/inspect_logs.py", "ZipFile"): "bytes that were read before",
}
"""By module and what it calls: why it may."""
_MODE = re.compile(r"[rwxabt+]{1,4}")
_OPEN_WORDS = {"mode", "encoding", "errors", "newline", "buffering"}
_LIBRARIES = {
    *("os.open", "os.fdopen", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open", "tarfile.open", "FileIO"),
    *("mmap.mmap", "sqlite3.connect", "ZipFile", "zipfile.ZipFile", "fileinput.input", "linecache.getlines"),
    *("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree", "shutil.move", "copyfile", "copy2"),
}

_LAST_NAMES = {"open", "read_bytes", "read_text", *(each.rpartition(".")[2] for each in _LIBRARIES)}


def ways_of_opening(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """What a module calls to read files by their names, in its own words."""
    for node in nodes:
        if isinstance(node, ast.Call) and _opens(node):
            yield ast.unparse(node.func)


def _opens(call: ast.Call) -> bool:
    if getattr(call.func, "attr", getattr(call.func, "id", "")) not in _LAST_NAMES:
        return False
    name = ast.unparse(call.func)
    if name in _LIBRARIES:
        return "O_WRONLY" not in ast.unparse(call)
    method = name.rpartition(".")[2]
    if name.startswith("Store.") or name == "read_text":
        return False
    if method in ("read_bytes", "read_text"):
        return True
    if method != "open":
        return False
    words = {each.arg: each.value for each in call.keywords}
    for mode in [*call.args[:2], words.get("mode")]:
        if isinstance(mode, ast.Constant) and isinstance(mode.value, str) and _MODE.fullmatch(mode.value):
            return "r" in mode.value or "+" in mode.value
    is_bare = not call.args and not call.keywords
    return name == "open" or is_bare or not _OPEN_WORDS.isdisjoint(words)


@parsed_once
def test_no_other_module_opens_files() -> None:
    found = {
        (path.relative_to(PACKAGE).as_posix(), way)
        for path in sorted(PACKAGE.rglob("*.py"))
        for way in ways_of_opening(module_nodes(path))
    }
    assert found - ALLOWED.keys() == set(), "open it with config.foreign_files, or say in ALLOWED why not"
    assert ALLOWED.keys() - found == set(), "no longer needed"


@pytest.mark.parametrize(
    "text",
    [
        "open(path)",
        "open(path, 'rb')",
        "open(path, mode='r+')",
        "path.open()",
        "path.open('rb')",
        "path.open(encoding='utf-8')",
        "path.read_bytes()",
        "(a / b).read_text('utf-8')",
        "os.open(path, os.O_RDONLY)",
        "sqlite3.connect(path)",
        "mmap.mmap(1, 0)",
        "shutil.copy2(a, b)",
    ],
)
def test_every_way_of_opening_is_seen(text: str) -> None:
    assert list(ways_of_opening(ast.walk(ast.parse(text))))


@pytest.mark.parametrize("text", ["open(path, 'wb')", "path.open('x')", "line.open('search', '')", "read_text(name)"])
def test_what_reads_no_file_is_not_meant(text: str) -> None:
    assert not list(ways_of_opening(ast.walk(ast.parse(text))))
