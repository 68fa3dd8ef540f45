"""`codex` does what its document's text promises, also where the document's sample code does not."""

from __future__ import annotations

import re

import pytest

from support.requirements import requirement
from support.talk import (
    ROOMY,
    iterations,
    named_turns,
    planned,
    preset,
    results,
    rows_of,
    spoken,
    states,
    summary_of,
    turns,
    words,
)
from workbench.config.values import replace
from workbench.context.budget import Limits, model_limits
from workbench.log.events import AssistantMessage, Body, KeptEvent, SlotContent, ToolCall, ToolResult, UserMessage
from workbench.models.catalogue import Catalogue

CODEX = preset("codex")
CUT = re.compile(
    r"Total output lines: (?P<total>\d+)\n\n"
    r"(?P<head>.*?)\n?\[\.\.\. omitted (?P<omitted>\d+) of (?P<of>\d+) (?P<what>lines|bytes inside a line) \.\.\.\]"
    r"(?P<inside> \[cut inside a line\])? \[id (?P<id>\w+)\]\n?(?P<tail>.*)",
    re.DOTALL,
)


def lines(count: int, width: int = 0) -> str:
    """Numbered lines, filled up to a width in bytes."""
    return "\n".join(f"line {at}".ljust(width, ".") for at in range(1, count + 1))


def cut_of(text: str) -> re.Match[str]:
    """The parts of a result that was cut."""
    (row,) = results(planned([UserMessage("go"), *iterations([text])], CODEX))
    assert row.state == "truncated"
    assert row.text is not None
    assert len(row.text.encode()) <= 10_240, "the marker is inside the cap"
    found = CUT.fullmatch(row.text)
    assert found is not None, row.text
    assert found["total"] == str(len(text.split("\n")))
    assert found["of"] == (found["total"] if found["what"] == "lines" else str(len(text.encode())))
    assert found["id"] == row.id
    assert text.startswith(found["head"])
    assert text.endswith(found["tail"])
    assert len(found["head"].split("\n")) <= 128
    assert len(found["tail"].split("\n")) <= 128
    return found


# Output truncation


@requirement("codex", "results", "a tool's output over 10 KiB is cut")
@requirement("codex", "results", "output over 256 lines is cut")
@requirement("codex", "results", "output within both limits is sent as it is")
@pytest.mark.parametrize(
    ("text", "state"),
    [
        (lines(256), "sent"),
        (lines(257), "truncated"),
        ("x" * 10_240, "sent"),
        ("x" * 10_241, "truncated"),
        ("é" * 5_120, "sent"),
        ("é" * 5_121, "truncated"),
        (lines(100, 100), "sent"),
        (lines(100, 110), "truncated"),
    ],
)
def test_output_is_cut_when_bytes_or_lines_are_over(text: str, state: str) -> None:
    made = planned([UserMessage("go"), *iterations([text])], CODEX)
    assert states(results(made)) == [state]
    if state == "sent":
        assert results(made)[0].text == text


@requirement("codex", "results", "the first 128 and the last 128 lines stay")
@requirement("codex", "results", "a marker between them says how many of how many lines were omitted")
def test_the_first_128_and_the_last_128_lines_are_kept() -> None:
    text = lines(756)
    found = cut_of(text)
    assert found["head"] == "\n".join(text.split("\n")[:128])
    assert found["tail"] == "\n".join(text.split("\n")[-128:])
    assert found["omitted"] == "500"
    assert not found["inside"]


@requirement("codex", "results", "an output that is cut begins with the total number of its lines")
def test_the_total_comes_first() -> None:
    (row,) = results(planned([UserMessage("go"), *iterations([lines(756)])], CODEX))
    assert row.text is not None
    assert row.text.startswith("Total output lines: 756\n\nline 1\nline 2\n")


@requirement(
    "codex",
    "results",
    "what is still over the cap in bytes is cut at its end, under a second marker",
    decided="head and tail share the cap, so that the tail it promises is kept",
)
def test_the_tail_is_kept_under_the_cap_in_bytes() -> None:
    text = lines(1_000, 100)
    found = cut_of(text)
    head, tail = found["head"].split("\n"), found["tail"].split("\n")
    assert head == text.split("\n")[: len(head)], "whole lines"
    assert tail == text.split("\n")[-len(tail) :]
    assert len(head) >= 45
    assert len(tail) >= 45
    assert int(found["omitted"]) == 1_000 - len(head) - len(tail)


@requirement(
    "codex",
    "results",
    "head and tail are taken however few lines there are",
    decided="no line is sent twice, and no negative number is omitted",
)
@pytest.mark.parametrize("count", [100, 129, 200, 256])
def test_no_line_is_sent_twice_where_head_and_tail_would_meet(count: int) -> None:
    text = lines(count, 200)
    found = cut_of(text)
    kept = found["head"].split("\n") + found["tail"].split("\n")
    assert len(kept) == len(set(kept))
    assert int(found["omitted"]) == count - len(kept)
    assert int(found["omitted"]) > 0


def test_the_head_has_at_most_128_lines_though_bytes_alone_are_over() -> None:
    text = lines(190) + "\n" + lines(10, 2_000)
    found = cut_of(text)
    assert found["tail"]


def test_the_tail_has_at_most_128_lines_though_bytes_alone_are_over() -> None:
    text = lines(10, 2_000) + "\n" + lines(190)
    found = cut_of(text)
    assert found["head"]


