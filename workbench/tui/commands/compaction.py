"""Commands for compaction: make one, preview it, undo it, and choose the mode."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from workbench.compaction.values import CompactionPreview
from workbench.config.errors import Refused, WrongCall
from workbench.config.text import percent
from workbench.config.values import replace
from workbench.tui.compaction.descriptions import ABOUT_MODES, status_rows
from workbench.tui.compaction.history import HistoryScreen
from workbench.tui.compaction.progress import ProgressDialog
from workbench.tui.compaction.undoing import undo_or_redo
from workbench.tui.screens.replay import open_session_source
from workbench.tui.widgets.chooser import Chooser, ChooserOption
from workbench.tui.widgets.command import Commands, event_number, read_only_session
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.tui.widgets.report import ReportScreen
from workbench.views.compaction_values import MODES, CompactionOutcome, CompactionView

COMMANDS = Commands("compaction")


def _seen(host: MainScreenApi) -> CompactionView:
    view = host.model.state.compaction
    if not isinstance(view, CompactionView):
        raise Refused("nothing is open yet")
    return view


@COMMANDS.register(
    "compact",
    "compact",
    "summarise the past to make room: first shows what it would summarise, keep, free and cost, then you choose",
    keys=("ctrl+g", "f8", "shift+f8"),
    letters=("c",),
    slashes=("compact", "preview"),
)
async def open_compaction_preview(host: MainScreenApi, argument: str) -> None:
    await _by_hand(host, digest=False)


@COMMANDS.register("digest", "compact without a model", "the same, by a digest of the text")
async def open_digest_preview(host: MainScreenApi, argument: str) -> None:
    await _by_hand(host, digest=True)


async def _by_hand(host: MainScreenApi, *, digest: bool) -> None:
    view = host.model.state.compaction
    if view is not None and view.past is not None:
        way = "go to the newest first (}, or Esc in the input)"
        raise Refused(f"request {view.past.number:,} was sent and cannot be compacted: {way}")
    from workbench.tui.compaction.preview import PreviewScreen  # late: not needed for the first frame
    from workbench.tui.compaction.preview_stages import AgreedCompaction

    found = await host.show_and_wait(PreviewScreen(host, digest=digest))
    if isinstance(found, AgreedCompaction):
        await _make(host, found.preview, digest=found.digest)
    elif found is not None:
        _show(host, found)


async def _make(host: MainScreenApi, agreed: CompactionPreview, *, digest: bool) -> None:
    dialog = ProgressDialog(host)
    host.push(dialog)
    try:
        outcome = await host.model.compact_as_previewed(agreed, digest)
    finally:
        if dialog.is_current:
            dialog.dismiss()
    _show(host, outcome, quietly=dialog.left)


def _show(host: MainScreenApi, outcome: CompactionOutcome, *, quietly: bool = False) -> None:
    """Show the summary and the new usage; with `quietly`, only a note."""
    usage = f"{outcome.before:,} → {outcome.after:,} of {outcome.window:,} tokens"
    head = f"compacted: {usage} ({percent(outcome.after / max(outcome.window, 1))})"
    if quietly:
        host.show_notice(f"{head}; F9 undoes it")
    else:
        lines = [f"{head}; u undoes it, and F9 as long as it is the last change", *outcome.problems]
        host.push(HistoryScreen(host, outcome.seq, "; ".join(lines)))


@COMMANDS.register("stop-compacting", "stop compacting", "stop the running compaction; nothing changes")
def stop_running_compaction(host: MainScreenApi, argument: str) -> None:
    host.model.stop_compacting()


@COMMANDS.register(
    "peel", "undo the newest compaction", "undo it, whatever overrides came after it", why_not=read_only_session
)
async def undo_last_compaction(host: MainScreenApi, argument: str) -> None:
    await undo_or_redo(host, "peel")


@COMMANDS.register(
    "undo-compactions", "undo all compactions", "undo every compaction, the newest first", why_not=read_only_session
)
async def undo_all(host: MainScreenApi, argument: str) -> None:
    await undo_or_redo(host, "all")


@COMMANDS.register(
    "compactions",
    "history of compactions",
    "the compactions of this session as a tree, with their summaries and what they lost",
    argument="[SEQ]",
)
def open_compaction_history(host: MainScreenApi, argument: str) -> None:
    host.push(HistoryScreen(host, event_number(argument) if argument else 0))


@COMMANDS.register(
    "compaction-status", "status of compaction", "triggers with their figures, the history, and the counters"
)
def show_compaction_status(host: MainScreenApi, argument: str) -> None:
    host.push(ReportScreen("compaction", status_rows(_seen(host))))


@COMMANDS.register(
    "judge",
    "judge the summary",
    "questions about what the newest compaction replaced, or would replace: how many does the summary answer?",
)
async def judge_summary(host: MainScreenApi, argument: str) -> None:
    from workbench.judge.quick import judge_at_once, judgement_rows  # late: not needed for the first frame

    source = await host.from_session(open_session_source)

    def judge() -> Sequence[tuple[str, str]]:
        return judgement_rows(asyncio.run(judge_at_once(host.services, replace(host.options, model=""), source)))

    host.push(ReportScreen("judge", await host.in_background(judge)))


@COMMANDS.register(
    "mode",
    "when to compact",
    "compact by itself (auto), ask first (confirm), by hand only (manual), or never (off)",
    argument="[MODE]",
    arguments=lambda: MODES,
)
async def set_compaction_mode(host: MainScreenApi, argument: str) -> None:
    now = _seen(host).mode
    if not argument:
        options = [ChooserOption(each, each, f"{ABOUT_MODES[each]}{', now' if each == now else ''}") for each in MODES]
        argument = await host.show_and_wait(Chooser("when to compact", options)) or ""
    if argument and argument not in MODES:
        raise WrongCall(f"{argument}: expected one of {', '.join(MODES)}")
    if argument and argument != now:
        host.model.set_knob(f"compaction.mode={argument}")
