"""Breakpoints: short rules that say which requests to hold.

The rules for a tool, a text and an error only look at what is new since the last request of the conversation.
Otherwise a request would be held for something old. Tokens and their share of the window are those of the whole
request.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple

from workbench.config.errors import WrongCall
from workbench.wire.rewriting import BodyItem

RuleKind = Literal["every", "tokens", "share", "tool", "text", "agent", "error"]

FORMS: Final = {
    "every": "every request",
    "tokens>50000": "more tokens than that",
    "share>80%": "more than that share of the model's window",
    "tool:Bash": "a new call or result of that tool; * stands for any letters",
    "text:some words": "new messages, calls or results with these words",
    "agent:claude": "the name of the agent contains this; agent:sub-agent: any sub-agent",
    "error": "a new result of a tool that failed, or the provider refused the last request",
}
"""The forms of a rule, and what each one holds."""
_NUMBER = re.compile(r"(tokens|share)\s*>\s*(\d[\d,_]*(?:\.\d+)?)\s*(k|%)?", re.IGNORECASE)
_NAMED = re.compile(r"(tool|text|agent):\s*(\S.*)", re.IGNORECASE | re.DOTALL)
_ASIDE: Final = frozenset(("system", "tool"))
"""Kinds of items that are not part of the conversation."""
_MODELS: Final = frozenset(("assistant", "reasoning", "call"))


class BreakRule(NamedTuple):
    kind: RuleKind
    value: str = ""
    """A tool's or an agent's name, or a text."""
    limit: float = 0
    """A number of tokens, or a share between 0 and 1."""

    def __str__(self) -> str:
        match self.kind:
            case "tokens":
                return f"tokens>{self.limit:.0f}"
            case "share":
                return f"share>{self.limit * 100:g}%"
            case "every" | "error":
                return self.kind
        return f"{self.kind}:{self.value}"

    @property
    def counts(self) -> bool:
        """Whether the rule needs the number of tokens."""
        return self.kind in ("tokens", "share")


def parse_rule(text: str) -> BreakRule:
    """Parse a rule. Raises WrongCall."""
    rule = text.strip()
    if rule.lower() == "every":
        return BreakRule("every")
    if rule.lower() == "error":
        return BreakRule("error")
    if found := _NAMED.fullmatch(rule):
        return BreakRule(found[1].lower(), " ".join(found[2].split()))  # type: ignore[arg-type]  # see the pattern
    if found := _NUMBER.fullmatch(rule):
        return _limit(rule, found[1].lower(), Decimal(found[2].replace(",", "").replace("_", "")), found[3] or "")
    raise WrongCall(f"{rule or 'nothing'}: expected a breakpoint such as {', '.join(FORMS)}")


def _limit(rule: str, kind: str, number: Decimal, unit: str) -> BreakRule:
    """A rule with a limit. In decimal numbers 32.3k is a whole number of tokens; in binary ones it is not."""
    if kind == "share":
        if unit.lower() == "k" or number >= 100:
            raise WrongCall(f"{rule}: expected a share below 100 %, as in share>80%")
        return BreakRule("share", limit=float(number / 100 if unit == "%" or number >= 1 else number))
    if unit == "%":
        raise WrongCall(f"{rule}: expected a number of tokens, as in tokens>50000; for a share: share>80%")
    number *= 1000 if unit else 1
    if number > 10**12 or number != int(number):
        raise WrongCall(f"{rule}: expected a whole number of tokens, as in tokens>50000")
    return BreakRule("tokens", limit=int(number))


class PassingRequest(NamedTuple):
    """The facts about a request that the rules check."""

    new: Sequence[BodyItem]
    """The items that were not in the last request of its conversation."""
    agents: Sequence[str] = ()
    """The names of the client and the sub-agent, and the purpose of the request."""
    tokens: int = 0
    window: int = 0
    """The model's window; 0: unknown."""
    refused: str = ""
    """The provider's answer to the last request of the conversation, if it was an error."""

    @property
    def share(self) -> float:
        """The share of the window that the request takes."""
        return self.tokens / self.window if self.window else 0


def why_held(rule: BreakRule, request: PassingRequest) -> str:
    """Why a rule holds a request; empty if it does not."""
    talk = [item for item in request.new if item.kind not in _ASIDE]
    match rule.kind:
        case "every":
            return "every request is held"
        case "tokens":
            return f"{request.tokens:,} tokens are more than {rule.limit:,.0f}" * (request.tokens > rule.limit)
        case "share":
            size = f"{request.tokens:,} of {request.window:,} tokens"
            return f"{size} are more than {rule.limit * 100:g} %" * (request.share > rule.limit)
        case "tool":
            wanted = rule.value.casefold()
            found = (item.tool for item in talk if item.tool and fnmatchcase(item.tool.casefold(), wanted))
            return next((f"{tool} was called" for tool in found), "")
        case "text":
            wanted = rule.value.casefold()
            held = any(wanted in " ".join(item.text.split()).casefold() for item in talk)
            return f"“{rule.value}” is new in it" * held
        case "agent":
            wanted = rule.value.casefold()
            return next((f"{name} asks" for name in request.agents if wanted in name.casefold()), "")
        case "error":
            failed = next((item.tool or "a tool" for item in talk if item.is_error), "")
            return f"{failed} failed" if failed else request.refused


def first_held(rules: Iterable[BreakRule], request: PassingRequest) -> tuple[BreakRule, str] | None:
    """The first rule that holds a request, and the reason; None: the request passes."""
    return next(((rule, why) for rule in rules if (why := why_held(rule, request))), None)


def item_name(item: BodyItem) -> int:
    """A hash that identifies an item, wherever it is in a request; equal items without ids have the same."""
    return hash((item.kind, item.text, item.tool, item.given_id))


def new_items(items: Sequence[BodyItem], before: Iterable[int] | None) -> list[BodyItem]:
    """The items that were not in the request before, whose items are given as hashes.

    If that request is unknown (None), these are the model's last items and everything after them.
    """
    if before is not None:
        left = Counter(before)
        found = []
        for item in items:
            name = item_name(item)
            if left[name]:
                left[name] -= 1
            else:
                found.append(item)
        return found
    at = len(items)
    while at and items[at - 1].kind not in _MODELS:
        at -= 1
    while at and items[at - 1].kind in _MODELS:
        at -= 1
    return list(items[at:])
