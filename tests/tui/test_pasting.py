"""What is pasted is text, to its end, in whatever pieces it comes."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.driver import Driver
from textual.drivers.headless_driver import HeadlessDriver

from support.terminal import Terminal
from workbench.log.store import Store
from workbench.tui.chat.blocks import bare
from workbench.tui.pasting import END, START, PasteParser, guard

PIECES = st.lists(st.integers(1, 9), min_size=1, max_size=20)
ESCAPES = ["\x1b", "\x1b[", "\x1b[31m", "\x1b[20", START, "\x1b]0;t\x07", "\x1b\x1b["]
HOSTILE = st.lists(st.sampled_from([*ESCAPES, "[201~", "\r", "x", "é"])).map("".join)


def fed(data: str, pieces: list[int]) -> list[events.Key | events.Paste]:
    parser = PasteParser()
    found: list[events.Key | events.Paste] = []
    at = turn = 0
    while at < len(data):
        size = pieces[turn % len(pieces)]
        found += [event for event in parser.feed(data[at : at + size]) if isinstance(event, events.Key | events.Paste)]
        at, turn = at + size, turn + 1
    return found


@given(text=HOSTILE.filter(lambda text: END not in text + END[:-1]), pieces=PIECES)
def test_a_paste_is_one_text_whatever_it_holds_and_however_it_comes(text: str, pieces: list[int]) -> None:
    found = fed(f"a{START}x{text}y{END}b", pieces)
    assert [getattr(event, "key", "") for event in found] == ["a", "", "b"]
    paste = found[1]
    assert isinstance(paste, events.Paste)
    assert "\x1b" not in paste.text
    assert paste.text[0] == "x"
    assert paste.text[-1] == "y"


@given(pieces=PIECES)
def test_sequences_outside_a_paste_are_keys(pieces: list[int]) -> None:
    found = fed(f"\x1b[A{START}one\rtwo{END}\x1b[B{START}three{END}\x1bOP", pieces)
    said = [event.text if isinstance(event, events.Paste) else event.key for event in found]
    assert said == ["up", "one\rtwo", "down", "three", "f1"]


def test_colours_leave_a_pasted_log_whole() -> None:
    [paste] = fed(f"{START}\x1b[1;31mfailed\x1b[0m: \x1b[4mtest_a\x1b[24m{END}", [3])
    assert isinstance(paste, events.Paste)
    assert bare(paste.text) == "failed: test_a"


def test_the_end_of_input_reaches_the_parser() -> None:
    parser = PasteParser()
    assert list(parser.feed("")) == []
    assert parser.is_eof


def test_a_driver_without_that_parser_is_left_alone() -> None:
    assert guard(HeadlessDriver) is HeadlessDriver
    assert issubclass(HeadlessDriver, Driver)


def test_a_pasted_log_sends_nothing(tmp_path: Path) -> None:
    terminal = Terminal(WORKBENCH_DATA_DIR=str(tmp_path / "data"), WORKBENCH_CONFIG_DIR=str(tmp_path / "config"))
    terminal.wait_for("no AI")
    terminal.press(f"{START}one \x1b[31mred\x1b[0m\rtwo\r\x1b[1mthree\x1b[0m last{END}")
    terminal.wait_for("three last")
    terminal.press("\x11")
    assert terminal.end() == 0
    with Store.open(tmp_path / "data" / "workbench.db") as store:
        assert store.list() == [], "a session in which nothing was said is not kept"
