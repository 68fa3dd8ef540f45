"""The meter: cuts and counts of calls are remembered, for all threads."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.talk import COUNTER, ROOMY, iterations, planned, preset, results, words
from workbench.context import measure
from workbench.context.cells import Cell
from workbench.context.stages.history import history_notice
from workbench.context.stages.truncate import TruncatedText
from workbench.log.events import Event, ToolResult, UserMessage
from workbench.models.calibrated_counts import calibrated_counter
from workbench.models.encoders import TOKENIZERS
from workbench.models.tokens import counter_named

CAPPED = preset("layers", "truncation.max_tokens=40")


def test_equal_results_are_each_cut_under_their_own_id() -> None:
    made = planned([UserMessage("go"), *iterations([words(100)] * 3)], CAPPED)
    for row in results(made):
        assert row.state == "truncated"
        assert row.text is not None
        assert f"[id {row.id}]" in row.text


class WatchedId(str):
    """An id that tells when it is looked up in a dict."""

    looked_up: Callable[[], None]

    def __hash__(self) -> int:
        self.looked_up()
        return super().__hash__()


def test_a_thread_may_forget_what_another_is_about_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "CUTS_REMEMBERED", 2)

    def cut(item_id: str) -> TruncatedText | None:
        meter = measure.Meter(CAPPED, ROOMY, COUNTER, "", "openai")
        return meter.cut_result(Cell(Event(1, item_id, 0, ToolResult("call", words(100))), 0, 0, 100, True))

    def cut_others() -> None:
        thread = Thread(target=lambda: [cut(item_id) for item_id in ("one", "two", "three")])
        thread.start()
        thread.join()

    watched = WatchedId("watched")
    watched.looked_up = cut_others
    made = cut(watched)
    assert made is not None
    assert "[id watched]" in made.text


@pytest.mark.parametrize("arguments", ['{"path": "a.txt"}', "", "no JSON", '{"text": "' + 3_000 * "x" + '"}'])
def test_a_call_costs_the_same_when_it_is_counted_again(monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    monkeypatch.setattr(measure, "CALLS_REMEMBERED", 1)
    meter = measure.Meter(CAPPED, ROOMY, COUNTER, "", "openai")

    first = meter.call(("read", arguments))
    assert first.tokens > 0
    assert meter.call(("read", arguments)) == first
    meter.call(("read", '{"path": "another.txt"}'))  # forgets it
    assert meter.call(("read", arguments)) == first


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_a_notice_costs_what_its_text_does(tokenizer: str, before: int, count: int) -> None:
    counter = counter_named(tokenizer)
    meter = measure.Meter(CAPPED, ROOMY, counter, "", "openai")
    assert meter.notice(before) == counter.count(history_notice(before))
    assert meter.notice(count) == counter.count(history_notice(count))


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_the_quick_count_is_the_count(factor: float) -> None:
    counter = calibrated_counter(counter_named("o200k_base").apart(), factor)
    assert [counter.quick_count(text) for text in ("", "some words", "some words")] == [
        counter.count(text) for text in ("", "some words", "some words")
    ]
