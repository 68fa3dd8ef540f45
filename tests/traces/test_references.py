"""`talks.json#2` is the second conversation of a file, unless a file has that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.traces.references import is_file, split_ref, sub_agents_words


@pytest.mark.parametrize(
    ("ref", "parts"),
    [
        ("talks.json", ("talks.json", None)),
        ("talks.json#2", ("talks.json", 2)),
        ("a#1#12", ("a#1", 12)),
        ("talks.json#", ("talks.json#", None)),
        ("talks.json#two", ("talks.json#two", None)),
        ("#2", ("#2", None)),
        ("", ("", None)),
    ],
)
def test_a_number_behind_the_path_names_a_conversation(ref: str, parts: tuple[str, int | None]) -> None:
    assert split_ref(ref) == parts


def test_a_file_with_such_a_name_is_that_file(tmp_path: Path) -> None:
    file = tmp_path / "talk#2"
    assert split_ref(str(file)) == (str(tmp_path / "talk"), 2)
    file.touch()
    assert split_ref(str(file)) == (str(file), None)


def test_a_folder_or_an_impossible_name_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert is_file(str(tmp_path / "file"))
    assert not is_file(str(tmp_path))
    assert not is_file(str(tmp_path / "nothing"))
    assert not is_file("a\0b")
    assert not is_file("a" * 5_000)


def test_five_sub_agents_are_named_and_more_are_hinted_at() -> None:
    found = {str(number): f"agent {number}" for number in range(2, 7)}
    named = "t#2 (agent 2), t#3 (agent 3), t#4 (agent 4), t#5 (agent 5), t#6 (agent 6)"
    assert sub_agents_words(found, "t") == f"5 sub-agents: {named}"
    assert sub_agents_words(found | {"7": "agent 7"}, "t") == f"6 sub-agents: {named}, ..."
    assert sub_agents_words({"2": "explore"}, "t") == "1 sub-agent: t#2 (explore)"
