"""The user's `preferences.md`, and the rows that instructions and memory become."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from workbench.agent.instructions import InstructionFile, Instructions, load_instructions
from workbench.agent.memory import MAX_BYTES, load_memory, slot_contents
from workbench.context.policy import InstructionsPolicy
from workbench.log.events import SlotContent


def remembered(folder: Path, data: bytes | str) -> Path:
    path = folder / "preferences.md"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_without_a_file_nothing_is_remembered(tmp_path: Path) -> None:
    assert load_memory(tmp_path) == Instructions()
    remembered(tmp_path, " \n\n")
    assert load_memory(tmp_path) == Instructions()


def test_a_file_is_sent_whole(tmp_path: Path) -> None:
    path = remembered(tmp_path, "Métric units.\n")
    assert load_memory(tmp_path) == Instructions((InstructionFile(path, "Métric units.\n", 15, cut=False),), (), 15)


def test_a_file_that_is_too_large_is_cut_with_a_marker(tmp_path: Path) -> None:
    path = remembered(tmp_path, "a line of preferences\n" * 5_000)
    memory = load_memory(tmp_path)
    (file,) = memory.files
    assert file.cut
    assert file.original_bytes == 110_000
    assert len(file.text.encode()) == memory.total_bytes <= MAX_BYTES
    assert file.text.endswith(f"of 110000 bytes of {path}]")
    assert memory.problems == ()


def test_where_not_even_the_marker_fits_it_is_left_out(tmp_path: Path) -> None:
    path = remembered(tmp_path, b"\xff" + b"x" * 50)
    memory = load_memory(tmp_path, max_bytes=3)
    assert memory.files == ()
    assert [problem.removeprefix(f"{path}: ")[:10] for problem in memory.problems] == [
        "expected U",
        "left out, ",
    ]


def test_what_is_no_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "preferences.md"
    path.mkdir()
    assert load_memory(tmp_path).problems == (f"{path}: expected a file, this is a folder",)


def test_each_file_becomes_a_row_of_its_own(tmp_path: Path) -> None:
    root, deep = tmp_path / "project", tmp_path / "project" / "deep"
    deep.mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "AGENTS.md").write_text("root", encoding="utf-8")
    (deep / "AGENTS.md").write_text("deep", encoding="utf-8")
    path = remembered(tmp_path, "prefers tea")
    instructions = load_instructions(deep, tmp_path, InstructionsPolicy())
    assert slot_contents(instructions, load_memory(tmp_path)) == [
        SlotContent("instructions", str(root / "AGENTS.md"), "root"),
        SlotContent("instructions", str(deep / "AGENTS.md"), "deep"),
        SlotContent("memory", str(path), "prefers tea"),
    ]


def test_nothing_there_is_no_row(tmp_path: Path) -> None:
    assert slot_contents(Instructions(), load_memory(tmp_path)) == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_a_folder_whose_name_is_not_text_can_be_written_to_the_log(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    remembered(folder, "x" * 500)
    (content,) = slot_contents(Instructions(), load_memory(folder, max_bytes=400))
    assert content.name.endswith("caf?/preferences.md")
    assert content.text.encode()
