"""The meter: what contents, calls, markers and cuts cost with one policy and one tokenizer."""

from __future__ import annotations

import json
import re
from copy import copy
from weakref import WeakKeyDictionary, ref

from msgspec import Struct

from workbench.config.values import replace
from workbench.context.budget import Limits, slot_guidance
from workbench.context.cells import Cell
from workbench.context.items import Kind
from workbench.context.policy import NO_LIMIT, Policy
from workbench.context.policy_names import RECORDED
from workbench.context.stages import mask, normalise
from workbench.context.stages.chat_form import chat_parts
from workbench.context.stages.history import NO_CAP, history_notice, resident_limit
from workbench.context.stages.truncate import TruncatedText, TruncationRule, fitting_parts, rule_for, truncate_result
from workbench.log.events import Content, ImagePart, OtherPart, Part, TextPart, text_of
from workbench.models.framing import CALL, MESSAGE, count_author, count_call, count_name, tool_style
from workbench.models.images import image_tokens
from workbench.models.tokens import TokenCount, TokenCounter

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


class CallCount(Struct, frozen=True, gc=False):
    """What a call costs as it is sent."""

    tokens: int
    exact: bool
    note: str
    """What was changed in its arguments; empty if nothing."""
    changed: str | None
    """The arguments that are sent in place of its own."""
    whole: int | None
    """What it costs with its own arguments, if they are changed."""


class _Calls(dict[tuple[str, str], CallCount]):
    """The counts of calls by the tool's name and the arguments. One that is not in memory is counted when it is asked
    for. Shared and cleared like the cuts."""

    def __init__(self, counter: TokenCounter) -> None:
        super().__init__()
        self._counter = ref(counter)

    def __missing__(self, key: tuple[str, str]) -> CallCount:
        counter, (tool, arguments) = self._counter(), key
        assert counter is not None, "the counter of these calls is gone"
        sent, note = normalise.sound_arguments(arguments)
        count = count_call(counter, tool, sent)
        whole = count_call(counter, tool, arguments).tokens if note else None
        found = CallCount(count.tokens, count.exact, note, sent if note else None, whole)
        if len(self) >= CALLS_REMEMBERED:
            self.clear()
        if len(arguments) < _SHORT:
            self[key] = found
        return found


_CALLS: WeakKeyDictionary[TokenCounter, _Calls] = WeakKeyDictionary()


class CuttingRules(Struct, frozen=True):
    """What a policy says about leaving out what is old."""

    fits: bool
    """Whether history is cut to the room that is left."""
    cap: int
    """The most tokens of history."""
    resident: int
    """The most messages of history."""
    notice: bool
    drop_groups: bool
    turn_first: bool
    """Whether the turn gets its room before history does."""


def _cutting_rules(policy: Policy, limits: Limits) -> CuttingRules:
    past, drop_groups = policy.history, policy.turn.drop_groups
    fits = past.mode == "fit"
    cap = past.max_tokens if fits and past.max_tokens else NO_CAP
    resident = resident_limit(past, limits.window, limits.window_source != "guess")
    return CuttingRules(fits, cap, resident, past.notice, drop_groups, past.turn_first or not drop_groups)


