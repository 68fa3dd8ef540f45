"""Past requests that are planned while something else is opened."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from support.waiting import GIVE_UP
from tui.play import Script, Watcher, answer, opened, until
from tui.recorded.long_run import as_file, other, run
from workbench.context.plan import ContextPlan
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.replay.policy_replay import PolicyReplay
from workbench.session import opening
from workbench.session.open_session import OpenSession
from workbench.session.time_travel import TimeTravel
from workbench.sources.options import Options
from workbench.sources.request_plans import RequestPlans
from workbench.sources.requests import RequestMark
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


class SlowPlan:
    """The first request of what is open now is planned only once `gate` is open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, held: OpenSession) -> None:
        self.gate, self.began = threading.Event(), threading.Event()
        plan = TimeTravel._planned

        def slowly(travel: TimeTravel, opened: OpenSession, place: int) -> ContextPlan:
            if opened is held and place == 0:
                self.began.set()
                assert self.gate.wait(GIVE_UP)
            return plan(travel, opened, place)

        monkeypatch.setattr(TimeTravel, "_planned", slowly)


def texts(on: Watcher) -> list[str]:
    """What the request on the screen says."""
    return [item.text for item in on.shown.plan.items if item.role in ("user", "assistant")]


async def test_a_plan_of_one_session_is_never_shown_in_another(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(*(answer(f"answer {number}") for number in range(4))).play(monkeypatch)
    async with opened(services) as on:
        for name in ("old", "new"):
            await on.model.new_session()
            for text in (f"{name} one", f"{name} two"):
                on.model.send(text)
                await on.settled()
        await on.model.open_session("old one")
        slow = SlowPlan(monkeypatch, await on.ask(lambda open_now: open_now))
        on.model.travel(1)
        await until(slow.began.is_set)
        await on.model.open_session("new one")
        slow.gate.set()
        await on.settled()
        on.model.travel(1)
        await until(lambda: on.shown.at == 1)
        await on.settled()
        assert texts(on) == ["new one", "answer 2", "new two"]


async def test_a_plan_of_a_file_is_not_shown_after_it_was_read_again(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = as_file(tmp_path, run(12))
    async with opened(services, ref) as on:
        slow = SlowPlan(monkeypatch, await on.ask(lambda open_now: open_now))
        on.model.travel(1)
        await until(slow.began.is_set)
        text = Path(ref).read_text("utf-8")
        Path(ref).write_text(text.replace("Look at every file.", "Look at one file."), "utf-8")
        made = opening.open_source(services, Options(follow=True), ref)
        assert await on.model.call_session(lambda session: session.current.show_new_contents, made)
        slow.gate.set()
        await on.settled()
        on.model.travel(1)
        await until(lambda: on.shown.at == 1)
        await on.settled()
        assert "Why does the login test fail? Look at one file." in texts(on)


async def test_walking_back_seldom_begins_at_the_start_of_the_log(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = as_file(tmp_path, run(40))
    begun: list[RequestPlans] = []
    walk_to = RequestPlans._walk_to

    def counted(plans: RequestPlans, mark: RequestMark) -> object:
        before = plans._planners.get(mark.model)
        found = walk_to(plans, mark)
        if found is not before:
            begun.append(plans)
        return found

    async with opened(services, ref) as on:
        newest = await on.ask(lambda open_now: len(open_now.requests.marks)) - 1
        monkeypatch.setattr(RequestPlans, "_walk_to", counted)
        walked = []
        for place in range(newest, newest - 24, -1):
            on.model.travel(place)
            await until(lambda place=place: on.shown.at == place)  # type: ignore[misc]
            await on.settled()
            walked.append((place, on.shown.plan.size, texts(on)))
        assert 0 < len(begun) <= 24 // 8 + 1
        recorded = await on.ask(lambda open_now: open_now.recorded)
    assert recorded is not None
    afresh = recorded.with_model("")
    for place, size, said in walked:
        plan = afresh.plan(place)
        assert (size, said) == (plan.size, [each.text for each in plan.items if each.role in ("user", "assistant")])


async def test_requests_after_one_that_cannot_be_planned_are_shown(services: Services, tmp_path: Path) -> None:
    bodies = run(40, others=False)
    title = other(8, "side")
    title[1] = msgspec.structs.replace(title[1], dialect="a plug-in's that is gone")
    ref = as_file(tmp_path, [*bodies[:7], *title, *bodies[7:]])
    async with opened(services, ref) as on:
        place = await on.ask(lambda open_now: next(at for at, each in enumerate(open_now.requests.marks) if each.exact))
        on.model.travel(place)
        await on.settled()
        assert "dialect" in on.told
        on.model.travel(place + 3)
        await on.settled()
        assert on.shown.at == place + 3


async def test_a_policy_that_was_saved_over_is_tried_on_past_requests_anew(services: Services, tmp_path: Path) -> None:
    ref, policy = as_file(tmp_path, run(12)), tmp_path / "mine.toml"
    policy.write_text('extends = "layers"\n[masking]\nkeep_first = 0\nkeep_last = 0\n', "utf-8")

    def masked() -> int:
        return sum(item.state == "masked" for item in on.shown.plan.items)

    async with opened(services, ref) as on:
        on.model.switch_policy(str(policy))
        await on.settled()
        on.model.travel(6)
        await until(lambda: on.shown.at == 6)
        await on.settled()
        assert masked() == 0
        on.model.travel(None)
        await on.settled()
        policy.write_text('extends = "layers"\n[masking]\nkeep_first = 0\nkeep_last = 2\n', "utf-8")
        on.model.switch_policy(str(policy))
        await on.settled()
        on.model.travel(10)
        await until(lambda: on.shown.at == 10)
        assert masked() > 4


async def test_walking_back_under_another_policy_seldom_replays_the_session_again(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = as_file(tmp_path, run(40))
    replays: list[str] = []
    replay = LabSource._replay

    def counted(lab: LabSource, policy: str, knobs: Sequence[str]) -> PolicyReplay:
        replays.append(policy)
        return replay(lab, policy, knobs)

    async with opened(services, ref) as on:
        newest = await on.ask(lambda open_now: len(open_now.requests.marks)) - 1
        on.model.switch_policy("layers")
        await on.settled()
        monkeypatch.setattr(LabSource, "_replay", counted)
        walked = []
        for place in range(newest, newest - 24, -1):
            on.model.travel(place)
            await until(lambda place=place: on.shown.at == place)  # type: ignore[misc]
            await on.settled()
            walked.append((place, on.shown.plan.size, texts(on)))
        assert 0 < replays.count("layers") <= 24 // 8 + 3
    lab = LabSource(services, Options(), services.source(ref))
    for place, size, said in reversed(walked):
        if (number := lab.number_of(place + 1)) is not None:
            plan = lab.plan_request(number, "layers")
            assert (size, said) == (plan.size, [each.text for each in plan.items if each.role in ("user", "assistant")])


async def test_a_policy_that_is_saved_over_while_a_request_is_planned_is_tried_anew(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref, policy = as_file(tmp_path, run(12)), tmp_path / "mine.toml"
    policy.write_text('extends = "layers"\n[masking]\nkeep_first = 0\nkeep_last = 0\n', "utf-8")
    gate, began, begin = threading.Event(), threading.Event(), LabSource._replay

    def slowly(lab: LabSource, policy: str, knobs: Sequence[str]) -> PolicyReplay:
        found = begin(lab, policy, knobs)
        began.set()
        assert gate.wait(GIVE_UP)
        return found

    async with opened(services, ref) as on:
        on.model.switch_policy(str(policy))
        await on.settled()
        monkeypatch.setattr(LabSource, "_replay", slowly)
        on.model.travel(10)
        await until(began.is_set)
        policy.write_text('extends = "layers"\n[masking]\nkeep_first = 0\nkeep_last = 2\n', "utf-8")
        await on.model.switch_policy(str(policy))
        on.model.travel(12)
        gate.set()
        await on.settled()
        assert on.shown.at == 12
        assert sum(item.state == "masked" for item in on.shown.plan.items) > 4
