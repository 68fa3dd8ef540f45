"""Prints the steps of a turn: for people, as the log's events, or as everything that happens."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from workbench.agent.steps import (
    CompactionRunning,
    EventAppended,
    ModelSwitched,
    PartStreamed,
    RequestPlanned,
    TurnStep,
    WaitingToRetry,
)
from workbench.compaction.progress import CompactionProgress
from workbench.compaction.record import read_details
from workbench.config.text import escaped_json, print_plain_json, printable, printable_lines
from workbench.context.stages.verdict import short_answer
from workbench.log.codec import encode_event
from workbench.log.events import AssistantMessage, Compaction, Failure, ToolCall, ToolResult, Usage, text_of
from workbench.log.session import Session
from workbench.models.reply_parts import CallPiece, ReplyFinished, ReplyPart, ReportedUsage, TextPiece, ThinkingPiece
from workbench.views.values import Level, WindowUse

PrintStep = Callable[[TurnStep], None]
_ENDINGS = {
    "length": "the answer ends here because the model may write no more at once",
    "refused": "the model or its provider's filter declined to answer",
    "empty": "the model answered with nothing",
}
"""Finish reasons of answers that are not complete."""


def print_for_people(step: TurnStep) -> None:
    """Print the answer to standard output as it streams, and everything else to standard error."""
    match step:
        case PartStreamed(TextPiece(text)):
            sys.stdout.write("\n".join(printable_lines(text)))
            sys.stdout.flush()
        case CompactionRunning(CompactionProgress(stage="summarising", characters=0) as progress):
            part = f", part {progress.part} of {progress.parts}" if progress.parts > 1 else ""
            _aside(f"the earlier conversation is summarised{part}")
        case RequestPlanned(plan, iteration):
            short = short_answer(plan.limits, plan.totals.tokens)
            for warning in plan.warnings if iteration == 1 else filter(None, [short]):
                _aside(warning)
        case WaitingToRetry(wait):
            left = f"{wait.seconds_left:.0f} s until try {wait.try_number}"
            _aside(f"{wait.failure.category.replace('_', ' ')}; {left}")
        case EventAppended(event):
            match event.body:
                case AssistantMessage(content=content, finish=finish):
                    if content:
                        print(flush=True)  # the next output starts on a line of its own
                    if finish in _ENDINGS:
                        _aside(_ENDINGS[finish])
                case ToolCall(tool=tool, arguments=arguments):
                    _aside(f"{tool} {arguments}", 160)
                case ToolResult(is_error=True, content=content):
                    _aside(f"refused or failed: {text_of(content)}", 240)
                case Compaction() as made:
                    _aside(_compacted(made))
                case Failure() as failure:
                    _aside(failure.message)


COLOURS: dict[Level, str] = {"calm": "32", "warm": "33", "hot": "31"}
"""Terminal colours: green, yellow, red."""


def token_line(usage: Usage, window: int, colour: bool) -> str:
    """The line after an answer: how full the window was, and how long the answer is."""
    use = WindowUse(usage.estimate if usage.prompt is None else usage.prompt, window)
    figures = f"\x1b[{COLOURS[use.level]}m{use}\x1b[0m" if colour else str(use)
    return f"[tokens: {figures} | response: {usage.completion:,} tokens]"


class StepPrinter:
    """Prints steps, and the events of the log that are no steps: the first settings, hooks that failed."""

    def __init__(self, show: PrintStep, session: Session, printed: int) -> None:
        """`printed`: the last event of the log that needs no printing."""
        self._show = show
        self._session = session
        self._printed = printed

    def __call__(self, step: TurnStep) -> None:
        """Print a step, after the events before it in the log."""
        if isinstance(step, EventAppended):
            self.catch_up(step.event.seq - 1)
            self._printed = max(self._printed, step.event.seq)
        self._show(step)

    def print_window_use(self, usage: Usage, window: int) -> None:
        """Print for people how full the window was at the last request of the turn."""
        if self._show is print_for_people:
            print(token_line(usage, window, sys.stderr.isatty() and not os.environ.get("NO_COLOR")), file=sys.stderr)

    def catch_up(self, upto: int) -> None:
        """Print the events up to `upto` that were not printed yet."""
        if upto > self._printed:
            for event in self._session.events(self._printed, upto):
                self._show(EventAppended(event))
            self._printed = upto


def _compacted(made: Compaction) -> str:
    """The notice of an automatic compaction."""
    noted = read_details(made.meta)
    figures = ""
    if noted.tokens_before is not None and noted.tokens_after is not None:
        figures = f", {noted.tokens_before:,} to {noted.tokens_after:,} tokens"
    who = f" by {noted.made_by}" if noted.made_by else ""
    return (
        f"compacted{who}: events {made.first:,} to {made.last:,}{figures} ({noted.why}); undo it with `workbench undo`"
    )


def _aside(text: str, most: int | None = None) -> None:
    print(printable(f"· {text}", most), file=sys.stderr)


def print_events(step: TurnStep) -> None:
    """Print one line for each event, as it is in the log."""
    if isinstance(step, EventAppended):
        print(escaped_json(encode_event(step.event)), flush=True)


def print_all(step: TurnStep) -> None:
    """Print the events' lines, and lines with the key `step` for everything that is not logged."""
    if isinstance(step, EventAppended):
        print_events(step)
    else:
        print_plain_json(_unlogged_step_json(step), indent=None)


def _unlogged_step_json(
    step: RequestPlanned | PartStreamed | WaitingToRetry | ModelSwitched | CompactionRunning,
) -> dict[str, Any]:
    """A step that is not in the log, as JSON."""
    match step:
        case RequestPlanned(plan, iteration):
            return {
                "step": "planned",
                "iteration": iteration,
                "model": plan.model,
                "tokens": plan.totals.tokens,
                "window": plan.limits.window,
                "max_output": plan.max_output,
                "fits": plan.verdict.fits,
            }
        case WaitingToRetry(wait):
            seconds = round(wait.seconds_left, 3)
            return {"step": "waiting", "seconds": seconds, "try": wait.try_number, "why": wait.failure.category}
        case ModelSwitched(model, instead_of, failure):
            return {"step": "switched", "model": model, "instead_of": instead_of, "why": failure.category}
        case CompactionRunning(progress):
            return {"step": "summarising", **progress._asdict()}
        case PartStreamed(part):
            return _reply_part_json(part)


def _reply_part_json(part: ReplyPart) -> dict[str, Any]:
    match part:
        case TextPiece(text):
            return {"step": "text", "text": text}
        case ThinkingPiece(text):
            return {"step": "thinking", "text": text}
        case CallPiece(number, call_id, name, arguments):
            return {"step": "call", "number": number, "id": call_id, "tool": name, "arguments": arguments}
        case ReportedUsage():
            return {"step": "usage", **part._asdict()}
        case ReplyFinished(reason):
            return {"step": "finished", "reason": reason}