class ResultRule(Struct, frozen=True, gc=False):
    """What is the same for all results of a tool."""

    around: int
    """The tokens around one, which begins its message."""
    uncut: int
    """One with at most so many tokens is never cut; -1: that depends on its text."""


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
        self.sends_own_parts = False
        """Whether parts of messages are sent as they came, also such as only one provider takes."""
        self._model = model
        self._cuts = _CUTS.setdefault(counter, {})
        self.call = _CALLS.setdefault(counter, _Calls(counter)).__getitem__
        """What a call costs, by the tool's name and the arguments."""
        self.no_result = counter.count(normalise.NO_RESULT)
        """The cost of a synthetic result."""
        self.cutting = _cutting_rules(policy, limits)
        self._notices: dict[int, TokenCount] = {}
        """The widest notice for a number of so many digits."""
        self.guidance = slot_guidance(policy.budget, limits.window)
        self._around: dict[tuple[bool, bool, int], int] = {}
        self.result_rules: dict[str | None, ResultRule] = {}
        """By tool, as far as `result_rule` was asked."""
        self.around_message = self.framing("message", True)
        """The framing of an item that is its own message: a summary or a notice."""
        self.around_text = self.framing("message", False), self.around_message
        """The framing of a text without a name that does not begin its message, and of one that does."""
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

    def notice(self, count: int) -> TokenCount:
        """The count of the notice that so many messages are left out."""
        is_alike = count > 1 and self.counter.even_digits
        return self.widest_notice(count) if is_alike else self.text(history_notice(count))

    def widest_notice(self, count: int) -> TokenCount:
        """The most that a notice can cost whose number has no more digits than `count`."""
        digits = len(str(count))
        return self._notices.get(digits) or self._notices.setdefault(digits, self.text(history_notice(10**digits - 1)))

    def count_content(self, content: Content) -> TokenCount:
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
                    count = TokenCount(self.text(_ENCODED.sub("", json.dumps(data, ensure_ascii=False))).tokens, False)
            total, exact = total + count.tokens, exact and count.exact
        return TokenCount(total, exact)

    def author(self, cell: Cell) -> int:
        """What the author of a message, or the tool of a result, adds to its framing."""
        if cell.kind == "tool_result":
            return count_author(self.counter, cell.tool or "")
        return count_name(self.counter, cell.name)

    def around_result(self, cell: Cell) -> int:
        """The tokens around the result of a call; `cell` is the result, or the call if it has none."""
        return self.result_rule(cell.tool).around

    def result_rule(self, tool: str | None) -> ResultRule:
        """What is the same for all results of a tool."""
        found = self.result_rules.get(tool)
        if found is None:
            around = self.framing("tool_result", True, count_author(self.counter, tool or ""))
            cap = self._rule(tool)
            uncut = {"none": NO_LIMIT, "lines": -1}.get(cap.strategy, cap.max_tokens)
            found = self.result_rules[tool] = ResultRule(around, uncut)
        return found

    def _rule(self, tool: str | None) -> TruncationRule:
        return rule_for(self.policy.truncation, tool or "", self.limits.window)

    def cut_result(self, cell: Cell) -> TruncatedText | None:
        """Cut a tool result that is over its cap; None if it is not."""
        if cell.tokens <= self.result_rule(cell.tool).uncut:
            return None
        rule, content = self._rule(cell.tool), cell.content
        if isinstance(content, str) or all(isinstance(part, TextPart) for part in content):
            return self._remembered(cell.text, cell.tokens, rule, cell.id)
        return self._cut_parts(content, rule, cell.id)

    def cut_to(self, cell: Cell, cap: int) -> TruncatedText | None:
        """Cut a tool result to so many tokens, with the tool's own strategy if that counts tokens; None if it fits."""
        strategy = self._rule(cell.tool).strategy
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
        counted = self._result(parts)
        whys = "; ".join(filter(None, (cut.why if cut else "", why)))
        return TruncatedText(text_of(parts), counted.tokens, counted.exact, whys, parts)

    def kept_part(self, cell: Cell, text: str) -> TruncatedText:
        """A message that a compaction kept in part."""
        count = self.text(text)
        return TruncatedText(text, count.tokens, count.exact, "")

    def set_mask(self, cell: Cell, text: str = "") -> None:
        """Set what a cell costs when it is masked, by our marker or by another text."""
        if text or not cell.mask_tokens:
            cell.mask_tokens = self.text(text or mask.mask_marker(cell.original_tokens, cell.id, cell.kind)).tokens

    def mask_window(self) -> mask.MaskWindow:
        """A new mask window for this policy."""
        return mask.MaskWindow(self.policy.masking, self.limits.window)

    def normalise_content(self, cell: Cell, if_blank: str) -> int:
        """Give a cell what every provider accepts, in place of parts or of nothing; returns what that costs."""
        if normalise.is_blank(cell.event_content):
            self._fill_in(cell, if_blank)
        else:
            self.put_in_chat_form(cell)
        return cell.tokens

    def put_in_chat_form(self, cell: Cell) -> None:
        """Convert a cell's parts to what a chat API accepts; recorded ones stay as they were sent."""
        content = cell.event_content
        if isinstance(content, str) or self.is_record or self.sends_own_parts:
            return
        sent, note = chat_parts(content, cell.role)
        if not note:
            return
        cell.note, cell.whole = note, cell.tokens
        if sent != content:
            cell.changed = sent
        _set_count(cell, self.count_content(sent) if cell.role != "tool" else self._result(sent))

    def _result(self, content: tuple[Part, ...]) -> TokenCount:
        """Count a result's content, with the message for its pictures."""
        count = self.count_content(content)
        return TokenCount(count.tokens + MESSAGE * any(isinstance(part, ImagePart) for part in content), count.exact)

    def _fill_in(self, cell: Cell, text: str) -> None:
        """Give an empty cell something to send."""
        cell.changed, cell.whole = text, cell.tokens
        _set_count(cell, self.text(text))
        cell.note = f"{normalise.BLANK}; sent as {text!r}"


def _set_count(cell: Cell, count: TokenCount) -> None:
    cell.tokens, cell.exact = count.tokens, count.exact
