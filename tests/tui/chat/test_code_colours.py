"""Colours of code: at once where that is quick, in a process where it may not be, and never at the screen's cost."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from support.waiting import GIVE_UP
from tui.chat.host import Host, said, settle
from tui.play import until
from workbench.tui.chat import code_colours
from workbench.tui.chat.code_colours import AT_ONCE, LONG, SHORT, CodeColours, coloured_code, in_a_process

PYTHON = "def f(x):\n    return x\n"
LONGER = PYTHON * (SHORT // len(PYTHON) + 1)


def test_what_is_short_is_coloured_at_once_and_the_rest_is_asked_for() -> None:
    asked: list[tuple[str, str]] = []
    colours = CodeColours(lambda text, language: asked.append((text, language)))
    assert colours.colours_so_far(PYTHON, "python").spans
    assert not colours.colours_so_far(LONGER, "python").spans
    assert not colours.colours_so_far(LONGER, "python").spans
    assert asked == [(LONGER, "python")], "each is asked for once"
    colours.learn(LONGER, "python", [(0, 3, "bold")])
    assert colours.colours_so_far(LONGER, "python").spans


@pytest.mark.parametrize("text", ["a" * 19_900, "x\n" * LONG, "a" * 201 + "\n" + "b" * 1_001])
def test_long_lines_and_huge_texts_are_left_alone(text: str) -> None:
    asked: list[str] = []
    assert not CodeColours(lambda *given: asked.append(given[0])).colours_so_far(text, "makefile").spans
    assert not asked


def test_a_text_that_is_coloured_at_once_stops_when_its_time_is_over() -> None:
    whole = coloured_code(PYTHON * 50, "python", seconds=60)
    begun = coloured_code(PYTHON * 50, "python", seconds=-1)
    assert begun.plain == whole.plain
    assert len(begun.spans) < 4 < len(whole.spans)
    assert AT_ONCE(PYTHON, "no-such-language").plain == PYTHON


@pytest.fixture
def patient_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the process alone takes longer to start than a user would wait for colours."""
    monkeypatch.setattr(code_colours, "SECONDS", GIVE_UP)


@pytest.mark.usefixtures("patient_process")
def test_the_process_finds_what_the_program_finds() -> None:
    spans = [(span.start, span.end, str(span.style)) for span in coloured_code(PYTHON, "python").spans]
    assert in_a_process(PYTHON, "python") == spans


def test_a_process_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_colours, "_START", "while True: pass")
    monkeypatch.setattr(code_colours, "SECONDS", 0.2)
    assert in_a_process(PYTHON, "python") == []


@pytest.mark.usefixtures("patient_process")
async def test_colours_that_come_later_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    plain = subprocess.run

    def run(command: Any, **more: Any) -> Any:
        ran.append(command)
        return plain(command, **more)

    monkeypatch.setattr(subprocess, "run", run)
    app = Host(said(("ai", f"```python\n{LONGER}```")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        window = app.pane.view

        def spans() -> int:
            return max(len(window.lines.line(at)[1].spans) for at in range(window.lines.total))

        await until(lambda: spans() > 3)
    assert len(ran) == 1
