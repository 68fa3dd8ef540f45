"""The knobs that a search changes, and their values.

Only round values are tried: `max_tokens = 7431` in a policy file would look more exact than any corpus allows. Fewer
values are also searched faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.config.errors import WrongCall
from workbench.config.tables import escaped_name
from workbench.context.knobs import Knob, find_knob, parse_text

DEFAULT_RANGES = (
    "truncation.strategy=none,head,tail,both,lines",
    "truncation.max_tokens=500..30_000",
    "truncation.max_bytes=2_000..60_000",
    "masking.keep_first=0..5",
    "masking.keep_last=0..40",
    "masking.scope=turn,session",
    "masking.batch_tokens=0,1_000..60_000",
    "masking.min_tokens=0,50..2_000",
    "history.max_tokens=0,5_000..100_000",
    "compaction.threshold=0.3..0.95",
    "compaction.selection=user_messages,last_messages,everything,turns",
    "compaction.keep_user_tokens=0,1_000..50_000",
    "compaction.keep_messages=2..40",
    "compaction.keep_turns=0..5",
    "compaction.summary_tokens=500..8_000",
)
"""The default search: the knobs that decide about the past. Knobs that make a request fit when all else fails
(`compaction.mode`, `history.mode`, `turn.drop_groups`) are not searched: on short sessions the search would switch them
off, and the first long session would fail."""

_CUT_BY_TOKENS = ("truncation.strategy", ("head", "tail", "both"))
_CUT_BY_LINES = ("truncation.strategy", ("lines",))
_COMPACTS = ("compaction.mode", ("auto", "confirm"))
_FITS = ("history.mode", ("fit",))
_ONLY_WITH: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "truncation.max_tokens": _CUT_BY_TOKENS,
    "truncation.max_ratio": _CUT_BY_TOKENS,
    **{f"truncation.{key}": _CUT_BY_LINES for key in ("max_bytes", "max_lines", "head_lines", "tail_lines")},
    "history.max_tokens": _FITS,
    "history.turn_first": _FITS,
    "compaction.keep_messages": ("compaction.selection", ("last_messages",)),
    "compaction.overlap": ("compaction.selection", ("sliding",)),
}
"""Knobs that have no effect unless another knob has one of these values."""
_MASKS = ("masking.keep_first", "masking.keep_last")
_FEW = 10
"""Up to this many whole numbers are all tried."""
_STEPS = 20
_ROUND = (1, 1.5, 2, 3, 4, 5, 6, 8)


class KnobRange(NamedTuple):
    """A knob and the values to try."""

    name: str
    values: tuple[Any, ...]
    is_ordered: bool
    """Whether neighbours are similar, so that a search can go up and down."""

    def nearest(self, value: Any) -> Any:
        """The closest of the values."""
        if value in self.values or not self.is_ordered:
            return value if value in self.values else self.values[0]
        return min(self.values, key=lambda each: abs(each - value))


def knob_matters(name: str, value_of: Callable[[str], Any]) -> bool:
    """Whether a knob has an effect with the values of the other knobs."""
    if name in _ONLY_WITH:
        switch, values = _ONLY_WITH[name]
        if value_of(switch) not in values:
            return False
    section = name.partition(".")[0]
    if section == "compaction" and name != _COMPACTS[0]:
        return value_of(_COMPACTS[0]) in _COMPACTS[1]
    if section == "masking" and name not in _MASKS:
        return any(value_of(each) for each in _MASKS)
    return True


def search_ranges(texts: Sequence[str], value_of: Callable[[str], Any], fixed: Iterable[str] = ()) -> list[KnobRange]:
    """The ranges to search, switches first: those in `texts`, or the default ones without the `fixed` knobs.

    `value_of`: returns the value of a knob in the policy that the search begins from. If it lies in the range, it
    is one of the values that are tried.
    """
    if texts:
        found = {each.name: each for each in (parse_range(text) for text in texts)}
    else:
        left_out = set(fixed)
        usual = (parse_range(text) for text in DEFAULT_RANGES)
        found = {each.name: each for each in usual if each.name not in left_out}
    first = {*(switch for switch, _ in _ONLY_WITH.values()), _COMPACTS[0], *_MASKS}
    own = [_with_own(each, value_of(each.name)) for each in found.values()]
    return sorted(own, key=lambda each: (each.name not in first, each.name != _COMPACTS[0]))


def _with_own(found: KnobRange, value: Any) -> KnobRange:
    if not found.is_ordered or value is None or not found.values[0] <= value <= found.values[-1]:
        return found
    return found._replace(values=tuple(sorted({*found.values, value})))


def parse_range(text: str) -> KnobRange:
    """`masking.keep_last=0..10`, `truncation.strategy=head,both`, or both kinds: `history.max_tokens=0,5000..20000`."""
    name, equals, listed = text.partition("=")
    name = name.strip()
    if not equals or not listed.strip():
        raise WrongCall(
            f"--knob {escaped_name(text)}: expected NAME=LOW..HIGH or NAME=A,B,C, as in masking.keep_last=0..10"
        )
    try:
        knob = find_knob(name)
        if knob.kind == "list":
            raise ValueError("is a list of names, which has no range")
        values = [value for part in listed.split(",") for value in _values(knob, part.strip())]
    except (LookupError, ValueError) as error:
        raise WrongCall(f"--knob {escaped_name(name)}: {error}") from None
    ordered = knob.kind in ("int", "float")
    once = dict.fromkeys(values)
    return KnobRange(name, tuple(sorted(once) if ordered else once), ordered)


def _values(knob: Knob, part: str) -> list[Any]:
    low, dots, high = part.partition("..")
    if not dots:
        return [knob.check_value(parse_text(part))]
    if knob.kind not in ("int", "float"):
        raise ValueError(f"expected values with commas between them, got the range {part}")
    first, last = knob.check_value(parse_text(low)), knob.check_value(parse_text(high))
    if first > last:
        raise ValueError(f"expected a range from low to high, got {part}")
    return _whole_steps(first, last) if knob.kind == "int" else _even_steps(first, last)


def _whole_steps(low: int, high: int) -> list[int]:
    if high - low <= _FEW:
        return list(range(low, high + 1))
    rounds = (int(each * 10**power) for power in range(len(str(high))) for each in _ROUND if each * 10**power % 1 == 0)
    return [low, *(each for each in rounds if low < each < high), high]


def _even_steps(low: float, high: float) -> list[float]:
    if low == high:
        return [low]
    least = (high - low) / _STEPS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= least * 0.999)
    between = (round(low + at * step, 10) for at in range(1, math.ceil((high - low) / step)))
    return [low, *between, high]
