"""A model that says what a test wants."""

from __future__ import annotations

from typing import Any

import pytest

from tui.compaction.watching import Scripted
from tui.play import Script


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """From now on every model says these things, one after the other."""

    def play(*answers: Any) -> Script:
        made = Script(*answers)
        made.play(monkeypatch)
        return made

    return play
