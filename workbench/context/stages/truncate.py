"""Truncate: no tool result is larger than its cap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct

from workbench.context.items import Edit
from workbench.context.policy import Strategy, ToolTruncation, TruncationPolicy
from workbench.log.events import Part
from workbench.models.tokens import TokenCounter


class TruncationRule(Struct, frozen=True):
    """The cap for one tool."""

    strategy: Strategy
    max_tokens: int
    max_lines: int
    head_lines: int
    tail_lines: int
    max_bytes: int
    count_header: bool


class TruncatedText(NamedTuple):
    """A result that was over its cap."""

    text: str
    tokens: int
    exact: bool
    why: str
    parts: tuple[Part, ...] = ()
    """What is sent, if the result has pictures or the like in addition to its text."""


def truncate_edit(before: int, cut: TruncatedText) -> Edit:
    """The edit for a cut result."""
    return Edit("truncate", "truncated", before, cut.tokens, cut.why)


def rule_for(policy: TruncationPolicy, tool: str, window: int) -> TruncationRule:
    """The tool's own knobs over the general ones; a cap in tokens is at most `max_ratio` of the window."""
    own = policy.tools.get(tool) or ToolTruncation()

    def pick(mine: int | None, general: int) -> int:
        return general if mine is None else mine

    cap = pick(own.max_tokens, policy.max_tokens)
    if policy.max_ratio:
        cap = max(1, min(cap, int(window * policy.max_ratio)))
    return TruncationRule(
        own.strategy or policy.strategy,
        cap,
        pick(own.max_lines, policy.max_lines),
        pick(own.head_lines, policy.head_lines),
        pick(own.tail_lines, policy.tail_lines),
        pick(own.max_bytes, policy.max_bytes),
        policy.count_header,
    )


def truncate_result(
    text: str, tokens: int, rule: TruncationRule, counter: TokenCounter, item_id: str
) -> TruncatedText | None:
    """Cut a result that is over its cap; None if it is not.

    The marker is inside the cap, says how much was kept of how much and by which strategy, and ends with the id to
    fetch the whole text. Cuts fall on whole characters and, where that costs little, on whole lines.
    """
    if rule.strategy == "none":
        return None
    if rule.strategy == "lines":
        return _by_lines(text, tokens, rule, counter, item_id)
    if tokens <= rule.max_tokens:
        return None
    return _by_tokens(text, tokens, rule, counter, item_id)


def fitting_parts(sizes: Sequence[int], room: int, counter: TokenCounter, item_id: str) -> tuple[int, str]:
    """How many pictures or files of these sizes fit in `room` tokens, together with a marker for the rest."""
    total, count, note = sum(sizes), len(sizes), ""
    used = total
    while count and used + (counter.count(note).tokens if note else 0) > room:
        count -= 1
        used -= sizes[count]
        gone = f"~{total - used} tokens removed"
        note = f"[truncated: kept {count} of {len(sizes)} pictures or files, {gone}] [id {item_id}]"
    return count, note if count else note[: max(1, counter.head(note, room))]


def _by_tokens(text: str, tokens: int, rule: TruncationRule, counter: TokenCounter, item_id: str) -> TruncatedText:
    cap = rule.max_tokens
    ends = {"head": "first", "tail": "last", "both": "first+last"}[rule.strategy]
    part = {"head": "the beginning", "tail": "the end", "both": "the beginning and the end"}[rule.strategy]

    def marker(kept: int) -> str:
        return f"[truncated: kept {ends} ~{kept} of ~{tokens} tokens ({rule.strategy})] [id {item_id}]"

    # The marker says how much was kept, which is known only after counting: a first count finds the number. If that is
    # as long as the provisional one and costs the same, so does the whole: a tokenizer never merges a number with its
    # neighbours.
    guess = counter.count(marker(cap)).tokens
    room = cap - guess - 2
    while room > 0:
        end, start = _ends(text, room, rule.strategy, counter)
        if not end and start == len(text):
            break
        before, behind = "\n" if end else "", "\n" if start < len(text) else ""
        count = counter.joined(text, end, f"{before}{marker(cap)}{behind}", start)
        kept = max(1, count.tokens - guess - len(before) - len(behind))
        middle = f"{before}{marker(kept)}{behind}"
        if len(str(kept)) != len(str(cap)) or counter.count(marker(kept)).tokens != guess:
            count = counter.joined(text, end, middle, start)
        if count.tokens <= cap:
            why = f"over the cap of {cap:,} tokens; kept {part}: {kept:,} of {tokens:,} tokens"
            return TruncatedText(text[:end] + middle + text[start:], count.tokens, count.exact, why)
        room -= max(1, count.tokens - cap)
    return _marker_alone(marker(0), tokens, f"cap of {cap:,} tokens", counter, lambda t: counter.count(t).tokens <= cap)


