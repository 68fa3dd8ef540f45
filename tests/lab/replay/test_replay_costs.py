"""What the provider's cache would have had of a session's requests under a policy, and what they cost."""

from __future__ import annotations

import pytest

from lab.replay.test_lab_source import KEEP_ONE, run
from support.logs import number
from support.talk import words
from workbench.config.values import replace
from workbench.context.policy_names import RECORDED
from workbench.lab.replay.lab_source import LabSource
from workbench.log.events import (
    AssistantMessage,
    Body,
    Event,
    Hold,
    HoldEnd,
    Request,
    Setting,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source


def test_a_request_that_only_grows_reads_all_of_the_one_before() -> None:
    log: list[Body] = [UserMessage(words(3_000))]
    for at in range(4):
        log += [ToolCall(f"c{at}", "f", "{}", f"r{at}"), ToolResult(f"c{at}", words(50))]
    made = run(log, "confirm")
    reads = [point.cache_read for point in made.points]
    assert reads[0] == 0
    assert all(0 <= before.tokens - read < 160 for before, read in zip(made.points, reads[1:], strict=False))
    assert all(point.cache_read + point.cache_written == point.tokens for point in made.points)


def test_a_mask_costs_what_stands_behind_it() -> None:
    log: list[Body] = [UserMessage(words(3_000))]
    for at in range(4):
        log += [ToolCall(f"c{at}", "f", "{}", f"r{at}"), ToolResult(f"c{at}", words(900))]
    masked, whole = (
        run(log, "workbench", *KEEP_ONE, "masking.min_tokens=0", "masking.batch_tokens=0"),
        run(log, "confirm"),
    )
    assert masked.tokens < whole.tokens
    assert masked.points[-1].cache_read < whole.points[-1].cache_read
    assert masked.points[-1].cache_read >= 2_944


def test_what_another_session_left_in_the_cache_is_there_for_every_policy() -> None:
    log: list[Body] = [
        UserMessage("go"),
        AssistantMessage("Done.", "a"),
        Usage("gpt-4o", 20, prompt=9_000, cached=6_400, completion=3),
        Setting(RECORDED, "pi"),
    ]
    assert [run(log, policy).points[0].cache_read for policy in (RECORDED, "codex")] == [6_400, 6_400]


def test_a_long_request_costs_what_long_ones_cost() -> None:
    bodies: list[Body] = [Setting("model", "gpt-5.4"), UserMessage("go")]
    for at, prompt in enumerate((200_000, 300_000)):
        bodies += [AssistantMessage("done", f"a{at}"), Usage("gpt-5.4", 0, prompt=prompt, completion=100)]
    made = LabSource(Services(), Options(), as_source("made", number(bodies))).run_policy(RECORDED)
    assert made.cost == pytest.approx(200_000 * 2.5e-6 + 100 * 15e-6 + 300_000 * 5e-6 + 100 * 22.5e-6)


def idle(hour: bool) -> list[Event]:
    """Of a session whose agent waits for ten minutes and more; `hour`: it has its cache kept for so long. The last
    request has no report."""
    bodies: list[Body] = [Setting("model", "claude-opus-4-5"), UserMessage(words(3_000))]
    for at in range(2):
        written = 4_000 - 3_000 * at
        used = Usage("claude-opus-4-5", 0, 4_000, cached=3_000 * at, cache_write=written, cache_hour=written * hour)
        bodies += [AssistantMessage("done", f"a{at}"), used, UserMessage("more")]
    bodies += [AssistantMessage("done", "last"), Setting(RECORDED, "claude-code")]
    return [replace(event, at=event.seq * 5 * 60_000) for event in number(bodies)]


@pytest.mark.parametrize(("hour", "price"), [(False, 6.25e-6), (True, 10e-6)])
def test_an_agent_that_has_its_cache_kept_for_an_hour_has_so_under_every_policy(hour: bool, price: float) -> None:
    lab = LabSource(Services(), Options(), as_source("made", idle(hour)))
    sent, made = lab.run_policy(RECORDED), lab.run_policy("confirm")
    last = made.points[-1]
    assert (last.cache_read > 3_900) is hour
    said = sum(answer.tokens for answer in lab.answers) * 25e-6
    read, written = 3_000 + last.cache_read, 5_000 + last.cache_written
    assert made.cost == pytest.approx(read * 0.5e-6 + written * price + said)
    assert made.points == sent.points
    assert made.cost == sent.cost


@pytest.mark.parametrize("end", ["answered", "gone"])
def test_what_was_held_and_never_sent_is_no_request(end: HoldEnd) -> None:
    bodies: list[Body] = [
        UserMessage("go"),
        Request("chat", "gpt-4o", messages=("x",)),
        AssistantMessage("Done.", "a"),
        Usage("gpt-4o", 0, 900, request=3),
        UserMessage("more"),
        Request("chat", "gpt-4o", messages=("x", "y")),
        Hold(7, "every", end=end),
        AssistantMessage("By hand.", "b"),
        Setting(RECORDED, "pi"),
    ]
    assert [point.tokens for point in run(bodies, RECORDED).points] == [900]
