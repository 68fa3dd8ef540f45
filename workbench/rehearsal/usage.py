"""The size of a request and its answer, counted with a tokenizer (very long messages by a sample); and how much of it a
provider would have had in its cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from workbench.context.compare import same_start
from workbench.models.catalogue import REHEARSAL, REHEARSAL_TOKENIZER
from workbench.models.families import STAND_IN
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


def rehearsal_tokenizer(model: str) -> TokenCounter:
    """Under its own name the rehearsal model counts with a table that loads quickly, otherwise as most models do."""
    return counter_named(REHEARSAL_TOKENIZER if model.partition("/")[0] == REHEARSAL else STAND_IN)


def prompt_segments(request: CheckedRequest) -> list[PromptSegment]:
    """The request from its beginning, as a provider's cache sees it: tools, then messages."""
    found, count = [], rehearsal_tokenizer(request.model)
    for tool in request.tools:
        definition = json.dumps(tool, ensure_ascii=False)
        found.append(PromptSegment(definition, count_tool(count, definition).tokens))
    if found:
        system = next((message.text for message in request.messages if message.role == "system"), None)
        found.append(PromptSegment("", count_tools_frame(count, system)))
    called = {call.call_id: call.tool for message in request.messages for call in message.calls}
    return found + [_segment(message, called, count) for message in request.messages]


def _segment(message: CheckedMessage, called: Mapping[str, str], count: TokenCounter) -> PromptSegment:
    author = count_author(count, called.get(message.call_id, "")) + count_name(count, message.name)
    tokens = MESSAGE + _size(message.text, count) + author
    written = [message.role, message.name, message.call_id, message.text]
    for call in message.calls:
        tokens += CALL + count_call(count, call.tool, call.arguments).tokens
        written += call
    for url, detail in message.images:
        tokens += image_tokens("", url, detail).tokens
        written += (url, detail)
    return PromptSegment("\0".join(written), tokens)


def _size(text: str, count: TokenCounter) -> int:
    if len(text) < LONG:
        return count.count(text).tokens
    step = len(text) // SAMPLES
    counted = sum(count.count(text[at : at + SAMPLE]).tokens for at in range(0, step * SAMPLES, step))
    return round(counted * len(text) / (SAMPLES * SAMPLE))


def prompt_tokens(parts: list[PromptSegment]) -> int:
    """The size of a request."""
    return sum(part.tokens for part in parts) + REPLY_PRIMING


def request_tokens(request: CheckedRequest) -> int:
    """The same, from the request."""
    return prompt_tokens(prompt_segments(request))


def cached_tokens(parts: list[PromptSegment], previous: list[PromptSegment], count: TokenCounter) -> int:
    """The longest beginning that was in the previous request too, in whole steps of the cache."""
    same = 0
    for now, then in zip(parts, previous, strict=False):
        if now == then:
            same += now.tokens
            continue
        same += min(count.count(now.text[: same_start(now.text, then.text)]).tokens, now.tokens)
        break
    return same // CACHE_STEP * CACHE_STEP


def completion_tokens(answer: WrittenAnswer, count: TokenCounter) -> tuple[int, int]:
    """The size of an answer, and how much of it is reasoning."""
    reasoning = count.count(answer.reasoning).tokens
    calls = sum(CALL + count_call(count, call.tool, call.arguments).tokens for call in answer.calls)
    return reasoning + count.count(answer.text).tokens + calls, reasoning


def rehearsed_usage(
    parts: list[PromptSegment], previous: list[PromptSegment], answer: WrittenAnswer, count: TokenCounter
) -> ReportedUsage:
    """The usage that the rehearsal model reports."""
    completion, reasoning = completion_tokens(answer, count)
    return ReportedUsage(prompt_tokens(parts), completion, cached_tokens(parts, previous, count), 0, reasoning)