def _ends(text: str, room: int, strategy: Strategy, counter: TokenCounter) -> tuple[int, int]:
    """Where the kept head ends and the kept tail starts, for `room` tokens in all."""
    end, start = 0, len(text)
    if strategy in ("head", "both"):
        share = room if strategy == "head" else room - room // 2
        end = len(_back_to_line(text[: counter.head(text, share)]))
    if strategy in ("tail", "both"):
        share = room if strategy == "tail" else room // 2
        start = len(text) - len(_on_to_line(text[counter.tail(text, share) :]))
    return end, max(end, start)


def _back_to_line(head: str) -> str:
    """End on a whole line if that gives up at most a tenth of what is kept."""
    end = head.rfind("\n")
    return head[:end] if end >= 0.9 * len(head) else head


def _on_to_line(tail: str) -> str:
    """Begin on a whole line if that gives up at most a tenth of what is kept."""
    start = tail.find("\n") + 1
    return tail[start:] if 0 < start <= 0.1 * len(tail) else tail


def _by_lines(
    text: str, tokens: int, rule: TruncationRule, counter: TokenCounter, item_id: str
) -> TruncatedText | None:
    size = len(text.encode("utf-8", "replace"))
    lines = text.removesuffix("\n").split("\n")  # a newline ends a line, it does not begin another
    if size <= rule.max_bytes and len(lines) <= rule.max_lines:
        return None
    header = f"Total output lines: {len(lines)}\n\n" if rule.count_header else ""
    over = [
        f"{size:,} bytes are over the cap of {rule.max_bytes:,}" if size > rule.max_bytes else "",
        f"{len(lines):,} lines are over the cap of {rule.max_lines:,}" if len(lines) > rule.max_lines else "",
    ]
    head, tail = _line_ends(lines, rule)

    def assemble(head: str, tail: str) -> str:
        kept = sum(len(part.split("\n")) for part in (head, tail) if part)
        whole = _whole_lines(lines, head, tail)
        if kept > whole and kept >= len(lines):  # every line is kept in part
            left = size - len((head + tail).encode("utf-8", "replace"))
            marker = f"[... omitted {left} of {size} bytes inside a line ...]"
        else:
            marker = f"[... omitted {len(lines) - whole} of {len(lines)} lines ...]"
            marker += " [cut inside a line]" * (kept > whole)
        return header + "\n".join(part for part in (head, f"{marker} [id {item_id}]", tail) if part)

    room = rule.max_bytes - len(assemble("", "").encode()) - 64
    while room > 0:
        sent = assemble(*_bytes_ends(head, tail, room))
        if len(sent.encode("utf-8", "replace")) <= rule.max_bytes:
            count = counter.count(sent)
            kept = f"kept its first and last lines: {count.tokens:,} of {tokens:,} tokens"
            why = f"{' and '.join(filter(None, over))}; {kept}"
            return TruncatedText(sent, count.tokens, count.exact, why)
        room -= max(16, room // 10)

    def small(candidate: str) -> bool:
        return len(candidate.encode()) <= rule.max_bytes

    return _marker_alone(assemble("", ""), tokens, f"cap of {rule.max_bytes:,} bytes", counter, small)


def _line_ends(lines: list[str], rule: TruncationRule) -> tuple[str, str]:
    """The first and the last lines. Few lines may overlap; `_bytes_ends` then takes less of either."""
    head = min(rule.head_lines, rule.max_lines)
    tail = min(rule.tail_lines, rule.max_lines - head if len(lines) > rule.max_lines else rule.tail_lines)
    return "\n".join(lines[:head]), "\n".join(lines[-tail:] if tail else [])


def _bytes_ends(head: str, tail: str, room: int) -> tuple[str, str]:
    """Shorten both ends to `room` bytes together; an end that needs less leaves its share to the other."""
    raw_head, raw_tail = head.encode("utf-8", "replace"), tail.encode("utf-8", "replace")
    half = room // 2
    for_head = max(half, room - len(raw_tail))
    for_tail = max(half, room - len(raw_head))
    if len(raw_head) > for_head:
        head = _back_to_line(raw_head[:for_head].decode("utf-8", "ignore"))
    if len(raw_tail) > for_tail:
        tail = _on_to_line(raw_tail[-for_tail:].decode("utf-8", "ignore"))
    return head, tail


def _whole_lines(lines: list[str], head: str, tail: str) -> int:
    """How many lines are kept whole."""
    head_lines, tail_lines = head.split("\n") if head else [], tail.split("\n") if tail else []
    whole = len(head_lines) + len(tail_lines)
    if head_lines and head_lines[-1] != lines[len(head_lines) - 1]:
        whole -= 1
    if tail_lines and tail_lines[0] != lines[len(lines) - len(tail_lines)]:
        whole -= 1
    return whole


def _marker_alone(
    marker: str, tokens: int, cap: str, counter: TokenCounter, small: Callable[[str], bool]
) -> TruncatedText:
    """A cap too small for marker and content: the marker alone, shortened if it must be; never empty."""
    sent = marker
    while len(sent) > 1 and not small(sent):
        sent = sent[: len(sent) // 2]
    count = counter.count(sent)
    return TruncatedText(
        sent, count.tokens, count.exact, f"{tokens:,} tokens; the {cap} leaves room for the marker only"
    )
