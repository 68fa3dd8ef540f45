"""The figures of the pane, the preview, the action and the JSON are the same, and undo brings back the same request."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.recordings import readable_files
from tui.play import Watcher, until
from tui.recorded.long_run import as_file, as_session, run
from workbench.cli.main import main
from workbench.compaction.values import CompactionRefused
from workbench.config.errors import Refused
from workbench.context.render import messages
from workbench.session.open_session import OpenSession
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


def sent(opened: OpenSession) -> str:
    """The next request as it would be sent, and the figures that are shown of it."""
    plan = opened.plan
    figures = (plan.size, plan.totals, plan.unattributed, plan.policy, plan.limits, opened.view)
    return json.dumps(messages(plan), sort_keys=True) + repr(figures)


def offered(on: Watcher) -> tuple[int, int]:
    """What the pane says that a compaction by hand would summarise: items and tokens."""
    found = re.search(r"summarise ([\d,]+) items?.* with ([\d,]+) tokens?", on.compaction.would)
    assert found is not None, on.compaction.would
    items, tokens = (int(each.replace(",", "")) for each in found.groups())
    return items, tokens


async def as_json(capsys: pytest.CaptureFixture[str], ref: str, *more: str) -> dict[str, Any]:
    capsys.readouterr()
    await asyncio.to_thread(main, ["compact", ref, "--dry-run", "--digest", "--json", *more])
    made = json.loads(capsys.readouterr().out)
    assert isinstance(made, dict)
    return made


async def story(services: Services, ref: str, capsys: pytest.CaptureFixture[str], **options: Any) -> bool:
    """Compact by hand and undo it, comparing all figures on the way; whether there was anything to compact."""
    on = Watcher(services, ref, **options)
    try:
        await on.settled()
        before = await on.ask(sent)
        await until(lambda: on.compaction is not None and bool(on.compaction.would or on.compaction.nothing))
        pane = on.compaction
        try:
            preview = await on.model.compacting(lambda work: work.drafts.preview(True))
        except CompactionRefused:
            assert pane.nothing
            return False
        assert offered(on) == (len(preview.selected.items), preview.source_tokens)
        assert pane.tokens == preview.tokens_before
        written = await as_json(capsys, ref, *(str(each) for name in options for each in (f"--{name}", options[name])))
        if on.read_only:
            await on.model.compacting(lambda work: work.make_session())
            await on.settled()
            assert await on.ask(sent) == before, "a copy is the same"
        again = await on.model.compacting(lambda work: work.drafts.preview(True))
        assert (again.cache, again.summary_cap) == (preview.cache, preview.summary_cap)
        if written["refused"]:
            with pytest.raises(Refused, match=re.escape(written["refused"])):
                await on.model.compacting(lambda work: work.drafts.compact(again, True))
            assert await on.ask(sent) == before
            return False
        assert (written["tokens_before"], written["source_tokens"]) == (preview.tokens_before, preview.source_tokens)
        made = await on.model.compacting(lambda work: work.drafts.compact(again, True))
        await on.settled()
        assert (made.before, made.after) == (preview.tokens_before, on.compaction.tokens)
        assert (written["tokens_before"], written["tokens_after"]) == (made.before, made.after)
        assert on.shown.plan.size == made.after
        assert await on.ask(sent) != before
        on.model.revert("undo")
        await on.settled()
        assert await on.ask(sent) == before
        assert (on.shown.plan.size, on.compaction.tokens) == (preview.tokens_before, preview.tokens_before)
        return True
    finally:
        await on.model.close()


@pytest.mark.parametrize("policy", ["", "workbench", "codex", "layers"])
@pytest.mark.parametrize("kind", ["file", "session"])
async def test_pane_preview_action_json_and_undo_agree(
    services: Services, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, policy: str
) -> None:
    events = run(12)
    ref = as_file(tmp_path, events) if kind == "file" else as_session(services, events)
    assert await story(services, ref, capsys, **({"policy": policy} if policy else {}))


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in readable_files()])
async def test_they_agree_on_real_files(services: Services, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    several = len(services.sources(str(path))) > 1
    await story(services, f"{path}#1" if several else str(path), capsys)


@settings(max_examples=6, suppress_health_check=[*HealthCheck])
@given(steps=st.integers(2, 14), window=st.sampled_from([None, 9_000, 30_000]))
async def test_they_agree_at_every_length(
    steps: int, window: int | None, services: Services, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await story(services, as_file(tmp_path, run(steps)), capsys, **({"window": window} if window else {}))
