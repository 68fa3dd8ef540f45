"""Random logs, policies and limits: the worlds in which the invariants have to hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Literal, TypeVar, get_args

from hypothesis import strategies as st

from workbench.config.values import replace
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
    Content,
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

T = TypeVar("T")

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


class Choices:
    """Many small choices out of bytes that hypothesis drew at once: to draw each of them takes most of a test's time.

    Zeros choose the first option, so that logs which break a rule still get smaller.
    """

    def __init__(self, drawn: bytes) -> None:
        self._left = int.from_bytes(drawn, "big")

    def below(self, count: int) -> int:
        """A number from 0."""
        self._left, chosen = divmod(self._left, count)
        return chosen

    def between(self, least: int, most: int) -> int:
        """A number of this range, with both ends."""
        return least + self.below(most - least + 1)

    def pick(self, options: Sequence[T]) -> T:
        """One of these."""
        return options[self.below(len(options))]

    def maybe(self) -> bool:
        """Half of the time."""
        return self.below(2) == 1


def choices(size: int = 64) -> st.SearchStrategy[Choices]:
    """Enough for the largest body, unless a size in bytes is given."""
    return st.binary(min_size=size, max_size=size).map(Choices)


def _text(chosen: Choices) -> str:
    """Mostly short; sometimes empty, blank, very long, or of many lines."""
    shape, word = chosen.below(10), chosen.pick(WORDS)
    match shape:
        case 0:
            return chosen.pick(["", " ", "\n\t"])
        case 1:
            return f"{word} " * chosen.between(50, 600)
        case 2:
            return f"{word}\n" * chosen.between(5, 400)
        case 3:
            return word * chosen.between(1, 300)
    return " ".join(chosen.pick(WORDS) for _ in range(chosen.between(1, 12)))


def texts() -> st.SearchStrategy[str]:
    """A text of any shape."""
    return choices(8).map(_text)


def _content(chosen: Choices) -> Content:
    match chosen.below(5):
        case 3:
            return (TextPart(_text(chosen)), ImagePart("https://example.org/a.png", "low"))
        case 4:
            return (TextPart(_text(chosen)), TextPart(_text(chosen)))
    return _text(chosen)


CALL_IDS = ("a", "b", "c", "d", "e", "")
TOOLS = ("read_file", "run_command")
ARGUMENTS = ('{"path": "a.py"}', "{}", "", "  ", "not json", "[1]", '{"q": "' + "x" * 300 + '"}')
REPLIES = ("", "r1", "r2", "r3")
CUTS = (
    None,
    None,
    None,
    AgentCut("truncated", "Codex", "29,210 tokens before", 29_210),
    AgentCut("masked", "SWE-agent"),
)
OTHERS: tuple[Body, ...] = (
    Usage("gpt-4o", 10, 12),
    Snapshot("abc", "/project"),
    Failure("rate_limit", "wait"),
    Setting("title", "x"),
    Unknown("telepathy", {"v": 2}),
)


def _body(chosen: Choices) -> Body:
    """An event of a conversation that need not be well-formed."""
    match chosen.below(9):
        case 0:
            return UserMessage(_content(chosen), chosen.pick(["", "", "ann"]), chosen.pick(CUTS))
        case 1:
            return AssistantMessage(_content(chosen), chosen.pick(REPLIES))
        case 2 | 3:
            return ToolCall(chosen.pick(CALL_IDS), chosen.pick(TOOLS), chosen.pick(ARGUMENTS), chosen.pick(REPLIES))
        case 4:
            return ToolResult(chosen.pick(CALL_IDS), _content(chosen), chosen.pick(TOOLS), chosen.maybe())
        case 5:
            return ToolResult(chosen.pick(CALL_IDS), _content(chosen), chosen.pick(TOOLS), cut=chosen.pick(CUTS))
        case 6:
            return Reasoning(_text(chosen), chosen.pick(REPLIES))
        case 7:
            role: Literal["system", "developer"] = "developer" if chosen.maybe() else "system"
            return SystemMessage(_content(chosen), role)
    return chosen.pick(OTHERS)


def _iteration(chosen: Choices) -> list[Body]:
    """One well-formed reply with parallel calls, some of which may lack their result."""
    reply = f"n{chosen.below(10**6)}"
    count = chosen.between(1, 3)
    answers = count if chosen.below(6) else count - 1
    ids = [f"{reply}.{index}" for index in range(count)]
    bodies: list[Body] = [ToolCall(each, chosen.pick(TOOLS), chosen.pick(ARGUMENTS), reply) for each in ids]
    if chosen.maybe():
        bodies.insert(0, AssistantMessage(_content(chosen), reply))
    for each in chosen.pick(list(permutations(ids)))[:answers]:
        bodies.append(ToolResult(each, _content(chosen), "", chosen.below(4) == 3, cut=chosen.pick(CUTS)))
    return bodies


def iterations() -> st.SearchStrategy[list[Body]]:
    """Replies with their calls and results."""
    return choices().map(_iteration)


def _control(chosen: Choices, bodies: Sequence[Body]) -> Body:
    length = max(len(bodies), 1)
    decided = [seq for seq, body in enumerate(bodies, 1) if isinstance(body, (Override, Compaction, Revert))]
    start, opened = 1, 0
    if chosen.maybe():
        start = opened = max((seq for seq, body in enumerate(bodies, 1) if isinstance(body, UserMessage)), default=1)

    def seq() -> int:
        return opened if opened and chosen.maybe() else chosen.between(start, length)

    first, last = sorted((seq(), seq()))
    match chosen.below(10):
        case 0 | 1:
            among = {chosen.between(first, last) for _ in range(chosen.below(3))}
            kept = tuple(KeptEvent(at, chosen.pick([None, "shortened"])) for at in sorted(among))
            place: Literal["start", "end"] = "end" if chosen.maybe() else "start"
            answer = chosen.pick(["", "Understood."])
            return Compaction(first, last, "what happened so far", kept, place, "[summary] ", answer)
        case 2 | 3:
            return Revert(chosen.pick([*decided[-1:], seq()]))
        case 4:
            slot: Slot = chosen.pick(get_args(Slot))
            text = '{"type":"function","function":{"name":"f","parameters":{}}}' if slot == "tools" else _text(chosen)
            return SlotContent(slot, chosen.pick(["one", "two"]), text)
    action: OverrideAction = chosen.pick(get_args(OverrideAction))
    return Override(action, first, last)


def controls(bodies: Sequence[Body]) -> st.SearchStrategy[Body]:
    """An event that decides about earlier ones, half of the time about the last turn or about the last decision."""
    return choices().map(lambda chosen: _control(chosen, bodies))


@st.composite
def logs(draw: st.DrawFn, most: int = 30) -> list[Event]:
    """A log with everything in it that may go wrong."""
    bodies: list[Body] = []
    tidy = draw(st.booleans())
    for _ in range(draw(st.integers(0, most))):
        chosen = draw(choices())
        kind = chosen.below(10)
        if kind == 0 and bodies:
            bodies.append(_control(chosen, bodies))
        elif kind <= 4 or tidy:
            if chosen.maybe():
                bodies.append(UserMessage(_content(chosen)))
            bodies.extend(_iteration(chosen))
        else:
            bodies.append(_body(chosen))
    for _ in range(draw(st.integers(0, 3)) if bodies else 0):
        bodies.append(draw(controls(bodies)))
    return number(bodies)


def _policy(chosen: Choices) -> Policy:
    truncation = TruncationPolicy(
        strategy=chosen.pick(["none", "head", "tail", "both", "lines"]),
        max_tokens=chosen.pick([1, 5, 30, 100, 1000]),
        max_lines=chosen.pick([1, 4, 20]),
        head_lines=chosen.between(0, 10),
        tail_lines=chosen.between(0, 10),
        max_bytes=chosen.pick([1, 40, 200, 2000]),
        count_header=chosen.maybe(),
        tools={"read_file": ToolTruncation(max_tokens=50)} if chosen.maybe() else {},
    )
    masking = MaskingPolicy(
        keep_first=chosen.between(0, 2),
        keep_last=chosen.between(0, 3),
        scope=chosen.pick(["turn", "session"]),
        batch_tokens=chosen.pick([0, 50, 500]),
        batch_ratio=chosen.pick([0.0, 0.1]),
        min_tokens=chosen.pick([0, 20]),
    )
    history = HistoryPolicy(
        mode=chosen.pick(["whole", "fit", "fit"]),
        max_tokens=chosen.pick([0, 50, 400]),
        resident_messages=chosen.pick([0, 3, 10]),
        notice=chosen.maybe(),
        turn_first=chosen.maybe(),
    )
    turn = TurnPolicy(drop_groups=chosen.maybe())
    return replace(Policy(), truncation=truncation, masking=masking, history=history, turn=turn)


def policies() -> st.SearchStrategy[Policy]:
    """Any sensible combination of knobs."""
    return choices(16).map(_policy)


def _limits(chosen: Choices) -> Limits:
    window = chosen.pick([60, 300, 1_000, 4_000, 100_000])
    reserve, margin = chosen.between(0, 30), chosen.between(0, 10)
    return Limits(window, "option", window * reserve // 100, window * margin // 100, chosen.pick([1, 50, NO_LIMIT]))


limits = choices(4).map(_limits)
