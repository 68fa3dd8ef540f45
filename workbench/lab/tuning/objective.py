"""Parses what a search minimises, such as `cost + 50*misses`, or `cost subject to misses no worse than the base`.

An objective is only arithmetic over the lab's figures. It is parsed with `ast` and never run as Python.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from workbench.config.errors import WrongCall
from workbench.config.tables import shown_value
from workbench.context.knobs import closest_hint
from workbench.lab.figures import FIGURES

NAMES = tuple(name for name in FIGURES if name not in ("policy", "reread_cost"))
"""The figures that an objective may name: all that are always known, and the cost."""
LIMIT = " subject to misses no worse than the base"
"""The words after the arithmetic that limit misses, counted as requests with a miss, to those of the base."""
DEFAULT_OBJECTIVE = f"cost{LIMIT}"
_LONGEST = 400
_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right if right else math.inf,
}
_FUNCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = {"min": min, "max": max}


class Objective(Struct, frozen=True):
    """An expression that was checked."""

    text: str
    names: frozenset[str]
    """The figures that it names."""
    _tree: ast.expr
    is_limited: bool = False
    """Whether a policy with more requests with a miss than the base is worse than the base, however small its value."""

    def value(self, figures: Mapping[str, Any]) -> float:
        """Smaller is better. A result that is not a number, as after a division by zero, is the worst."""
        found = _value(self._tree, figures)
        return math.inf if math.isnan(found) else found


def parse_objective(text: str) -> Objective:
    """Parse and check an expression. Raises WrongCall where it is not allowed."""
    text = " ".join(text.split())
    if len(text) > _LONGEST:
        raise WrongCall(f"--objective: expected at most {_LONGEST} characters, got {len(text)}")
    arithmetic = text.removesuffix(LIMIT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python warns about is refused here anyway
            tree = ast.parse(arithmetic, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        usual = f"such as 'cost + 50*misses', or {DEFAULT_OBJECTIVE!r}"
        raise WrongCall(f"--objective {shown_value(text)}: expected arithmetic, {usual}") from None
    names = frozenset(_names(tree, arithmetic))
    if not names:
        raise WrongCall(f"--objective {shown_value(text)}: names no figure; there are {', '.join(NAMES)}")
    return Objective(text, names, tree, arithmetic != text)


def _names(node: ast.expr, text: str) -> list[str]:
    """The figures in an expression. Checks every part."""
    match node:
        case ast.Name(id=name):
            if name not in NAMES:
                near = closest_hint(name, NAMES)
                raise WrongCall(f"--objective: no figure named {shown_value(name)}{near}; there are {', '.join(NAMES)}")
            return [name]
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool) and abs(number) < 1e300:
            return []
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _names(operand, text)
        case ast.BinOp(op=operator, left=left, right=right) if type(operator) in _OPERATORS:
            return _names(left, text) + _names(right, text)
        case ast.Call(func=ast.Name(id=called), args=[_, _, *_] as parts, keywords=[]) if called in _FUNCTIONS:
            return [name for part in parts for name in _names(part, text)]
    part = ast.get_source_segment(text.strip(), node) or text
    raise WrongCall(f"--objective: expected numbers, figures, + - * / ( ) min and max, got {shown_value(part)}")


def _value(node: ast.expr, figures: Mapping[str, Any]) -> float:
    match node:
        case ast.Name(id=name):
            return float(figures[name])
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=operator, operand=operand):
            return -_value(operand, figures) if isinstance(operator, ast.USub) else _value(operand, figures)
        case ast.BinOp(op=operator, left=left, right=right):
            return _OPERATORS[type(operator)](_value(left, figures), _value(right, figures))
        case ast.Call(func=ast.Name(id=called), args=parts):
            return _FUNCTIONS[called]([_value(part, figures) for part in parts])
    raise AssertionError(f"not checked: {ast.dump(node)}")
