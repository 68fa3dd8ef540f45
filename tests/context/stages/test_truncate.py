"""Truncate: no result is over its cap, and the marker tells the truth."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.logs import WORDS
from support.requirements import requirement
from support.talk import COUNTER, iteration, planned, preset, results, states, words
from workbench.context.policy import Strategy, ToolTruncation, TruncationPolicy
from workbench.context.stages.truncate import TruncatedText, TruncationRule, rule_for, truncate_result
from workbench.log.events import Body, ImagePart, Part, TextPart, ToolCall, ToolResult, UserMessage
from workbench.models.tokens import counter_named

TOKENS = re.compile(r"\[truncated: kept (first|last|first\+last) ~(\d+) of ~(\d+) tokens \((\w+)\)\] \[id item1\]")
LINES = re.compile(
    r"(?P<header>Total output lines: (?P<total>\d+)\n\n)?(?P<head>.*?)\n?"
    r"\[\.\.\. omitted (?P<omitted>\d+) of (?P<of>\d+) (?P<what>lines|bytes inside a line) \.\.\.\]"
    r"(?P<inside> \[cut inside a line\])? \[id item1\]"
    r"\n?(?P<tail>.*)",
    re.DOTALL,
)
COUNTERS = {name: counter_named(name) for name in ("o200k_base", "cl100k_base", "claude", "rough")}


def by_tokens(strategy: Strategy, cap: int) -> TruncationRule:
    return TruncationRule(strategy, cap, 1, 0, 0, 1, False)


def cut(text: str, rule: TruncationRule, tokenizer: str = "o200k_base") -> TruncatedText | None:
    counts = COUNTERS[tokenizer]
    return truncate_result(text, counts.count(text).tokens, rule, counts, "item1")


@st.composite
def outputs(draw: st.DrawFn) -> str:
    """Tool output: words, lines, scripts without blanks, emoji, and any text at all."""
    if draw(st.booleans()):
        return draw(st.text(max_size=400))
    word = draw(st.sampled_from([*WORDS, "a", "0", "界", "🙂", "\r\n", "\n", " "]))
    gap = draw(st.sampled_from(["", " ", "\n", "\n\n"]))
    return gap.join([word] * draw(st.one_of(st.integers(1, 60), st.integers(100, 500)))) + draw(
        st.sampled_from(["", "\n", "end"])
    )


# By tokens


@requirement(
    "layers",
    "results",
    "the indicator is added to a result that already fills the cap",
    decided="it sits inside the cap and states what was truly kept",
)
@pytest.mark.parametrize("tokenizer", sorted(COUNTERS))
@given(outputs(), st.sampled_from(["head", "tail", "both"]), st.one_of(st.integers(1, 120), st.just(300)))
def test_never_over_the_cap_and_truly_counted(tokenizer: str, text: str, strategy: Strategy, cap: int) -> None:
    counts = COUNTERS[tokenizer]
    made = cut(text, by_tokens(strategy, cap), tokenizer)
    if made is None:
        assert counts.count(text).tokens <= cap
        return
    assert counts.count(text).tokens > cap
    assert made.tokens == counts.count(made.text).tokens
    assert made.tokens <= cap
    assert made.text.strip()
    made.text.encode("utf-8")


@given(outputs(), st.integers(1, 30), st.sampled_from(["head", "tail", "both"]), st.integers(40, 300))
def test_what_is_kept_is_the_beginning_and_the_end_and_the_number_is_true(
    text: str, times: int, strategy: Strategy, cap: int
) -> None:
    text *= times
    made = cut(text, by_tokens(strategy, cap))
    if made is None:
        return
    marker = TOKENS.search(made.text)
    assert marker is not None, "forty tokens are room enough for the marker"
    head = made.text[: marker.start()].removesuffix("\n")
    tail = made.text[marker.end() :].removeprefix("\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) < len(text)
    if strategy == "head":
        assert not tail
    if strategy == "tail":
        assert not head
    kept = COUNTER.count(head).tokens + COUNTER.count(tail).tokens
    assert int(marker[2]) == pytest.approx(kept, rel=0.05, abs=4), "line ends melt into their neighbours"
    assert int(marker[3]) == COUNTER.count(text).tokens
    assert marker[4] == strategy


@pytest.mark.parametrize("strategy", ["head", "tail", "both"])
@pytest.mark.parametrize("cap", [100, 1_000, 8_000])
def test_the_cap_is_made_use_of(strategy: Strategy, cap: int) -> None:
    made = cut(words(9_000), by_tokens(strategy, cap))
    assert made is not None
    assert made.tokens >= cap - 5


@pytest.mark.parametrize(("strategy", "whole"), [("head", "first"), ("tail", "last"), ("both", "both")])
def test_cuts_fall_on_whole_lines_where_that_costs_little(strategy: Strategy, whole: str) -> None:
    lines = [f"{at}: {words(8)}" for at in range(1_000)]
    made = cut("\n".join(lines), by_tokens(strategy, 1_000))
    assert made is not None
    kept = [line for line in made.text.split("\n") if not TOKENS.search(line)]
    assert set(kept) <= set(lines)
    assert (lines[0] in kept) == (whole != "last")
    assert (lines[-1] in kept) == (whole != "first")


@pytest.mark.parametrize("strategy", ["head", "tail", "both"])
@pytest.mark.parametrize("letter", ["a", "界", "🙂"])
def test_a_text_without_any_break_is_cut_as_well(strategy: Strategy, letter: str) -> None:
    made = cut(letter * 200_000, by_tokens(strategy, 500))
    assert made is not None
    assert made.tokens <= 500
    rest = TOKENS.sub("", made.text).replace("\n", "")
    assert set(rest) == {letter}


def test_both_is_half_and_half() -> None:
    made = cut(words(20_000), by_tokens("both", 2_000))
    assert made is not None
    head, _, tail = re.split(r"(\[truncated[^\n]*)", made.text)
    assert len(head.split()) == pytest.approx(len(tail.split()), abs=1)


@pytest.mark.parametrize("cap", [1, 5, 20])
def test_a_cap_too_small_for_the_marker_leaves_a_piece_of_it(cap: int) -> None:
    made = cut(words(100), by_tokens("both", cap))
    assert made is not None
    assert made.tokens <= cap
    assert made.text.startswith("[")


def test_none_cuts_nothing() -> None:
    assert cut(words(100_000), by_tokens("none", 1)) is None


def test_the_reason_has_its_numbers() -> None:
    made = cut(words(20_000), by_tokens("head", 2_000))
    assert made is not None
    assert made.why.startswith("over the cap of 2,000 tokens; kept the beginning: 1,9")


# By lines


@st.composite
def line_rules(draw: st.DrawFn) -> TruncationRule:
    most = draw(st.integers(1, 60))
    head = draw(st.integers(0, most))
    tail = draw(st.integers(0, most - head))
    return TruncationRule(
        "lines", 1, most, head, tail, draw(st.sampled_from([1, 60, 250, 500, 2_000])), draw(st.booleans())
    )


@requirement("codex", "results", "markers come on top of the limit", decided="they sit inside it")
@given(outputs(), line_rules())
def test_never_over_the_cap_in_bytes_or_lines(text: str, rule: TruncationRule) -> None:
    made = cut(text, rule)
    lines = text.removesuffix("\n").split("\n")
    over = len(text.encode()) > rule.max_bytes or len(lines) > rule.max_lines
    assert (made is not None) == over
    if made is None:
        return
    assert len(made.text.encode("utf-8")) <= rule.max_bytes
    assert made.tokens == COUNTER.count(made.text).tokens
    found = LINES.fullmatch(made.text)
    if found is None:
        assert rule.max_bytes <= 250, "the marker has room in 250 bytes"
        return
    head, tail = found["head"], found["tail"]
    assert text.startswith(head)
    assert text.removesuffix("\n").endswith(tail)
    assert len(head) + len(tail) <= len(text)
    assert (found["header"] is not None) == rule.count_header
    assert int(found["total"] or len(lines)) == len(lines)
    assert int(found["of"]) == (len(lines) if found["what"] == "lines" else len(text.encode()))
    pieces = sum(len(part.split("\n")) for part in (head, tail) if part)
    assert min(pieces, len(lines)) <= rule.max_lines, "two pieces of one line are one line"


@example("x" * 1_000, TruncationRule("lines", 1, 10, 0, 5, 500, False))
@example("\n".join(["short"] * 30 + ["x" * 300] * 3), TruncationRule("lines", 1, 60, 5, 5, 500, False))
@given(outputs(), line_rules())
def test_head_and_tail_have_no_more_lines_than_asked_for(text: str, rule: TruncationRule) -> None:
    made = cut(text, rule)
    found = LINES.fullmatch(made.text) if made else None
    if found is not None:
        assert len(found["head"].split("\n")) <= max(rule.head_lines, 1)
        assert len(found["tail"].split("\n")) <= max(rule.tail_lines, 1)
        assert not found["head"] or rule.head_lines
        assert not found["tail"] or rule.tail_lines


@given(st.integers(1, 400), st.integers(0, 60), line_rules())
def test_the_number_of_omitted_lines_is_true(count: int, width: int, rule: TruncationRule) -> None:
    lines = [f"{at}".ljust(width, ".") for at in range(count)]
    made = cut("\n".join(lines), rule)
    found = LINES.fullmatch(made.text) if made else None
    if found is not None and found["what"] == "lines":
        kept = [*found["head"].split("\n"), *found["tail"].split("\n")]
        whole = [line for line in kept if line in lines]
        assert int(found["omitted"]) == count - len(whole)
        assert bool(found["inside"]) == (len([line for line in kept if line]) > len(whole))


@requirement(
    "codex",
    "results",
    "the marker counts lines, also where a single line was cut",
    decided="there it counts bytes: no line is missing",
)
@example([1_000], 500)
@example([10, 2_000, 10], 500)
@example([65, 184, 0], 250)
@given(st.lists(st.integers(0, 2_000), min_size=1, max_size=4), st.integers(250, 1_000))
def test_where_something_of_every_line_is_sent_bytes_are_omitted_and_not_lines(widths: list[int], cap: int) -> None:
    text = "\n".join("x" * width for width in widths)
    made = cut(text, TruncationRule("lines", 1, 256, 128, 128, cap, False))
    if made is None:
        return
    found = LINES.fullmatch(made.text)
    assert found is not None
    parts = [part for part in (found["head"], found["tail"]) if part]
    lines = text.removesuffix("\n").split("\n")  # a newline at the end begins no line
    is_there = sum(len(part.split("\n")) for part in parts) >= len(lines)
    assert found["what"] == ("bytes inside a line" if is_there else "lines")
    if is_there:
        assert int(found["omitted"]) == len(text) - len("".join(parts))


def test_an_end_that_needs_less_leaves_its_share_to_the_other() -> None:
    text = "\n".join(["short"] * 5 + ["x" * 90] * 40 + ["y" * 90] * 5)
    made = cut(text, TruncationRule("lines", 1, 20, 5, 5, 1_000, False))
    assert made is not None
    assert made.text.startswith("short\nshort\nshort\nshort\nshort\n[... omitted 40 of 50 lines ...]")
    assert made.text.endswith("\n".join(["y" * 90] * 5))


# Pictures


def picture(number: int) -> ImagePart:
    return ImagePart(f"https://example.org/{number}.png", "low")


@given(
    cap=st.integers(1, 400),
    texts=st.lists(st.integers(0, 500), max_size=2),
    pictures=st.integers(1, 5),
    strategy=st.sampled_from(["head", "tail", "both"]),
)
@example(cap=88, texts=[], pictures=1, strategy="head")
def test_a_result_with_pictures_is_never_over_its_cap(cap: int, texts: list[int], pictures: int, strategy: str) -> None:
    policy = preset("layers", f"truncation.max_tokens={cap}", f"truncation.strategy={strategy}")
    parts: tuple[Part, ...] = (*(TextPart(words(size)) for size in texts), *(picture(at) for at in range(pictures)))
    log: list[Body] = [UserMessage("go"), ToolCall("x", "look", "{}", "r"), ToolResult("x", parts)]
    (row,) = results(planned(log, policy))
    assert 0 < row.tokens <= max(cap, row.original_tokens if row.state == "sent" else 0)
    assert row.original_tokens <= cap or row.state == "truncated"


def test_pictures_that_do_not_fit_are_left_out_and_the_marker_says_how_many() -> None:
    policy = preset("layers", "truncation.max_tokens=250")
    parts: tuple[Part, ...] = (TextPart("see"), *(picture(at) for at in range(4)))
    log: list[Body] = [UserMessage("go"), ToolCall("x", "look", "{}", "r"), ToolResult("x", parts)]
    (row,) = results(planned(log, policy))
    note = f"[truncated: kept 2 of 4 pictures or files, ~170 tokens removed] [id {row.id}]"
    assert row.content == (TextPart("see"), picture(0), picture(1), TextPart(note))
    assert "pictures and files of 340 tokens are over the cap of 250" in row.edits[-1].why


def test_text_is_cut_to_what_the_pictures_leave() -> None:
    policy = preset("layers", "truncation.max_tokens=250")
    log: list[Body] = [UserMessage("go"), ToolCall("x", "look", "{}", "r")]
    (row,) = results(planned([*log, ToolResult("x", (TextPart(words(400)), picture(1)))], policy))
    assert isinstance(row.content, tuple)
    assert row.content[1:] == (picture(1),)
    assert 200 < row.tokens <= 250


# Which cap holds


def test_a_tools_own_knobs_go_before_the_general_ones() -> None:
    policy = TruncationPolicy(
        "head", 500, tools={"run": ToolTruncation("tail", max_tokens=50), "all": ToolTruncation("none")}
    )
    assert (rule_for(policy, "run", 1_000).strategy, rule_for(policy, "run", 1_000).max_tokens) == ("tail", 50)
    assert rule_for(policy, "all", 1_000).strategy == "none"
    assert (rule_for(policy, "read", 1_000).strategy, rule_for(policy, "read", 1_000).max_tokens) == ("head", 500)
    lines = TruncationPolicy(
        "lines", tools={"run": ToolTruncation(max_lines=9, head_lines=0, tail_lines=9, max_bytes=99)}
    )
    own = rule_for(lines, "run", 1_000)
    assert (own.max_lines, own.head_lines, own.tail_lines, own.max_bytes) == (9, 0, 9, 99)


@requirement(
    "layers", "others", "caps for single tools are left for later", decided="they are knobs: `truncation.tools.NAME`"
)
def test_a_tools_own_cap_holds_in_the_plan() -> None:
    policy = preset("layers", "truncation.tools.read_file.max_tokens=50")
    log = [UserMessage("go"), *iteration("x", words(100)), ToolCall("y", "run", "{}", "y"), ToolResult("y", words(100))]
    assert states(results(planned(log, policy))) == ["truncated", "sent"]


@requirement(
    "layers",
    "results",
    "a result is cut as it arrives, before it is stored",
    decided="it is cut when the request is planned; the log has it whole, and tools can read it",
)
def test_the_truncated_text_is_what_is_sent_and_the_whole_stays_readable() -> None:
    (row,) = results(planned([UserMessage("go"), *iteration("x", words(9_000))], preset("layers")))
    assert row.text == row.content != row.original == words(9_000)
    assert [(edit.stage, edit.before, edit.after) for edit in row.edits] == [("truncate", 9_000, row.tokens)]


@pytest.mark.parametrize(("window", "cap"), [(100, 10), (1_000, 100), (100_000, 500), (1, 1)])
def test_a_share_of_the_window_bounds_the_cap(window: int, cap: int) -> None:
    assert rule_for(TruncationPolicy("head", 500, max_ratio=0.1), "run", window).max_tokens == cap
