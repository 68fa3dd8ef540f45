"""The meter: what contents, calls, markers and cuts cost under one policy and one tokenizer."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from workbench.context.budget import Limits
from workbench.context.cells import Cell, Counted
from workbench.context.items import Kind
from workbench.context.policy import Policy
from workbench.context.stages import mask, normalise
from workbench.context.stages.truncate import Cut, Rule, rule_for, truncate
from workbench.log.events import (
    Body,
    Content,
    Failure,
    ImagePart,
    OtherPart,
    Reasoning,
    Snapshot,
    TextPart,
    ToolCall,
    Unknown,
    Usage,
    text_of,
)
from workbench.models.framing import count_call, count_name, tool_style
from workbench.models.images import image_tokens
from workbench.models.tokens import Count, TokenCounter

OTHER_PART_TOKENS = 0
"""Audio and files have no documented rule we could apply; they count nothing and make the count approximate."""


class CountedCall(NamedTuple):
    """A call with its arguments as they are sent."""

    counted: Counted
    original_tokens: int
    note: str


@lru_cache(maxsize=512)
def _truncate(text: str, tokens: int, rule: Rule, counter: TokenCounter, item_id: str) -> Cut | None:
    """Cuts are remembered: planning the same log again, under the same cap, cuts the same texts."""
    return truncate(text, tokens, rule, counter, item_id)


class Meter:
    """Counts on behalf of one plan."""

    def __init__(self, policy: Policy, limits: Limits, counter: TokenCounter, model: str, provider: str) -> None:
        self.policy = policy
        self.limits = limits
        self.counter = counter
        self._count = counter.count
        self._model = model
        self.style = tool_style(provider)
        self._rules: dict[str, Rule] = {}
        self.no_result = counter.count(normalise.NO_RESULT).tokens

    def content(self, content: Content) -> Counted:
        """A message's content: its text by the tokenizer, its pictures by the provider's rule."""
        if isinstance(content, str):
            return Counted(content, content, *self._count(content))
        total, exact = 0, True
        for part in content:
            match part:
                case TextPart(text):
                    count = self.counter.count(text)
                case ImagePart(url, detail):
                    count = image_tokens(self._model, url, detail)
                case OtherPart():
                    count = Count(OTHER_PART_TOKENS, False)
            total, exact = total + count.tokens, exact and count.exact
        return Counted(content, text_of(content), total, exact)

    def text(self, text: str) -> Counted:
        """A plain text."""
        return Counted(text, text, *self.counter.count(text))

    def call(self, body: ToolCall) -> CountedCall:
        """A call: its name and its arguments."""
        sent, note = normalise.sound_arguments(body.arguments)
        tokens, exact = count_call(self.counter, body.tool, sent)
        original = tokens if sent == body.arguments else count_call(self.counter, body.tool, body.arguments).tokens
        return CountedCall(Counted(sent, sent, tokens, exact), original, note)

    def name(self, name: str) -> int:
        """What the name of a message's author adds to its framing."""
        return count_name(self.counter, name)

    def cut(self, cell: Cell) -> Cut | None:
        """A tool result over its cap."""
        tool = cell.tool or ""
        rule = self._rules.get(tool)
        if rule is None:
            rule = self._rules[tool] = rule_for(self.policy.truncation, tool, self.limits.window)
        if rule.strategy == "none" or (rule.strategy != "lines" and cell.tokens <= rule.max_tokens):
            return None
        return _truncate(cell.text, cell.tokens, rule, self.counter, cell.id)

    def kept(self, cell: Cell, text: str) -> Cut:
        """A message that a compaction kept in part."""
        tokens, exact = self.counter.count(text)
        return Cut(text, tokens, exact, f"kept in part by a compaction: {tokens:,} of {cell.tokens:,} tokens")

    def set_mask(self, cell: Cell) -> None:
        """Write down what a cell costs when it is masked."""
        if not cell.mask_tokens:
            what = "result" if cell.kind == "tool_result" else "message"
            cell.mask_tokens = self.counter.count(mask.marker(cell.original_tokens, cell.id, what)).tokens

    def mask_window(self) -> mask.MaskWindow:
        """A fresh account of the results that are masked."""
        return mask.MaskWindow(self.policy.masking, self.limits.window)

    def fill_in(self, cell: Cell, text: str) -> None:
        """Give an empty cell something to send."""
        cell.content = cell.text = text
        cell.tokens, cell.exact = self.counter.count(text)
        cell.note = f"{normalise.BLANK}; sent as {text!r}"

    def aside(self, body: Body) -> Counted:
        """What is kept for reading only."""
        if isinstance(body, Reasoning):
            return self.text(body.text)
        return Counted("", describe(body), 0, True)

    @staticmethod
    def aside_kind(body: Body) -> tuple[Kind, str | None]:
        """The kind and role that an aside shows."""
        return ("reasoning", "assistant") if isinstance(body, Reasoning) else ("aside", None)


def describe(body: Body) -> str:
    """One line about an event that is not part of the conversation."""
    match body:
        case Usage():
            prompt = "not reported" if body.prompt is None else f"{body.prompt:,}"
            return f"usage: prompt {prompt}, cached {body.cached:,}, completion {body.completion:,} ({body.model})"
        case Snapshot():
            return f"snapshot {body.commit[:12]} of {body.root}"
        case Failure():
            return f"error ({body.category}): {body.message}"
        case Unknown():
            return f"an event of the unknown kind {body.kind!r}"
        case _:
            return type(body).__name__
