"""The ways around Textual's faults with what a terminal sends, and where it is gone; each beside plain Textual."""

from __future__ import annotations

import codecs
import errno
import io
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.drivers import linux_driver
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread
from textual.drivers.headless_driver import HeadlessDriver

from support.terminal import Terminal
from workbench.log.store import Store
from workbench.tui.chat.blocks import clipboard_text
from workbench.tui.terminal_patches import (
    END,
    KEYBOARD,
    MOST_PASTED,
    REPLACEMENTS,
    START,
    PasteParser,
    SteadyWriter,
    guarded_driver,
    lenient_decoder,
)

# Pastes

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


def test_plain_textual_takes_what_is_pasted_for_keys() -> None:
    found = [event for event in XTermParser().feed(f"{START}a\x1b[31mred\rb{END}") if isinstance(event, events.Key)]
    assert "enter" in [event.key for event in found]


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


@given(pieces=PIECES)
def test_alt_with_a_digit_is_that_key(pieces: list[int]) -> None:
    plain = [event.key for event in XTermParser().feed("\x1b1") if isinstance(event, events.Key)]
    assert plain == ["inverted_exclamation_mark"]
    assert [getattr(event, "key", "") for event in fed("\x1b1\x1b5x", pieces)] == ["alt+1", "alt+5", "x"]


def test_a_huge_paste_is_cut_before_it_costs_anything() -> None:
    [paste] = fed(START + "x" * 3 * MOST_PASTED + END, [4_096])
    assert isinstance(paste, events.Paste)
    assert len(paste.text) == MOST_PASTED + 1


def test_colours_leave_a_pasted_log_whole() -> None:
    [paste] = fed(f"{START}\x1b[1;31mfailed\x1b[0m: \x1b[4mtest_a\x1b[24m{END}", [3])
    assert isinstance(paste, events.Paste)
    assert clipboard_text(paste.text) == "failed: test_a"


def test_the_end_of_input_reaches_the_parser() -> None:
    parser = PasteParser()
    assert list(parser.feed("")) == []
    assert parser.is_eof


# Keyboards


def test_plain_textual_takes_what_a_terminal_tells_of_its_keyboard_for_keys() -> None:
    parser = XTermParser()
    found = [event for event in [*parser.feed("\x1b[?25u"), *parser.feed("a")] if isinstance(event, events.Key)]
    assert [event.key for event in found] != ["a"]


@pytest.mark.parametrize(
    ("data", "tells"),
    [("\x1b[?25ua", True), ("\x1b[?0ua", False), ("a", False), ("\x1b[97;;97u", True), ("\x1b[13;2ua", True)],
)
def test_a_terminal_that_tells_shift_and_enter_apart_is_known_by_what_it_says_and_sends(
    data: str, tells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KEYBOARD, "reports_modifiers", False)
    found = [event for event in PasteParser().feed(data) if isinstance(event, events.Key)]
    assert [event.key for event in found][-1:] == ["a"]
    assert KEYBOARD.reports_modifiers == tells


def test_a_driver_without_that_parser_is_left_alone() -> None:
    assert guarded_driver(HeadlessDriver) is HeadlessDriver
    assert issubclass(HeadlessDriver, Driver)


# Terminals that are gone, or send what is no text


class GoneTerminal(io.StringIO):
    """Takes nothing any more."""

    def write(self, text: str) -> int:
        raise OSError(errno.EIO, "the other end was closed")


def written(kind: type[WriterThread]) -> bool:
    """Whether a writer to a terminal that is gone takes more than its queue holds, and ends."""
    writer = kind(GoneTerminal())
    writer.start()
    done = threading.Event()

    def write() -> None:
        for _ in range(2 * MAX_QUEUED_WRITES):
            writer.write("x")
        writer.stop()
        done.set()

    threading.Thread(target=write, daemon=True).start()
    while not done.wait(0.05):
        if not writer.is_alive() and writer._queue.full():
            return False
    return True


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_plain_textual_waits_for_ever_where_the_terminal_is_gone_and_ours_does_not() -> None:
    assert not written(WriterThread)
    assert written(SteadyWriter)


def test_a_byte_that_is_no_text_ends_the_program_in_plain_textual_and_is_shown_in_ours() -> None:
    with pytest.raises(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(b"caf\xe9 ")  # as Textual's drivers make it
    assert "getincrementaldecoder" in vars(linux_driver)
    assert lenient_decoder("utf-8")().decode(b"caf\xe9 ") == "caf\ufffd "


def test_the_driver_that_users_get_has_all_of_ours() -> None:
    guarded_driver(linux_driver.LinuxDriver)
    assert {name: getattr(linux_driver, name) for name in REPLACEMENTS} == REPLACEMENTS


def test_a_pasted_log_sends_nothing(tmp_path: Path) -> None:
    terminal = Terminal(WORKBENCH_DATA_DIR=str(tmp_path / "data"), WORKBENCH_CONFIG_DIR=str(tmp_path / "config"))
    terminal.wait_for("no AI")
    terminal.press(f"{START}one \x1b[31mred\x1b[0m\rtwo\r\x1b[1mthree\x1b[0m last{END}")
    terminal.wait_for("three last")
    terminal.press("\x11")
    assert terminal.end() == 0
    with Store.open(tmp_path / "data" / "workbench.db") as store:
        assert store.list() == [], "a session in which nothing was said is not kept"
