"""The meter: what contents, calls, markers and cuts cost under one policy and one tokenizer."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from workbench.context.budget import Limits
from workbench.context.cells import Cell
from workbench.context.policy import Policy
from workbench.context.stages import mask, normalise
from workbench.context.stages.truncate import Cut, Rule, rule_for, truncate
from workbench.log.events import Content, ImagePart, OtherPart, TextPart, ToolCall
from workbench.models.framing import count_call, count_name, tool_style
from workbench.models.images import image_tokens
from workbench.models.tokens import Count, TokenCounter

UNKNOWN_PART = Count(0, False)
"""Audio and files have no documented rule we could apply; they count nothing and make the count approximate."""


CUTS_REMEMBERED = 1_000

_Cuts = dict[tuple[str, Rule, str], Cut | None]
_CUTS: WeakKeyDictionary[TokenCounter, _Cuts] = WeakKeyDictionary()
"""Kept as long as their counter is: planning the same log again, under the same cap, cuts the same texts."""


class Meter:
    """Counts on behalf of one plan."""

    def __init__(self, policy: Policy, limits: Limits, counter: TokenCounter, model: str, provider: str) -> None:
        self.policy = policy
        self.limits = limits
        self.counter = counter
        self.text = counter.count
        self.style = tool_style(provider)
        self._model = model
        self._rules: dict[str, Rule] = {}
        self._cuts = _CUTS.setdefault(counter, {})
        self.no_result = counter.count(normalise.NO_RESULT)
        """What a synthetic result costs."""

    def content(self, content: Content) -> Count:
        """A message's content: its text by the tokenizer, its pictures by the provider's rule."""
        if type(content) is str:
            return self.text(content)
        total, exact = 0, True
        for part in content:
            match part:
                case TextPart(text):
                    count = self.text(text)
                case ImagePart(url, detail):
                    count = image_tokens(self._model, url, detail)
                case OtherPart():
                    count = UNKNOWN_PART
            total, exact = total + count.tokens, exact and count.exact
        return Count(total, exact)

    def call(self, cell: Cell, body: ToolCall) -> None:
        """Count a call: its name and its arguments, made sound."""
        sent, note = normalise.sound_arguments(body.arguments)
        cell.count = count_call(self.counter, body.tool, sent)
        if sent != body.arguments:
            cell.whole = count_call(self.counter, body.tool, body.arguments)
            cell.changed, cell.note = sent, note

    def name(self, name: str) -> int:
        """What the name of a message's author adds to its framing."""
        return count_name(self.counter, name) if name else 0

    def cut(self, cell: Cell) -> Cut | None:
        """A tool result over its cap."""
        tool = cell.tool or ""
        rule = self._rules.get(tool)
        if rule is None:
            rule = self._rules[tool] = rule_for(self.policy.truncation, tool, self.limits.window)
        if rule.strategy == "none" or (rule.strategy != "lines" and cell.tokens <= rule.max_tokens):
            return None
        key = (cell.text, rule, cell.id)
        if key not in self._cuts:
            if len(self._cuts) >= CUTS_REMEMBERED:
                self._cuts.clear()
            self._cuts[key] = truncate(cell.text, cell.tokens, rule, self.counter, cell.id)
        return self._cuts[key]

    def kept(self, cell: Cell, text: str) -> Cut:
        """A message that a compaction kept in part."""
        tokens, exact = self.text(text)
        return Cut(text, tokens, exact, f"kept in part by a compaction: {tokens:,} of {cell.tokens:,} tokens")

    def set_mask(self, cell: Cell) -> None:
        """Write down what a cell costs when it is masked."""
        if not cell.mask_tokens:
            cell.mask_tokens = self.text(mask.marker(cell.original_tokens, cell.id, cell.kind)).tokens

    def mask_window(self) -> mask.MaskWindow:
        """A fresh account of the results that are masked."""
        return mask.MaskWindow(self.policy.masking, self.limits.window)

    def fill_in(self, cell: Cell, text: str) -> None:
        """Give an empty cell something to send."""
        cell.changed, cell.whole = text, cell.count
        cell.count = self.text(text)
        cell.note = f"{normalise.BLANK}; sent as {text!r}"
