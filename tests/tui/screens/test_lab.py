"""The lab: whole sessions under every policy in a table, and a cursor on one of the requests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from textual.pilot import Pilot

from support.judged import piece_of_work
from support.talk import words
from tui.play import program, shown, until
from tui.recorded.long_run import as_file, as_session, run
from tui.screens.lab_sample import FACT, READS, choose, lab_of, opened_lab, replay, replayed, row, told
from tui.screens.looking import listed, look, seen, values
from workbench.config.text import percent
from workbench.context.policy_names import RECORDED
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.values import JudgedShare, PolicyRun
from workbench.log.events import (
    AssistantMessage,
    Body,
    Request,
    RequestPart,
    Setting,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.tui.compaction.plot import HERE
from workbench.tui.main.screen import MainScreen
from workbench.tui.screens.lab import LabScreen
from workbench.tui.screens.lab_misses import MissesScreen
from workbench.tui.screens.lab_moment import LabMomentScreen
from workbench.tui.screens.lab_plot import MISSED, LabPlot, draw_lab_plot
from workbench.tui.screens.lab_replays import QUESTIONS, Knobs, LabReplays
from workbench.tui.screens.policy_diff import PolicyDiffScreen
from workbench.views.judged_policies import judge_policies

pytestmark = pytest.mark.usefixtures("project")


@pytest.mark.parametrize(
    "sizes", [[(60, 15)], pytest.param([(80, 24), (120, 40), (200, 60)], marks=pytest.mark.wide)], ids=["small", "more"]
)
async def test_a_session_is_replayed_walked_through_and_looked_at_more_closely(
    reader: Services, sizes: list[tuple[int, int]]
) -> None:
    async with lab_of(reader, (160, 50)) as (pilot, screen, lab):
        assert not any("!" in row(lab, policy) or "✗" in row(lab, policy) for policy in values(lab)), "all of them fit"
        await a_row_has_the_figures_of_the_whole_session(pilot, lab, reader)
        await below_the_plot_it_says_what_the_chosen_policy_misses_and_what_it_costs(pilot, lab, reader)
        await the_cursor_walks_along_the_requests_with_the_figures_of_each(pilot, lab, reader)
        await enter_opens_the_request_under_two_policies(pilot, screen, lab, reader)
        for size in sizes:
            await pilot.resize_terminal(*size)
            lab = await opened_lab(pilot, screen)
            await table_plot_and_figures_are_seen(pilot, lab)
            await another_policy_can_be_what_a_request_is_compared_with(pilot, lab)
            await misses_are_listed_with_both_places_and_lead_there(pilot, screen, lab, reader, "enter")
            lab = await opened_lab(pilot, screen)
            await misses_are_listed_with_both_places_and_lead_there(pilot, screen, lab, reader, "ctrl+o")


# The table


async def a_row_has_the_figures_of_the_whole_session(pilot: Pilot[Any], lab: LabScreen, reader: Services) -> None:
    assert values(lab)[0] == RECORDED
    for policy in ("workbench", "layers", "codex"):
        made = replay(reader, policy)
        said = row(lab, policy).split()
        assert f"{made.tokens:,}" in said
        assert f"{made.peak:,}" in said
        assert f"${made.cost:,.2f}" in said
    assert f"{MISSED} {100 / (READS + 1):.1f}" in row(lab, "layers")
    assert MISSED not in row(lab, RECORDED)
    await seen(pilot, f"{READS + 1} requests · gpt-4o", "read from the cache")


async def below_the_plot_it_says_what_the_chosen_policy_misses_and_what_it_costs(
    pilot: Pilot[Any], lab: LabScreen, reader: Services
) -> None:
    await choose(pilot, lab, "layers")
    cost = replay(reader, "layers").reread_cost
    assert f"layers, whole session: 1 request with a miss, 1 fact, re-reading ${cost:,.2f}" in told(lab)
    await choose(pilot, lab, RECORDED)
    assert "recorded, whole session: nothing missed" in told(lab)


def talk_after_work() -> list[Body]:
    """Work to ask about, and much talk after it."""
    later = [
        said for at in range(8) for said in (UserMessage(words(300, f"w{at}")), AssistantMessage("go on", f"t{at}"))
    ]
    return [Setting("model", "gpt-4o"), *piece_of_work(), *later]


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.wide)])
async def test_a_key_judges_what_the_last_request_under_each_policy_still_answers(
    services: Services, size: tuple[int, int]
) -> None:
    ref = as_session(services, talk_after_work())
    async with lab_of(services, size, ref, window=3_000) as (pilot, _, lab):
        assert "judged" not in shown(pilot.app)
        await pilot.press("J")
        await until(lambda: lab.COLUMNS[-1].title == "judged")
        await listed(pilot)
        source = LabSource(services, Options(window=3_000), services.source(ref))
        policies = values(lab)
        shares = judge_policies(source, [(policy, ()) for policy in policies], QUESTIONS)
        assert len({share.mean for share in shares if share is not None}) > 1
        for policy, share in zip(policies, shares, strict=True):
            assert row(lab, policy).rstrip().endswith(percent(share.mean, 0) if share is not None else "–")
        await choose(pilot, lab, "layers")
        assert ", judged " in told(lab)


async def test_what_is_turned_while_the_policies_are_judged_has_no_share(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, begun, judged = threading.Event(), threading.Event(), LabReplays.judge

    def slowly(replays: LabReplays, policies: Sequence[tuple[str, Knobs]]) -> list[JudgedShare | None]:
        shares = judged(replays, policies)
        begun.set()
        gate.wait()
        return shares

    monkeypatch.setattr(LabReplays, "judge", slowly)
    async with lab_of(services, (120, 40), as_session(services, talk_after_work()), window=3_000) as (pilot, _, lab):
        try:
            await pilot.press("J")
            await until(begun.is_set)
            lab._turn("layers", ("history.resident_messages=1",))
            await replayed(pilot, lab)
        finally:
            gate.set()
        await until(lambda: lab.COLUMNS[-1].title == "judged")
        await listed(pilot)
        assert row(lab, "layers").rstrip().endswith("–")
        assert row(lab, "codex").rstrip().endswith("%")


@pytest.mark.parametrize("size", [(80, 24), pytest.param((160, 50), marks=pytest.mark.wide)])
async def test_a_bar_and_a_sign_say_what_would_not_have_fitted(reader: Services, size: tuple[int, int]) -> None:
    async with lab_of(reader, size, window=9_000) as (_, _, lab):
        assert replay(reader, RECORDED).peak > 9_000
        assert "!" in row(lab, RECORDED)
        assert "✗ " in row(lab, RECORDED)


@pytest.mark.long
async def test_a_policy_that_cannot_be_read_says_why_and_the_others_are_replayed(many_results: Services) -> None:
    async with lab_of(many_results) as (pilot, _, lab):
        torn = next(value for value in values(lab) if value.endswith("torn.toml"))
        assert "broken" in row(lab, torn)
        await choose(pilot, lab, torn)
        await until(lambda: "expected TOML" in told(lab))
        mine = next(value for value in values(lab) if value.endswith("mine.toml"))
        assert "broken" not in row(lab, mine)


@pytest.mark.long
async def test_rows_fill_one_by_one_and_who_leaves_stops_what_is_being_replayed(
    reader: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, begun, plain = threading.Event(), threading.Event(), LabSource.run_policy
    ended: list[str] = []
    finished: list[PolicyRun] = []

    def slowly(lab: LabSource, policy: str, knobs: Any = ()) -> PolicyRun:
        if policy == "codex":
            begun.set()
            gate.wait()
        try:
            finished.append(plain(lab, policy, knobs))
            return finished[-1]
        finally:
            ended.append(policy)

    monkeypatch.setattr(LabSource, "run_policy", slowly)
    async with program(reader, (120, 40)) as (pilot, screen):
        lab = await look(pilot, screen, "lab")
        assert isinstance(lab, LabScreen)
        await until(begun.is_set)
        await until(lambda: "replaying…" in row(lab, "codex"))
        assert "waiting…" in row(lab, "layers")
        assert "…" not in row(lab, "workbench")
        await pilot.press("left")  # the keys work meanwhile
        await until(lambda: f"request {READS} of {READS + 1}" in told(lab))
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        gate.set()
        await until(lambda: "codex" in ended)
        assert "layers" not in ended
        assert "codex" not in [made.policy for made in finished], "it was given up"


async def test_a_session_without_requests_says_what_to_do(services: Services) -> None:
    services.store.create([UserMessage("hello")], title="new").close()
    async with lab_of(services) as (pilot, _, lab):
        assert "Say something in the chat" in told(lab)
        await pilot.press("enter", "right", "n", "plus")
        assert pilot.app.screen is lab
        await pilot.press("t")
        await until(lambda: isinstance(pilot.app.screen, LabMomentScreen))


# The cursor


async def the_cursor_walks_along_the_requests_with_the_figures_of_each(
    pilot: Pilot[Any], lab: LabScreen, reader: Services
) -> None:
    points = replay(reader, "layers").points
    await choose(pilot, lab, "layers")
    assert f"request {READS + 1} of {READS + 1}" in told(lab)
    assert f"{points[-1].tokens:,}" in told(lab)
    assert "× 1 missed" in told(lab)
    await pilot.press("left", "left")
    assert f"request {READS - 1} of" in told(lab)
    assert f"{points[READS - 2].tokens:,}" in told(lab)
    await pilot.press("home", "left")
    assert "request 1 of" in told(lab)
    await pilot.press("n")
    assert f"request {READS + 1} of" in told(lab), "the next mark: the miss"
    await pilot.press("home")
    await pilot.click(LabPlot, offset=(lab.plot.size.width - 1, 2))
    assert f"request {READS + 1} of" in told(lab)
    await choose(pilot, lab, RECORDED)
    await pilot.press("n")
    await seen(pilot, "recorded misses nothing")


async def enter_opens_the_request_under_two_policies(
    pilot: Pilot[Any], screen: MainScreen, lab: LabScreen, reader: Services
) -> None:
    await choose(pilot, lab, RECORDED)
    await pilot.press("enter")
    await seen(pilot, "choose another policy to compare")
    await choose(pilot, lab, "layers")
    await pilot.press("left", "left", "enter")
    await until(lambda: isinstance(pilot.app.screen, PolicyDiffScreen))
    diff = await listed(pilot)
    at = READS - 1
    first, second = (replay(reader, policy).points[at - 1].tokens for policy in (RECORDED, "layers"))
    assert str(diff.box.border_title).startswith(f"request {at}: recorded {first:,} → layers {second:,} tokens")
    assert values(diff)
    await pilot.press("ctrl+o")
    await until(lambda: pilot.app.screen is screen)
    await until(lambda: screen.arrangement.active == "context")


async def another_policy_can_be_what_a_request_is_compared_with(pilot: Pilot[Any], lab: LabScreen) -> None:
    await choose(pilot, lab, "codex")
    await pilot.press("b")
    await listed(pilot)
    assert "codex base" in row(lab, "codex")
    await choose(pilot, lab, "layers")
    await pilot.press("enter")
    await until(lambda: isinstance(pilot.app.screen, PolicyDiffScreen))
    diff = await listed(pilot)
    await until(lambda: ": codex " in str(diff.box.border_title))
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is lab)


async def misses_are_listed_with_both_places_and_lead_there(
    pilot: Pilot[Any], screen: MainScreen, lab: LabScreen, reader: Services, key: str
) -> None:
    await choose(pilot, lab, "layers")
    await pilot.press("m")
    await until(lambda: isinstance(pilot.app.screen, MissesScreen))
    found = await listed(pilot)
    [miss] = replay(reader, "layers").misses
    assert miss.fact == FACT
    said = str(found.found.options[0].prompt)
    assert all(each in said for each in (FACT, f"#{miss.used}", f"#{miss.held}"))
    await seen(pilot, "It is ledger_of_rye that is wrong.")
    led: list[int] = []
    plain = screen.show_event

    def show_event(seq: int, pane: Literal["chat", "inspector"]) -> None:
        led.append(seq)
        plain(seq, pane)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screen, "show_event", show_event)
        await pilot.press(key)
        await until(lambda: pilot.app.screen is screen and bool(led))
    events = await screen.from_session(lambda opened: list(opened.events))
    assert isinstance(events[led[0] - 1].body, AssistantMessage if key == "enter" else ToolResult)
    await until(lambda: screen.arrangement.active == "context")


# All kinds of sessions, and all sizes


def passed_the_proxy() -> list[Body]:
    """Requests that are in the log whole, as the proxy writes them."""
    made: list[Body] = [
        Setting("model", "claude-opus-4-5"),
        Setting(RECORDED, "proxy"),
        UserMessage("look"),
    ]
    hashes: list[str] = []
    for number in range(6):
        part = f"m{number}"
        hashes.append(part)
        made.append(RequestPart(part, {"role": "user", "content": f"look {number}"}))
        made.append(Request("anthropic", "claude-opus-4-5", messages=tuple(hashes)))
        asked = len(made)
        made += [
            ToolCall(f"c{number}", "read", "{}", f"r{number}"),
            Usage("claude-opus-4-5", 0, 4_000 + 900 * number, completion=9, request=asked),
            ToolResult(f"c{number}", f"words of {number}\n" * 300, "read"),
        ]
    return made


@pytest.mark.long
async def test_sessions_of_other_agents_and_of_the_proxy_have_what_was_reported(
    services: Services, tmp_path: Path
) -> None:
    with services.store.create(passed_the_proxy()) as session:
        passed = session.id
    for ref, last in ((as_file(tmp_path, run(8)), 27_300 + 60 + 9 * 410), (passed, 4_000 + 900 * 5)):
        async with lab_of(services, (120, 40), ref) as (_, _, lab):
            assert f"{last:,}" in told(lab)
            assert "all but recorded without what its agent cut" in told(lab), "so a what-if has other figures"
            assert "● recorded base" in row(lab, RECORDED)


async def table_plot_and_figures_are_seen(pilot: Pilot[Any], lab: LabScreen) -> None:
    await choose(pilot, lab, "layers")
    assert lab.found.size.height >= 3
    assert lab.plot.size.height >= 3
    said = shown(pilot.app)
    for each in (
        "1   recorded base",
        "2 ● workbench now",
        "missed in 100",
        HERE,
        "request 15 of 15",
        "layers",
        "Enter item",
    ):
        assert each in said, each
    plotted = "\n".join(
        line.plain for line in draw_lab_plot(lab.plot.picture, lab.plot.size.width, lab.plot.size.height)
    )
    assert MISSED in plotted
    assert all(each.sign in plotted for each in lab.plot.picture.lines), "lines are told apart without colours"
