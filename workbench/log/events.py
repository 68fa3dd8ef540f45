"""The events of a session as frozen values.

An `Event` is an envelope (sequence number, id, time) around a body; the body's class is the kind of event.
Bodies are pure values. The log assigns identity and order on append.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct, field

Slot = Literal["system", "instructions", "memory", "tools"]
"""The slots that `SlotContent` fills; summaries, history and the turn come from the conversation."""

OverrideAction = Literal["pin", "unpin", "mask", "unmask", "exclude", "include"]


class _Value(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A frozen value of the log. It has no cycles, so the garbage collector need not track it."""


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
    """A part of an unknown kind (audio, files, ...), kept as its JSON."""

    data: Mapping[str, Any]


Part = TextPart | ImagePart | OtherPart
Content = str | tuple[Part, ...]


class AgentCut(_Value, frozen=True):
    """What another agent did to a text before it sent it, where the original is lost: the text is what remains."""

    state: Literal["truncated", "masked"]
    """Masked: the agent's own marker replaces all of the text."""
    by: str
    """The agent."""
    size: str = field(default="", name="told")
    """What the agent reports about the size: `29,210 tokens before`, `98 lines left out`; may be empty."""
    tokens: int = 0
    """The original's size in tokens, by the agent's own count; 0 where it has none."""


class SystemMessage(_Value, frozen=True):
    """A system or developer message that is part of the conversation (from a transcript)."""

    content: Content
    role: str = "system"
    name: str = ""
    cut: AgentCut | None = None
    """For a file that an agent put into the request in part."""


class UserMessage(_Value, frozen=True):
    """The user's message. It opens a turn."""

    content: Content
    name: str = ""
    cut: AgentCut | None = None
    """For results of tools that an agent sends as the user's message."""


class AssistantMessage(_Value, frozen=True):
    """The text of one model reply."""

    content: Content
    reply: str = ""
    """Reasoning, text and calls with the same `reply` form one assistant message."""
    name: str = ""
    finish: str = "stop"
    """stop, length, tool_calls, refused; `cancelled`, `broken` and `killed` mark an incomplete reply that was kept."""
    model: str = ""


class Reasoning(_Value, frozen=True):
    """The model's visible thinking; kept to be read, not sent back."""

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
    """Milliseconds that the tool ran, without the wait for the user's permission; None if not measured."""
    cut: AgentCut | None = None
    """What its agent cut, if the log does not have the original."""


class SlotContent(_Value, frozen=True):
    """The content of a fixed slot from here on: the latest event for a slot and name wins; an empty text clears it."""

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
    """A summary that replaces the events `first` to `last` (both inclusive) until it is reverted."""

    first: int
    last: int
    summary: str
    kept: tuple[KeptEvent, ...] = ()
    place: Literal["start", "end"] = "start"
    """Where the summary goes: where its range began, or after what was kept of the range (`codex`)."""
    preface: str = ""
    """Sent before the summary: it presents the summary as a record of the past."""
    acknowledgement: str = ""
    """The assistant's answer to the summary (`confirm`); none when empty."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Its origin: trigger, model, tokens, duration, cost, audit score."""


class Revert(_Value, frozen=True):
    """Undoes one compaction, override or revert, named by its sequence number."""

    target: int


class Override(_Value, frozen=True):
    """The user's own decision on the events `first` to `last` (both inclusive)."""

    action: OverrideAction
    first: int
    last: int
    why: str = ""
    """Who decided it, if not the user: another agent that dropped something, for example."""
    text: str = ""
    """What replaces the masked text, if another agent had its own words for it."""
    joined: bool = False
    """Whether it was one decision with the override before it: they are undone together."""
    at_provider: bool = False
    """Whether the provider decided it: the agent sent it all, but the model did not see it."""


class Usage(_Value, frozen=True):
    """What one request cost, as the provider reported it, and our own count."""

    model: str
    estimate: int
    """The plan's tokens when the request was made, framing included."""
    prompt: int | None = None
    """Reported prompt tokens, cached ones included; None if the provider reported none."""
    cached: int = 0
    cache_write: int = 0
    completion: int = 0
    reasoning: int = 0
    cost: float | int | None = None  # `int`: a whole number stays one
    seconds: float | int | None = None
    upto: int = 0
    """The last sequence number the request was planned from."""
    request: int = 0
    """The `Request` event that this report is for; 0: the reply before it."""
    cache_hour: int = 0
    """The part of what was written to the cache that the provider keeps for an hour, which costs more."""


