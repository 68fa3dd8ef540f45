"""The figures of the pane, the preview, the action and the JSON are the same, and undo brings back the same request."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from session.one_story import story
from support.random_cases import few_cases
from support.recordings import file_cases
from tui.recorded.long_run import as_file, as_session, run
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


@pytest.mark.parametrize("policy", ["", "workbench", "codex", "layers"])
@pytest.mark.parametrize("kind", ["file", "session"])
async def test_pane_preview_action_json_and_undo_agree(
    services: Services, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, policy: str
) -> None:
    events = run(12)
    ref = as_file(tmp_path, events) if kind == "file" else as_session(services, events)
    assert await story(services, ref, capsys, **({"policy": policy} if policy else {}))


@pytest.mark.parametrize("path", file_cases())
async def test_they_agree_on_real_files(services: Services, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    several = len(services.sources(str(path))) > 1
    await story(services, f"{path}#1" if several else str(path), capsys)


@few_cases(suppress_health_check=[*HealthCheck])
@given(steps=st.integers(2, 14), window=st.sampled_from([None, 9_000, 30_000]))
async def test_they_agree_at_every_length(
    steps: int, window: int | None, services: Services, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await story(services, as_file(tmp_path, run(steps)), capsys, **({"window": window} if window else {}))
