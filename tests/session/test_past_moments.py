"""At any past request the panes, the preview, the timeline and the JSON agree; back at now, nothing has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from session.moments import check_moment, figures, travel
from session.one_story import sent
from support.random_cases import few_cases
from support.recordings import file_cases
from tui.play import Watcher, opened
from tui.recorded.long_run import as_file, as_session, run
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


async def check_moments(
    on: Watcher, places: list[int], ref: str, capsys: pytest.CaptureFixture[str], *more: str
) -> None:
    first = on.shown.at
    await travel(on, None)
    before, shown, said = await on.ask(sent), figures(on.shown.plan), on.compaction
    for place in places:
        await check_moment(on, place, ref, capsys, *more)
        past = on.compaction.past
        assert (past is None) == on.shown.is_newest
        assert past is None or (past.number, past.tokens) == (place + 1, on.shown.plan.size)
        assert past is None or bool(past.would) != bool(past.nothing)
    await travel(on, None)
    assert (await on.ask(sent), figures(on.shown.plan)) == (before, shown)
    assert on.compaction == said
    await travel(on, first)


@few_cases(suppress_health_check=[*HealthCheck])
@given(
    steps=st.integers(2, 14),
    share=st.floats(0, 1),
    kind=st.sampled_from(["file", "session"]),
    policy=st.sampled_from(["", "workbench", "layers", "codex"]),
    window=st.sampled_from([0, 30_000]),
)
async def test_recorded_and_what_if(
    steps: int,
    share: float,
    kind: str,
    policy: str,
    window: int,
    services: Services,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    events = run(steps)
    ref = as_file(tmp_path, events) if kind == "file" else as_session(services, events)
    asked = {**({"policy": policy} if policy else {}), **({"window": window} if window and policy else {})}
    more = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
    async with opened(services, ref, **asked) as on:
        count = len(on.shown.requests)
        await check_moments(on, [int(share * (count - 1))], ref, capsys, *more)


async def test_a_policy_that_is_tried_decides_about_past_requests(services: Services, tmp_path: Path) -> None:
    async with opened(services, as_file(tmp_path, run(14))) as on:
        await travel(on, 8)
        assert on.compaction.past.would.startswith("10 items")
        on.model.switch_policy("window")
        await on.settled()
        assert on.compaction.past.would.startswith("2 items")
        await travel(on, len(on.shown.requests) - 1)
        assert on.compaction.past is None, "the newest request stands for the present"


@pytest.mark.parametrize("path", file_cases())
async def test_real_files(services: Services, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ref = f"{path}#1" if len(services.sources(str(path))) > 1 else str(path)
    async with opened(services, ref) as on:
        count = len(on.shown.requests)
        places = sorted({count // 3, count - 1} & set(range(count)))
        await check_moments(on, places, ref, capsys)
