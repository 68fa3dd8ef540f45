"""`sliding`, `window`, `confirm` and `workbench` do what their documents say, example by example."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from support.requirements import requirement
from support.talk import (
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
from workbench.context.render import render_messages
from workbench.log.events import Body, SlotContent, SystemMessage, UserMessage
from workbench.models.catalogue import Catalogue, ModelInfo

SLIDING, WINDOW, CONFIRM, WORKBENCH = map(preset, ("sliding", "window", "confirm", "workbench"))


def model(window: int, max_output: int | None = None) -> ModelInfo:
    return replace(Catalogue().find_model("unheard-of"), window=window, max_output=max_output, window_source="config")


# sliding: [E1, ..., C(1-3), ...] in storage, [C(1-3), ...] in the request


def stored(written: str) -> list[Body]:
    """A log as the document writes it: `E4` is a finished turn, `C(1-3)` a summary of the turns 1 to 3."""
    log: list[Body] = []
    places: dict[int, tuple[int, int]] = {}
    for name in written.split():
        if name.startswith("C"):
            first, last = map(int, name[2:-1].split("-"))
            log.append(summary_of(SLIDING, places[first][0], places[last][1], name))
        else:
            turn = int(name[1:])
            places[turn] = (len(log) + 1, len(log) + 2)
            log += named_turns([turn])
    return log


def sent(log: list[Body]) -> str:
    """The request in the document's writing; `q4` alone is a turn of which only the question is sent."""
    found: list[str] = []
    for _, content in spoken(planned(log, SLIDING)):
        if content.startswith("a") and found and found[-1] == f"q{content[1:]}":
            found[-1] = f"E{content[1:]}"
        else:
            found.append(content.removeprefix(SLIDING.compaction.preface))
    return " ".join(found)


@requirement("sliding", "request", "events inside a compacted range are replaced by the summary in the request")
@requirement("sliding", "request", "events outside every range are sent in full")
@requirement(
    "sliding",
    "request",
    "its drawing sends raw events that lie inside a later range",
    decided="its text forbids it, and so it is here",
)
@requirement(
    "sliding", "log", "ranges are times", decided="they are sequence numbers: a clock may stand still or go back"
)
@requirement("sliding", "others", "a session without a compaction is sent as it is")
@pytest.mark.parametrize(
    ("storage", "context"),
    [
        ("E1 E2 E3", "E1 E2 E3"),
        ("E1 E2 E3 E4 E5 C(1-3) E6 E7 E8 C(4-7) E9 E10", "C(1-3) C(4-7) E8 E9 E10"),
        ("E1 E2 E3 C(1-3) E4 E5 C(3-5) E6 E7", "C(1-3) C(3-5) E6 E7"),
        ("E1 E2 E3 E4 E5 C(1-5) E6", "C(1-5) E6"),
        ("E1 E2 E3 E4 E5 C(1-5) E6 E7 E8 E9 E10 C(4-10) E11", "C(1-5) C(4-10) E11"),
        ("E1 E2 E3 C(1-2) C(1-3) E4", "C(1-3) E4"),
        ("E1 E2 E3 C(2-3) C(1-3) E4", "C(1-3) E4"),
        ("E1 E2 E3 C(1-3) C(2-3) E4", "C(1-3) C(2-3) E4"),
        ("E1 E2 E3 E4 C(2-3) E5", "E1 C(2-3) E4 E5"),
    ],
)
def test_raw_events_inside_a_range_in_effect_are_not_sent(storage: str, context: str) -> None:
    assert sent(stored(storage)) == context


@requirement("sliding", "log", "after compactions every original event is still stored")
def test_all_events_stay_in_the_log_and_in_the_rows() -> None:
    log = stored("E1 E2 E3 E4 E5 C(1-3) E6 E7 E8 C(4-7) E9 E10")
    made = planned(log, SLIDING)
    originals = [row.original for row in rows_of(made, "message")]
    assert originals == [f"{who}{turn}" for turn in range(1, 11) for who in "qa"]
    assert all(row.edits[-1].stage == "fold" for row in made.items if row.state == "summarised")


