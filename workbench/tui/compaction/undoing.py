"""Undo and redo for all keys. Before a compaction is undone, a question says what that does."""

from __future__ import annotations

from functools import partial

from workbench.session.undoing import Which, question_before
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.main_screen_api import MainScreenApi

UNASKED: tuple[Which, ...] = ("redo", "all")
"""What is done without a question: each has a key that brings back what was before."""


async def undo_or_redo(host: MainScreenApi, which: Which, seq: int | None = None) -> None:
    """Undo, or redo; raises Refused if there is nothing to undo. A file becomes a session first, after a question."""
    asked = await host.from_session(partial(question_before, which=which, seq=seq))
    if not await host.make_writable():
        return
    if asked is not None and which not in UNASKED:
        title, work = f"undo compaction #{asked.seq}", partial(host.in_background, asked.effect)
        if not await host.show_and_wait(ConfirmDialog(title, asked.about, "undo it", "keep it", work)):
            return
    host.model.revert(which, seq)
