"""What a call says about policy, model and window, as a setup to plan with. No file of the user's is read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workbench.config.errors import WrongCall
from workbench.config.settings import Settings
from workbench.context.knobs import KNOBS, as_toml, closest_hint
from workbench.context.load import load_policy
from workbench.context.setup import PlanOptions, Setup, set_up
from workbench.models.calibrated_counts import estimator_for
from workbench.models.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class ChosenPolicy:
    """A policy and the knobs set on top of it, ready to be given to `plan`, `Context` and the lab."""

    name: str
    """A preset, or the path of a policy file."""
    sets: tuple[str, ...] = ()
    """As `masking.keep_last=3`."""

    def __str__(self) -> str:
        return " ".join((self.name, *self.sets))

    @property
    def knobs(self) -> dict[str, Any]:
        """Every knob with its value."""
        loaded = load_policy(self.name, sets=self.sets).policy
        return {name: _value(loaded, name) for name in KNOBS}


def _value(policy: Any, name: str) -> Any:
    for part in name.split("."):
        policy = getattr(policy, part)
    return policy


def policy(name: str | os.PathLike[str] | ChosenPolicy = "workbench", **knobs: Any) -> ChosenPolicy:
    """A policy by its name or file, with other values for some knobs: `policy("layers", keep_last=3)`.

    A knob is written by its last name where only one knob has it, else with its section: `truncation__max_tokens`.
    Raises WorkbenchError for an unknown name or a wrong value.
    """
    if not isinstance(name, str | os.PathLike | ChosenPolicy):
        raise WrongCall(f"policy: expected a name or a file, got {name!r}")
    base = name if isinstance(name, ChosenPolicy) else ChosenPolicy(os.fspath(name))
    made = ChosenPolicy(base.name, (*base.sets, *_sets(knobs)))
    try:
        load_policy(made.name, sets=made.sets)
    except WrongCall as error:
        raise WrongCall(str(error).removeprefix("--set: ")) from None
    return made


def _sets(knobs: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{_knob_name(name)}={as_toml(_frozen(value))}" for name, value in knobs.items())


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _knob_name(name: str) -> str:
    dotted = name.replace("__", ".")
    if "." in dotted:
        return dotted
    found = [knob for knob in KNOBS if knob.rpartition(".")[2] == dotted]
    if len(found) > 1:
        written = ", ".join(each.replace(".", "__") for each in found)
        raise WrongCall(f"{name}: expected one knob, and several have this name: {written}")
    if not found:
        known = [knob.rpartition(".")[2] for knob in KNOBS]
        raise WrongCall(f"{name}: there is no such knob{closest_hint(name, known)}")
    return found[0]


@lru_cache(1)
def _catalogue() -> Catalogue:
    """The known models; their table is read once."""
    return Catalogue()


def setup_for_call(
    chosen: str | ChosenPolicy,
    model: str,
    window: int | None,
    reserve: int | None = None,
    thinking: bool | None = None,
    **knobs: Any,
) -> Setup:
    """The setup for one call of the library. `thinking` is only checked: it is no part of a setup."""
    made = policy(chosen, **knobs)
    _check_model(model)
    if thinking is not None and not isinstance(thinking, bool):
        raise WrongCall(f"thinking: expected True, False or None, got {thinking!r}")
    for name, value in (("window", window), ("reserve", reserve)):
        if value is not None and (type(value) is not int or value < (name == "window")):
            raise WrongCall(f"{name}: expected a whole number of tokens, got {value!r}")
    if window is not None and reserve is not None and reserve >= window:
        raise WrongCall(f"reserve: expected less than the window, which has {window:,} tokens, got {reserve:,}")
    return set_up(PlanOptions(made.name, made.sets, model, window, reserve), Settings(), _catalogue())


def _check_model(model: object) -> None:
    if not isinstance(model, str) or not model:
        raise WrongCall(f"model: expected a name, got {model!r}")


def count(text: str, model: str = "gpt-4o") -> int:
    """The tokens of a text with a model's tokenizer; for a model whose tokenizer is not public, an estimate."""
    if not isinstance(text, str):
        raise WrongCall(f"text: expected a text, got {type(text).__name__}")
    _check_model(model)
    return estimator_for(model).count(text).tokens
