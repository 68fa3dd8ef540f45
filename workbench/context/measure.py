"""The meter: what contents, calls, markers and cuts cost with one policy and one tokenizer."""

from __future__ import annotations

import json
import re
from copy import copy
from dataclasses import replace
from weakref import WeakKeyDictionary

from workbench.context.budget import Limits, slot_guidance
from workbench.context.cells import Cell
from workbench.context.items import Kind
from workbench.context.load import RECORDED
from workbench.context.policy import Policy
from workbench.context.stages import mask, normalise
from workbench.context.stages.chat_form import chat_parts
from workbench.context.stages.history import resident_limit
from workbench.context.stages.truncate import TruncatedText, TruncationRule, fitting_parts, rule_for, truncate_result
from workbench.log.events import Content, ImagePart, OtherPart, Part, TextPart, ToolCall, text_of
from workbench.models.framing import CALL, MESSAGE, count_author, count_call, count_name, tool_style
from workbench.models.images import image_tokens
from workbench.models.tokens import Count, TokenCounter

_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]{256,}")
"""Audio and files as base64: no provider counts their letters, and no documented rule exists that we could apply."""


CUTS_REMEMBERED = 1_000

CALLS_REMEMBERED = 1 << 16
_SHORT = 2_000
"""Calls with shorter arguments are remembered: they are many, and the same log is planned again and again."""

_Cuts = dict[tuple[str, TruncationRule, str], tuple[TruncatedText | None]]
_CUTS: WeakKeyDictionary[TokenCounter, _Cuts] = WeakKeyDictionary()
"""Kept as long as their counter: planning the same log again, with the same cap, cuts the same texts.

All threads share them, and any may clear them at any time. So an entry is read once, without a check before.
"""
_Calls = dict[tuple[str, str], tuple[Count, str, str]]
_CALLS: WeakKeyDictionary[TokenCounter, _Calls] = WeakKeyDictionary()
"""Of a tool's name and arguments: what the call costs as it is sent, the arguments that are sent, and what was changed
in them. Shared and cleared like the cuts."""


def framing_tokens(kind: Kind, begins: bool, author: int, times: float) -> int:
    """The tokens around one item; `times`: the provider's factor on the documented framing."""
    return round((MESSAGE * begins + author + CALL * (kind == "tool_call")) * times)


