"""Breakpoints: which requests are held on their way, told by rules of a word or two.

A tool, a text and an error are looked for in what is new since the last request of the conversation, so that a request
is not held for what was there before; tokens and their share of the window are those of the whole request.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple

from workbench.config.errors import WrongCall
from workbench.config.text import percent
from workbench.wire.rewriting import BodyItem

RuleKind = Literal["every", "tokens", "share", "tool", "text", "agent", "error"]

FORMS: Final = {
    "every": "every request",
    "tokens>50000": "more tokens than that",
    "share>80%": "more than that share of the model's window",
    "tool:Bash": "a new call or result of that tool; * stands for any letters",
    "text:some words": "new messages, calls or results with these words",
    "agent:claude": "whoever asks has this in its name; agent:sub-agent: any sub-agent",
    "error": "a new result of a tool that failed, or the provider refused the last request",
}
"""The forms of a rule, and what each holds."""
_NUMBER = re.compile(r"(tokens|share)\s*>\s*(\d[\d,_]*(?:\.\d+)?)\s*(k|%)?", re.IGNORECASE)
_NAMED = re.compile(r"(tool|text|agent):\s*(\S.*)", re.IGNORECASE | re.DOTALL)
_ASIDE: Final = frozenset(("system", "tool"))
"""Items that are no part of the conversation."""
_MODELS: Final = frozenset(("assistant", "reasoning", "call"))


class BreakRule(NamedTuple):
    """One breakpoint."""

    kind: RuleKind
    value: str = ""
    """A tool's or an agent's name, or a text."""
    limit: float = 0
    """Tokens, or a share of 1."""

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
        """Whether the tokens have to be known."""
        return self.kind in ("tokens", "share")


def parse_rule(text: str) -> BreakRule:
    """The rule that a text writes. Raises WrongCall."""
    said = text.strip()
    if said.lower() == "every":
        return BreakRule("every")
    if said.lower() == "error":
        return BreakRule("error")
    if found := _NAMED.fullmatch(said):
        return BreakRule(found[1].lower(), " ".join(found[2].split()))  # type: ignore[arg-type]  # as the pattern says
    if found := _NUMBER.fullmatch(said):
        return _limit(said, found[1].lower(), float(found[2].replace(",", "").replace("_", "")), found[3] or "")
    raise WrongCall(f"{said or 'nothing'}: expected a breakpoint such as {', '.join(FORMS)}")


def _limit(said: str, kind: str, number: float, unit: str) -> BreakRule:
    if kind == "share":
        share = number / 100 if unit == "%" or number >= 1 else number
        if unit.lower() == "k" or share >= 1:
            raise WrongCall(f"{said}: expected a share below 100 %, as in share>80%")
        return BreakRule("share", limit=share)
    if unit == "%":
        raise WrongCall(f"{said}: expected a number of tokens, as in tokens>50000; for a share: share>80%")
    number *= 1000 if unit else 1
    if number > 1e12 or number != int(number):
        raise WrongCall(f"{said}: expected a whole number of tokens, as in tokens>50000")
    return BreakRule("tokens", limit=number)


class PassingRequest(NamedTuple):
    """What rules look at."""

    new: Sequence[BodyItem]
    """Of the whole request, what was not in the last one of its conversation."""
    agents: Sequence[str] = ()
    """Who asks: the client, the sub-agent."""
    tokens: int = 0
    window: int = 0
    """Of the model; 0: not known."""
    refused: str = ""
    """What the provider answered to the last request of the conversation, where that was an error."""

    @property
    def share(self) -> float:
        """Of the window."""
        return self.tokens / self.window if self.window else 0


def why_held(rule: BreakRule, request: PassingRequest) -> str:
    """Why a rule holds a request; empty where it does not."""
    talk = [item for item in request.new if item.kind not in _ASIDE]
    match rule.kind:
        case "every":
            return "every request is held"
        case "tokens":
            return f"{request.tokens:,} tokens are more than {rule.limit:,.0f}" * (request.tokens > rule.limit)
        case "share":
            over = request.share > rule.limit
            return f"{percent(request.share)} of {request.window:,} tokens are more than {rule.limit * 100:g} %" * over
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
    """The first rule that holds a request, and why; None: it passes."""
    return next(((rule, why) for rule in rules if (why := why_held(rule, request))), None)


def item_name(item: BodyItem) -> int:
    """What an item is known by, wherever it stands in a request."""
    return hash((item.kind, item.text, item.tool, item.call_id))


def new_items(items: Sequence[BodyItem], before: Iterable[int] | None) -> list[BodyItem]:
    """What was not in the request before, whose items are told by their names.

    Where that is not known (None), it is the last that the model said and what came behind it.
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
