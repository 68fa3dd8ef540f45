"""A bell and notifications as sequences for a terminal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.errors import WrongCall
from workbench.config.terminal_alerts import MOST, WAYS, alert_sequence, parse_alert_ways

NINE, OTHER = "\x1b]9;W: hi\x07", "\x1b]777;notify;W;hi\x07"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color"}, NINE + OTHER),
        ({"TERM_PROGRAM": "WezTerm"}, NINE),
        ({"TERM": "xterm-kitty"}, NINE),
        ({"TERM": "foot"}, OTHER),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7006"}, OTHER),
        (
            {"TMUX": "/tmp/tmux-0/default,1,0", "TERM": "tmux-256color", "TERM_PROGRAM": "tmux"},
            "\x1bPtmux;\x1b\x1b]9;W: hi\x07\x1b\\\x1bPtmux;\x1b\x1b]777;notify;W;hi\x07\x1b\\",
        ),
    ],
)
def test_a_terminal_gets_the_form_that_it_knows(environ: dict[str, str], expected: str) -> None:
    assert alert_sequence("W", "hi", ["desktop"], environ) == expected


def test_a_bell_is_a_bell_and_nothing_is_nothing() -> None:
    assert alert_sequence("W", "hi", ["bell"], {}) == "\x07"
    assert alert_sequence("W", "hi", ["bell", "desktop"], {}) == "\x07" + NINE + OTHER
    assert alert_sequence("W", "hi", [], {}) == ""


SEQUENCE = re.compile(
    r"\x1b\](9;[^\x00-\x1f\x7f-\x9f;]*|777;notify;[^\x00-\x1f\x7f-\x9f;]*;[^\x00-\x1f\x7f-\x9f;]*)\x07"
)


@given(st.text(max_size=400), st.sampled_from([{}, {"TMUX": "x"}]))
def test_no_text_can_end_a_sequence_or_begin_another(text: str, environ: dict[str, str]) -> None:
    made = alert_sequence("W", text + "\x1b]0;evil\x07\x9d", ["desktop"], environ)
    if environ:
        wrapped = re.findall(r"\x1bPtmux;(.*?)\x1b\\", made, re.DOTALL)
        assert len(wrapped) == 2
        made = "".join(wrapped).replace("\x1b\x1b", "\x1b")
    assert len(SEQUENCE.findall(made)) == 2
    assert SEQUENCE.sub("", made) == ""
    assert len(made) < 2 * MOST + 60


def test_of_a_long_text_160_characters_are_shown() -> None:
    made = alert_sequence("W", "x" * 400, ["desktop"], {"TERM": "foot"})
    assert made.count("x") == 160


def test_ways_are_read_from_a_list() -> None:
    assert parse_alert_ways("desktop, bell") == WAYS
    assert parse_alert_ways("bell") == ("bell",)
    assert parse_alert_ways("none") == ()
    for wrong in ("", "bells", "none,bell", "bell,"):
        with pytest.raises(WrongCall, match="expected bell, desktop, bell,desktop or none, got"):
            parse_alert_ways(wrong)
