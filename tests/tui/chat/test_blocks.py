"""Entries as lines: who spoke, what became of it, and what can be opened."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tui.chat.host import called, said
from workbench.tui.chat.blocks import (
    CLOSED,
    FIRST_ROWS,
    MOST_TEXT,
    OUTCOMES,
    EntryFold,
    clipboard_text,
    draw_entry,
    duration_words,
)
from workbench.views.values import ChatEntry, EntryState, LiveCall

OPEN = EntryFold(is_open=True)
CUT = EntryState("truncated", 8_000, 52_113, False, "52,113 tokens are over the cap of 8,000")
KINDS = st.sampled_from(["you", "ai", "reasoning", "tool", "summary", "notice", "failure", "system"])


def shown(
    entry: ChatEntry, standing: EntryState | None = None, width: int = 60, fold: EntryFold = CLOSED, **more: Any
) -> list[str]:
    return [line.plain.rstrip() for line in draw_entry(entry, standing, width, fold, **more).lines]


def one(kind: Any, text: str, **changes: Any) -> ChatEntry:
    return said((kind, text))[0]._replace(**changes)


@settings(max_examples=60)
@given(KINDS, st.text(max_size=200), st.text(max_size=200), st.integers(20, 90), st.booleans())
def test_no_line_is_ever_too_wide_or_acts_on_the_terminal(
    kind: Any, text: str, result: str, width: int, is_open: bool
) -> None:
    entry = called(1, "run", text, result)._replace(text=text) if kind == "tool" else one(kind, text)
    for line in draw_entry(entry, CUT, width, EntryFold(is_open)).lines:
        assert line.cell_length <= width
        assert "\n" not in line.plain
        assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in line.plain)


@given(st.text(max_size=300))
@example("\U000e0041\U000e0042")
def test_what_is_copied_or_pasted_never_has_controls_or_anything_invisible(text: str) -> None:
    copied = clipboard_text(f"a{text}\x1b[31mb\x1b]0;title\x07c\x9b\x00")
    kept = "\n\t\u200c\u200d"
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in copied if char not in kept)
    assert copied.startswith("a")
    assert "title" not in copied


def test_who_spoke_stands_on_the_left() -> None:
    assert shown(one("you", "why?\nplease")) == ["", "you   why?", "      please"]
    assert shown(one("ai", "**so**")) == ["", "ai    so"]


def test_a_message_that_is_not_plainly_sent_has_the_letter_of_its_state() -> None:
    standing = EntryState("summarised", 0, 30, False, "compacted with 12 others")
    assert shown(one("you", "why?"), standing) == ["", "you s why?"]
    assert "summarised: compacted with 12" in shown(one("you", "why?"), standing, 90, OPEN)[-1]


def test_a_call_is_one_line() -> None:
    entry = called(5, "run_command", '{"command": "pytest -x"}', "ok", seconds=2.13)
    assert shown(entry, EntryState("sent", 8_000, 8_000, False, "")) == [
        "      ▸ Bash pytest -x                    ✓  2.1 s   8,000 t"
    ]
    assert shown(entry, CUT)[0].endswith("✓  2.1 s  t truncated   8,000 t")


@pytest.mark.parametrize(("width", "kept"), [(80, "2.1 s"), (62, "t truncated"), (46, "✗ failed"), (30, "8,000 t")])
def test_a_narrow_line_keeps_what_matters_most(width: int, kept: str) -> None:
    entry = called(5, "run_command", '{"command": "pytest -x --maxfail=1"}', "no", is_error=True, seconds=2.13)
    [line] = shown(entry, CUT, width)
    assert kept in line
    assert "Bash" in line


def test_a_line_that_is_too_long_loses_the_middle_of_a_path_and_the_end_of_a_command() -> None:
    path = "packages/coding-agent/src/tui/user-message-selector.ts"
    edit = called(5, "edit", f'{{"path": "{path}", "oldText": "a", "newText": "b\\nc"}}')
    line = shown(edit, EntryState("sent", 8_000, 8_000, False, ""), 60)[0]
    assert line == "      ▸ Edit packages/…essage-selector.ts +2 −1  ✓   8,000 t"
    command = called(5, "bash", '{"command": "grep -rn borderColor packages/coding-agent/src/tui"}')
    line = shown(command, EntryState("sent", 8_000, 8_000, False, ""), 60)[0]
    assert line == "      ▸ Bash grep -rn borderColor packages/cod…  ✓   8,000 t"


@pytest.mark.parametrize(
    ("result", "is_error", "words"),
    [
        ("ok", False, "✓"),
        ("no such file", True, "✗ failed"),
        ("run_command: the user refused this call; ask what to do instead", True, "⊘ denied"),
        ("run_command: the user never allows this; do it another way or ask them", True, "⊘ denied"),
        ("refused by a hook: not on Fridays", True, "⊘ denied"),
        ("The user doesn't want to proceed with this tool use. The tool use was rejected", True, "⊘ denied"),
        ("exec command rejected by user", False, "⊘ denied"),
        ("[cancelled by the user before it returned]", True, "■ cancelled"),
        ("[Request interrupted by user for tool use]", True, "■ cancelled"),
        ("aborted by user after 3.2s", False, "■ cancelled"),
        ("a log in which a user rejected something", False, "✓"),
    ],
)
def test_what_was_denied_cancelled_or_failed_is_told_apart_by_sign_and_word(
    result: str, is_error: bool, words: str
) -> None:
    assert shown(called(5, "run_command", "{}", result, is_error=is_error))[0].endswith(words)


def test_what_was_denied_cancelled_or_failed_is_told_apart_by_colour() -> None:
    assert len({style for _, style in OUTCOMES.values()}) == len(OUTCOMES)


def test_a_call_says_whether_it_failed_runs_asks_or_never_returned() -> None:
    failed = called(5, "run_command", "{}", "no", is_error=True)
    pending = called(5, "run_command", "{}", None)
    assert "✗ failed" in shown(failed)[0]
    assert "– no result" in shown(pending)[0]
    running = LiveCall("call_5", "run_command", "{}", "running", "".join(f"line {n}\n" for n in range(9)))
    lines = shown(pending, live=running)
    assert "… running" in lines[0]
    assert lines[1:] == [f"        │ line {n}" for n in range(4, 9)]
    assert "? asks you" in shown(pending, live=running._replace(state="asking"))[0]
    assert "  none yet" in "\n".join(shown(pending, fold=OPEN, live=running))
    assert "never returned" in "\n".join(shown(pending, fold=OPEN))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('{"path": "auth.py"}', "auth.py"),
        ('{"path": "auth.py", "limit": 200}', "auth.py limit=200"),
        ("not json", "not json"),
        ("[1, 2]", "[1, 2]"),
        ("{}", ""),
    ],
)
def test_arguments_are_told_in_a_line(arguments: str, line: str) -> None:
    assert shown(called(5, "tool", arguments), width=70)[0].removeprefix("      ▸ tool").startswith(f" {line}".rstrip())


def test_a_call_unfolds_to_its_arguments_result_time_tokens_and_state() -> None:
    result = "\n".join(f"line {n}" for n in range(50))
    entry = called(5, "edit", '{"path": "a.py", "replace": {"all": true}}', result, seconds=75.0)
    text = "\n".join(shown(entry, CUT, 76, OPEN))
    for part in (
        "▾ Edit a.py",
        "edit · event 5",
        "arguments",
        '"all": true',
        "result",
        "line 0",
        f"line {FIRST_ROWS - 1}",
        "1 min 15 s",
    ):
        assert part in text
    assert f"line {FIRST_ROWS}\n" not in text
    assert f"… {50 - FIRST_ROWS} more lines · + shows more" in text
    assert "8,000 of 52,113 t · truncated: 52,113 tokens are over the" in " ".join(text.split())
    more = draw_entry(entry, CUT, 76, EntryFold(True, rows=220))
    assert more.more == -1
    assert "line 49" in "\n".join(line.plain for line in more.lines)


def test_reasoning_and_summaries_are_folded_to_a_line_with_their_size() -> None:
    assert shown(one("reasoning", "I think " * 20)) == ["      ▸ reasoning                             160 characters"]
    assert shown(one("summary", "# Goal\n\nwin"), EntryState("sent", 12, 12, True, ""))[1:] == [
        "      ▸ summary of what came before           ⚑ pinned  12 t"
    ]
    assert "        Goal" in shown(one("summary", "# Goal\n\nwin"), fold=OPEN)
    assert "        I think" in "\n".join(shown(one("reasoning", "I think " * 20), fold=OPEN))


@pytest.mark.parametrize(
    ("finish", "words"),
    [
        ("cancelled", "you stopped"),
        ("broken", "the connection broke"),
        ("killed", "the program was ended here; R asks again"),
        ("length", "limit of the model's output"),
        ("refused", "declined"),
        ("content_filter", "ended: content_filter"),
    ],
)
def test_an_answer_that_was_cut_short_says_so_in_words(finish: str, words: str) -> None:
    assert words in shown(one("ai", "as far as", finish=finish), width=90)[-1]
    assert words in shown(one("ai", "", finish=finish), width=90)[-1]


def test_a_failure_never_looks_like_conversation_and_says_what_to_do() -> None:
    lines = shown(one("failure", "no answer within 60 s"))
    assert lines[1] == "   !  no answer within 60 s"
    assert "R asks again" in lines[2]


def test_a_notice_is_quiet() -> None:
    assert shown(one("notice", "policy:\nlayers")) == ["   ·  policy: layers"]


def test_a_huge_message_is_bounded_until_all_of_it_is_wanted() -> None:
    text = "word " * 20_000
    bounded = draw_entry(one("you", text), None, 80)
    assert bounded.lines[bounded.more].plain.strip() == f"… {len(text) - MOST_TEXT:,} more characters · + shows all"
    assert len(draw_entry(one("you", text), None, 80, EntryFold(whole=True)).lines) > len(bounded.lines)


@pytest.mark.parametrize(("seconds", "words"), [(0.02, "20 ms"), (2.13, "2.1 s"), (12.4, "12 s"), (75.0, "1 min 15 s")])
def test_times_are_told_as_people_say_them(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words
