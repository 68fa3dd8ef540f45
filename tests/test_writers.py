"""Every file is written by `config.writing`; what else makes a file is listed here, with the reason."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pytest

from support.source_code import PACKAGE as ROOT
from support.source_code import module_nodes, parsed_once

WRITERS = ("config/writing.py", "config/output_files.py")
METHODS = {"write_text", "write_bytes", "touch", "mkdir", "makedirs", "symlink_to", "hardlink_to", "rename", "renames"}
FUNCTIONS = {
    *("copy", "copy2", "copyfile", "copytree", "move", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory"),
    *("SpooledTemporaryFile", "mkstemp", "mkdtemp", "mkfifo", "link", "symlink", "truncate", "ftruncate"),
}
MODULES = {"shutil", "tempfile", "os"}
IN_ITS_OWN = "in a temporary folder that only this user can enter"
UNNAMED = "a file without a name"
ALLOWED = {
    ("agent/mcp_link.py", "tempfile.TemporaryFile"): UNNAMED,
    ("agent/private_git.py", "mkdir"): IN_ITS_OWN,
    ("agent/private_git.py", "tempfile.TemporaryDirectory"): "makes such a folder",
    ("agent/private_git.py", "write_text"): IN_ITS_OWN,
    ("agent/tools/process.py", "fdopen"): "the reading end of a pipe",
    ("agent/tools/process.py", "tempfile.TemporaryFile"): UNNAMED,
    ("cli/main.py", "open"): "the null device, in place of a closed stream",
    ("cli/main.py", "os.open"): "the null device, in place of a closed stream",
    ("proxy/own_folder.py", "tempfile.TemporaryDirectory"): "makes such a folder",
    ("cli/mcp_serve.py", "fdopen"): "standard output, for the protocol alone",
    ("cli/recover.py", "TemporaryDirectory"): "the new store is made in it, beside its place",
    ("cli/recover.py", "replace"): "the new store takes its place",
    ("config/system.py", "open"): "the writing end of a pipe",
    ("config/system.py", "os.open"): "a lock, which holds nothing",
    ("config/foreign_files.py", "os.open"): "reads",
    ("demo/project.py", "mkdir"): IN_ITS_OWN,
    ("demo/project.py", "write_text"): IN_ITS_OWN,
    ("demo/record.py", "tempfile.TemporaryDirectory"): "a developer's tool",
    ("demo/record.py", "write_text"): "a developer's tool",
    ("lab/running/fetching.py", "TemporaryDirectory"): "makes such a folder",
    ("lab/running/fetching.py", "open"): IN_ITS_OWN,
    ("log/lock.py", "os.ftruncate"): "a lock: it says who holds it, and holds nothing else",
    ("log/lock.py", "os.open"): "a lock: it says who holds it, and holds nothing else",
    ("log/replacement.py", "os.replace"): "a whole store takes its place",
    ("proxy/journal.py", "os.open"): "appended to; half a record is not read",
    ("proxy/journal.py", "os.ftruncate"): "appended to; half a record is not read",
    ("proxy/open_requests.py", "os.open"): "one line, written in one piece",
    ("live/agent_starts.py", "write_text"): IN_ITS_OWN,
    ("traces/gemini_cli.py", "replace"): "of a history, not of a file",
    ("traces/tables.py", "TemporaryDirectory"): "makes such a folder",
    ("traces/tables.py", "write_bytes"): IN_ITS_OWN,
    ("tui/leaving.py", "os.open"): "the null device, for what the screen still draws",
    ("tui/demo.py", "mkdir"): IN_ITS_OWN,
    ("tui/demo.py", "shutil.copytree"): IN_ITS_OWN,
    ("tui/demo.py", "tempfile.TemporaryDirectory"): "makes such a folder",
    ("tui/demo.py", "write_text"): IN_ITS_OWN,
}


def writes(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The calls in a module that may make, change or move a file."""
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        match call.func:
            case ast.Name(id="open") if not reads(call, 1):
                yield "open"
            case ast.Attribute(value=ast.Name(id="os"), attr="open" | "fdopen" as name) if "O_RDONLY" not in ast.dump(
                call
            ):
                yield "os.open" if name == "open" else name
            case ast.Attribute(value=ast.Name(id="os"), attr="open"):
                pass
            case ast.Attribute(attr="open") if any(map(is_writing_mode, call.args[:1])):
                yield "open"
            case ast.Attribute(attr=name) if name in METHODS and not is_session(call.func):
                yield name
            case ast.Attribute(attr="replace") if len(call.args) == 1 and not call.keywords:
                yield "replace"
            case ast.Attribute(value=ast.Name(id="os"), attr="replace"):
                yield "os.replace"
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in MODULES and name in FUNCTIONS:
                yield name if name == "copy2" else f"{module}.{name}"
            case ast.Name(id=name) if name in FUNCTIONS - {"copy", "move", "link", "truncate"}:
                yield name


def reads(call: ast.Call, at: int) -> bool:
    """Whether a file is opened to be read: no mode, or one that says so. Any other mode counts as writing."""
    given = [*call.args[at : at + 1], *(word.value for word in call.keywords if word.arg == "mode")]
    return all(isinstance(mode, ast.Constant) and not is_writing_mode(mode) for mode in given)


def is_writing_mode(mode: ast.expr) -> bool:
    return (
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and set(mode.value) <= set("rwaxbt+")
        and bool(set(mode.value) & set("wax+"))
    )


def is_session(function: ast.Attribute) -> bool:
    """`rename` of a session, not of a file."""
    named = ast.unparse(function.value)
    return function.attr == "rename" and named.split(".")[-1] in ("store", "work", "model", "_store")


@parsed_once
def test_nothing_else_writes_a_file_and_nothing_is_listed_that_is_gone() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), call)
        for path in sorted(ROOT.rglob("*.py"))
        for call in writes(module_nodes(path))
        if path.relative_to(ROOT).as_posix() not in WRITERS
    }
    assert found - ALLOWED.keys() == set(), "write it with config.writing, or say in ALLOWED why not"
    assert ALLOWED.keys() - found == set(), "no longer needed"


@pytest.mark.parametrize(
    "code",
    [
        "open(path, 'w')",
        "open(path, mode='ab')",
        "open(path, chosen)",
        "path.open('xb')",
        "path.write_text('')",
        "path.write_bytes(b'')",
        "path.replace(target)",
        "path.rename(target)",
        "os.replace(one, other)",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "os.fdopen(1, 'w')",
        "os.makedirs(path)",
        "path.mkdir()",
        "path.touch()",
        "shutil.copy2(one, other)",
        "shutil.copyfile(one, other)",
        "tempfile.NamedTemporaryFile()",
        "NamedTemporaryFile()",
    ],
)
def test_other_ways_are_found(code: str) -> None:
    assert list(writes(ast.walk(ast.parse(code))))


@pytest.mark.parametrize(
    "code",
    ["open(path)", "open(path, 'rb')", "path.open('rb')", "text.replace('a', 'b')", "os.open(path, os.O_RDONLY)"],
)
def test_reading_is_no_writing(code: str) -> None:
    assert not list(writes(ast.walk(ast.parse(code))))
