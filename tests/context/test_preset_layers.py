"""`layers` does what its document says, example by example: three layers that only ever cut."""

from __future__ import annotations

import re

import pytest

from support.requirements import requirement
from support.talk import (
    COUNTER,
    ROOMY,
    iterations,
    planned,
    preset,
    results,
    rows_of,
    spoken,
    states,
    turns,
    words,
)
from workbench.config.errors import WrongCall
from workbench.config.values import replace
from workbench.context.budget import Limits, model_limits
from workbench.log.events import AssistantMessage, SlotContent, ToolCall, ToolResult, UserMessage
from workbench.models.catalogue import Catalogue, ModelInfo
from workbench.models.framing import MESSAGE

BIG = words(52_000)
MARKER = re.compile(r"\[truncated: kept (first|last|first\+last) ~(\d+) of ~(\d+) tokens \((\w+)\)\] \[id (\w+)\]")

WINDOWS = [
    ("claude-unheard-of", 200_000),
    ("gpt-5-unheard-of", 400_000),
    ("gpt-4.1-unheard-of", 1_000_000),
    ("gpt-4o-unheard-of", 128_000),
    ("gpt-4-turbo-unheard-of", 128_000),
    ("gpt-4-unheard-of", 128_000),
    ("gemini-unheard-of", 1_000_000),
    ("grok-4-unheard-of", 2_000_000),
    ("grok-unheard-of", 131_072),
    ("deepseek-v3-unheard-of", 163_840),
    ("deepseek-chat-v3-unheard-of", 163_840),
    ("deepseek-unheard-of", 128_000),
    ("qwen3-unheard-of", 131_072),
    ("qwen-unheard-of", 128_000),
    ("llama-4-unheard-of", 327_680),
    ("llama-unheard-of", 128_000),
    ("mistral-large-unheard-of", 262_144),
    ("mistral-unheard-of", 128_000),
    ("mixtral-unheard-of", 128_000),
    ("Someone/CLAUDE-Unheard-Of", 200_000),
    ("unheard-of", 128_000),
]


def model(window: int, max_output: int | None = 8_192) -> ModelInfo:
    return replace(Catalogue().find_model("claude-unheard-of"), window=window, max_output=max_output)


# The window


@requirement("layers", "windows", "Claude models have a window of 200,000 tokens")
@requirement("layers", "windows", "GPT-5 has 400,000 tokens, GPT-4.1 has 1,000,000, and every other GPT-4 has 128,000")
@requirement("layers", "windows", "Gemini models have 1,000,000 tokens")
@requirement("layers", "windows", "Grok 4 has 2,000,000 tokens, other Grok models 131,072")
@requirement("layers", "windows", "DeepSeek V3 has 163,840 tokens, other DeepSeek models 128,000")
@requirement("layers", "windows", "Qwen 3 has 131,072 tokens, other Qwen models 128,000")
@requirement("layers", "windows", "Llama 4 has 327,680 tokens, other Llama models 128,000")
@requirement("layers", "windows", "Mistral Large has 262,144 tokens, other Mistral and Mixtral models 128,000")
@requirement("layers", "windows", "a model nobody knows has 128,000 tokens")
@requirement("layers", "windows", "the longer pattern of a name decides before its family, in capitals or not")
@pytest.mark.parametrize(("name", "window"), WINDOWS)
def test_the_window_comes_from_the_name_where_nothing_else_is_known(name: str, window: int) -> None:
    found = model_limits(Catalogue().find_model(name), preset("layers").budget)
    assert found.window == window
    assert found.window_source == ("guess" if name == "unheard-of" else "fallback")


@requirement("layers", "windows", "a limit on input tokens that is set holds instead of the model's window")
def test_max_input_tokens_caps_the_window() -> None:
    found = model_limits(model(200_000), preset("layers", "budget.max_input_tokens=150000").budget)
    assert (found.window, found.margin, found.reserve) == (150_000, 15_000, 8_192)


@requirement("layers", "windows", "the limit may be raised above the default of a custom model")
@pytest.mark.parametrize("name", ["claude-unheard-of", "unheard-of"])
def test_max_input_tokens_raises_the_window_of_a_model_known_by_its_name_alone(name: str) -> None:
    found = model_limits(Catalogue().find_model(name), preset("layers", "budget.max_input_tokens=500000").budget)
    assert found.window == 500_000


