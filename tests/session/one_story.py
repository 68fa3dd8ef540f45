"""One story: what the panes announce is what the preview shows, the action does, the JSON says and undo takes back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from session.moments import printed
from tui.play import Watcher, until
from workbench.compaction.values import CompactionRefused
from workbench.config.errors import Refused
from workbench.context.render import render_request
from workbench.session.open_session import OpenSession
from workbench.sources.services import Services


def sent(opened: OpenSession) -> str:
    """The next request as it would be sent, and the figures that are shown of it."""
    plan = opened.plan
    figures = (plan.size, plan.totals, plan.unattributed, plan.policy, plan.limits, opened.view)
    return json.dumps(render_request(plan), sort_keys=True) + repr(figures)


def offered(on: Watcher) -> tuple[int, int]:
    """What the pane says that a compaction by hand would summarise: items and tokens."""
    found = re.match(r"([\d,]+) items?.* with ([\d,]+) tokens?", on.compaction.would)
    assert found is not None, on.compaction.would
    items, tokens = (int(each.replace(",", "")) for each in found.groups())
    return items, tokens


async def story(services: Services, ref: str, capsys: pytest.CaptureFixture[str], **options: Any) -> bool:
    """The same for something that is opened for it."""
    on = Watcher(services, ref, **options)
    try:
        await on.settled()
        more = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        return await compact_and_undo(on, ref, capsys, *more)
    finally:
        await on.model.close()


async def compact_and_undo(on: Watcher, ref: str, capsys: pytest.CaptureFixture[str], *more: str) -> bool:
    """Compact by hand and undo it, comparing all figures on the way; whether there was anything to compact.

    `more`: what the command line has to say so that the JSON is under the same policy.
    """
    before = await on.ask(sent)
    await until(lambda: on.compaction is not None and bool(on.compaction.would or on.compaction.nothing))
    pane = on.compaction
    try:
        preview = await on.model.preview_compaction(True)
    except CompactionRefused:
        assert pane.nothing
        await on.settled()  # the panel may still show that something is selected
        return False
    assert offered(on) == (len(preview.selected.items), preview.source_tokens)
    assert pane.tokens == preview.tokens_before
    written = await printed(capsys, "compact", ref, "--dry-run", "--digest", "--json", *more)
    if on.read_only:
        await on.model.make_session()
        await on.settled()
        assert await on.ask(sent) == before, "a copy is the same"
    again = await on.model.preview_compaction(True)
    assert (again.cache, again.summary_cap) == (preview.cache, preview.summary_cap)
    if written["refused"]:
        with pytest.raises(Refused, match=re.escape(written["refused"])):
            await on.model.compact_as_previewed(again, True)
        assert await on.ask(sent) == before
        await on.settled()
        return False
    assert (written["tokens_before"], written["source_tokens"]) == (preview.tokens_before, preview.source_tokens)
    made = await on.model.compact_as_previewed(again, True)
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
