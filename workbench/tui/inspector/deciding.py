"""Deciding about rows: the chosen rows, the preview of a change, and the user's agreement."""

from __future__ import annotations

from collections.abc import Callable

from textual import work
from textual.containers import Vertical
from textual.content import Content
from textual.getters import query_one
from textual.reactive import var

from workbench.config.background import in_background
from workbench.config.errors import WorkbenchError
from workbench.context.items import Item
from workbench.tui.inspector import foot_lines
from workbench.tui.inspector.overrides import (
    OverridePreview,
    ProposedOverrides,
    Verb,
    preview_overrides,
    propose_overrides,
)
from workbench.tui.inspector.row_list import RowList, problem_line
from workbench.tui.inspector.rows import RowsView
from workbench.tui.inspector.treemap import Treemap
from workbench.tui.messages import Decide, NeedsSession, RunCommand
from workbench.tui.observing import Observing, observed
from workbench.views.context_view import ContextView
from workbench.views.values import FILE

MOST_CHOSEN = 20_000
"""The most rows in one decision or copy."""


class DecidingPane(Observing, Vertical):
    """A pane with rows that can be pinned, masked, excluded and restored after the user agrees."""

    shown = observed(lambda session: session.shown, repaint=False)
    asked: var[OverridePreview | None] = var(None)
    """The change that waits for the user's Enter."""

    row_list = query_one(RowList)
    treemap = query_one(Treemap)
    rows = query_one(RowsView)

    def _chosen(self) -> list[Item]:
        lines = self.rows.lines
        if lines is None:
            return []
        items = (lines.item(line) for line in self.rows.chosen[:MOST_CHOSEN])
        return [item for item in items if item is not None]

    def action_decide(self, verb: Verb) -> None:
        """Show what a change would do, and ask."""
        self._decide(verb, self._chosen())

    def _decide(self, verb: Verb, items: list[Item]) -> None:
        shown = self._changeable(lambda: self._decide(verb, self._as_now(items)))
        if shown is None:
            return
        try:
            if shown.queries is None or len(self.rows.chosen) > MOST_CHOSEN:
                raise WorkbenchError(f"expected at most {MOST_CHOSEN:,} items of a session")
            choice = propose_overrides(verb, items, shown.queries)
        except WorkbenchError as error:
            self._forget()
            self.row_list.notice = problem_line(str(error))
            return
        self.row_list.notice = Content.styled("working out the effect…", "$quiet")
        self._preview(shown, choice)

    def _as_now(self, items: list[Item]) -> list[Item]:
        """The same events with their current states."""
        rows = self.shown.plan.items if self.shown is not None else ()
        seqs = {item.seq for item in items if item.seq is not None}
        return [row for row in rows if row.seq in seqs]

    def _changeable(self, then: Callable[[], None]) -> ContextView | None:
        """The view if it can be changed; for a file, a session is made first, and `then` is called."""
        shown = self.shown
        if shown is None:
            return None
        if shown.fixed == FILE:
            self._forget()
            self.post_message(NeedsSession(then))
            return None
        past = "} goes to the newest: a past request cannot be changed" if shown.at is not None else ""
        if past or shown.fixed:
            self._forget()
            self.row_list.notice = problem_line(past or shown.fixed)
            return None
        return shown

    def action_free(self, order: str) -> None:
        """Run the command that lists what could be masked; it may have to replay the log."""
        self.post_message(RunCommand("free", order))

    @work(exclusive=True, group="preview", description="preview")
    async def _preview(self, shown: ContextView, choice: ProposedOverrides) -> None:
        if shown.queries is None:
            return
        try:
            made = await in_background(preview_overrides, shown.plan, choice, shown.queries)
        except WorkbenchError as error:
            self._forget()
            self.row_list.notice = problem_line(str(error))
            return
        if made.nothing:
            self._forget()
            self.row_list.notice = problem_line(f"to {choice.verb} this would change nothing")
        else:
            self.asked = made
            width = self.row_list.foot.size.width or self.treemap.size.width - 1
            self.row_list.notice = foot_lines.question_line(made, width)

    def _agree(self, choice: ProposedOverrides) -> None:
        self._forget()
        self.rows.start = None
        for at, each in enumerate(choice.decisions):
            self.post_message(Decide(each.action, each.first, each.last, joined=at > 0))

    def _forget(self) -> None:
        """Clear the question and the notice."""
        self.workers.cancel_group(self, "preview")
        self.asked = None
        self.row_list.notice = None
