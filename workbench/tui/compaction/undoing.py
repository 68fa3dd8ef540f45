"""Undo for all keys. Before a compaction is undone, a question says what that does."""

from __future__ import annotations

from functools import partial

from workbench.session.undoing import Which, question_before
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.host import Host


async def undo(host: Host, which: Which, seq: int | None = None) -> None:
    """Undo; raises Refused if there is nothing to undo."""
    asked = await host.from_session(partial(question_before, which=which, seq=seq))
    if asked is not None:
        title, work = f"undo compaction #{asked.seq}", partial(host.in_background, asked.effect)
        if not await host.ask(ConfirmDialog(title, asked.about, "undo it", "keep it", work)):
            return
    host.model.revert(which, seq)
