"""The recorded answer to a request and new ones: their text, their cost, and the differences."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from workbench.config.text import counted, percent, printable_lines
from workbench.context.tool_lines import call_line
from workbench.log.events import AssistantMessage, Body, Event, Reasoning, RequestAnswer, ToolCall, Usage, text_of
from workbench.models.catalogue import Catalogue
from workbench.models.ledger import Ledger, LedgerRow
from workbench.wire.dialects import read_answer
from workbench.wire.requests import RequestBodies


class ReplayAnswer(NamedTuple):
    model: str
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    """Each call: the tool and its arguments."""
    finish: str = ""
    prompt: int | None = None
    cached: int = 0
    completion: int | None = None
    cost: float | None = None
    seconds: float | None = None
    problem: str = ""
    status: int | None = None
    """The HTTP status of a new answer; 0 if no answer came."""
    logprob: float | None = None
    """The natural logarithm of its probability, if it was not asked for but scored."""

    @property
    def lines(self) -> list[str]:
        """The lines of the answer; a call is one line. Control characters are removed."""
        text_lines = printable_lines(self.text) if self.text else []
        return [*text_lines, *(f"→ {call_line(tool, arguments)}" for tool, arguments in self.calls)]

    def likeness(self, other: ReplayAnswer) -> float:
        """How similar two answers are, by their words: from 0 to 1, where 1 means the same words."""
        first, second = ("\n".join(each.lines).split() for each in (self, other))
        return difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()


def priced_answer(
    catalogue: Catalogue, model: str, bodies: Sequence[Body], used: Usage | None, took: float | None
) -> ReplayAnswer:
    """An answer with its tokens and its cost."""
    messages = [body for body in bodies if isinstance(body, AssistantMessage)]
    made = ReplayAnswer(
        next((each.model for each in messages if each.model), "") or model,
        "\n".join(filter(None, (text_of(each.content) for each in messages))),
        tuple((body.tool, body.arguments) for body in bodies if isinstance(body, ToolCall)),
        messages[-1].finish if messages else "",
        seconds=took,
    )
    if used is None:
        return made
    row = priced_row(catalogue, used)
    return made._replace(
        model=row.model or made.model, prompt=row.prompt, cached=row.cached, completion=row.completion, cost=row.cost
    )


def priced_row(catalogue: Catalogue, used: Usage) -> LedgerRow:
    """One report as a row of the ledger, with its price."""
    row = Ledger(catalogue).add_event(Event(1, "", 0, used))
    assert row is not None
    return row


def recorded_answer(
    catalogue: Catalogue, events: Sequence[Event], bodies: RequestBodies, request: int
) -> ReplayAnswer | None:
    """The answer to a request: as it came over the wire, else the reply after it in the log; None: neither exists."""
    asked = bodies.request(request)
    came = next((each.body for each in events if _answers(each.body, request)), None)
    used = next((each.body for each in events if isinstance(each.body, Usage) and each.body.request == request), None)
    took = used.seconds if used is not None else None
    if isinstance(came, RequestAnswer) and came.took is not None:
        took = came.took / 1000
    answer: Sequence[Body] = ()
    if isinstance(came, RequestAnswer) and came.body:
        answer = next((read_answer(asked.dialect, body)[0] for body in bodies.messages([came.body])), [])
    if not answer:
        answer = _reply_behind(events, request)
    return priced_answer(catalogue, asked.model, answer, used, took) if answer or used else None


def _answers(body: Body, request: int) -> bool:
    return isinstance(body, RequestAnswer) and body.request == request


def _reply_behind(events: Sequence[Event], request: int) -> list[Body]:
    """The first reply that begins after a request."""
    behind = (each.body for each in events if each.seq > request)
    reply = [body for body in behind if isinstance(body, AssistantMessage | Reasoning | ToolCall)]
    return [body for body in reply if body.reply == reply[0].reply]


def marked_lines(answer: ReplayAnswer, recorded: ReplayAnswer | None, sign: str = "+") -> list[str]:
    """The lines of an answer. Lines that the recorded answer does not have are marked with `sign`."""
    if recorded is None:
        return [f"  {line}" for line in answer.lines]
    matcher = difflib.SequenceMatcher(None, recorded.lines, answer.lines, autojunk=False)
    same = {block.b + step for block in matcher.get_matching_blocks() for step in range(block.size)}
    return [f"{' ' if at in same else sign} {line}" for at, line in enumerate(answer.lines)]


def answer_difference(answer: ReplayAnswer, recorded: ReplayAnswer | None) -> list[str]:
    """The lines to remove from the recorded answer and to add to it to get this one.

    `difflib.ndiff` also searches for similar lines, which takes minutes if there are hundreds of them.
    """
    if recorded is None:
        return []
    before, after = recorded.lines, answer.lines
    found: list[str] = []
    for kind, low, high, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            found += (f"  {line}" for line in before[low:high])
        else:
            found += (f"- {line}" for line in before[low:high])
            found += (f"+ {line}" for line in after[first:last])
    return found


def answer_figures(answer: ReplayAnswer, recorded: ReplayAnswer | None) -> list[tuple[str, str]]:
    """The figures of an answer, with their names."""
    calls = counted(len(answer.calls), "call") if answer.calls else ""
    alike = "" if recorded is None or answer.problem else percent(answer.likeness(recorded), 0)
    return [
        ("model", answer.model),
        ("in", "–" if answer.prompt is None else f"{answer.prompt:,}"),
        ("cached", f"{answer.cached:,}" if answer.cached else ""),
        ("out", "–" if answer.completion is None else f"{answer.completion:,}"),
        ("cost", "–" if answer.cost is None else f"${answer.cost:.4f}"),
        ("seconds", "–" if answer.seconds is None else f"{answer.seconds:.1f}"),
        ("same words", alike),
        ("", answer.problem or calls),
    ]