class Meter:
    """Counts tokens for one plan."""

    def __init__(self, policy: Policy, limits: Limits, counter: TokenCounter, model: str, provider: str) -> None:
        self.policy = policy
        self.limits = limits
        self.counter = counter
        self.text = counter.quick_count
        self.style = tool_style(provider)
        self.is_record = policy.name == RECORDED
        """Whether the plan is a record of what another agent sent."""
        self.sends_thinking = False
        """Whether thinking is part of the request, as in a request that was recorded in full."""
        self.sends_own_tools = False
        """Whether tools are sent as they are described, also those that a provider runs."""
        self._model = model
        self._rules: dict[str, TruncationRule] = {}
        self._cuts = _CUTS.setdefault(counter, {})
        self._calls = _CALLS.setdefault(counter, {})
        self.no_result = counter.count(normalise.NO_RESULT)
        """The cost of a synthetic result."""
        self.resident = resident_limit(policy.history, limits.window, limits.window_source != "guess")
        """How many messages of history may be kept."""
        self.guidance = slot_guidance(policy.budget, limits.window)
        self._authors: dict[str, int] = {}
        self._around: dict[tuple[bool, bool, int], int] = {}
        self._around_results: dict[str | None, int] = {}
        self.around_message = self.framing("message", True)
        """The framing of an item that is its own message: a summary or a notice."""
        self.around_call = self.framing("tool_call", False), self.framing("tool_call", True)
        """The framing of a call that does not begin its message, and of one that does."""

    def meter_under(self, policy: Policy, limits: Limits) -> Meter:
        """The same counts and cuts with other rules for compactions, and other tokens outside the log."""
        made = copy(self)
        made.policy, made.limits = policy, limits
        return made

    def framing(self, kind: Kind, begins: bool, author: int = 0) -> int:
        """The tokens around one item: of the message that it begins, of its author's name, and of a call."""
        key = (kind == "tool_call", begins, author)
        found = self._around.get(key)
        if found is None:
            found = self._around[key] = framing_tokens(kind, begins, author, self.counter.framing)
        return found

    def count_content(self, content: Content) -> Count:
        """Count a message's content: text with the tokenizer, pictures by the provider's rule."""
        if type(content) is str:
            return self.text(content)
        total, exact = 0, True
        for part in content:
            match part:
                case TextPart(text):
                    count = self.text(text)
                case ImagePart(url, detail):
                    count = image_tokens(self._model, url, detail)
                case OtherPart(data):
                    count = Count(self.text(_ENCODED.sub("", json.dumps(data, ensure_ascii=False))).tokens, False)
            total, exact = total + count.tokens, exact and count.exact
        return Count(total, exact)

    def count_call(self, cell: Cell, body: ToolCall) -> None:
        """Count a call: its name and its arguments, as valid JSON."""
        key = (body.tool, body.arguments)
        found = self._calls.get(key)
        if found is None:
            sent, note = normalise.sound_arguments(body.arguments)
            found = count_call(self.counter, body.tool, sent), sent, note
            if len(self._calls) >= CALLS_REMEMBERED:
                self._calls.clear()
            if len(body.arguments) < _SHORT:
                self._calls[key] = found
        (cell.tokens, cell.exact), sent, note = found
        if note:
            cell.whole = count_call(self.counter, body.tool, body.arguments).tokens
            cell.changed, cell.note = sent, note

    def author(self, cell: Cell) -> int:
        """What the author of a message, or the tool of a result, adds to its framing."""
        return self.tool_author(cell) if cell.kind == "tool_result" else count_name(self.counter, cell.name)

    def tool_author(self, cell: Cell) -> int:
        """Like `author`, for the result of a call, or for the call that it answers."""
        tool = cell.tool or ""
        found = self._authors.get(tool)
        if found is None:
            found = self._authors[tool] = count_author(self.counter, tool)
        return found

    def around_result(self, cell: Cell) -> int:
        """The tokens around the result of a call; `cell` is the result, or the call if it has none."""
        found = self._around_results.get(cell.tool)
        if found is None:
            found = self._around_results[cell.tool] = self.framing("tool_result", True, self.tool_author(cell))
        return found

    def cut_result(self, cell: Cell) -> TruncatedText | None:
        """Cut a tool result that is over its cap; None if it is not."""
        tool = cell.tool or ""
        rule = self._rules.get(tool)
        if rule is None:
            rule = self._rules[tool] = rule_for(self.policy.truncation, tool, self.limits.window)
        if rule.strategy == "none" or (rule.strategy != "lines" and cell.tokens <= rule.max_tokens):
            return None
        content = cell.content
        if isinstance(content, str) or all(isinstance(part, TextPart) for part in content):
            return self._remembered(cell.text, cell.tokens, rule, cell.id)
        return self._cut_parts(content, rule, cell.id)

    def cut_to(self, cell: Cell, cap: int) -> TruncatedText | None:
        """Cut a tool result to so many tokens, with the tool's own strategy if that counts tokens; None if it fits."""
        strategy = rule_for(self.policy.truncation, cell.tool or "", self.limits.window).strategy
        strategy = strategy if strategy in ("head", "tail") else "both"
        rule = TruncationRule(strategy, cap, 0, 0, 0, 0, False)
        content = cell.content
        if isinstance(content, str) or all(isinstance(part, TextPart) for part in content):
            return self._remembered(cell.text, cell.tokens, rule, cell.id)
        return self._cut_parts(content, rule, cell.id)

    def _remembered(self, text: str, tokens: int, rule: TruncationRule, item_id: str) -> TruncatedText | None:
        key = (text, rule, item_id)
        found = self._cuts.get(key)
        if found is None:
            found = (truncate_result(text, tokens, rule, self.counter, item_id),)
            if len(self._cuts) >= CUTS_REMEMBERED:
                self._cuts.clear()
            self._cuts[key] = found
        return found[0]

    def _cut_parts(self, content: tuple[Part, ...], rule: TruncationRule, item_id: str) -> TruncatedText | None:
        """Cut a result of several parts: pictures and the like stay whole or go, text gets what they leave."""
        text = "\n".join(part.text for part in content if isinstance(part, TextPart) and part.text.strip())
        size = self.text(text).tokens
        others = [part for part in content if not isinstance(part, TextPart)]
        why, note = "", ""
        if rule.strategy != "lines":
            cap = rule.max_tokens
            sizes = [self.count_content((part,)).tokens for part in others]
            room = cap - min(size, cap // 2) - MESSAGE * bool(others)
            count, note = fitting_parts(sizes, room, self.counter, item_id)
            why = f"pictures and files of {sum(sizes):,} tokens are over the cap of {cap:,}" if note else ""
            left = cap - sum(sizes[:count]) - self.text(note).tokens - MESSAGE * bool(count)
            others, note = others[:count], note if left or not text else ""
            rule = replace(rule, max_tokens=max(1, left))
        cut = self._remembered(text, size, rule, item_id) if text else None
        if cut is None and not why:
            return None
        kept = text if cut is None else cut.text
        parts = (*([TextPart(kept)] if kept else ()), *others, *([TextPart(note)] if note else ()))
        tokens, exact = self._result(parts)
        return TruncatedText(
            text_of(parts), tokens, exact, "; ".join(filter(None, (cut.why if cut else "", why))), parts
        )

    def kept_part(self, cell: Cell, text: str) -> TruncatedText:
        """A message that a compaction kept in part."""
        tokens, exact = self.text(text)
        return TruncatedText(text, tokens, exact, "")

    def set_mask(self, cell: Cell, text: str = "") -> None:
        """Set what a cell costs when it is masked, by our marker or by another text."""
        if text or not cell.mask_tokens:
            cell.mask_tokens = self.text(text or mask.mask_marker(cell.original_tokens, cell.id, cell.kind)).tokens

    def mask_window(self) -> mask.MaskWindow:
        """A new mask window for this policy."""
        return mask.MaskWindow(self.policy.masking, self.limits.window)

    def put_in_chat_form(self, cell: Cell) -> None:
        """Convert a cell's parts to what a chat API accepts; recorded ones stay as they were sent."""
        content = cell.event_content
        if isinstance(content, str) or self.is_record:
            return
        sent, note = chat_parts(content, cell.role)
        if not note:
            return
        cell.note, cell.whole = note, cell.tokens
        if sent != content:
            cell.changed = sent
        cell.tokens, cell.exact = self.count_content(sent) if cell.role != "tool" else self._result(sent)

    def _result(self, content: tuple[Part, ...]) -> Count:
        """Count a result's content, with the message for its pictures."""
        tokens, exact = self.count_content(content)
        return Count(tokens + MESSAGE * any(isinstance(part, ImagePart) for part in content), exact)

    def fill_in(self, cell: Cell, text: str) -> None:
        """Give an empty cell something to send."""
        cell.changed, cell.whole = text, cell.tokens
        cell.tokens, cell.exact = self.text(text)
        cell.note = f"{normalise.BLANK}; sent as {text!r}"
