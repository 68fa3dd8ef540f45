"""The first screen: what the model sees of one source. Read-only."""

from __future__ import annotations

from asyncio import wrap_future
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.getters import query_one
from textual.reactive import var
from textual.screen import Screen

from workbench.config.errors import WorkbenchError
from workbench.tui.background import background
from workbench.tui.bench import Bench, Shown
from workbench.tui.inspector.bar import BudgetBar
from workbench.tui.inspector.detail import Detail
from workbench.tui.inspector.help import Help
from workbench.tui.inspector.rows import Heads, Rows
from workbench.tui.inspector.words import About, Hints, Nothing, Totals, Verdict


class Inspector(Screen[None]):
    """The rows of one plan, the budget above them and the verdict below. Attributes go down, messages come up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "detail", "open or close the row's detail"),
        Binding("escape", "close", "close the detail"),
        Binding("tab", "app.focus_next", "to the detail and back, to scroll it"),
        Binding("p", "policy", "plan the same log under the next policy"),
        Binding("question_mark", "help", "this help"),
    ]

    source: var[str] = var("")
    policy: var[str] = var("")
    """The policy that was asked for last."""
    doing: var[str] = var("reading…")
    shown: var[Shown | None] = var(None)
    detailed: var[bool] = var(False, toggle_class="-detailed")

    rows = query_one(Rows)
    detail = query_one(Detail)

    def __init__(self, bench: Bench | None) -> None:
        """Without a bench the screen says what to do next."""
        super().__init__(classes="" if bench else "-nothing")
        self._bench = bench
        self.set_reactive(Inspector.source, bench.name if bench else "")

    def compose(self) -> ComposeResult:
        """From top to bottom; `Nothing` takes the place of all but the hints when there is no source."""
        yield About().data_bind(Inspector.source, Inspector.policy, Inspector.shown)
        yield BudgetBar().data_bind(Inspector.shown)
        with Container(id="body"):
            with Vertical():
                yield Heads().data_bind(Inspector.shown)
                yield Rows().data_bind(Inspector.shown)
            yield Detail()
        with Container(id="nothing"):
            yield Nothing()
        yield Verdict().data_bind(Inspector.shown, Inspector.doing)
        yield Totals().data_bind(Inspector.shown)
        yield Hints().data_bind(Inspector.shown)

    def on_mount(self) -> None:
        """Nothing slow starts before the first frame is out."""
        self.rows.focus()
        if self._bench is not None:
            self.call_after_refresh(self.begin, self._bench)

    # Reading and planning

    @work
    async def begin(self, bench: Bench) -> None:
        """Read the source, where that was not done yet, and plan it."""
        try:
            await wrap_future(background(bench.read))
        except WorkbenchError as error:
            self.app.exit(error)
            return
        self.source = bench.name
        self.policy = bench.policies[0]
        await self._plan(bench)

    async def _plan(self, bench: Bench) -> None:
        """Plan under the policy that was asked for last, which may change meanwhile."""
        while self.shown is None or self.shown.policy != self.policy:
            policy = self.policy
            self.doing = "reading…" if self.shown is None else f"planning as {policy}…"
            try:
                shown = await wrap_future(background(partial(bench.plan, policy)))
            except WorkbenchError as error:
                if self.shown is None:
                    self.app.exit(error)
                    return
                self.policy = self.shown.policy
                self.notify(str(error), title="not planned", severity="error", markup=False)
                continue
            if policy == self.policy:
                self.shown = shown
        self.doing = ""

    def action_policy(self) -> None:
        """Show live how the next policy treats the same log."""
        if self._bench is None or not self.policy:
            return
        policies = self._bench.policies
        self.policy = policies[(policies.index(self.policy) + 1) % len(policies)]
        if not self.doing:
            self.run_worker(self._plan(self._bench))

    # The detail pane

    @on(Rows.Moved)
    def _moved(self, message: Rows.Moved) -> None:
        if self.detailed:
            self.detail.item = message.item

    def action_detail(self) -> None:
        """Open the pane on the row under the cursor, or close it."""
        if self.detailed:
            self.action_close()
        elif self.rows.item is not None:
            self.detailed = True
            self.detail.item = self.rows.item

    def action_close(self) -> None:
        """Close the pane."""
        self.detailed = False
        self.rows.focus()

    def action_help(self) -> None:
        """Show the keys."""
        self.app.push_screen(Help([*Rows.BINDINGS, *self.BINDINGS, *self.app.BINDINGS]))
