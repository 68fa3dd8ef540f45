"""The part of a turn that is not in the log yet: the reply as it streams in, and the running calls."""

from __future__ import annotations

from workbench.agent.reply import ReplyInProgress
from workbench.context.tool_lines import call_parts
from workbench.log.events import Event, ToolCall, ToolResult
from workbench.views.values import LiveAnswer, LiveCall

OUTPUT = 4_000
"""Characters of a running command's output to keep for the screen."""


class LiveTurn:
    """Follows the agent's reply and the log, and makes `LiveAnswer` values."""

    def __init__(self) -> None:
        self._number = 0
        self._reply: ReplyInProgress | None = None
        self._running: dict[str, ToolCall] = {}
        self._output: dict[str, str] = {}
        self.asking = ""
        """The id of the call that waits for the user's approval."""

    def begin(self) -> None:
        """Start another request."""
        self._number += 1
        self._reply = None

    def follow(self, reply: ReplyInProgress) -> None:
        """Use the reply as far as it has come."""
        self._reply = reply

    def log_event(self, event: Event) -> None:
        """Remove what an event has put in the log."""
        match event.body:
            case ToolCall() as call:
                self._running[call.call_id] = call
            case ToolResult(call_id=call_id):
                self._running.pop(call_id, None)
                self._output.pop(call_id, None)
        if self._reply is not None and (self._reply.text or self._reply.thinking):
            self._number += 1  # the running calls do not belong to that reply
        self._reply = None

    def report(self, call_id: str, text: str) -> None:
        """Add output of a running command."""
        self._output[call_id] = (self._output.get(call_id, "") + text)[-OUTPUT:]

    def end(self) -> None:
        """Clear everything: the turn is over."""
        self._reply = None
        self._running.clear()
        self._output.clear()

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls without a result yet, in order."""
        return tuple(self._running.values())

    @property
    def doing(self) -> str:
        """The running tools, in a few words."""
        verbs = (call_parts(call.tool, call.arguments).verb for call in self._running.values())
        return ", ".join(dict.fromkeys(verbs))

    def live(self) -> LiveAnswer | None:
        """The reply as far as it has come; None if nothing streams and nothing runs."""
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
        return LiveAnswer(str(self._number), thinking, text, tuple(calls))
