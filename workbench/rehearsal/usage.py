"""The size of a request and its answer, counted in o200k (very long messages by a sample); and how much of it a
provider would have had in its cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from workbench.context.compare import same_start
from workbench.models.framing import (
    CALL,
    MESSAGE,
    REPLY_PRIMING,
    count_author,
    count_call,
    count_name,
    count_tool,
    count_tools_frame,
)
from workbench.models.images import image_tokens
from workbench.models.reply_parts import ReportedUsage
from workbench.models.tokens import TokenCounter, counter_named
from workbench.wire.answers import WrittenAnswer
from workbench.wire.checked_requests import CheckedMessage, CheckedRequest

CACHE_STEP = 128
"""Providers cache prefixes in steps of this many tokens."""

LONG = 200_000
"""From this many characters on, a message is only sampled: those of a long compaction have many millions."""
SAMPLES, SAMPLE = 25, 2_000
"""How many samples of such a message are counted, and their characters."""


class PromptSegment(NamedTuple):
    """A part of the request, compared with the next request."""

    text: str
    tokens: int


def rehearsal_tokenizer() -> TokenCounter:
    """The rehearsal model's own tokenizer."""
    return counter_named("o200k_base")


def prompt_segments(request: CheckedRequest) -> list[PromptSegment]:
    """The request from its beginning, as a provider's cache sees it: tools, then messages."""
    found = []
    for tool in request.tools:
        definition = json.dumps(tool, ensure_ascii=False)
        found.append(PromptSegment(definition, count_tool(rehearsal_tokenizer(), definition).tokens))
    if found:
        system = next((message.text for message in request.messages if message.role == "system"), None)
        found.append(PromptSegment("", count_tools_frame(rehearsal_tokenizer(), system)))
    called = {call.call_id: call.tool for message in request.messages for call in message.calls}
    return found + [_segment(message, called) for message in request.messages]


def _segment(message: CheckedMessage, called: Mapping[str, str]) -> PromptSegment:
    count = rehearsal_tokenizer()
    author = count_author(count, called.get(message.call_id, "")) + count_name(count, message.name)
    tokens = MESSAGE + _size(message.text) + author
    written = [message.role, message.name, message.call_id, message.text]
    for call in message.calls:
        tokens += CALL + count_call(count, call.tool, call.arguments).tokens
        written += call
    for url, detail in message.images:
        tokens += image_tokens("", url, detail).tokens
        written += (url, detail)
    return PromptSegment("\0".join(written), tokens)


def _size(text: str) -> int:
    if len(text) < LONG:
        return rehearsal_tokenizer().count(text).tokens
    step = len(text) // SAMPLES
    counted = sum(rehearsal_tokenizer().count(text[at : at + SAMPLE]).tokens for at in range(0, step * SAMPLES, step))
    return round(counted * len(text) / (SAMPLES * SAMPLE))


def prompt_tokens(parts: list[PromptSegment]) -> int:
    """The size of a request."""
    return sum(part.tokens for part in parts) + REPLY_PRIMING


def request_tokens(request: CheckedRequest) -> int:
    """The same, from the request."""
    return prompt_tokens(prompt_segments(request))


def cached_tokens(parts: list[PromptSegment], previous: list[PromptSegment]) -> int:
    """The longest beginning that was in the previous request too, in whole steps of the cache."""
    same = 0
    for now, then in zip(parts, previous, strict=False):
        if now == then:
            same += now.tokens
            continue
        same += min(rehearsal_tokenizer().count(now.text[: same_start(now.text, then.text)]).tokens, now.tokens)
        break
    return same // CACHE_STEP * CACHE_STEP


def completion_tokens(answer: WrittenAnswer) -> tuple[int, int]:
    """The size of an answer, and how much of it is reasoning."""
    count = rehearsal_tokenizer()
    reasoning = count.count(answer.reasoning).tokens
    calls = sum(CALL + count_call(count, call.tool, call.arguments).tokens for call in answer.calls)
    return reasoning + count.count(answer.text).tokens + calls, reasoning


def rehearsed_usage(parts: list[PromptSegment], previous: list[PromptSegment], answer: WrittenAnswer) -> ReportedUsage:
    """The usage that the rehearsal model reports."""
    completion, reasoning = completion_tokens(answer)
    return ReportedUsage(prompt_tokens(parts), completion, cached_tokens(parts, previous), 0, reasoning)
