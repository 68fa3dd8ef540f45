"""What happened: the events of a session as frozen values.

An `Event` is an envelope (sequence number, id, time) around a body; the body's class says what kind of event it is.
Bodies are pure values. Identity and order belong to the log, which hands them out on append.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct, field

Slot = Literal["system", "instructions", "memory", "tools"]
"""The slots that are filled by `SlotContent`; summaries, history and the turn are filled by the conversation."""

OverrideAction = Literal["pin", "unpin", "mask", "unmask", "exclude", "include"]


class _Value(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A frozen value of the log. It holds no cycles, so the garbage collector need not look at it."""


class _Part(_Value, frozen=True, tag_field="type"):
    """A part of a message."""


class TextPart(_Part, tag="text", frozen=True):
    """A piece of text in a message of several parts."""

    text: str


class ImagePart(_Part, tag="image", frozen=True):
    """A picture in a message; `url` is a web address or a `data:` URL."""

    url: str
    detail: str = "auto"
    """OpenAI's `detail`: low, high or auto. It decides what the picture costs."""


class OtherPart(_Part, tag="other", frozen=True):
    """A part of a kind we do not know (audio, files, ...), carried along as its JSON."""

    data: Mapping[str, Any]


Part = TextPart | ImagePart | OtherPart
Content = str | tuple[Part, ...]


class AgentCut(_Value, frozen=True):
    """What another agent did to a text before it sent it, where it kept no original: the text is what is left."""

    state: Literal["truncated", "masked"]
    """Masked: its own words stand in place of all of it."""
    by: str
    """The agent."""
    told: str = ""
    """What it says of the size: `29,210 tokens before`, `98 lines left out`; empty where it says nothing."""
    tokens: int = 0
    """The original's size, where it counted that in tokens, by whatever tokenizer; 0 elsewhere."""


class SystemMessage(_Value, frozen=True):
    """A system or developer message that is part of the conversation (from a transcript)."""

    content: Content
    role: str = "system"
    name: str = ""
    cut: AgentCut | None = None
    """Of a file that an agent put into the request in part."""


class UserMessage(_Value, frozen=True):
    """What the user said. It opens a turn."""

    content: Content
    name: str = ""
    cut: AgentCut | None = None
    """Of what tools gave back in agents that send it as the user's."""


class AssistantMessage(_Value, frozen=True):
    """The text of one model reply."""

    content: Content
    reply: str = ""
    """Reasoning, text and calls with the same `reply` form one assistant message."""
    name: str = ""
    finish: str = "stop"
    """stop, length, tool_calls, refused; `cancelled`, `broken` and `killed` mark a reply that was kept though cut."""
    model: str = ""


class Reasoning(_Value, frozen=True):
    """The model's visible thinking; kept for reading, not sent back."""

    text: str
    reply: str = ""
    signature: str = ""


class ToolCall(_Value, frozen=True):
    """One call of a tool, with its arguments exactly as the model wrote them."""

    call_id: str
    tool: str
    arguments: str
    reply: str = ""


class ToolResult(_Value, frozen=True):
    """What a tool gave back."""

    call_id: str
    content: Content
    tool: str = ""
    is_error: bool = False
    took: int | None = None
    """Milliseconds that the tool itself ran, without the wait for the user's permission; None where nobody measured."""
    cut: AgentCut | None = None
    """What its agent left of it, where that was in no log any more."""


class SlotContent(_Value, frozen=True):
    """What stands in a fixed slot from here on: the latest event for a slot and name wins; an empty text clears it."""

    slot: Slot
    name: str
    """system: a label; instructions and memory: the file's path; tools: the tool's name."""
    text: str
    """For tools: the definition as JSON."""


class KeptEvent(_Value, frozen=True):
    """An event inside a compacted range that stays in the request."""

    seq: int
    text: str | None = None
    """A shortened text to send in its place; None sends the event whole."""


class Compaction(_Value, frozen=True):
    """A summary that replaces the events `first` to `last` (both inclusive) while it stands."""

    first: int
    last: int
    summary: str
    kept: tuple[KeptEvent, ...] = ()
    place: Literal["start", "end"] = "start"
    """Where the summary goes: where its range began, or behind what was kept of it (`codex`)."""
    preface: str = ""
    """Put before the summary when it is sent: it frames the summary as a record of the past."""
    acknowledgement: str = ""
    """The assistant's answer to the summary (`confirm`); none when empty."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """How it came about: trigger, model, tokens, duration, cost, audit score."""


class Revert(_Value, frozen=True):
    """Takes back one compaction, override or revert, named by its sequence number."""

    target: int


class Override(_Value, frozen=True):
    """The user's own decision on the events `first` to `last` (both inclusive)."""

    action: OverrideAction
    first: int
    last: int
    why: str = ""
    """Whose decision it was, where it was not the user's own: another agent that forgot something, for one."""
    text: str = ""
    """What stands in place of what was masked, where another agent had words of its own for it."""
    joined: bool = False
    """Whether it was one decision with the override before it: they are undone together."""
    at_provider: bool = False
    """Whether the provider decided it: the agent sent it all the same, and the model did not see it."""


