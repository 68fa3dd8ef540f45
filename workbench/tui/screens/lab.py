"""The lab: the whole session under every policy, with a row and a line for each, replayed one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.getters import query_one

from workbench.config.errors import WorkbenchError
from workbench.config.text import counted
from workbench.context.plan import ContextPlan
from workbench.context.policy_files import short_policy_name
from workbench.context.policy_names import DEFAULT, RECORDED
from workbench.lab.values import PolicyRun
from workbench.tui.screens.lab_knobs import LabKnobs, knob_effect, knobs_title, step_knob
from workbench.tui.screens.lab_misses import MissesScreen
from workbench.tui.screens.lab_moment import LabMomentScreen
from workbench.tui.screens.lab_plot import LabPlot
from workbench.tui.screens.lab_replays import LabReplays
from workbench.tui.screens.lab_table import NARROW_COLUMNS, WIDE, WIDE_COLUMNS, LabTable
from workbench.tui.screens.policy_diff import PlanSide, PolicyDiffScreen
from workbench.tui.screens.policy_editor import PolicyChange, ask_and_save_policy
from workbench.tui.screens.text_blocks import paragraph
from workbench.tui.screens.what_if import SessionSnapshot, what_if_policies
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.columns import Column, Row, rest_width
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.main_screen_api import MainScreenApi

TALL = 28
"""From this height on, there is room for the legend of the bars."""
EMPTY = (
    "There are no requests to replay yet. Say something in the chat, or open a session that has some with Ctrl+O or "
    "`workbench open FILE`. t shows what each policy would send next."
)


class LabScreen(Finder[PolicyChange]):
    """↑ and ↓ choose a policy, ← and → a request; Enter shows that request under two policies."""

    NAME = "lab: this session under every policy"
    COLUMNS: ClassVar[Sequence[Column]] = NARROW_COLUMNS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "item by item", id="lab.compare", priority=True),
        Binding("right,l", "step(1)", "the next request", id="lab.next", show=False),
        Binding("left,h", "step(-1)", "the request before", id="lab.previous", show=False),
        Binding("shift+right,ctrl+right", "step(10)", "ten requests on", id="lab.ten-on", show=False),
        Binding("shift+left,ctrl+left", "step(-10)", "ten requests back", id="lab.ten-back", show=False),
        Binding("home,g", "end(False)", "the first request", id="lab.first", show=False),
        Binding("end,G", "end(True)", "the last request", id="lab.last", show=False),
        Binding("n", "mark(1)", "next mark", id="lab.next-mark"),
        Binding("N", "mark(-1)", "the mark before", id="lab.previous-mark", show=False),
        Binding("m", "misses", "misses", id="lab.misses"),
        Binding("e", "knobs", "knobs", id="lab.knobs"),
        Binding("plus", "turn(1)", "turn the last knob up", id="lab.up", show=False),
        Binding("minus", "turn(-1)", "turn the last knob down", id="lab.down", show=False),
        Binding("z", "reset", "knobs as they were", id="lab.reset", show=False),
        Binding("J", "judge", "judge the last request", id="lab.judge", show=False),
        Binding("s", "save", "save", id="lab.save"),
        Binding("u", "use", "use", id="lab.use"),
        Binding("b", "base", "base", id="lab.base"),
        Binding("t", "moment", "next request", id="lab.moment"),
        Binding("q", "leave", "close", id="lab.close", show=False),
        Binding("j", "move(1)", "the next policy", id="lab.policy-down", show=False),
        Binding("k", "move(-1)", "the policy before", id="lab.policy-up", show=False),
    ]

    plot = query_one(LabPlot)

    def __init__(self, host: MainScreenApi, asked: SessionSnapshot) -> None:
        super().__init__(host)
        self.add_class("-below", "-lab")
        self._asked = asked
        self._replays: LabReplays | None = None
        """The session, once it is read."""
        refs = list(dict.fromkeys([RECORDED, *what_if_policies(asked.policy)]))
        self._known = LabTable(refs, asked.policy, [*refs])
        self._first: str | None = asked.policy if asked.policy != RECORDED else DEFAULT
        """The policy to select first, until it is selected."""
        self._at = -1
        """The index of the selected request; -1: the last one."""

    def between(self) -> ComposeResult:
        yield LabPlot()

    def on_mount(self) -> None:
        self.call_after_refresh(self.only_keys)
        self._work_out()

    def on_unmount(self) -> None:
        """Stop replaying."""
        if self._replays is not None:
            self._replays.source.stopped = True

    def on_resize(self) -> None:
        """Adapt the bars and numbers to the width."""
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        is_wide = self.found.scrollable_content_region.width >= WIDE
        self.COLUMNS = self._known.columns(is_wide)  # type: ignore[misc]  # per instance
        self._rows = self._table()  # existing rows have the old number of columns
        self.refill()

    def action_move(self, by: int) -> None:
        """Move the cursor. Keys pressed early count from the policy to select first."""
        if self._first is None:
            super().action_move(by)
        else:
            refs = self._known.refs
            self._first = refs[(refs.index(self._first) + by) % len(refs)]
            if self.is_mounted:
                self.refill()

    # Replaying

    @property
    def is_done(self) -> bool:
        """Whether all policies are replayed with their current knobs."""
        return self._replays is not None and not self._known.working and not self._known.waiting

    @work(group="lab")
    async def _work_out(self) -> None:
        if self._replays is None:
            self._replays = await self.host.in_background(partial(LabReplays, self.host, self._asked))
        while self._known.waiting:
            ref = self._known.working = self._known.waiting.pop(0)
            self.refill()
            knobs = self._known.turned.get(ref, ())
            made = await self.host.in_background(partial(self._replays.attempt_replay, ref, knobs))
            self._known.working = ""
            if knobs == self._known.turned.get(ref, ()) and made is not self._known.runs.get(ref):
                self._known.runs[ref] = made
                if self._known.judged:
                    self._known.judged[ref] = None
                self._show_effect(ref)
            self.refill()  # the scale of all bars may have changed

    def _again(self, *refs: str) -> None:
        """Replay with other knobs or changed files; the old lines stay until the new ones are ready."""
        was_done = self.is_done
        self._known.waiting = list(dict.fromkeys([*refs, *self._known.waiting]))
        if was_done:
            self._work_out()
        self.refill()

    def _show_effect(self, ref: str) -> None:
        knobs, made = self._known.turned.get(ref, ()), self._known.runs[ref]
        assert self._replays is not None
        before = self._replays.kept_run(ref)
        effect_words = ""
        if knobs and isinstance(made, PolicyRun):
            effect_words = knobs_title(ref, knobs) + (f" · {knob_effect(before, made)}" if before is not None else "")
        self.box.border_subtitle = one_line(effect_words)

    # The table

    async def search_rows(self, text: str) -> FinderResult:
        self.call_after_refresh(self.reload_details)
        legend = self._known.legend() if self.size.height >= TALL else ""
        return FinderResult(self._table(), legend, self._first)

    def _table(self) -> list[Row]:
        width = self.found.scrollable_content_region.width - 1
        is_wide, bar = self.COLUMNS[0] == WIDE_COLUMNS[0], rest_width(self.COLUMNS, width) if width > 0 else 0
        return [Row(ref, self._known.cells(ref, is_wide, bar)) for ref in self._known.refs]

    # The lines, and the request under the cursor

    @property
    def requests(self) -> int:
        """The number of requests."""
        return len(self._replays.source.marks) if self._replays is not None else 0

    @property
    def at(self) -> int:
        """The index of the selected request."""
        return self._at if 0 <= self._at < self.requests else self.requests - 1

    def reload_details(self) -> None:
        """Update the plot, with the marked line on top, and the figures."""
        if not self.is_mounted:
            return
        if self.marked == self._first:
            self._first = None
        self.plot.picture = self._known.picture(self.marked or "", self.at)
        self.plot.display = bool(self._known.made) and self.requests > 0
        self.about.update(self._details())
        model = f" · {self._asked.model}" if self._asked.model else ""
        head = self.NAME
        if self._replays is not None:
            head += f" · {counted(self.requests, 'request')}{model}"
            side = self._replays.source.side_requests
            head += f" · {counted(side, 'side request')} not counted" if side else ""
        self.box.border_title = one_line(head)

    def _details(self) -> Content:
        if self._replays is None:
            return paragraph("reading…", "$quiet")
        if not self.requests:
            return paragraph(EMPTY)
        broken = self._known.runs.get(self.marked or "")
        if isinstance(broken, WorkbenchError):
            return paragraph(str(broken), "$warning")
        mark = self._replays.source.marks[self.at]
        where = f"request {self.at + 1:,} of {self.requests:,}"
        cuts = " · all but recorded without what its agent cut" if self._asked.recorded is not None else ""
        head = Content.assemble((where, "bold"), (f" · up to event #{mark.upto} · ← → another{cuts}", "$quiet"))
        lines = [*self._known.session_line(self.marked), *self._known.figures(self.marked, self.at, self.wide)]
        return Content("\n").join([head, *lines])

    @on(LabPlot.Pointed)
    def _pointed(self, message: LabPlot.Pointed) -> None:
        self._go(message.at)

    def _go(self, at: int) -> None:
        self._at = min(max(at, 0), max(self.requests - 1, 0))
        self.warning = ""
        self.reload_details()

    def action_step(self, by: int) -> None:
        """Step to another request."""
        self._go(self.at + by)

    def action_end(self, is_last: bool) -> None:
        """Go to the first or the last request."""
        self._go(self.requests - 1 if is_last else 0)

    def action_mark(self, by: int) -> None:
        """Go to the next request that follows a compaction, or whose answer missed something."""
        if self._known.run_of_policy(self.marked) is None:
            return
        marked = self._known.line(self.marked or "")
        places = sorted(marked.compacted | marked.missed, reverse=by < 0)
        if places:
            self._go(next((at for at in places if (at - self.at) * by > 0), places[0]))
        else:
            self.warning = f"{short_policy_name(self.marked or '')} misses nothing and compacts nothing here"

    # Details

    def _leave_for(self, seq: int | None) -> None:
        """Close, and show an event in the context, if any."""
        if seq:
            self.dismiss(None)
            self.app.call_later(self.host.show_event, seq, "inspector")

    def choose_row(self, value: str) -> None:
        """Compare the request under the base policy and the marked one, item by item."""
        if self.requests:
            self._compare(value)

    @work(group="ask", description="compare")
    async def _compare(self, ref: str) -> None:
        if ref == self._known.base:
            self.warning = "choose another policy to compare with this one"
            return
        first, second = (PlanSide(short_policy_name(each), self._planned(each)) for each in (self._known.base, ref))
        screen = PolicyDiffScreen(self.host, first, second, f"request {self.at + 1:,}")
        seq = await self.app.push_screen_wait(screen)
        self._leave_for(int(seq) if seq else None)

    def _planned(self, ref: str) -> Callable[[], ContextPlan]:
        assert self._replays is not None
        return partial(self._replays.plan_request, self.at + 1, ref, self._known.turned.get(ref, ()))

    @work(group="ask")
    async def action_misses(self) -> None:
        """List the misses of the marked policy."""
        run = self._known.run_of_policy(self.marked)
        if run is not None and self.marked is not None:
            name = short_policy_name(self.marked)
            screen = MissesScreen(self.host, name, run, self._asked.events, self.at + 1)
            self._leave_for(await self.app.push_screen_wait(screen))

    @work(group="ask")
    async def action_moment(self) -> None:
        """Compare what each policy would send next."""
        chosen = await self.app.push_screen_wait(LabMomentScreen(self.host, self._asked))
        if isinstance(chosen, str):
            self.dismiss(PolicyChange(chosen))
        else:
            self._leave_for(chosen)

    @work(group="ask")
    async def action_judge(self) -> None:
        """Ask what the last request under each policy still answers, by rule, and show a column of it."""
        if self._replays is None or not self.is_done or not self.requests:
            self.warning = "the policies are judged when all of them are replayed"
            return
        self.warning = "judging…"
        runs = {ref: run for ref in self._known.refs if (run := self._known.run_of_policy(ref)) is not None}
        policies = [(ref, self._known.turned.get(ref, ())) for ref in runs]
        shares = await self.host.in_background(partial(self._replays.judge, policies))
        self._known.judged = {
            ref: share if self._known.runs[ref] is run else None  # knobs may have been turned meanwhile
            for (ref, run), share in zip(runs.items(), shares, strict=True)
        }
        self.warning = "" if any(shares) else "the rules find nothing to ask about in this session"
        self._fit()

    # Knobs

    def action_base(self) -> None:
        """Make the marked policy the base that others are compared with."""
        if self.marked is not None:
            self._known.base = self.marked
            self.refill()

    def _has_knobs(self) -> bool:
        if self.marked == RECORDED:
            self.warning = "recorded is what was sent: it has no knobs"
        return self.marked is not None and self.marked != RECORDED and self._replays is not None

    @work(group="ask")
    async def action_knobs(self) -> None:
        """Change knobs of the marked policy."""
        ref = self.marked
        if ref is None or self._replays is None or not self._has_knobs():
            return
        knobs = self._known.turned.get(ref, ())
        editor = LabKnobs(self.host, self._asked, ref, knobs, self._replays.replay_policy)
        wanted = await self.app.push_screen_wait(editor)
        if wanted is not None and wanted.is_used:
            self.dismiss(wanted)
        elif wanted is not None:
            if editor.has_saved:
                self._add_saved(wanted.policy)
            self._turn(wanted.policy, wanted.knobs)

    def _turn(self, ref: str, knobs: Sequence[str]) -> None:
        if tuple(knobs) != self._known.turned.get(ref, ()):
            self._known.turned[ref] = tuple(knobs)
            self._again(ref)

    def _add_saved(self, ref: str) -> None:
        """Mark a saved policy, in a row of its own; replay it, and those that extend it."""
        if ref not in self._known.refs:
            self._known.refs.append(ref)
        self._first = ref
        self._known.turned.pop(ref, None)
        self._again(ref, *self._known.refs)

    def action_turn(self, by: int) -> None:
        """Change the last changed knob a bit further."""
        ref = self.marked
        if ref is None or not self._has_knobs():
            return
        if not self._known.turned.get(ref):
            self.warning = "e opens the knobs; what is turned there, + and - turn further here"
            return
        *others, last = self._known.turned[ref]
        self._turn(ref, (*others, step_knob(last, by)))

    def action_reset(self) -> None:
        """Reset the knobs of the marked policy."""
        if self.marked is not None:
            self._turn(self.marked, ())

    @work(group="ask")
    async def action_save(self) -> None:
        """Save it as a policy file, for all sessions."""
        ref = self.marked
        if ref is None or not self._has_knobs():
            return
        try:
            path = await ask_and_save_policy(self, ref, (*self._asked.knobs, *self._known.turned.get(ref, ())))
        except WorkbenchError as error:
            self.warning = str(error)
            return
        if path is not None:
            self._turn(ref, ())
            self._add_saved(str(path))
            self.warning = f"saved to {path}; u uses it in this session"

    def action_use(self) -> None:
        """Use the policy with its changed knobs in this session, from the next turn on."""
        if self.marked is not None:
            self.dismiss(PolicyChange(self.marked, self._known.turned.get(self.marked, ())))