@requirement(
    "codex",
    "results",
    "a cut falls on the byte of the limit",
    decided="on a whole character, and on a whole line where possible",
)
@pytest.mark.parametrize("letter", ["界", "🙂", "é"])
def test_cuts_fall_on_whole_characters(letter: str) -> None:
    found = cut_of(letter * 6_000)
    assert set(found["head"]) == set(found["tail"]) == {letter}
    kept = len(found["head"].encode()) + len(found["tail"].encode())
    assert int(found["omitted"]) == len(letter.encode()) * 6_000 - kept
    assert found["what"] == "bytes inside a line", "not 1 of 1 lines: most of it is there"


@requirement("codex", "results", "only the output of tools is cut")
def test_only_the_output_of_tools_is_cut() -> None:
    long = lines(1_000, 100)
    made = planned([UserMessage(long), AssistantMessage(long, "a"), UserMessage(long)], CODEX)
    assert [(row.state, row.text) for row in rows_of(made, "message")] == [("sent", long)] * 3


# The budget


@requirement("codex", "budget", "10 % of the window is reserved for output")
@pytest.mark.parametrize(
    ("window", "reserve"),
    [(1_000_000, 100_000), (2_000_000, 200_000), (128_000, 12_800), (200_000, 20_000), (32_000, 3_200), (4_000, 400)],
)
def test_a_tenth_of_the_window_is_reserved_for_output(window: int, reserve: int) -> None:
    info = replace(Catalogue().find_model("unheard-of"), window=window)
    found = model_limits(info, CODEX.budget)
    assert (found.reserve, found.margin) == (reserve, 0)
    made = planned([UserMessage("go")], CODEX, found)
    assert made.budget.reserve == reserve
    assert made.budget.window == window


@requirement("codex", "history", "nothing is dropped to make room: no queue, no window of last items")
def test_history_is_whole_and_what_does_not_fit_is_reported() -> None:
    made = planned([*turns(20, 100), UserMessage("go")], CODEX, Limits(2_000, "option", 200, 0))
    assert set(states(rows_of(made, "message"))) == {"sent"}
    assert made.verdict.status == "too_large"


# History normalisation


@requirement("codex", "pairs", "every call has an output")
@requirement("codex", "pairs", "an output without a call is removed")
def test_every_call_has_an_output_and_every_output_a_call() -> None:
    log: list[Body] = [
        UserMessage("go"),
        ToolCall("one", "run", "{}", "a"),
        ToolCall("two", "run", "{}", "a"),
        ToolResult("two", "done"),
        ToolResult("three", "whose is this?"),
        ToolResult("two", "done again"),
        UserMessage("and now?"),
    ]
    made = planned(log, CODEX)
    assert [role for role, _ in spoken(made)] == ["user", "assistant", "tool", "tool", "user"]
    sent = {row.call_id: row.text for row in results(made) if row.state == "sent"}
    assert sent == {"one": "[no result: the call did not return]", "two": "done"}
    dropped = [(row.original, row.edits[0].why) for row in results(made) if row.state == "dropped"]
    assert dropped == [
        ("whose is this?", "no call has the id 'three'"),
        ("done again", "a second result for the call 'two'"),
    ]


# Compaction: [initial context] + [selected user messages] + [summary]


@requirement(
    "codex", "summary", "a compacted conversation is initial context, selected user messages, then the summary"
)
def test_the_summary_follows_the_retained_user_messages() -> None:
    log: list[Body] = [SlotContent("system", "prompt", "initial context"), *named_turns([1, 2, 3])]
    kept = (KeptEvent(2, "q1, cut short"), KeptEvent(4), KeptEvent(6))
    log += [summary_of(CODEX, 2, 7, "what happened", kept=kept), UserMessage("q4")]
    assert spoken(planned(log, CODEX)) == [
        ("system", "initial context"),
        ("user", "q1, cut short"),
        ("user", "q2"),
        ("user", "q3"),
        ("user", CODEX.compaction.preface + "what happened"),
        ("user", "q4"),
    ]


@requirement("codex", "log", "nothing is lost silently: compacted items are marked, and can be read")
def test_compacted_items_can_still_be_read() -> None:
    log: list[Body] = [
        *named_turns([1, 2]),
        summary_of(CODEX, 1, 4, "what happened", kept=(KeptEvent(3),)),
        UserMessage("q3"),
    ]
    made = planned(log, CODEX)
    by_seq = {row.seq: row for row in made.items}
    assert [by_seq[seq].state for seq in (1, 2, 3, 4)] == ["summarised", "summarised", "sent", "summarised"]
    assert by_seq[2].original == "a1"


@requirement("codex", "summary", "50,000 tokens become about 5,000")
def test_a_conversation_of_50_000_tokens_becomes_one_of_about_5_000() -> None:
    log = turns(50, 500)
    compaction = summary_of(CODEX, 1, 100, words(500), kept=tuple(KeptEvent(seq) for seq in range(85, 100, 2)))
    before = planned([*log, UserMessage("go")], CODEX, ROOMY)
    after = planned([*log, compaction, UserMessage("go")], CODEX, ROOMY)
    assert before.totals.tokens > 50_000
    assert 4_000 < after.totals.tokens < 5_500
    assert after.totals.original_tokens >= before.totals.original_tokens
