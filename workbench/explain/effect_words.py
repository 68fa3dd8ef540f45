"""Effects in words: the same on the command line, on the explain screen and in the inspector."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from workbench.config.text import counted, percent
from workbench.explain.request_units import RequestUnit
from workbench.explain.values import Explanation, RequestFindings, UnitEffect, UnitFinding


def effect_interval(each: UnitEffect) -> str:
    """The interval of an effect; empty if it was not measured."""
    if each.drop is not None:
        return f"{each.drop.low:+.2f} to {each.drop.high:+.2f}"
    return "" if each.effect is None else f"{percent(each.effect.low, 0)} to {percent(each.effect.high, 0)}"


def effect_text(each: UnitEffect) -> str:
    """An effect with its interval and the number of answers behind it; empty if it was not measured."""
    if each.drop is not None:
        return f"{each.drop.value:+.2f} nats ({effect_interval(each)}; {counted(each.drop.tries, 'measurement')})"
    if each.effect is None:
        return ""
    tally = each.effect.without
    figures = f"{effect_interval(each)}; {tally.changed} of {tally.tries} changed"
    return f"{percent(each.effect.value, 0)} ({figures})"


def effect_sentence(units: Sequence[RequestUnit], each: UnitEffect) -> str:
    """What the model did without a unit."""
    if each.effect is None:
        end = "the search ended before it was tested"
        alone = "without it alone the answer is the same"
        return f"{alone}; {end} together with others" if each.verdict == "no effect alone" else end
    others = ", ".join(units[number].paths[-1] for number in each.partners)
    what = "this result" if each.unit.kind == "result" else "it"
    what = f"{what} and {others}" if others else what
    tally = each.effect.without
    if each.verdict == "no effect":
        return f"without {what} and all else that has no effect {same_without(each)}"
    if each.drop is not None:
        return f"without {what} the recorded answer is {exp(min(each.drop.value, 30)):,.0f} times less likely"
    if not each.instead:
        return f"without {what} the answer was the same in most of {tally.tries} tries"
    if each.asked_again:
        return f"without {what} the model made the same call again ({each.times} of {tally.tries})"
    return f"without {what}: {each.instead} ({each.times} of {tally.tries})"


def same_without(each: UnitEffect) -> str:
    """That the answer stays the same without the units that have no effect, of which this is one, and how often."""
    assert each.effect is not None
    tally = each.effect.without
    same = "the answer is the same" if each.drop is None else "the answer is about as likely"
    return f"{same} ({tally.tries - tally.changed} of {tally.tries})"


def findings_of(units: Sequence[RequestUnit], found: Explanation, model: str) -> RequestFindings | None:
    """The result in words, unit by unit; None if nothing was found."""
    if all(each.verdict == "not tested" for each in found.effects):
        return None
    made = (
        UnitFinding(
            each.unit.paths, each.verdict, effect_interval(each), effect_text(each), effect_sentence(units, each)
        )
        for each in found.effects
    )
    return RequestFindings(model, tuple(made))
