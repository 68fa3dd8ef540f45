"""Explains the answer to the request in view, and masks what had no effect on it."""

from __future__ import annotations

import getopt
import shlex
from functools import partial
from heapq import nlargest
from importlib import import_module
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.config.errors import Refused, WorkbenchError, WrongCall
from workbench.config.text import counted, printable
from workbench.config.values import replace
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.context.stages.mask import LEAST_TOKENS
from workbench.explain.asking import AskedCounts
from workbench.explain.explaining import ExplainJob, prepare_explanation, send_and_explain
from workbench.explain.output import explanation_lines
from workbench.explain.saving import MaskingSaving, masking_saving
from workbench.explain.values import ExplainWish, Explanation
from workbench.sources.options import Options
from workbench.sources.source import Source
from workbench.tui.inspector.overrides import MOST_RUNS, OverridePreview, preview_overrides, propose_overrides
from workbench.tui.screens.free_space import mask_as_agreed
from workbench.tui.screens.freeable import asked_about, masking_figures
from workbench.tui.screens.replay import open_session_source
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.views.context_view import ContextView

WORDS = "--groups · --budget DOLLARS · --tries N · --model M · --to URL|rehearsal|local [--send-key]"
_NAMES = ("groups", "budget=", "tries=", "model=", "to=", "send-key")


def read_explain_words(words: str) -> tuple[Options, ExplainWish]:
    """Parse options as on the command line; raises WrongCall."""
    try:
        found, rest = getopt.getopt(shlex.split(words), "m:", _NAMES)
        last = {name.lstrip("-"): value for name, value in found}
        budget, tries = float(last.get("budget", "1").removeprefix("$")), int(last.get("tries", "3"))
    except (getopt.GetoptError, ValueError) as error:
        raise WrongCall(f"{error}; expected {WORDS}") from None
    if rest or not 0 <= budget < 1e6:
        raise WrongCall(f"{rest[0] if rest else budget}: expected {WORDS}")
    wish = ExplainWish(
        grain="groups" if "groups" in last else "items",
        budget=budget,
        tries=tries,
        to=last.get("to", ""),
        send_key="send-key" in last,
    )
    return Options(model=last.get("model", last.get("m", ""))), wish


async def explain_shown_request(host: MainScreenApi, words: str) -> None:
    """Ask whether it may cost that, explain the answer, and mask what had no effect if the user wants it."""
    options, wish = read_explain_words(words)
    number = None if host.request_shown is None else host.request_shown + 1
    source = await host.from_session(open_session_source)
    job = await host.in_background(
        partial(prepare_explanation, host.services, options, source, replace(wish, number=number))
    )
    question = printable(job.question[:1].upper() + job.question[1:])
    if not job.is_free and not await host.show_and_wait(
        ConfirmDialog("explain the answer", question, "send them", "send nothing")
    ):
        return
    events = await host.show_and_wait(ExplainScreen(host, job, source))
    host.show_effects()
    if events:
        await _mask_events(host, events)


async def _mask_events(host: MainScreenApi, events: frozenset[int]) -> None:
    """Mask events that are in the next request, after the user has seen the effect."""
    shown, asked = host.model.state.shown, await host.from_session(asked_about)
    if shown is None:
        raise Refused("nothing is open yet")
    rows, before, made = await host.in_background(partial(_masking, shown, events))
    figures = masking_figures(made, before, rows, asked.info)
    agreed = await host.show_and_wait(
        ConfirmDialog("mask what had no effect", f"{figures}\nu undoes it", "mask them", "change nothing")
    )
    if agreed:
        await mask_as_agreed(host, made)


def _masking(shown: ContextView, events: frozenset[int]) -> tuple[list[Item], ContextPlan, OverridePreview]:
    """The largest rows to mask in the next request, its plan, and the effect. Raises WorkbenchError."""
    if shown.queries is None:
        raise Refused("nothing can be changed here")
    before = shown.plan if shown.at is None else shown.queries.what_if(())
    able = [
        row
        for row in before.items.sent_items()
        if row.seq in events and row.tokens >= LEAST_TOKENS and not row.pinned and row.state != "masked"
        if row.kind != "tool_call"
    ]
    rows = nlargest(MOST_RUNS, able, key=lambda row: row.tokens)
    if not rows:
        raise Refused(
            f"nothing to mask: no item without effect of {LEAST_TOKENS} tokens or more is in the next request"
        )
    return rows, before, preview_overrides(before, propose_overrides("mask", rows, shown.queries), shown.queries)


class ExplainScreen(ModalScreen[frozenset[int]]):
    """What the answer depended on. Its result: the events to mask. Closing it stops the search; answers are kept."""

    BINDING_GROUP_TITLE = "Explain"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "close; the search ends, and its answers are kept", id="explain.close"),
        Binding("m", "mask", "mask what had no effect", id="explain.mask"),
        Binding("y", "copy", "copy the text", id="explain.copy"),
    ]

    text = query_one(Static)
    page = query_one(VerticalScroll)

    def __init__(self, host: MainScreenApi, job: ExplainJob, source: Source) -> None:
        super().__init__()
        self._host = host
        self._job = job
        self._source = source
        self._found: Explanation | None = None
        self._lines: list[str] = []

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="replay--box") as page:
            page.border_title = one_line(f"explain the answer to request {self._job.job.number:,}")
            page.border_subtitle = "Esc closes"
            yield Static("asking…", markup=False)

    def on_mount(self) -> None:
        """Start the search."""
        self.page.focus()
        self._explain()

    @work
    async def _explain(self) -> None:
        # in a thread: it takes longer than a frame
        await self._host.in_background(lambda: import_module("workbench.proxy.resending"))
        host, job = self._host, self._job
        try:
            self._found = found = await send_and_explain(host.services, job, self._show_counts)
            self._show_lines(found)
            saving = partial(masking_saving, host.services, replace(host.options, model=""), self._source, job, found)
            self._show_lines(found, await host.in_background(saving))
        except WorkbenchError as error:
            self.text.update(f"! {printable(str(error))}")

    def _show_lines(self, found: Explanation, saving: MaskingSaving | None = None) -> None:
        self._lines = explanation_lines(self._job, found, saving)
        self.text.update(Content("\n".join(self._lines)))
        masks = "m masks what had no effect · " if found.dead_weight else ""
        self.page.border_subtitle = one_line(f"{masks}y copies · Esc closes")

    def _show_counts(self, counts: AskedCounts) -> None:
        self.text.update(f"asking… {counted(counts.sent, 'request')} so far, ${counts.cost:.4f}")

    def action_mask(self) -> None:
        """Close, and ask about masking what had no effect."""
        if self._found is None:
            self._host.show_notice("nothing is known yet: the search goes on", "warning")
        elif not self._found.dead_weight:
            self._host.show_notice("nothing to mask: there is no item without effect", "warning")
        else:
            self.dismiss(self._job.events_of(each.unit for each in self._found.dead_weight))

    def action_copy(self) -> None:
        """Copy the result."""
        if self._lines:
            self._host.copy("\n".join(self._lines))