OwnDialect = Literal["chat", "responses", "anthropic", "gemini", "ollama"]
"""How a request is written: OpenAI's chat completions and responses, Anthropic's messages, Gemini's contents, and
Ollama's chat."""
DialectName = str
"""One of these, or a plug-in's."""

Purpose = Literal["turn", "side", "sub-agent", "compaction"]
"""Why a request was made. `side`: titles, routing, counting; what the user did not ask for."""


class RequestPart(_Value, frozen=True):
    """A piece of a request as its client wrote it, kept once: requests name it by its hash."""

    hash: str
    value: Any


class Request(_Value, frozen=True):
    """What was really sent to a model. A `Usage` with its number reports on it. Without messages: only who and why."""

    dialect: DialectName
    model: str
    purpose: Purpose = "turn"
    agent: str = ""
    """Who sent it, if a session has several agents: the name or id of a sub-agent."""
    session: str = ""
    """The client's own id of the session."""
    parent: str = ""
    """The session or agent that started it."""
    system: str = ""
    """The hash of the system prompt as the body has it."""
    tools: str = ""
    """The hash of the list of tools."""
    base: int = 0
    """The event of an earlier request whose first messages this one repeats; 0: none."""
    keep: int = 0
    """How many of them."""
    messages: tuple[str, ...] = ()
    """The hashes of the messages after those, in order."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The other keys of the body, in order; None marks the position of the system prompt, tools and messages."""
    cache_marks: tuple[str, ...] = ()
    """Up to where the client asked the provider to cache: `system.1`, `tools.3` or `messages.7.0`, which is a block of
    a message; see `wire/parts`."""
    name: str = ""
    """What it was for, if more is known than the purpose: a title, counting, a kind of sub-agent."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """HTTP headers that are useful and not secret."""
    instead_of: int = 0
    """The event of the agent's own request that this one was sent in place of; 0: none."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is from a sub-agent with a log of its own: then its report says nothing about this log."""
        return self.purpose == "sub-agent" and not self.base and not self.messages


HoldEnd = Literal["as_it_was", "changed", "answered", "expired", "gone"]


class Hold(_Value, frozen=True):
    """A request that waited at a breakpoint, and how it went on."""

    request: int
    """The `Request` event of the agent."""
    rule: str
    """The breakpoint's rule."""
    why: str = ""
    took: int = 0
    """Milliseconds of waiting."""
    end: HoldEnd = "as_it_was"
    """Sent unchanged, sent changed, answered by hand, sent unchanged by the time limit, or given up by the agent."""


class RequestAnswer(_Value, frozen=True):
    """The response to a request as it came over the wire; its messages are events of their own."""

    request: int
    """The `Request` event."""
    status: int = 0
    """The HTTP status; 0: no response."""
    body: str = ""
    """The hash of the response; of a stream, of the one body assembled from it."""
    first: int | None = None
    """Milliseconds until the first byte."""
    took: int | None = None
    """Milliseconds until the last byte."""
    problem: str = ""
    """Why it is incomplete; empty if it is complete."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """HTTP headers that are useful and not secret."""


class Snapshot(_Value, frozen=True):
    """A state of the work tree, recorded before a tool wrote to it. Never sent."""

    commit: str
    root: str
    why: str = ""


CONTINUED_FROM: Final = "continued_from"
"""The setting that links a session to the one it continues, whose log the model can still read."""


ON_THE_WAY: Final = "policy on the way"
"""The setting of a proxy's session for the policy that its requests are sent under from here on, and what of it was
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
    """An event of a kind that this version does not know, kept unchanged."""

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


class Event(Struct, frozen=True, gc=False):
    """One immutable record of the log. A session may have a hundred thousand: each is small, and has no cycles."""

    seq: int
    """Order in the session, from 1, without gaps. The clock never decides the order."""
    id: str
    """Unique and sortable by age; markers, overrides and people refer to it."""
    at: int
    """Milliseconds since 1970, for people to read."""
    body: Body


def text_of(content: Content) -> str:
    """The readable text of a content; a picture or an unknown part becomes a short placeholder."""
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
