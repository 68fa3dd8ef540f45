"""Turns litellm's chunks into parts. Nothing here uses the network or litellm: chunks are read by their fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from msgspec import Struct, field

from workbench.models.failures import ModelFailure
from workbench.models.reply_parts import (
    CallPiece,
    Reason,
    ReplyFinished,
    ReplyPart,
    ReportedUsage,
    TextPiece,
    ThinkingPiece,
)

REASONS: dict[str, Reason] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "refused",
    "content_filtered": "refused",
    "refusal": "refused",
    "safety": "refused",
    "sensitive": "refused",
    "recitation": "refused",
    "prohibited_content": "refused",
    "guardrail_intervened": "refused",
}
"""By the provider's word, in lower case; any other word counts as `stop`."""

BROKEN = frozenset({"error", "network_error", "abort", "aborted", "insufficient_system_resource"})
"""Words that a provider sends if it could not finish, although it closes the stream properly."""


_MOST = 2**53
"""Every valid count of tokens and every valid price is below this; infinity and NaN are not."""


class _Call(Struct):
    """A tool call whose pieces are still arriving."""

    number: int
    call_id: str
    name: str = ""
    held: list[str] = field(default_factory=list)
    """Pieces of the arguments that arrived before the name; they are passed on together with it."""
    passed_on: bool = False
    """Whether its id and name have been passed on, which happens once."""


class ChunkReader:
    """Reads the chunks of one answer in order. It keeps state, because not every piece of a call names its call."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}
        """The call that a provider's index refers to now; some providers use one index for all their calls."""
        self._refused = False

    def parts(self, chunk: Any) -> list[ReplyPart]:
        """The parts that one chunk adds."""
        choices = _get(chunk, "choices")
        delta = _get(choices[0], "delta") if choices else None
        if delta is None:
            return []
        found: list[ReplyPart] = []
        thinking = _thinking(delta)
        if thinking is not None:
            found.append(thinking)
        content = _get(delta, "content")
        if content:
            found.append(TextPiece(content))
        refusal = _get(delta, "refusal")
        if refusal:
            self._refused = True
            found.append(TextPiece(refusal))
        for piece in _get(delta, "tool_calls") or ():
            fragment = self._fragment(piece)
            if fragment is not None:
                found.append(fragment)
        return found

    def finish(self, word: str | None, content_type: str = "") -> list[ReplyPart]:
        """The parts that the end adds. `word` is the provider's finish reason; without one, the stream is broken."""
        if not word or word.lower() in BROKEN:
            raise ModelFailure("broken_stream", how_it_broke(word, content_type))
        found: list[ReplyPart] = [self._pass_on(call, "") for call in self._calls if not call.passed_on]
        reason = REASONS.get(word.lower(), "stop")
        if reason == "stop" and self._refused:
            reason = "refused"
        elif reason == "stop" and self._calls:
            reason = "tool_calls"
        return [*found, ReplyFinished(reason)]

    def _fragment(self, piece: Any) -> CallPiece | None:
        """A piece of a call under our own number; None until the call's name is known."""
        function = _get(piece, "function")
        name, arguments = _get(function, "name") or "", _get(function, "arguments") or ""
        if not isinstance(arguments, str):
            return None
        call = self._call(_get(piece, "index"), _get(piece, "id") or "", name)
        if call.passed_on:
            return CallPiece(call.number, "", "", arguments) if arguments else None
        call.name = name
        if not name:
            call.held.append(arguments)
            return None
        return self._pass_on(call, arguments)

    def _call(self, index: int | None, call_id: str, name: str) -> _Call:
        """The call that a piece belongs to. A new id under a known index is a new call, if it comes with a name."""
        known = self._at.get(index) if index is not None else (self._calls[-1] if self._calls else None)
        if known is not None and not (call_id and name and known.passed_on and call_id != known.call_id):
            return known
        call = _Call(len(self._calls), call_id or f"call_{uuid4().hex[:12]}")
        self._calls.append(call)
        if index is not None:
            self._at[index] = call
        return call

    def _pass_on(self, call: _Call, arguments: str) -> CallPiece:
        call.passed_on = True
        return CallPiece(call.number, call.call_id, call.name, "".join([*call.held, arguments]))


