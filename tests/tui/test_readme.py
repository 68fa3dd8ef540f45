"""The README's five minutes, followed to the letter in a real terminal."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui.test_tmux import Tmux

pytestmark = [
    pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here"),
    pytest.mark.xdist_group("litellm"),
]

KEYS = {
    "Enter": "Enter",
    "Esc": "Escape",
    "Tab": "Tab",
    "Ctrl+L": "C-l",
    "Ctrl+S": "C-s",
    "Ctrl+P": "C-p",
    "Ctrl+Q": "C-q",
}
KEYS |= {f"F{number}": f"F{number}" for number in range(1, 13)}

STEPS: list[tuple[str, str]] = [
    ("F2", "Enter send"),
    ("read bakery/pricing.py", "message · "),
    ("Enter", "pricing.py  ✓"),
    ("Tab", "Enter unfold"),
    ("k", "Enter unfold"),
    ("j", "Enter unfold"),
    ("Enter", "Enter unfold"),
    ("Esc", "Enter send"),
    ("F3", "f filter"),
    ("f", "filter: words"),
    ("state:truncated", "state:truncated"),
    ("Enter", "1 of "),
    ("Enter", "over the cap of 1,600"),
    ("Esc", "!what was cut"),
    ("x", "frees "),
    ("Enter", "0 of "),
    ("u", "1 of "),
    ("Esc", "!filter state:truncated"),
    ("T", "run_command results"),
    ("L", "mask these"),
    ("Esc", "!mask these"),
    ("[", "request 27"),
    ("[", "request 26"),
    ("}", "next of 27"),
    ("w", "the request"),
    ("f", "curl "),
    ("Esc", "!curl "),
    ("F4", "compacts at "),
    ("Enter", "make the draft"),
    ("Enter", " lost, "),
    ("Ctrl+L", "0 lost"),
    ("Ctrl+S", "u undo"),
    ("u", "Undone:"),
    ("y", "undid compaction #"),
    ("Esc", "c compact"),
    ("F2", "Enter send"),
    ("/lab", "/lab"),
    ("Enter", "codex"),
    ("Esc", "!lab: this session"),
    ("F1", "type to search"),
    ("Esc", "!type to search"),
    ("Ctrl+P", "Search for"),
    ("Esc", "!Search for"),
    ("Ctrl+Q", "ended with 0"),
]
"""What the README has the reader press or type, in its order, and what is seen then; after a "!": what is gone."""


def asked_for() -> list[str]:
    """Every key and text that the numbered list names."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    steps = readme[readme.index("\n1. **Chat**") : readme.index("Then look at a session of your own agent.")]
    return re.findall(r"`([^`]+)`", steps)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Tmux]:
    """A shell in a terminal of the usual size."""
    made = Tmux(tmp_path, (120, 40))
    yield made
    made.end()


def test_the_five_minutes_can_be_followed_to_the_letter(terminal: Tmux) -> None:
    assert [pressed for pressed, _ in STEPS] == asked_for()
    terminal.type(f"{sys.executable} -m workbench demo; echo ended with $?")
    terminal.press("Enter")
    terminal.wait_for("rounding line by line made 13.22")
    for pressed, seen in STEPS:
        if pressed in KEYS:
            terminal.press(KEYS[pressed])
        else:
            terminal.type(pressed)
        if seen.startswith("!"):
            terminal.wait_until_gone(seen[1:])
        else:
            terminal.wait_for(seen)
