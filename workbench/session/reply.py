"""The answer as it comes in, and the calls that run."""

from __future__ import annotations

from workbench.config.text import printable
from workbench.log.events import Event, ToolCall, ToolResult
from workbench.models.reply_parts import CallFragment, Part, Text, Thinking
from workbench.session.values import Live, LiveCall

OUTPUT = 4_000
"""Characters of a running command's output that are kept for the screen."""


class ReplyInProgress:
    """Takes in parts and events; gives a `Live`. Parts are put together only when somebody looks."""

    def __init__(self) -> None:
        self._number = 0
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._fragments: dict[int, list[str]] = {}
        """By number: id, tool and arguments so far."""
        self._running: dict[str, ToolCall] = {}
        self._output: dict[str, str] = {}
        self.asking = ""
        """The id of the call that the user is asked about."""

    def begin(self) -> None:
        """Another answer begins."""
        self._number += 1
        self._forget()

    def _forget(self) -> None:
        self._text, self._thinking, self._fragments = [], [], {}

    def add(self, part: Part) -> None:
        """A part of the answer."""
        match part:
            case Text(text):
                self._text.append(text)
            case Thinking(text, _):
                self._thinking.append(text)
            case CallFragment(number, call_id, name, arguments):
                call = self._fragments.setdefault(number, ["", "", ""])
                call[0] = call[0] or call_id
                call[1] = call[1] or name
                call[2] += arguments
            case _:
                pass

    def take(self, event: Event) -> None:
        """An event is in the log: what it holds is not coming any more."""
        match event.body:
            case ToolCall() as call:
                self._running[call.call_id] = call
            case ToolResult(call_id=call_id):
                self._running.pop(call_id, None)
                self._output.pop(call_id, None)
        if self._text or self._thinking:
            self._number += 1  # what runs now is no part of that answer
        self._forget()

    def report(self, call_id: str, text: str) -> None:
        """What a running command printed."""
        self._output[call_id] = (self._output.get(call_id, "") + text)[-OUTPUT:]

    def end(self) -> None:
        """The turn is over."""
        self._forget()
        self._running.clear()
        self._output.clear()

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls without a result yet, in order."""
        return tuple(self._running.values())

    @property
    def doing(self) -> str:
        """The tools that run, in a few words."""
        return printable(", ".join(dict.fromkeys(call.tool for call in self._running.values())))

    def live(self) -> Live | None:
        """The answer as far as it has come; None where nothing is coming and nothing runs."""
        calls = [LiveCall(call_id, tool, arguments, "writing") for call_id, tool, arguments in self._fragments.values()]
        for call in self._running.values():
            state: LiveCall = LiveCall(call.call_id, call.tool, call.arguments, "running", self._output_of(call))
            calls.append(state._replace(state="asking") if call.call_id == self.asking else state)
        if not (any(self._text) or any(self._thinking) or calls):
            return None
        self._text, self._thinking = ["".join(self._text)], ["".join(self._thinking)]
        return Live(str(self._number), self._thinking[0], self._text[0], tuple(calls))

    def _output_of(self, call: ToolCall) -> str:
        return self._output.get(call.call_id, "")
