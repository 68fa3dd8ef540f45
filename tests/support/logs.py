"""Random logs, policies and limits: the worlds in which the invariants have to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from hypothesis import strategies as st

from workbench.context.budget import Limits
from workbench.context.policy import (
    NO_LIMIT,
    HistoryPolicy,
    MaskingPolicy,
    Policy,
    ToolTruncation,
    TruncationPolicy,
    TurnPolicy,
)
from workbench.log.events import (
    AgentCut,
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Failure,
    ImagePart,
    KeptEvent,
    Override,
    OverrideAction,
    Reasoning,
    Revert,
    Setting,
    Slot,
    SlotContent,
    Snapshot,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)

WORDS = (
    "alpha",
    "beta",
    "测试内容",
    "データ",
    "🙂👩‍👩‍👧",
    "naïve",
    "error:",
    "src/app.py",
    "[/b]",
    "\x1b[31m",
    "<|endoftext|>",
)


def number(bodies: Sequence[Body]) -> list[Event]:
    """Bodies as a log."""
    return [Event(seq, f"e{seq:05d}", 1_700_000_000_000 + seq, body) for seq, body in enumerate(bodies, 1)]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Mostly short; sometimes empty, blank, very long, or of many lines."""
    word = draw(st.sampled_from(WORDS))
    shape = draw(st.integers(0, 9))
    if shape == 0:
        return draw(st.sampled_from(["", " ", "\n\t"]))
    if shape == 1:
        return f"{word} " * draw(st.integers(50, 600))
    if shape == 2:
        return f"{word}\n" * draw(st.integers(5, 400))
    if shape == 3:
        return word * draw(st.integers(1, 300))
    return " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12)))


contents = st.one_of(
    texts(),
    texts(),
    texts(),
    st.builds(lambda text: (TextPart(text), ImagePart("https://example.org/a.png", "low")), texts()),
    st.builds(lambda a, b: (TextPart(a), TextPart(b)), texts(), texts()),
)
call_ids = st.sampled_from(["a", "b", "c", "d", "e", ""])
tools = st.sampled_from(["read_file", "run_command"])
arguments = st.sampled_from(['{"path": "a.py"}', "{}", "", "  ", "not json", "[1]", '{"q": "' + "x" * 300 + '"}'])
replies = st.sampled_from(["", "r1", "r2", "r3"])
cuts = st.sampled_from(
    [None, None, None, AgentCut("truncated", "Codex", "29,210 tokens before", 29_210), AgentCut("masked", "SWE-agent")]
)

conversation: st.SearchStrategy[Body] = st.one_of(
    st.builds(UserMessage, contents, st.sampled_from(["", "", "ann"]), cuts),
    st.builds(AssistantMessage, contents, replies),
    st.builds(ToolCall, call_ids, tools, arguments, replies),
    st.builds(ToolCall, call_ids, tools, arguments, replies),
    st.builds(ToolResult, call_ids, contents, tools),
    st.builds(ToolResult, call_ids, contents, tools, cut=cuts),
    st.builds(Reasoning, texts(), replies),
    st.builds(SystemMessage, contents, st.sampled_from(["system", "developer"])),
    st.sampled_from(
        [
            Usage("gpt-4o", 10, 12),
            Snapshot("abc", "/project"),
            Failure("rate_limit", "wait"),
            Setting("title", "x"),
            Unknown("telepathy", {"v": 2}),
        ]
    ),
)


@st.composite
def iterations(draw: st.DrawFn) -> list[Body]:
    """One well-formed reply with parallel calls, some of which may lack their result."""
    reply = f"n{draw(st.integers(0, 10**6))}"
    count = draw(st.integers(1, 3))
    ids = [f"{reply}.{index}" for index in range(count)]
    text: list[Body] = [AssistantMessage(draw(contents), reply)] if draw(st.booleans()) else []
    calls: list[Body] = [ToolCall(each, draw(tools), draw(arguments), reply) for each in ids]
    answered = draw(st.permutations(ids))[: count if draw(st.integers(0, 5)) else count - 1]
    return [*text, *calls, *(ToolResult(each, draw(contents), "", cut=draw(cuts)) for each in answered)]


