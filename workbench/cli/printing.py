"""The steps of a turn as they are printed: for people, as the log's events, or as all that passes by."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from workbench.agent.steps import Appended, Planned, Step, Streamed, Summarising, Switched, Waiting
from workbench.compaction.progress import Progress
from workbench.compaction.record import details
from workbench.config.text import escaped_json, print_json, printable, printable_lines
from workbench.context.stages.verdict import short_answer
from workbench.log.codec import encode_event
from workbench.log.events import AssistantMessage, Compaction, Failure, ToolCall, ToolResult, Usage, text_of
from workbench.log.session import Session
from workbench.models.reply_parts import CallFragment, Finished, Part, Reported, Text, Thinking
from workbench.views.values import Level, WindowUse

Tell = Callable[[Step], None]
_ENDINGS = {
    "length": "the answer ends here because the model may write no more at once",
    "refused": "the model or its provider's filter declined to answer",
    "empty": "the model answered with nothing",
}
"""Answers that ended, but not because all was said."""


def tell_people(step: Step) -> None:
    """The answer goes to standard output as it streams; what happens around it to standard error."""
    match step:
        case Streamed(Text(text)):
            sys.stdout.write("\n".join(printable_lines(text)))
            sys.stdout.flush()
        case Summarising(Progress(stage="summarising", characters=0) as progress):
            part = f", part {progress.part} of {progress.parts}" if progress.parts > 1 else ""
            _aside(f"the earlier conversation is summarised{part}")
        case Planned(plan, iteration):
            short = short_answer(plan.limits, plan.totals.tokens)
            for told in plan.warnings if iteration == 1 else filter(None, [short]):
                _aside(told)
        case Waiting(wait):
            left = f"{wait.seconds_left:.0f} s until try {wait.try_number}"
            _aside(f"{wait.failure.category.replace('_', ' ')}; {left}")
        case Appended(event):
            match event.body:
                case AssistantMessage(content=content, finish=finish):
                    if content:
                        print(flush=True)  # what comes after it is on a line of its own
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
"""Of a terminal: green, yellow, red."""


def token_line(usage: Usage, window: int, colour: bool) -> str:
    """What stands behind an answer: how full the window was, and how long the answer is."""
    use = WindowUse(usage.estimate if usage.prompt is None else usage.prompt, window)
    figures = f"\x1b[{COLOURS[use.level]}m{use}\x1b[0m" if colour else str(use)
    return f"[tokens: {figures} | response: {usage.completion:,} tokens]"


class Complete:
    """Tells what it is given, and every event of the log that nobody told of: the first settings, hooks that failed."""

    def __init__(self, tell: Tell, session: Session, told: int) -> None:
        """`told`: the last event of the log that is not news."""
        self._tell = tell
        self._session = session
        self._told = told

    def __call__(self, step: Step) -> None:
        """One step, and before it what stands before it in the log."""
        if isinstance(step, Appended):
            self.catch_up(step.event.seq - 1)
            self._told = max(self._told, step.event.seq)
        self._tell(step)

    def answered(self, usage: Usage, window: int) -> None:
        """The turn is over; people are told how full the window was at its last request."""
        if self._tell is tell_people:
            print(token_line(usage, window, sys.stderr.isatty() and not os.environ.get("NO_COLOR")), file=sys.stderr)

    def catch_up(self, upto: int) -> None:
        """Tell what nobody told of, up to an event."""
        if upto > self._told:
            for event in self._session.events(self._told, upto):
                self._tell(Appended(event))
            self._told = upto


def _compacted(made: Compaction) -> str:
    """The notice of a compaction that nobody asked for just now."""
    noted = details(made.meta)
    figures = ""
    if noted.tokens_before is not None and noted.tokens_after is not None:
        figures = f", {noted.tokens_before:,} to {noted.tokens_after:,} tokens"
    who = f" by {noted.made_by}" if noted.made_by else ""
    return (
        f"compacted{who}: events {made.first:,} to {made.last:,}{figures} ({noted.why}); undo it with `workbench undo`"
    )


def _aside(text: str, most: int | None = None) -> None:
    print(printable(f"· {text}")[:most], file=sys.stderr)


def tell_events(step: Step) -> None:
    """One line for each event, as it stands in the log."""
    if isinstance(step, Appended):
        print(escaped_json(encode_event(step.event)), flush=True)


def tell_all(step: Step) -> None:
    """The events' lines, and between them lines with the key `step` for what passes by and is in no log."""
    if isinstance(step, Appended):
        tell_events(step)
    else:
        print_json(_passing(step), indent=None)


def _passing(step: Planned | Streamed | Waiting | Switched | Summarising) -> dict[str, Any]:
    match step:
        case Planned(plan, iteration):
            return {
                "step": "planned",
                "iteration": iteration,
                "model": plan.model,
                "tokens": plan.totals.tokens,
                "window": plan.limits.window,
                "max_output": plan.max_output,
                "fits": plan.verdict.fits,
            }
        case Waiting(wait):
            seconds = round(wait.seconds_left, 3)
            return {"step": "waiting", "seconds": seconds, "try": wait.try_number, "why": wait.failure.category}
        case Switched(model, instead_of, failure):
            return {"step": "switched", "model": model, "instead_of": instead_of, "why": failure.category}
        case Summarising(progress):
            return {"step": "summarising", **progress._asdict()}
        case Streamed(part):
            return _part(part)


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"step": "text", "text": text}
        case Thinking(text):
            return {"step": "thinking", "text": text}
        case CallFragment(number, call_id, name, arguments):
            return {"step": "call", "number": number, "id": call_id, "tool": name, "arguments": arguments}
        case Reported():
            return {"step": "usage", **part._asdict()}
        case Finished(reason):
            return {"step": "finished", "reason": reason}
