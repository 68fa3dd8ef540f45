"""What of a turn is not in the log yet: the reply as it comes in, and the calls that run."""

from __future__ import annotations

from workbench.agent.reply import ReplyInProgress
from workbench.context.tool_lines import call_parts
from workbench.log.events import Event, ToolCall, ToolResult
from workbench.views.values import Live, LiveCall

OUTPUT = 4_000
"""Characters of a running command's output that are kept for the screen."""


class LiveTurn:
    """Follows the agent's reply and the log; gives a `Live`."""

    def __init__(self) -> None:
        self._number = 0
        self._reply: ReplyInProgress | None = None
        self._running: dict[str, ToolCall] = {}
        self._output: dict[str, str] = {}
        self.asking = ""
        """The id of the call that the user is asked about."""

    def begin(self) -> None:
        """Another request is made."""
        self._number += 1
        self._reply = None

    def follow(self, reply: ReplyInProgress) -> None:
        """A part of the reply has come."""
        self._reply = reply

    def take(self, event: Event) -> None:
        """An event is in the log: what it holds is not coming any more."""
        match event.body:
            case ToolCall() as call:
                self._running[call.call_id] = call
            case ToolResult(call_id=call_id):
                self._running.pop(call_id, None)
                self._output.pop(call_id, None)
        if self._reply is not None and (self._reply.text or self._reply.thinking):
            self._number += 1  # what runs now is no part of that reply
        self._reply = None

    def report(self, call_id: str, text: str) -> None:
        """What a running command printed."""
        self._output[call_id] = (self._output.get(call_id, "") + text)[-OUTPUT:]

    def end(self) -> None:
        """The turn is over."""
        self._reply = None
        self._running.clear()
        self._output.clear()

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls without a result yet, in order."""
        return tuple(self._running.values())

    @property
    def doing(self) -> str:
        """The tools that run, in a few words."""
        told = (call_parts(call.tool, call.arguments).verb for call in self._running.values())
        return ", ".join(dict.fromkeys(told))

    def live(self) -> Live | None:
        """The reply as far as it has come; None where nothing is coming and nothing runs."""
        reply = self._reply
        writing = reply.calls(named=False) if reply is not None else []
        calls = [LiveCall(call.call_id, call.tool, call.arguments, "writing") for call in writing]
        for call in self._running.values():
            output = self._output.get(call.call_id, "")
            state = LiveCall(call.call_id, call.tool, call.arguments, "running", output)
            calls.append(state._replace(state="asking") if call.call_id == self.asking else state)
        thinking, text = (reply.thinking, reply.text) if reply is not None else ("", "")
        if not (text or thinking or calls):
            return None
        return Live(str(self._number), thinking, text, tuple(calls))
