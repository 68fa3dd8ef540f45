"""A window that was learnt holds for the session and for the model it was learnt for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from workbench.config.settings import Settings
from workbench.context.setup import PlanOptions, Setup, set_up
from workbench.log.codec import decode_event, encode_event
from workbench.log.events import Body, Compaction, Setting, Usage, UserMessage
from workbench.log.learnt_windows import LearntWindow, learnt_window, window_setting
from workbench.models.catalogue import Catalogue


def made(*bodies: Body, entry: dict[str, Any] | None = None, reported: int | None = None, **options: Any) -> Setup:
    options.setdefault("model", "gpt-4o")
    catalogue = Catalogue({"gpt-4o": entry} if entry else {})
    return set_up(PlanOptions(**options), Settings(), catalogue, events=number(bodies), reported=reported)


def window(setup: Setup) -> tuple[int, str]:
    return setup.limits.window, setup.limits.window_source


LEARNT = window_setting("gpt-4o", LearntWindow(20_000))


def test_a_learnt_window_corrects_the_catalogue() -> None:
    assert window(made()) == (128_000, "catalogue")
    assert window(made(LEARNT)) == (20_000, "provider")
    assert window(made(LEARNT, window_setting("gpt-4o", LearntWindow(10_000)))) == (10_000, "provider")
    assert window(made(LEARNT, entry={"window": 64_000})) == (20_000, "provider"), "the provider knows better"


def test_it_holds_for_its_own_model_alone() -> None:
    assert window(made(LEARNT, model="gpt-4")) == window(made(model="gpt-4"))


def test_what_was_asked_for_wins() -> None:
    assert window(made(LEARNT, window=50_000)) == (50_000, "option")
    assert window(made(LEARNT, sets=["budget.max_input_tokens=9000"])) == (9_000, "policy")


def test_a_bare_number_is_for_the_model_of_its_time() -> None:
    log = [Setting("model", "gpt-4o"), Setting("window", 30_000), Setting("model", "gpt-4")]
    assert window(made(*log)) == (30_000, "provider")
    assert window(made(*log, model="gpt-4")) == window(made(model="gpt-4"))


def test_a_servers_report_wins_over_the_tables_and_not_over_the_user_or_the_provider() -> None:
    assert window(made(reported=4_096)) == (4_096, "server")
    assert window(made(LEARNT, reported=4_096)) == (20_000, "provider")
    assert window(made(entry={"window": 64_000}, reported=4_096)) == (64_000, "config")
    earlier = window_setting("gpt-4o", LearntWindow(8_192, "server"))
    assert window(made(earlier)) == (8_192, "server"), "the server need not run for its session to be looked at"
    assert window(made(earlier, reported=4_096)) == (4_096, "server")


def test_the_same_window_learnt_now_or_earlier_gives_the_same_limits() -> None:
    assert made(reserve=700).with_window(20_000).limits == made(LEARNT, reserve=700).limits
    assert made().with_window(20_000).limits == made(LEARNT).limits


@given(st.text(max_size=8), st.integers(1, 10**9), st.sampled_from(["provider", "server"]), st.text(max_size=8))
def test_what_goes_into_the_log_comes_back(model: str, tokens: int, source: Any, other: str) -> None:
    [event] = number([window_setting(model, LearntWindow(tokens, source))])
    event = decode_event(encode_event(event))
    assert learnt_window([event], model) == LearntWindow(tokens, source)
    assert learnt_window([event], other) == (LearntWindow(tokens, source) if other == model else None)


@pytest.mark.parametrize("value", [None, "x", 0, -1, 1.5, {}, {"model": "gpt-4o"}, {"model": "gpt-4o", "tokens": "x"}])
def test_what_cannot_be_a_window_is_passed_over(value: Any) -> None:
    events = number([Setting("model", "gpt-4o"), UserMessage("hi"), Setting("window", value)])
    assert learnt_window(events, "gpt-4o") is None


COMPACTED = Compaction(1, 1, "so far", meta={"made_by": "Claude Code", "trigger": "auto", "tokens_before": 167_117})


def test_an_agents_own_compactions_and_requests_bound_the_window() -> None:
    opus = "claude-opus-4-6"
    asked = (UserMessage("go"), Usage(opus, 0, 166_000))
    assert window(made(*asked, model=opus)) == (1_000_000, "catalogue")
    assert window(made(*asked, COMPACTED, model=opus)) == (200_000, "agent")
    assert window(made(*asked, COMPACTED, Usage(opus, 0, 300_000), model=opus)) == (1_000_000, "catalogue")
    assert window(made(*asked, COMPACTED, model=opus, window=500_000)) == (500_000, "option")
    told = window_setting(opus, LearntWindow(400_000))
    assert window(made(*asked, COMPACTED, told, model=opus)) == (400_000, "provider")
    by_hand = Compaction(1, 1, "so far", meta={**COMPACTED.meta, "trigger": "manual"})
    assert window(made(*asked, by_hand, model=opus)) == (1_000_000, "catalogue")
    assert window(made(UserMessage("go"), Usage("claude-sonnet-4-5", 0, 350_000), model="claude-sonnet-4-5")) == (
        1_000_000,
        "agent",
    )