@requirement(
    "sliding",
    "summary",
    "the summary is in the request as an event of the model's",
    decided="in the user's role, framed as a record: a model takes its own words for a promise",
)
def test_a_summary_is_framed_as_a_record_in_the_users_role() -> None:
    (row,) = rows_of(planned(stored("E1 E2 C(1-2) E3"), SLIDING), "summary")
    assert (row.role, row.slot, row.seq) == ("user", "summaries", None)
    assert row.text is not None
    assert row.text.startswith("Record of earlier turns")
    assert "contains no instructions" in row.text


# window


@requirement(
    "window",
    "budget",
    "the rest of the window belongs to the conversation: all but 2,000 tokens of a large one",
    decided="all but 4,000, and at most a quarter of a small window is kept free",
)
@pytest.mark.parametrize(("size", "target"), [(200_000, 196_000), (128_000, 124_000), (8_000, 6_000)])
def test_window_keeps_4_000_tokens_for_the_response_but_at_most_a_quarter(size: int, target: int) -> None:
    found = model_limits(model(size, 8_192), WINDOW.budget)
    assert (found.reserve, found.margin, found.target) == (size - target, 0, target)


@pytest.mark.parametrize(
    ("system", "memory", "warned"),
    [(500, 500, []), (501, 500, ["system"]), (500, 501, ["memory"]), (900, 900, ["system", "memory"])],
)
def test_the_500_tokens_for_system_and_memory_are_guidance(system: int, memory: int, warned: list[str]) -> None:
    slots = [SlotContent("system", "prompt", words(system)), SlotContent("memory", "preferences.md", words(memory))]
    made = planned([*slots, UserMessage("go")], WINDOW)
    assert [warning.split()[0] for warning in made.warnings] == warned
    assert all("500" in warning for warning in made.warnings)
    assert (made.budget.system, made.budget.memory) == (system, memory), "nothing is cut"
    assert made.verdict.fits


@requirement("window", "summary", "system prompt and memory stay in front, untouched by a summary")
@requirement("window", "summary", "older messages become one block, which calls itself the conversation so far")
def test_older_messages_become_one_block_and_the_last_ten_stay_word_for_word() -> None:
    slots = [SlotContent("system", "prompt", "be kind"), SlotContent("memory", "preferences.md", "be short")]
    log = [*slots, *named_turns(range(1, 9))]
    log += [summary_of(WINDOW, 3, 8, "they talked")]
    said = spoken(planned([*log, UserMessage("q9")], WINDOW))
    assert [role for role, _ in said[:2]] == ["system", "user"]
    assert "be kind" in said[0][1]
    assert "be short" in said[0][1]
    assert said[1][1].lower().startswith("conversation so far")
    assert said[1][1].endswith("they talked")
    assert [content for _, content in said[2:]] == [f"{who}{turn}" for turn in range(4, 9) for who in "qa"] + ["q9"]


def test_the_block_may_end_inside_a_turn() -> None:
    log = [*named_turns(range(1, 8)), summary_of(WINDOW, 1, 5, "they talked"), UserMessage("q8")]
    said = [content for _, content in spoken(planned(log, WINDOW))]
    assert said[0].endswith("they talked")
    assert said[1:] == ["a3", "q4", "a4", "q5", "a5", "q6", "a6", "q7", "a7", "q8"], "the last ten messages"


# confirm


@pytest.mark.parametrize("system", [SlotContent("system", "prompt", "system prompt"), SystemMessage("system prompt")])
def test_confirm_sends_the_summary_and_the_acknowledgement(system: Body) -> None:
    log = [system, *named_turns([1, 2, 3])]
    log += [summary_of(CONFIRM, 1, 7, "We chose SQLite."), UserMessage("go on")]
    made = planned(log, CONFIRM)
    assert render_messages(made) == [
        {"role": "system", "content": "system prompt"},
        {"role": "user", "content": "[Conversation summary from compaction]: We chose SQLite."},
        {
            "role": "assistant",
            "content": "Understood, I have the context from our previous conversation. How can I continue helping you?",
        },
        {"role": "user", "content": "go on"},
    ]
    assert [(row.role, row.kind, row.slot) for row in made.items if row.kind == "summary"] == [
        ("user", "summary", "summaries"),
        ("assistant", "summary", "summaries"),
    ]
    assert states(rows_of(made, "message")) == ["sent", *["summarised"] * 6, "sent"]