class Usage(_Value, frozen=True):
    """What one request cost, as the provider reported it, beside our own count."""

    model: str
    estimate: int
    """The plan's tokens when the request was made, framing included."""
    prompt: int | None = None
    """Reported prompt tokens, cached ones included; None when the provider said nothing."""
    cached: int = 0
    cache_write: int = 0
    completion: int = 0
    reasoning: int = 0
    cost: float | int | None = None  # `int`: a whole number stays one
    seconds: float | int | None = None
    upto: int = 0
    """The last sequence number the request was planned from."""
    request: int = 0
    """The `Request` event that this is the report for; 0: the reply before it."""
    cache_hour: int = 0
    """Of what was written to the cache, how much the provider keeps for an hour, which costs more."""


DialectName = Literal["chat", "responses", "anthropic", "gemini", "ollama"]
"""How a request is written: OpenAI's chat completions and responses, Anthropic's messages, Gemini's contents, and
Ollama's chat."""

Purpose = Literal["turn", "side", "sub-agent", "compaction"]
"""Why a request was made. `side`: titles, routing, counting; what the user did not ask for."""


class RequestPart(_Value, frozen=True):
    """A piece of a request as its client wrote it, kept once: requests name it by its hash."""

    hash: str
    value: Any


class Request(_Value, frozen=True):
    """What was really sent to a model, and reported by a `Usage` that names it; without messages, only who and why."""

    dialect: DialectName
    model: str
    purpose: Purpose = "turn"
    agent: str = ""
    """Who sent it, where a session has several: the name or id of a sub-agent."""
    session: str = ""
    """The client's own id of the session."""
    parent: str = ""
    """The session or agent that started it."""
    system: str = ""
    """The hash of all that stands in the body's place for the system prompt."""
    tools: str = ""
    """The hash of the list of tools."""
    base: int = 0
    """An earlier request, by its event, with whose messages this one begins; 0: none."""
    keep: int = 0
    """So many of them."""
    messages: tuple[str, ...] = ()
    """The hashes of the messages behind them, in order."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The other keys of the body, in its order; None keeps the place of the system prompt, tools and messages."""
    cache_marks: tuple[str, ...] = ()
    """Where the client asked the provider to cache up to, as `system.1`, `tools.3` or `messages.7.0`, which is a block
    of a message; see `wire/parts`."""
    name: str = ""
    """What it was for, where that is known better than its purpose: a title, counting, a kind of sub-agent."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of HTTP, those that say something and no secret."""
    instead_of: int = 0
    """The request, by its event, that this one was sent in place of: what the agent asked; 0: none."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is of a sub-agent whose conversation is another log: its report says nothing of this one."""
        return self.purpose == "sub-agent" and not self.base and not self.messages


HoldEnd = Literal["as_it_was", "changed", "answered", "expired", "gone"]


class Hold(_Value, frozen=True):
    """A request waited at a breakpoint, and how it went on."""

    request: int
    """The `Request` event: what the agent asked."""
    rule: str
    """The breakpoint."""
    why: str = ""
    took: int = 0
    """Milliseconds that it waited."""
    end: HoldEnd = "as_it_was"
    """Sent as it was, sent changed, answered by hand, let go as it was by the time limit, or given up by the agent."""


class RequestAnswer(_Value, frozen=True):
    """What came back for a request, as it went over the wire; what was said in it are events of their own."""

    request: int
    """The `Request` event."""
    status: int = 0
    """Of HTTP; 0: nothing came."""
    body: str = ""
    """The hash of the answer; of a stream, as one body put together from it."""
    first: int | None = None
    """Milliseconds until the first byte of it."""
    took: int | None = None
    """Milliseconds until the last."""
    problem: str = ""
    """Why it is not whole; empty where it is."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of HTTP, those that say something and no secret."""


class Snapshot(_Value, frozen=True):
    """A state of the work tree, recorded before a tool wrote to it. Never sent."""

    commit: str
    root: str
    why: str = ""


CONTINUED_FROM: Final = "continued_from"
"""The setting that links a session to the one it goes on from, whose log the model can still read."""


ON_THE_WAY: Final = "policy on the way"
"""The setting by which a session of the proxy says what its requests are sent under from here on, and what of that was
undone: see `proxy/policies`."""


class Setting(_Value, frozen=True):
    """A setting that holds from here on: title, model, policy, ..."""

    key: str
    value: Any


class Failure(_Value, frozen=True):
    """Something went wrong. Kept for the reader; never part of the conversation."""

    category: str
    message: str


class Unknown(_Value, frozen=True):
    """An event of a kind this version does not know, carried along whole."""

    kind: str
    data: Mapping[str, Any]


Body = (
    SystemMessage
    | UserMessage
    | AssistantMessage
    | Reasoning
    | ToolCall
    | ToolResult
    | SlotContent
    | Compaction
    | Revert
    | Override
    | Usage
    | Request
    | RequestPart
    | RequestAnswer
    | Hold
    | Snapshot
    | Setting
    | Failure
    | Unknown
)


class Event(NamedTuple):
    """One immutable record of the log. A named tuple, because a long session holds a hundred thousand of them."""

    seq: int
    """Order in the session, from 1, without gaps. Order is never taken from the clock."""
    id: str
    """Unique and sortable by age; what markers, overrides and people refer to."""
    at: int
    """Milliseconds since 1970, for people to read."""
    body: Body


def text_of(content: Content) -> str:
    """The readable text of a content; a picture or unknown part shows as a short placeholder."""
    if isinstance(content, str):
        return content
    shown = []
    for part in content:
        match part:
            case TextPart(text):
                shown.append(text)
            case ImagePart():
                shown.append("[image]")
            case OtherPart(data):
                shown.append(f"[{data.get('type', 'part')}]")
    return "\n".join(shown)
