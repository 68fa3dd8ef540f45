"""Where the documents disagree or are silent: one test, or a few, for each line of the design."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.requirements import requirement
from support.talk import (
    COUNTER,
    iterations,
    planned,
    preset,
    results,
    spoken,
    states,
    turns,
    words,
)
from workbench.agent.memory import load_memory
from workbench.config.errors import WrongCall
from workbench.config.values import replace
from workbench.context.budget import Limits, model_limits
from workbench.context.load import load_policy
from workbench.context.policy import Policy
from workbench.context.render import render_messages
from workbench.log.events import (
    AssistantMessage,
    Body,
    Override,
    SlotContent,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.models.catalogue import Catalogue
from workbench.models.framing import MESSAGE

LAYERS = preset("layers")


# Current turn: from the last user message to the end, finished or not. History is what precedes it.


@pytest.mark.parametrize("end", [[], [AssistantMessage("done", "last")]], ids=["open", "finished"])
def test_the_current_turn_begins_with_the_last_user_message(end: list[Body]) -> None:
    made = planned([*turns(2), UserMessage("go"), *iterations(["one", "two"]), *end], LAYERS)
    slots = [row.slot for row in made.items]
    assert slots == ["history"] * 4 + ["turn"] * (5 + len(end))


@requirement("layers", "masking", "masking concerns the results of the current turn")
def test_layers_masks_inside_the_current_turn_only() -> None:
    earlier = [UserMessage("go"), *iterations([words(60)] * 9, "old"), AssistantMessage("done", "end")]
    assert states(results(planned(earlier, LAYERS))) == ["sent"] * 2 + ["masked"] * 2 + ["sent"] * 5
    later = planned([*earlier, UserMessage("again"), *iterations([words(60)] * 8, "new")], LAYERS)
    assert states(results(later)) == ["sent"] * 9 + ["sent"] * 2 + ["masked"] + ["sent"] * 5


@requirement(
    "layers", "history", "the cap is for what precedes the current turn; work with tools is not counted into it"
)
def test_the_20_000_tokens_of_layers_cap_history_only() -> None:
    log: list[Body] = [*turns(20, 1_000), UserMessage(words(30_000)), *iterations([words(7_000)] * 6)]
    made = planned(log, LAYERS, Limits(200_000, "option", 0, 0))
    assert made.budget.turn > 70_000
    assert states(row for row in made.items if row.slot == "turn") == ["sent"] * 13
    sent = [row for row in made.items if row.slot == "history" and row.kind == "message" and row.in_request]
    assert 18_000 < sum(row.tokens + MESSAGE for row in sent) <= 20_000


# Markers carry the documents' words, then the id. They sit inside the cap and state what was truly kept.


@requirement(
    "layers", "results", "the indicator names strategy, kept tokens and original tokens in the documented words"
)
@pytest.mark.parametrize(
    ("policy", "marker"),
    [
        (preset("layers"), r"\[truncated: kept first ~\d+ of ~52000 tokens \(head\)\] \[id e00003\]$"),
        (
            preset("layers", "truncation.strategy=tail"),
            r"^\[truncated: kept last ~\d+ of ~52000 tokens \(tail\)\] \[id e00003\]",
        ),
        (
            preset("layers", "truncation.strategy=both"),
            r"alpha\n\[truncated: kept first\+last ~\d+ of ~52000 tokens \(both\)\] \[id e00003\]\n\s?alpha",
        ),
        (preset("codex"), r"^Total output lines: 1\n\n(?s:.)*\[\.\.\. omitted \d+ of \d+ bytes .*\] \[id e00003\]"),
    ],
    ids=["head", "tail", "both", "lines"],
)
def test_a_cut_result_says_so_in_the_documents_words_and_gives_its_id(policy: Policy, marker: str) -> None:
    (row,) = results(planned([UserMessage("go"), *iterations([words(52_000)])], policy))
    assert row.text is not None
    assert re.search(marker, row.text)
    assert row.tokens <= 8_000


def test_a_masked_result_says_so_in_the_documents_words_and_gives_its_id() -> None:
    made = planned([UserMessage("go"), *iterations([words(12_000)] * 8)], LAYERS)
    masked = results(made)[2]
    assert masked.text == f"[result masked — ~12000 tokens removed] [id {masked.id}]"
    assert masked.tokens == COUNTER.count(masked.text).tokens


def test_the_notice_is_in_the_documents_words() -> None:
    made = planned([*turns(30, 996), UserMessage("go")], LAYERS)
    assert spoken(made)[0] == ("system", "[conversation truncated — 40 older messages omitted]")


# Literal values of layers


@requirement("layers", "masking", "both keeps at 0 switch masking off")
def test_both_keeps_zero_turns_masking_off() -> None:
    policy = preset("layers", "masking.keep_first=0", "masking.keep_last=0")
    made = planned([UserMessage("go"), *iterations([words(60)] * 30)], policy)
    assert set(states(results(made))) == {"sent"}


def test_a_cap_of_zero_is_refused() -> None:
    with pytest.raises(WrongCall, match="from 1 up"):
        preset("layers", "truncation.max_tokens=0")


@requirement(
    "layers",
    "turn",
    "the turn's budget leaves out system prompt and tools and trusts the margin",
    decided="both are counted, and the last iteration has its place before history is filled",
)
def test_the_last_iteration_group_is_reserved_before_history_is_filled() -> None:
    policy = preset("layers", "history.max_tokens=0")
    log: list[Body] = [*turns(20, 96), UserMessage("go"), *iterations([words(1_000)] * 3)]
    made = planned(log, policy, Limits(3_500, "option", 0, 0))
    assert made.verdict.fits
    assert states(results(made)) == ["dropped", "dropped", "sent"], "only the last one is sure of its place"
    sent = [row for row in made.items if row.slot == "history" and row.kind == "message" and row.in_request]
    assert len(sent) == 24, "history has the rest of the window"


# window: guidance, 4,000 for the response


@requirement(
    "window",
    "budget",
    "system prompt and memory have fixed shares",
    decided="they are guidance: more is sent whole, with a warning; cut instructions mislead",
)
def test_window_warns_and_does_not_cut() -> None:
    slots = [SlotContent("system", "prompt", words(800)), SlotContent("memory", "preferences.md", words(800))]
    made = planned([*slots, UserMessage("go")], preset("window"))
    assert len(made.warnings) == 2
    assert spoken(made)[0][1].count("alpha") == 1_600
    assert model_limits(Catalogue().find_model("unheard-of"), preset("window").budget).reserve == 4_000


# Slots: one system message under headings, but separate rows


@requirement("codex", "instructions", "all levels are merged into one text, in order")
def test_the_slots_are_one_system_message_and_separate_rows() -> None:
    log: list[Body] = [
        SlotContent("memory", "preferences.md", "short answers"),
        SlotContent("instructions", "AGENTS.md", "use tabs"),
        SlotContent("instructions", "src/AGENTS.md", "no globals"),
        SlotContent("system", "prompt", "You are an agent."),
        UserMessage("go"),
    ]
    made = planned(log, LAYERS)
    assert [(row.slot, row.text) for row in made.items] == [
        ("system", "You are an agent."),
        ("instructions", "use tabs"),
        ("instructions", "no globals"),
        ("memory", "short answers"),
        ("turn", "go"),
    ]
    system, user = render_messages(made)
    assert user == {"role": "user", "content": "go"}
    assert system["role"] == "system"
    places = [system["content"].index(text) for text in ("You are an agent.", "use tabs", "no globals", "short")]
    assert places == sorted(places)
    headings = [line for line in system["content"].splitlines() if line.startswith("#")]
    assert [heading.split(": ")[1] for heading in headings] == ["AGENTS.md", "src/AGENTS.md", "preferences.md"]


@requirement("window", "budget", "memory comes from `preferences.md`")
def test_preferences_lie_in_the_config_folder(tmp_path: Path) -> None:
    (tmp_path / "preferences.md").write_text("short answers")
    assert [file.text for file in load_memory(tmp_path).files] == ["short answers"]


def test_knobs_may_stand_in_a_models_entry() -> None:
    policy = load_policy("layers", env={}, model_knobs={"masking.keep_last": 1}).policy
    made = planned([UserMessage("go"), *iterations([words(60)] * 5)], policy)
    assert states(results(made)) == ["sent", "sent", "masked", "masked", "sent"]


# Reserve: the model's maximum output, at most 25 % of the window, unless set; not taken from a limit for input alone


@pytest.mark.parametrize(
    ("window", "max_output", "sets", "reserve"),
    [
        (128_000, 16_384, [], 16_384),
        (128_000, 64_000, [], 32_000),
        (8_000, None, [], 2_000),
        (128_000, 64_000, ["budget.reserve_tokens=50000"], 50_000),
        (128_000, 64_000, ["budget.reserve_ratio=0.5"], 64_000),
    ],
)
def test_the_reserve_is_the_maximum_output_within_a_quarter(
    window: int, max_output: int | None, sets: list[str], reserve: int
) -> None:
    info = replace(Catalogue().find_model("unheard-of"), window=window, max_output=max_output)
    assert model_limits(info, preset("workbench", *sets).budget).reserve == reserve
    input_only = model_limits(replace(info, input_only=True), preset("workbench", *sets).budget)
    assert (input_only.reserve, input_only.capacity) == (0, window)


def test_a_limit_for_input_alone_may_be_filled_to_the_brim() -> None:
    info = replace(Catalogue().find_model("unheard-of"), window=1_000, max_output=900, input_only=True)
    made = planned([UserMessage(words(993))], preset("codex"), model_limits(info, preset("codex").budget))
    assert (made.totals.tokens, made.budget.reserve, made.budget.free) == (1_000, 0, 0)
    assert made.verdict.fits


# A pending call of a live turn makes the verdict `waiting`; in a file it gets a synthetic result


def test_a_pending_call_waits_when_live_and_is_repaired_in_a_file() -> None:
    calls = [ToolCall("one", "run", "{}", "a"), ToolCall("two", "run", "{}", "a")]
    log: list[Body] = [UserMessage("go"), *calls, ToolResult("one", "done")]
    live = planned(log, LAYERS, live=True)
    assert live.verdict.status == "waiting"
    assert not live.verdict.fits
    assert live.verdict.why == "1 tool call without a result so far"
    assert len(results(live)) == 1, "a call that is pending is not an orphan"
    file = planned(log, LAYERS)
    assert file.verdict.status == "fits"
    assert [(row.call_id, row.seq, row.state) for row in results(file)] == [("one", 4, "sent"), ("two", None, "sent")]
    done = planned([*log, ToolResult("two", "done")], LAYERS, live=True)
    assert done.verdict.status == "fits"


def test_a_call_is_not_pending_any_more_when_the_conversation_has_gone_on() -> None:
    log: list[Body] = [UserMessage("go"), ToolCall("one", "run", "{}", "a"), UserMessage("never mind")]
    made = planned(log, LAYERS, live=True)
    assert made.verdict.status == "fits"
    assert [row.text for row in results(made)] == ["[no result: the call did not return]"]


# Pinned is a flag beside the state, not a state


def test_pinned_is_a_flag_beside_the_state() -> None:
    log: list[Body] = [UserMessage("go"), *iterations([words(12_000)] * 8)]
    assert results(planned(log, LAYERS))[2].state == "masked"
    pinned = results(planned([*log, Override("pin", 7, 7)], LAYERS))[2]
    assert (pinned.state, pinned.pinned, pinned.tokens) == ("sent", True, 12_000)
    excluded = results(planned([*log, Override("pin", 7, 7), Override("exclude", 7, 7)], LAYERS))[2]
    assert (excluded.state, excluded.pinned) == ("excluded", False)