# workbench


@pytest.mark.parametrize(("window", "cap"), [(1_000_000, 8_000), (80_000, 8_000), (60_000, 6_000), (32_000, 3_200)])
def test_the_cap_of_one_result_is_at_most_a_tenth_of_the_window(window: int, cap: int) -> None:
    room = Limits(window, "config", 0, 0)
    assert states(results(planned([UserMessage("go"), *iterations([words(cap)])], WORKBENCH, room))) == ["sent"]
    (row,) = results(planned([UserMessage("go"), *iterations([words(20_000)])], WORKBENCH, room))
    assert row.text is not None
    assert 0.98 * cap <= row.tokens <= cap
    assert "(both)]" in row.text


@pytest.mark.parametrize(
    ("window", "size", "batch"),
    [(1_000_000, 3_000, 7), (200_000, 3_000, 7), (100_000, 3_000, 4), (100_000, 1_500, 7)],
)
def test_results_are_masked_in_batches_so_that_the_prompt_cache_survives(window: int, size: int, batch: int) -> None:
    """A batch frees 20,000 tokens or a tenth of the window, whichever is less, a marker's 20 tokens apart."""
    room = Limits(window, "config", 0, 0)
    counts, requests = [], []
    for count in range(1, 7 + 2 * batch + 1):
        made = planned([UserMessage("go"), *iterations([words(size)] * count)], WORKBENCH, room)
        counts.append(states(results(made)).count("masked"))
        requests.append(render_messages(made))
    assert counts == [0] * (6 + batch) + [batch] * batch + [2 * batch]
    final = states(results(made))
    assert final == ["sent"] * 2 + ["masked"] * (2 * batch) + ["sent"] * 5
    breaks = [at for at, (old, new) in enumerate(pairwise(requests), 2) if new[: len(old)] != old]
    assert breaks == [7 + batch, 7 + 2 * batch], "all other requests only grow at their end"


def test_masking_counts_over_the_session() -> None:
    log: list[Body] = []
    for turn in range(14):
        log += [UserMessage("go"), *iterations([words(3_000)], f"turn{turn}.")]
    made = planned(log, WORKBENCH, Limits(200_000, "config", 0, 0))
    assert states(results(made)) == ["sent"] * 2 + ["masked"] * 7 + ["sent"] * 5


def test_results_too_small_to_gain_anything_are_not_masked() -> None:
    texts = [words(49) if at % 2 else words(4_000) for at in range(20)]
    made = planned([UserMessage("go"), *iterations(texts)], WORKBENCH, Limits(200_000, "config", 0, 0))
    assert "masked" in states(results(made))
    assert all(row.state == "sent" for row in results(made) if row.original_tokens == 49)


def shape(made: Any) -> tuple[list[str], list[str]]:
    """What became of history, and of the turn."""
    said = [row for row in made.items if row.seq is not None]
    return states(row for row in said if row.slot == "history"), states(row for row in said if row.slot == "turn")


def test_history_is_whole_until_room_is_needed_and_gives_way_before_the_turn() -> None:
    log = [*turns(5, 96), UserMessage("go"), *iterations([words(300)] * 4)]
    whole = planned(log, WORKBENCH, Limits(4_000, "config", 0, 0))
    assert shape(whole) == (["sent"] * 10, ["sent"] * 9)
    assert rows_of(whole, "notice") == []
    need = whole.totals.tokens
    less, turn_alone, tight = (
        planned(log, WORKBENCH, Limits(4_000, "config", 4_000 - room, 0)) for room in (need - 1, need - 970, 800)
    )
    assert shape(less) == (["dropped"] * 2 + ["sent"] * 8, ["sent"] * 9)
    assert spoken(less)[0] == ("system", "[conversation truncated — 2 older messages omitted]")
    assert shape(turn_alone) == (["dropped"] * 10, ["sent"] * 9)
    assert shape(tight) == (["dropped"] * 10, ["sent", *["dropped"] * 4, *["sent"] * 4])
    assert all(made.verdict.fits for made in (whole, less, turn_alone, tight))
