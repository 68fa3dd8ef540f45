"""What is to be small, as somebody wrote it: arithmetic over figures, and nothing else."""

from __future__ import annotations

import ast
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.errors import WrongCall
from workbench.lab.tuning.objective import DEFAULT_OBJECTIVE, NAMES, parse_objective

FIGURES: dict[str, Any] = {name: at + 1.5 for at, name in enumerate(NAMES)}

numbers = st.integers(0, 10**6) | st.floats(0, 1e6)


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(parts, st.sampled_from("+-*/"), parts).map(" ".join)
    called = st.tuples(st.sampled_from(["min", "max"]), parts, parts).map(
        lambda each: f"{each[0]}({each[1]}, {each[2]})"
    )
    return pairs.map("({})".format) | called | parts.map("-{}".format)


arithmetic = st.recursive(st.sampled_from(NAMES) | numbers.map(repr), joined, max_leaves=8)


@given(arithmetic)
def test_arithmetic_is_what_python_makes_of_it(text: str) -> None:
    whole = f"misses + {text}"
    try:
        expected = eval(whole, {"__builtins__": {}, "min": min, "max": max}, dict(FIGURES))
    except ZeroDivisionError:
        return
    assert parse_objective(whole).value(FIGURES) == pytest.approx(expected, rel=1e-9, nan_ok=True)


_ALLOWED = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call, ast.operator, ast.unaryop, ast.Load)


@given(
    st.text(max_size=60)
    | st.text("cost.miseax_()[]*/+ '01:=!<>,-", max_size=40)
    | st.sampled_from(
        [
            "__import__('os').system('true')",
            "().__class__",
            "misses.real",
            "misses[0]",
            "[misses for x in (1,)]",
            "lambda: misses",
            "(x := misses)",
            "misses ** 9 ** 9",
            "misses if 1 else cost",
            "misses and cost",
            "misses < cost",
            "f'{misses}'",
            "max(*[misses])",
            "min(misses, key=cost)",
            "cost + True",
            "cost + 1e999",
            "cost + 1j",
            "await misses",
            "misses\0",
            "abs(misses)",
            "max(misses)",
        ]
    )
)
def test_nothing_but_arithmetic_is_ever_taken(text: str) -> None:
    try:
        objective = parse_objective(text)
    except WrongCall:
        return
    parts = list(ast.walk(ast.parse(text.strip(), mode="eval").body))
    assert all(isinstance(each, _ALLOWED) for each in parts)
    called = {ast.unparse(each.func) for each in parts if isinstance(each, ast.Call)}
    assert called <= {"min", "max"}
    assert objective.names <= set(NAMES)
    assert not math.isnan(objective.value(FIGURES))


def test_an_unknown_figure_is_told_with_those_there_are() -> None:
    with pytest.raises(WrongCall) as told:
        parse_objective("cost + 50*mises")
    assert "did you mean misses" in str(told.value)
    assert all(name in str(told.value) for name in NAMES)


@pytest.mark.parametrize("text", ["", "1 + 2", "cost +", "-" * 401])
def test_what_is_no_objective_is_refused(text: str) -> None:
    with pytest.raises(WrongCall, match="--objective"):
        parse_objective(text)


def test_the_usual_one_is_cost_with_misses_limited() -> None:
    objective = parse_objective(DEFAULT_OBJECTIVE)
    assert objective.text == "cost subject to misses no worse than the base"
    assert objective.names == {"cost"}
    assert objective.is_limited
    assert objective.value({"cost": 1.5}) == 1.5


def test_misses_are_limited_only_in_these_words() -> None:
    assert parse_objective("tokens/1000  subject to misses\nno worse than the base").is_limited
    assert not parse_objective("cost + 50*misses").is_limited
    for text in ("cost subject to misses", " subject to misses no worse than the base", "cost subject to cost < 3"):
        with pytest.raises(WrongCall, match="expected arithmetic"):
            parse_objective(text)


def test_a_division_by_nothing_is_the_worst_there_is() -> None:
    assert parse_objective("1 / misses").value({"misses": 0}) == math.inf
    assert parse_objective("1/misses - 1/misses").value({"misses": 0}) == math.inf