@st.composite
def controls(draw: st.DrawFn, bodies: Sequence[Body]) -> Body:
    """An event that decides about earlier ones, half of the time about the last turn or about the last decision."""
    length = max(len(bodies), 1)
    opened = max((seq for seq, body in enumerate(bodies, 1) if isinstance(body, UserMessage)), default=1)
    decided = [seq for seq, body in enumerate(bodies, 1) if isinstance(body, (Override, Compaction, Revert))]
    seq = st.integers(1, length)
    if draw(st.booleans()):
        seq = st.one_of(st.just(opened), st.integers(opened, length))
    first, last = sorted((draw(seq), draw(seq)))
    match draw(st.integers(0, 9)):
        case 0 | 1:
            kept = tuple(
                KeptEvent(at, draw(st.sampled_from([None, "shortened"])))
                for at in sorted(draw(st.sets(st.integers(first, last), max_size=2)))
            )
            place: Literal["start", "end"] = draw(st.sampled_from(["start", "end"]))
            answer = draw(st.sampled_from(["", "Understood."]))
            return Compaction(first, last, "what happened so far", kept, place, "[summary] ", answer)
        case 2 | 3:
            return Revert(draw(st.sampled_from([*decided[-1:], draw(seq)])))
        case 4:
            slot: Slot = draw(st.sampled_from(get_args(Slot)))
            text = '{"type":"function","function":{"name":"f","parameters":{}}}' if slot == "tools" else draw(texts())
            return SlotContent(slot, draw(st.sampled_from(["one", "two"])), text)
        case _:
            action: OverrideAction = draw(st.sampled_from(get_args(OverrideAction)))
            return Override(action, first, last)


@st.composite
def logs(draw: st.DrawFn, most: int = 30) -> list[Event]:
    """A log with everything in it that may go wrong."""
    bodies: list[Body] = []
    tidy = draw(st.booleans())
    for _ in range(draw(st.integers(0, most))):
        kind = draw(st.integers(0, 9))
        if kind == 0 and bodies:
            bodies.append(draw(controls(bodies)))
        elif kind <= 4 or tidy:
            if draw(st.booleans()):
                bodies.append(UserMessage(draw(contents)))
            bodies.extend(draw(iterations()))
        else:
            bodies.append(draw(conversation))
    for _ in range(draw(st.integers(0, 3)) if bodies else 0):
        bodies.append(draw(controls(bodies)))
    return number(bodies)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Any sensible combination of knobs."""
    truncation = TruncationPolicy(
        strategy=draw(st.sampled_from(["none", "head", "tail", "both", "lines"])),
        max_tokens=draw(st.sampled_from([1, 5, 30, 100, 1000])),
        max_lines=draw(st.sampled_from([1, 4, 20])),
        head_lines=draw(st.integers(0, 10)),
        tail_lines=draw(st.integers(0, 10)),
        max_bytes=draw(st.sampled_from([1, 40, 200, 2000])),
        count_header=draw(st.booleans()),
        tools={"read_file": ToolTruncation(max_tokens=50)} if draw(st.booleans()) else {},
    )
    masking = MaskingPolicy(
        keep_first=draw(st.integers(0, 2)),
        keep_last=draw(st.integers(0, 3)),
        scope=draw(st.sampled_from(["turn", "session"])),
        batch_tokens=draw(st.sampled_from([0, 50, 500])),
        batch_ratio=draw(st.sampled_from([0.0, 0.1])),
        min_tokens=draw(st.sampled_from([0, 20])),
    )
    history = HistoryPolicy(
        mode=draw(st.sampled_from(["whole", "fit", "fit"])),
        max_tokens=draw(st.sampled_from([0, 50, 400])),
        resident_messages=draw(st.sampled_from([0, 3, 10])),
        notice=draw(st.booleans()),
        turn_first=draw(st.booleans()),
    )
    turn = TurnPolicy(drop_groups=draw(st.booleans()))
    return replace(Policy(), truncation=truncation, masking=masking, history=history, turn=turn)


limits = st.builds(
    lambda window, reserve, margin, least: Limits(
        window, "option", window * reserve // 100, window * margin // 100, least
    ),
    st.sampled_from([60, 300, 1_000, 4_000, 100_000]),
    st.integers(0, 30),
    st.integers(0, 10),
    st.sampled_from([1, 50, NO_LIMIT]),
)
