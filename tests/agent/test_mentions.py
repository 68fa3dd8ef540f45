"""Files that a message mentions go along with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agent.mentions import MOST, as_written, files_in, with_files
from workbench.log.events import TextPart, text_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("print('a')\n")
    (tmp_path / "two words.txt").write_text("both")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\x00\x00\x01")
    return tmp_path


def test_a_file_s_text_stands_behind_the_message(root: Path) -> None:
    content = with_files("what does @src/a.py do?", root)
    assert content == (
        TextPart("what does @src/a.py do?"),
        TextPart("<file path=\"src/a.py\">\nprint('a')\n</file>"),
    )
    assert as_written(content) == "what does @src/a.py do?"


@pytest.mark.parametrize(
    "text", ["mail me@src/a.py", "ask @someone", "@", "@src", "@../outside.txt", "@/etc/hostname", "plain", '@""']
)
def test_other_words_are_left_alone(root: Path, text: str) -> None:
    (root.parent / "outside.txt").write_text("secret")
    assert with_files(text, root) == text
    assert as_written(text) == text


@pytest.mark.parametrize("text", ["(@src/a.py)", "see @src/a.py.", "@src/a.py, please", "@src/a.py @src/a.py"])
def test_a_name_may_stand_in_a_sentence_and_counts_once(root: Path, text: str) -> None:
    assert files_in(text, root) == [root / "src/a.py"]


def test_a_name_with_blanks_is_quoted(root: Path) -> None:
    assert files_in('look at @"two words.txt" now', root) == [root / "two words.txt"]


def test_what_cannot_be_read_is_said(root: Path) -> None:
    assert "could not be read" in text_of(with_files("@picture.png", root))


def test_a_message_brings_a_limited_number_of_files(root: Path) -> None:
    for number in range(MOST + 5):
        (root / f"f{number}").write_text("x")
    assert len(files_in(" ".join(f"@f{number}" for number in range(MOST + 5)), root)) == MOST


@given(st.text(max_size=80))
def test_any_message_comes_through_whole(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    content = with_files(text, tmp_path_factory.getbasetemp())
    assert text_of(content).startswith(text)
    assert as_written(content) == text


@pytest.mark.parametrize("name", ["x" * 900, "a/" * 400 + "b", f'"{"y" * 900}"'])
def test_a_name_that_is_too_long_for_any_file_is_just_a_word(root: Path, name: str) -> None:
    assert files_in(f"look at @{name}", root) == []