def reported_usage(usages: Iterable[Any]) -> ReportedUsage | None:
    """The provider's report of the usage; None if it sent none.

    Some send it in two halves (Anthropic: the prompt first, the answer last), some repeatedly as it grows: the largest
    figure of each kind counts.
    """
    prompt = completion = cached = written = reasoning = 0
    cost: float | None = None
    for usage in usages:
        asked, made = _get(usage, "prompt_tokens_details"), _get(usage, "completion_tokens_details")
        prompt = max(prompt, _count(usage, "prompt_tokens"))
        completion = max(completion, _count(usage, "completion_tokens"))
        cached = max(cached, _count(asked, "cached_tokens"), _count(usage, "cache_read_input_tokens"))
        cached = max(cached, _count(usage, "prompt_cache_hit_tokens"))
        written = max(written, _count(asked, "cache_creation_tokens"), _count(usage, "cache_creation_input_tokens"))
        reasoning = max(reasoning, _count(made, "reasoning_tokens"))
        dollars = _get(usage, "cost")
        if isinstance(dollars, int | float) and not isinstance(dollars, bool) and 0 <= dollars < _MOST:
            cost = float(dollars)
    if not prompt and not completion:
        return None
    return ReportedUsage(prompt, completion, cached, written, reasoning, cost)


def coalesce_parts(parts: Iterable[ReplyPart]) -> list[ReplyPart]:
    """The same parts with neighbours of one kind joined: parts that arrived together are passed on together."""
    found: list[ReplyPart] = []
    texts: list[str] = []
    for part in parts:
        last = found[-1] if found else None
        if not (last is not None and _continues(last, part)):
            _join(found, texts)
            found.append(part)
        texts.append(part.arguments if isinstance(part, CallPiece) else getattr(part, "text", ""))
    _join(found, texts)
    return found


def _continues(last: ReplyPart, part: ReplyPart) -> bool:
    match last, part:
        case TextPiece(), TextPiece():
            return True
        case ThinkingPiece(_, ""), ThinkingPiece(_, ""):
            return True
        case CallPiece(), CallPiece():
            return last.number == part.number and not part.call_id
    return False


def _join(found: list[ReplyPart], texts: list[str]) -> None:
    """Give the last part all the text that was collected for it."""
    if len(texts) > 1:
        match found[-1]:
            case TextPiece():
                found[-1] = TextPiece("".join(texts))
            case ThinkingPiece():
                found[-1] = ThinkingPiece("".join(texts))
            case CallPiece() as call:
                found[-1] = call._replace(arguments="".join(texts))
    texts.clear()


def _thinking(delta: Any) -> ThinkingPiece | None:
    """Reasoning under any of its names; thinking blocks repeat the text and add the signature."""
    text = _get(delta, "reasoning_content") or _get(delta, "reasoning") or ""
    blocks = _get(delta, "thinking_blocks") or ()
    signature = "".join(_get(block, "signature") or "" for block in blocks)
    if not text:
        text = "".join(_get(block, "thinking") or "" for block in blocks)
    return ThinkingPiece(text, signature) if isinstance(text, str) and (text or signature) else None


def how_it_broke(word: str | None, content_type: str) -> str:
    """Why a stream is invalid or ended early, from the provider's finish reason and the answer's content type."""
    kind = content_type.partition(";")[0].strip().lower()
    if word:
        return f"the provider ended the answer with {word!r}."
    if kind == "text/html":
        return "the server sent a web page in place of an answer."
    if kind == "application/json":
        return "the server sent a single JSON document in place of a stream."
    return "the stream ended without a finish reason."


def _get(thing: Any, name: str) -> Any:
    """A field of a chunk, which is an object or a mapping, depending on its depth and its maker."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _count(thing: Any, name: str) -> int:
    value = _get(thing, name)
    return value if isinstance(value, int) and 0 < value < _MOST else 0
