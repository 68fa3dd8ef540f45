"""The answer as it comes, and the calls that run."""

from __future__ import annotations

from workbench.agent.reply import ReplyInProgress
from workbench.log.events import AssistantMessage, Event, ToolCall, ToolResult
from workbench.models.reply_parts import CallPiece, ReplyFinished, TextPiece, ThinkingPiece
from workbench.views.live_turn import OUTPUT, LiveTurn


def test_parts_are_put_together_and_events_take_their_place() -> None:
    coming, reply = LiveTurn(), ReplyInProgress("r", "m")
    coming.begin()
    assert coming.live() is None
    coming.follow(reply)
    for part in (ThinkingPiece("hm"), TextPiece("I "), TextPiece("look."), CallPiece(0, "c1", "read_file", '{"pa')):
        reply.add_part(part)
    reply.add_part(CallPiece(0, "", "", 'th": 1}'))
    reply.add_part(ReplyFinished("tool_calls"))
    live = coming.live()
    assert live is not None
    assert (live.reasoning, live.text) == ("hm", "I look.")
    assert [(call.tool, call.arguments, call.state) for call in live.calls] == [("read_file", '{"path": 1}', "writing")]
    coming.log_event(Event(1, "e1", 0, AssistantMessage("I look.", "r")))
    coming.log_event(Event(2, "e2", 0, ToolCall("c1", "read_file", '{"path": 1}', "r")))
    running = coming.live()
    assert running is not None
    assert (running.text, running.reply != live.reply) == ("", True)
    assert [call.state for call in running.calls] == ["running"]
    coming.asking = "c1"
    coming.report("c1", "x" * OUTPUT)
    coming.report("c1", "the end")
    asked = coming.live()
    assert asked is not None
    assert asked.calls[0].state == "asking"
    assert asked.calls[0].output.endswith("xthe end")
    assert len(asked.calls[0].output) == OUTPUT
    assert coming.doing == "Read"
    coming.log_event(Event(3, "e3", 0, ToolResult("c1", "text")))
    assert coming.live() is None


def test_looking_does_not_change_what_comes() -> None:
    coming, reply = LiveTurn(), ReplyInProgress("r", "m")
    coming.begin()
    coming.follow(reply)
    for at in range(50):
        reply.add_part(TextPiece(str(at)))
        live = coming.live()
        assert live is not None
        assert live.text == "".join(map(str, range(at + 1)))
