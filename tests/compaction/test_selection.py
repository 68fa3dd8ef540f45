"""What a compaction takes, and what it never takes: the strategies' worked examples."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.ranges import event_of, range_of
from support.requirements import requirement
from support.talk import COUNTER, iteration, iterations, named_turns, planned, preset, spoken, words
from workbench.compaction.values import CompactionRefused, SelectedRange
from workbench.context.budget import Limits
from workbench.context.policy import Policy
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    ImagePart,
    KeptEvent,
    Override,
    TextPart,
    ToolCall,
    UserMessage,
)

PRESETS = ("codex", "sliding", "window", "confirm", "workbench")


def texts(selected: SelectedRange) -> list[str]:
    """What would be summarised."""
    return [item.original for item in selected.items]


def after(bodies: Sequence[Body], policy: Policy) -> list[str]:
    """The texts of the request once the compaction stands."""
    event = event_of(range_of(bodies, policy), policy)
    said = spoken(planned([*bodies, event], policy))
    return [(content or "(calls)").removeprefix(event.preface) for _, content in said]


# Sliding window with overlap: theta 5, omega 2


def test_three_turns_by_hand_are_one_window() -> None:
    selected = range_of(named_turns([1, 2, 3]), preset("sliding"))
    assert (selected.first, selected.last) == (1, 6)
    assert texts(selected) == ["q1", "a1", "q2", "a2", "q3", "a3"]
    assert selected.kept == (), "the latest user message is answered, and goes as well"


@requirement("sliding", "selection", "the window reaches to the end of the last turn")
def test_turn_5_compacts_turns_1_to_5() -> None:
    selected = range_of(named_turns(range(1, 6)), preset("sliding"))
    assert (selected.first, selected.last) == (1, 10)
    assert selected.why == "turns 1 to 5"


def slid(turns: int) -> list[Body]:
    """So many turns under `sliding`, compacted after every fifth."""
    log: list[Body] = []
    for turn in range(1, turns + 1):
        log += named_turns([turn])
        if turn % 5 == 0:
            log.append(event_of(range_of(log, preset("sliding")), preset("sliding"), f"up to {turn}"))
    return log


@requirement("sliding", "selection", "the window reaches back 5 + 2 turns")
def test_turn_10_compacts_turns_4_to_10_and_both_summaries_stand() -> None:
    policy = preset("sliding")
    log = [*slid(5), *named_turns(range(6, 11))]
    selected = range_of(log, policy)
    assert (selected.first, selected.last) == (7, 21)
    assert texts(selected)[:4] == ["q4", "a4", "q5", "a5"], (
        "omega turns before the new ones are read again, from the log"
    )
    assert selected.previous == ()
    assert selected.why == "turns 4 to 10, of which 2 are summarised again"


def test_twelve_turns_have_two_overlapping_compactions_and_two_raw_turns() -> None:
    policy = preset("sliding")
    log = slid(12)
    said = [content.removeprefix(policy.compaction.preface) for _, content in spoken(planned(log, policy))]
    assert said == ["up to 5", "up to 10", "q11", "a11", "q12", "a12"]


@requirement("sliding", "selection", "originals are read again from the log where a new window takes them in")
def test_a_window_that_holds_an_earlier_one_replaces_it_and_reads_its_turns_again() -> None:
    policy = preset("sliding")
    log = named_turns([1, 2])
    log = [*log, event_of(range_of(log, policy), policy), *named_turns([3])]
    selected = range_of(log, policy)
    assert [event.seq for event in selected.previous] == [5]
    assert texts(selected) == ["q1", "a1", "q2", "a2", "q3", "a3"]


@requirement("sliding", "selection", "where nothing is new nothing is compacted")
def test_sliding_takes_no_turn_twice_when_nothing_is_new() -> None:
    with pytest.raises(CompactionRefused, match="nothing to compact") as refused:
        range_of(slid(5), preset("sliding"))
    assert refused.value.kind == "nothing"


# Retained user messages under a budget: 20,000 tokens


def asked(*sizes: int) -> list[Body]:
    """Finished turns whose questions have so many tokens."""
    return [body for size in sizes for body in (UserMessage(words(size)), AssistantMessage("answer"))]


@requirement(
    "codex",
    "counting",
    "messages are measured as four bytes to a token",
    decided="they are counted: the budget is spent to the token",
)
@pytest.mark.parametrize(
    ("sizes", "whole"),
    [
        ((100, 10_000, 9_900), [1, 3, 5]),
        ((101, 10_000, 9_900), [3, 5]),
        ((100, 10_000, 10_000), [3, 5]),
        ((5_000, 30_000), []),
    ],
    ids=["exactly the budget", "one over", "no room left", "the latest alone is over"],
)
def test_codex_keeps_the_newest_user_messages_under_20_000_tokens(sizes: tuple[int, ...], whole: list[int]) -> None:
    selected = range_of(asked(*sizes), preset("codex"))
    assert [kept.seq for kept in selected.kept if kept.text is None] == whole


def test_in_a_small_window_codex_keeps_a_quarter_of_it() -> None:
    selected = range_of(asked(*[300] * 10), preset("codex"), Limits(3_000, "option", 0, 0))
    assert 600 < selected.kept_tokens <= 750


def test_the_user_message_that_spills_over_is_cut_in_its_middle() -> None:
    log = asked(300, 9_000, 2_000, 10_000)
    selected = range_of(log, preset("codex"))
    spilled = selected.kept[0]
    assert (spilled.seq, [kept.seq for kept in selected.kept]) == (3, [3, 5, 7])
    assert spilled.text is not None
    assert spilled.text.startswith("alpha alpha")
    assert spilled.text.endswith("alpha")
    assert "tokens (both)] [id e00003]" in spilled.text
    assert COUNTER.count(spilled.text).tokens <= 8_000
    assert selected.kept_tokens <= 20_000
    assert texts(selected) == [words(300), "answer", "answer", "answer", "answer"], "older ones are summarised"


@requirement("codex", "selection", "kept messages are in the order of the conversation")
def test_codex_sends_the_user_messages_and_then_the_summary() -> None:
    assert after(named_turns([1, 2, 3]), preset("codex")) == ["q1", "q2", "q3", "the summary"]


def test_what_is_kept_in_part_stays_so_when_it_is_compacted_again() -> None:
    policy = preset("codex")
    log = asked(300, 9_000, 2_000, 10_000)
    first = range_of(log, policy)
    again = range_of([*log, event_of(first, policy), *asked(5)], policy)
    assert again.kept[0].seq == 3
    assert again.kept[0].text is not None
    assert again.kept_tokens <= 20_000


def test_a_picture_that_spills_over_stays_as_text() -> None:
    policy = preset("codex", "compaction.keep_user_tokens=100")
    picture = UserMessage((TextPart("look"), ImagePart("https://example.org/a.png", "high")))
    selected = range_of([picture, AssistantMessage("seen"), *asked(5)], policy)
    assert selected.kept[0] == KeptEvent(1, "look\n[image]")


@requirement("codex", "selection", "the message at the end of the budget is cut to what is left of it")
@given(st.integers(1, 200), st.integers(1, 400))
@example(1, 500)
@example(64, 500)
def test_a_message_that_does_not_fit_is_cut_and_not_dropped(room: int, more: int) -> None:
    log = asked(room + more, 100)
    selected = range_of(log, preset("codex", f"compaction.keep_user_tokens={100 + room}"))
    first, second = selected.kept
    assert (first.seq, second) == (1, KeptEvent(3))
    assert first.text is not None
    assert COUNTER.count(first.text).tokens <= room
    kept = first.text.partition("\n[truncated: ")[0].removesuffix("…")
    assert words(room + more).startswith(kept)
    assert kept or room == 1


@given(st.integers(1, 3))
def test_of_a_message_with_a_picture_the_text_stays_where_that_fits(more: int) -> None:
    picture = UserMessage((TextPart("look"), ImagePart("https://example.org/a.png", "high")))
    text = COUNTER.count("look\n[image]").tokens
    policy = preset("codex", f"compaction.keep_user_tokens={5 + text + more}")
    selected = range_of([picture, AssistantMessage("seen"), *asked(5)], policy)
    assert selected.kept[0] == KeptEvent(1, "look\n[image]")


# The other strategies


def test_window_keeps_the_last_ten_messages_and_groups_whole() -> None:
    log = [*named_turns(range(1, 5)), UserMessage("q5"), *iterations(["r1", "r2"]), AssistantMessage("a5")]
    selected = range_of(log, preset("window"))
    assert texts(selected) == ["q1", "a1", "q2", "a2"]
    split = range_of(log, preset("window", "compaction.keep_messages=2"))
    assert texts(split)[-1] == "r1", "the group that is partly among the last two stays whole"
    assert after(log, preset("window")) == [
        "the summary",
        "q3",
        "a3",
        "q4",
        "a4",
        "q5",
        "(calls)",
        "r1",
        "(calls)",
        "r2",
        "a5",
    ]


def test_confirm_takes_everything_and_the_assistant_acknowledges() -> None:
    policy = preset("confirm")
    said = after(named_turns([1, 2]), policy)
    assert said == ["the summary", policy.compaction.acknowledgement]


def test_workbench_keeps_the_last_two_turns_and_user_messages_before_them() -> None:
    assert after(named_turns([1, 2, 3, 4]), preset("workbench")) == ["the summary", "q1", "q2", "q3", "a3", "q4", "a4"]


def test_workbench_keeps_user_messages_up_to_a_share_of_the_window() -> None:
    small = Limits(10_000, "option", 0, 0)
    log = [*asked(700, 700, 700), *named_turns([1, 2])]
    selected = range_of(log, preset("workbench"), small)
    assert selected.kept_tokens <= 1_500
    assert [kept.seq for kept in selected.kept] == [1, 3, 5]
    assert "3 user messages" in selected.why
    assert "(budget 1,500)" in selected.why
    assert selected.kept[0].text is not None


# Updating


@requirement("window", "summary", "there is one block, however often it is summarised")
@pytest.mark.parametrize("name", ["codex", "window", "confirm", "workbench"])
def test_a_repeated_compaction_replaces_the_one_before_it(name: str) -> None:
    policy = preset(name)
    log = named_turns(range(1, 9))
    log = [*log, event_of(range_of(log, policy), policy, "old"), *named_turns(range(9, 17))]
    selected = range_of(log, policy)
    assert [event.body.summary for event in selected.previous if isinstance(event.body, Compaction)] == ["old"]
    assert not {"a1", "q1"} & set(texts(selected)), "what the old summary stands for is not read again"
    said = after(log, policy)
    assert "the summary" in said
    assert "old" not in said


def test_what_stands_wholly_behind_the_range_stands_on() -> None:
    policy = preset("workbench", "compaction.keep_turns=3")
    log: list[Body] = [*named_turns(range(1, 6)), Compaction(8, 8, "of a4")]
    selected = range_of(log, policy)
    assert (selected.last, selected.previous) == (4, ())
    assert "of a4" in after(log, policy)


# What is never inside


def test_what_the_user_excluded_is_neither_summarised_nor_read() -> None:
    log: list[Body] = [*named_turns([1, 2, 3]), Override("exclude", 3, 4)]
    selected = range_of(log, preset("confirm"))
    assert texts(selected) == ["q1", "a1", "q3", "a3"]
    assert selected.staying == ()
    made = planned([*log, event_of(selected, preset("confirm"))], preset("confirm"))
    assert {row.original for row in made.items if row.state == "excluded"} == {"q2", "a2"}


def open_turn(groups: int) -> list[Body]:
    """A finished turn, and one that goes on."""
    return [*named_turns([1]), UserMessage("do it"), *iterations([f"r{at}" for at in range(1, groups + 1)])]


@pytest.mark.parametrize("name", PRESETS)
def test_an_open_turn_is_never_inside(name: str) -> None:
    policy = preset(name, "compaction.keep_turns=0", "compaction.keep_messages=0")
    assert set(texts(range_of(open_turn(3), policy))) <= {"q1", "a1"}


@requirement("codex", "selection", "a turn that outgrows the window is compacted while it is open")
@pytest.mark.parametrize("name", PRESETS)
def test_its_finished_groups_are_when_it_outgrows_the_window(name: str) -> None:
    log = [*open_turn(3), ToolCall("pending", "read_file", "{}", "pending")]
    selected = range_of(log, preset(name), trigger="overflow", live=True)
    read = texts(selected)
    assert {"r1", "r2", "r3"} <= set(read), "the last group, which waits, stays"
    assert "do it" not in read
    assert "finished iteration groups of the open turn are summarised too" in selected.why
    finished = texts(range_of(open_turn(3), preset(name), trigger="overflow"))
    assert {"r1", "r2"} <= set(finished)
    assert "r3" not in finished, "the model has not answered to the last group yet"


def test_a_turn_whose_groups_are_dropped_has_outgrown_the_window() -> None:
    log = [UserMessage("do it"), *iterations([words(300)] * 4)]
    selected = range_of(log, preset("workbench", "truncation.strategy=none"), Limits(1_000, "option", 0, 0))
    assert len(selected.items) == 6


def test_overflow_spares_the_open_turn_when_the_history_is_enough() -> None:
    log = [*asked(5_000, 5_000), *open_turn(2)]
    assert "r1" not in texts(range_of(log, preset("confirm"), trigger="overflow"))


def test_overflow_of_recent_turns_spares_the_latest_user_message_alone() -> None:
    selected = range_of(named_turns([1, 2]), preset("workbench"), trigger="overflow")
    assert texts(selected) == ["a1", "a2"]
    assert {item.original for item in selected.staying} == {"q1", "q2"}


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ([], "the conversation is empty"),
        ([UserMessage("hello")], "there is only the turn that is going on"),
        ([*named_turns([1]), Override("pin", 1, 2)], "all of it is kept"),
        ([*named_turns([1]), Compaction(1, 2, "one"), UserMessage("hello")], "is summarised already"),
        ([UserMessage("go"), *iteration("a", "r")], r"\(compaction.keep_turns=2\), and so far that is nothing"),
        (named_turns([1, 2]), "everything before the last 2 turns"),
    ],
    ids=["empty", "one message", "pinned", "summarised", "one open turn", "two turns"],
)
def test_a_compaction_of_nothing_is_refused_with_the_reason(log: list[Body], why: str) -> None:
    with pytest.raises(CompactionRefused, match=why) as refused:
        range_of(log, preset("workbench"))
    assert refused.value.kind == "nothing"
    assert "\n" not in str(refused.value)


# By hand


@requirement("window", "selection", "the last messages stay when it is compacted by hand too")
@pytest.mark.parametrize(
    ("name", "knob", "log"),
    [
        ("workbench", "keep_turns=2", named_turns([1, 2])),
        ("window", "keep_messages=10", named_turns(range(1, 6))),
        ("window", "keep_messages=10", open_turn(3)),
    ],
    ids=["two turns", "ten messages", "an open turn of nine messages"],
)
def test_what_the_policy_keeps_is_kept_by_hand_too(name: str, knob: str, log: list[Body]) -> None:
    with pytest.raises(CompactionRefused, match=rf"\(compaction.{knob}\), and so far that is nothing"):
        range_of(log, preset(name), trigger="manual")
    keeps = knob.partition("=")[0]
    assert texts(range_of(log, preset(name, f"compaction.{keeps}=0"), trigger="manual"))


def test_by_hand_the_finished_groups_of_one_long_turn_go_but_not_the_last_messages() -> None:
    log = open_turn(9)[2:]
    assert texts(range_of(log, preset("confirm"), trigger="manual"))[1::2] == [f"r{at}" for at in range(1, 9)]
    assert texts(range_of(log, preset("window"), trigger="manual"))[1::2] == [f"r{at}" for at in range(1, 5)]


@pytest.mark.parametrize("answered", [False, True])
def test_by_hand_the_finished_groups_go_though_the_policy_keeps_the_last_turns(answered: bool) -> None:
    """One message, many calls: there is nothing before the last two turns, and the groups are what fills the window."""
    log = [*open_turn(9)[2:], *([AssistantMessage("done", "last")] if answered else [])]
    selected = range_of(log, preset("workbench"), trigger="manual")
    assert texts(selected)[1::2] == [f"r{at}" for at in range(1, 10 if answered else 9)]
    assert "the finished iteration groups of the last turn" in selected.why
    with pytest.raises(CompactionRefused):
        range_of(log, preset("workbench"))


def test_by_hand_the_finished_groups_go_where_only_kept_messages_stand_before_the_last_turns() -> None:
    """As after a compaction of Codex: its summary and some user messages, and then turns that fill the window."""
    kept = [UserMessage(f"wish {at}") for at in range(4)]
    log = [*kept, *open_turn(9)[2:]]
    selected = range_of(log, preset("workbench"), trigger="manual")
    assert texts(selected)[1::2] == [f"r{at}" for at in range(1, 9)]
    with pytest.raises(CompactionRefused):
        range_of(log, preset("workbench"))