# Layer 1: resident messages


@requirement(
    "layers", "history", "two messages are held for every 200 tokens of the limit, at least 100 and at most 2,000"
)
@requirement("layers", "history", "the oldest are let go once there are more")
@pytest.mark.parametrize(
    ("window", "resident"),
    [(8_000, 100), (10_200, 102), (20_000, 200), (20_399, 202), (128_000, 1_280), (200_000, 2_000), (400_000, 2_000)],
)
def test_two_messages_for_every_200_tokens_stay_resident(window: int, resident: int) -> None:
    bodies = [*turns(resident // 2 + 30), UserMessage("now")]
    policy = preset("layers", "history.max_tokens=0")
    made = planned(bodies, policy, model_limits(model(window), policy.budget))
    kept = [row for row in made.items if row.slot == "history" and row.kind == "message" and row.in_request]
    assert len(kept) == resident
    assert spoken(made)[0] == ("system", "[conversation truncated — 60 older messages omitted]")


@requirement("layers", "history", "1,000 messages are held where the limit is not known")
def test_a_thousand_messages_stay_resident_where_the_limit_is_a_guess() -> None:
    policy = preset("layers", "history.max_tokens=0")
    found = model_limits(Catalogue().find_model("unheard-of"), policy.budget)
    made = planned([*turns(520), UserMessage("now")], policy, found)
    assert sum(row.in_request for row in rows_of(made, "message") if row.slot == "history") == 1_000


# Layer 2: the history budget


@requirement("layers", "budget", "history may have the limit less system prompt, tools, room for the answer and margin")
@requirement("layers", "budget", "the cap on history holds where it is lower than what is left; 0 means no cap")
@requirement("layers", "history", "messages are taken from the newest to the oldest until the budget is spent")
@pytest.mark.parametrize(
    ("limit", "max_output", "cap"),
    [(40_000, 4_000, 0), (40_000, 4_000, 20_000), (40_000, 4_000, 1_000), (12_000, 2_000, 20_000), (12_000, 500, 0)],
)
def test_history_gets_what_is_left_of_the_limit_or_its_cap(limit: int, max_output: int, cap: int) -> None:
    policy = preset("layers", f"history.max_tokens={cap}")
    tool = '{"type": "function", "function": {"name": "read_file", "description": "Read a file"}}'
    slots = [SlotContent("system", "prompt", words(700)), SlotContent("tools", "read_file", tool)]
    made = planned(
        [*slots, *turns(300, 96), UserMessage("now")], policy, model_limits(model(limit, max_output), policy.budget)
    )
    budget = made.budget
    assert (budget.system, budget.reserve, budget.margin) == (700, max_output, limit // 10)
    assert budget.tools > 0
    sent = [row for row in rows_of(made, "message") if row.slot == "history" and row.in_request]
    spent = sum(row.tokens + MESSAGE for row in sent)
    turn = 2 * (96 + MESSAGE)
    assert made.verdict.fits
    assert spent <= (cap or limit)
    assert budget.free < turn or (cap and spent + turn > cap), "one more turn would not have fitted"
    seqs = [row.seq for row in made.items if row.slot == "history" and row.seq is not None]
    assert [row.seq for row in sent] == seqs[-len(sent) :], "the newest stay"


@requirement("layers", "history", "history has at most 20,000 tokens by default, and tools the rest of a large window")
def test_the_default_cap_leaves_20_000_tokens_of_history_in_a_window_of_200_000() -> None:
    made = planned(
        [*turns(300, 96), UserMessage("now")], preset("layers"), model_limits(model(200_000), preset("layers").budget)
    )
    sent = [row for row in rows_of(made, "message") if row.slot == "history" and row.in_request]
    assert sum(row.tokens + MESSAGE for row in sent) == 20_000


@requirement(
    "layers", "history", "a system message says how many older messages were left out, in the documented words"
)
def test_the_notice_is_a_system_message_in_the_documents_words() -> None:
    oldest = [UserMessage("one"), AssistantMessage("two", "a"), AssistantMessage("three", "b"), *turns(22)]
    system = SlotContent("system", "prompt", "You are helpful.")
    policy = preset("layers", "history.max_tokens=1000")
    made = planned(
        [system, *oldest, *turns(5, 96), UserMessage("now")], policy, model_limits(model(40_000), policy.budget)
    )
    assert spoken(made)[:2] == [
        ("system", "You are helpful."),
        ("system", "[conversation truncated — 47 older messages omitted]"),
    ]
    (notice,) = rows_of(made, "notice")
    assert (notice.seq, notice.slot, notice.state) == (None, "history", "sent")


@requirement("layers", "history", "there is no notice where nothing was left out")
def test_nothing_is_noticed_when_nothing_is_omitted() -> None:
    made = planned([*turns(3), UserMessage("now")], preset("layers"))
    assert rows_of(made, "notice") == []


@requirement("layers", "history", "the notice counts what either layer left out")
def test_the_notice_counts_resident_drops_and_token_drops_together() -> None:
    policy = preset("layers", "history.max_tokens=4000")
    made = planned([*turns(80, 96), UserMessage("now")], policy, model_limits(model(10_000), policy.budget))
    sent = [row for row in rows_of(made, "message") if row.slot == "history" and row.in_request]
    assert len(sent) == 40, "100 may be resident, and 40 of them fit in 4,000 tokens"
    assert spoken(made)[0] == ("system", "[conversation truncated — 120 older messages omitted]")


# Layer 3a: single results


@requirement("layers", "results", "a result is cut to 8,000 tokens; 52,000 become 8,000")
@requirement("layers", "results", "head keeps the beginning, tail the end, both half and half")
@requirement("layers", "results", "both puts its indicator between the halves")
@pytest.mark.parametrize(("strategy", "ends"), [("head", "first"), ("tail", "last"), ("both", "first+last")])
def test_a_result_of_52_000_tokens_is_cut_to_8_000(strategy: str, ends: str) -> None:
    policy = preset("layers", f"truncation.strategy={strategy}")
    made = planned([UserMessage("go"), *iterations([BIG])], policy)
    (row,) = results(made)
    assert (row.state, row.original_tokens) == ("truncated", 52_000)
    assert 7_900 <= row.tokens <= 8_000
    assert row.text is not None
    assert COUNTER.count(row.text).tokens == row.tokens
    marker = MARKER.search(row.text)
    assert marker is not None
    assert marker[1] == ends
    assert marker[4] == strategy
    assert marker[3] == "52000"
    assert marker[5] == row.id
    before, after = row.text[: marker.start()], row.text[marker.end() :]
    kept = COUNTER.count(before.strip()).tokens + COUNTER.count(after.strip()).tokens
    assert int(marker[2]) == pytest.approx(kept, abs=3)
    assert bool(before) == (strategy in ("head", "both"))
    assert bool(after) == (strategy in ("tail", "both"))
    if strategy == "both":
        assert len(before.split()) == pytest.approx(len(after.split()), abs=2)


@requirement("layers", "results", "head is the default strategy")
def test_head_is_the_default() -> None:
    (row,) = results(planned([UserMessage("go"), *iterations([BIG])], preset("layers")))
    assert row.text is not None
    assert "(head)]" in row.text


@requirement("layers", "results", "a result within the cap is left alone")
@pytest.mark.parametrize(("tokens", "state"), [(7_999, "sent"), (8_000, "sent"), (8_001, "truncated")])
def test_only_what_is_over_the_cap_is_cut(tokens: int, state: str) -> None:
    assert states(results(planned([UserMessage("go"), *iterations([words(tokens)])], preset("layers")))) == [state]


@requirement("layers", "results", "a cap of 0 is refused when the configuration is read")
def test_the_cap_must_be_above_zero() -> None:
    with pytest.raises(WrongCall, match=r"truncation\.max_tokens"):
        preset("layers", "truncation.max_tokens=0")


# Layer 3b: masking


@requirement("layers", "masking", "the first N and the last M results stay, those between them are masked")
@requirement("layers", "masking", "where there are no more than N + M results nothing is masked")
@requirement("layers", "masking", "calls stay visible with their arguments")
@requirement("layers", "masking", "the marker says how many tokens were removed, in the documented words")
@pytest.mark.parametrize(
    ("count", "keep_first", "keep_last", "masked"),
    [
        (8, 2, 3, [3, 4, 5]),
        (8, 2, 5, [3]),
        (7, 2, 5, []),
        (5, 2, 3, []),
        (1, 2, 5, []),
        (8, 0, 0, []),
        (4, 0, 1, [1, 2, 3]),
        (4, 1, 0, [2, 3, 4]),
    ],
)
def test_the_middle_results_are_masked(count: int, keep_first: int, keep_last: int, masked: list[int]) -> None:
    policy = preset("layers", f"masking.keep_first={keep_first}", f"masking.keep_last={keep_last}")
    made = planned([UserMessage("go"), *iterations([words(12_000)] * count)], policy)
    found = [at for at, row in enumerate(results(made), 1) if row.state == "masked"]
    assert found == masked
    for at in masked:
        row = results(made)[at - 1]
        assert row.text is not None
        assert row.text.startswith("[result masked — ~12000 tokens removed]"), "the size before truncation"
    calls = [message for message in rows_of(made, "tool_call") if message.state == "sent"]
    assert [call.text for call in calls] == [f'{{"path": "call{at}"}}' for at in range(1, count + 1)]


@requirement("layers", "masking", "results are counted, not iterations")
def test_results_are_counted_not_iterations() -> None:
    calls = [ToolCall(f"c{at}", "read_file", "{}", "one reply") for at in range(8)]
    answers = [ToolResult(f"c{at}", words(60)) for at in range(8)]
    made = planned([UserMessage("go"), *calls, *answers], preset("layers"))
    assert states(results(made)) == ["sent", "sent", "masked", "sent", "sent", "sent", "sent", "sent"]


def test_results_that_are_smaller_than_their_marker_stay() -> None:
    made = planned([UserMessage("go"), *iterations(["ok", words(30)] * 5)], preset("layers"))
    assert states(results(made)) == ["sent"] * 3 + ["masked", "sent"] + ["sent"] * 5


@requirement("layers", "masking", "eight iterations with 2 and 3 kept look as in the document's example")
def test_the_message_structure_of_the_document() -> None:
    policy = preset("layers", "masking.keep_last=3")
    made = planned(
        [SlotContent("system", "prompt", "system"), *turns(2), UserMessage("go"), *iterations([BIG] * 8)], policy
    )
    said = spoken(made)
    assert [role for role, _ in said[:6]] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [role for role, _ in said[6:]] == ["assistant", "tool"] * 8
    shapes = ["masked" if "[result masked" in content else "8k" for _, content in said[7::2]]
    assert shapes == ["8k", "8k", "masked", "masked", "masked", "8k", "8k", "8k"]


# Layer 3c: iteration groups


@requirement(
    "layers", "turn", "as a last resort the oldest iterations of the turn are dropped, with calls and results together"
)
@requirement("layers", "turn", "history and the most recent iteration are never dropped for it")
def test_the_oldest_groups_are_dropped_history_and_the_last_group_never() -> None:
    policy = preset("layers", "masking.keep_first=0", "masking.keep_last=0")
    log = [*turns(3, 50), UserMessage("go"), *iterations([words(1_000)] * 6)]
    made = planned(log, policy, Limits(3_200, "option", 0, 0))
    assert states(results(made)) == ["dropped"] * 4 + ["sent"] * 2
    assert states(rows_of(made, "tool_call")) == states(results(made)), "a call goes with its result"
    assert all(row.state == "sent" for row in rows_of(made, "message"))
    assert made.verdict.fits
    small = planned(log, policy, Limits(900, "option", 0, 0))
    assert states(results(small)) == ["dropped"] * 5 + ["truncated"], "the last one is cut to fit"
    assert small.verdict.fits


@requirement("layers", "turn", "the steps come in order: cut, then mask, then drop")
def test_the_graduated_flow() -> None:
    log = [UserMessage("go"), *iterations([BIG] * 12)]
    assert states(results(planned(log[:3], preset("layers"), ROOMY))) == ["truncated"]
    masked = states(results(planned(log, preset("layers"), ROOMY)))
    assert masked == ["truncated"] * 2 + ["masked"] * 5 + ["truncated"] * 5
    tight = planned(log, preset("layers"), model_limits(model(60_000), preset("layers").budget))
    assert states(results(tight)) == ["dropped"] * 2 + masked[2:]
    tighter = planned(log, preset("layers"), model_limits(model(44_000), preset("layers").budget))
    assert states(results(tighter)) == ["dropped"] * 9 + ["truncated"] * 3
