"""What holds for every knob: its valid values come back as they were given, all others are refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.requirements import requirement
from workbench.config.errors import WrongCall
from workbench.context.knobs import (
    KNOBS,
    SECTIONS,
    TOOL_KNOBS,
    Knob,
    as_toml,
    find_knob,
    knob_table,
    parse_text,
)
from workbench.context.load import LoadedPolicy, describe_policy, load_policy
from workbench.context.policy import Policy

EVERY_KNOB = [*KNOBS.values(), *TOOL_KNOBS.values()]


def load(*sets: str, env: dict[str, str] | None = None) -> LoadedPolicy:
    """The default policy without the tester's own environment and config folder."""
    return load_policy(None, sets=sets, env=env or {}, folder=Path("no-such-folder"))


def value_of(loaded: LoadedPolicy, name: str) -> Any:
    """The value of a dotted knob, read straight off the policy."""
    section, _, key = name.partition(".")
    holder = getattr(loaded.policy, section)
    if key.startswith("tools."):
        tool, _, key = key.removeprefix("tools.").rpartition(".")
        holder = holder.tools[tool]
    return getattr(holder, key)


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def valid(knob: Knob) -> st.SearchStrategy[Any]:
    if knob.choices:
        return st.sampled_from(knob.choices)
    match knob.kind:
        case "int":
            return st.integers(int(knob.low), int(knob.high))
        case "float":
            return st.floats(knob.low, knob.high, allow_nan=False)
        case "bool":
            return st.booleans()
        case "list":
            return st.lists(words.filter(bool), max_size=4).map(tuple)
    return words


def invalid(knob: Knob) -> st.SearchStrategy[str]:
    """Texts that are no value of this knob: another type, beyond a bound, no such choice."""
    other_types = ["[1]", "{a = 1}", '[""]', "1979-05-27"]
    match knob.kind:
        case "int":
            beyond = [str(int(knob.low) - 1), str(int(knob.high) + 1)]
            wrong = ["three", "true", "1.5", "2.0", "", '"3"', "0x" + "f" * 5000, *beyond]
        case "float":
            beyond = [repr(knob.low - 0.1), repr(knob.high + 0.1)]
            wrong = ["much", "true", "nan", "inf", "-inf", "", '"0.5"', *beyond]
        case "bool":
            wrong = ["yes", "True", "1", "0", "", '"true"']
        case "list":
            wrong = [".git", "3", "true", '".git"', "[1, 2]"]
        case _:
            wrong = ["3", "true", "1.5", *(["", "no-such-choice", "HEAD"] if knob.choices else [])]
    return st.sampled_from(wrong + other_types)


def named(knob: Knob) -> str:
    return knob.name.replace("NAME", "run_command")


@pytest.mark.parametrize("knob", EVERY_KNOB, ids=lambda knob: knob.name)
@settings(max_examples=10)  # of each of a hundred knobs
@given(data=st.data())
def test_every_valid_value_round_trips_through_set_and_the_listing(knob: Knob, data: st.DataObject) -> None:
    value = data.draw(valid(knob))
    loaded = load(f"{named(knob)}={as_toml(value)}")
    assert value_of(loaded, named(knob)) == value
    assert type(value_of(loaded, named(knob))) is type(value)
    assert loaded.origins[named(knob)] == "--set"
    row = next(row for row in describe_policy(loaded) if row.name == named(knob))
    assert parse_text(row.written) == (list(value) if isinstance(value, tuple) else value)


@requirement(
    "layers", "configuration", "a value that is not allowed is refused by name, such as a strategy nobody knows"
)
@pytest.mark.parametrize("knob", EVERY_KNOB, ids=lambda knob: knob.name)
@given(data=st.data())
def test_every_invalid_value_is_refused_with_the_knob_and_what_was_expected(knob: Knob, data: st.DataObject) -> None:
    with pytest.raises(WrongCall) as caught:
        load(f"{named(knob)}={data.draw(invalid(knob))}")
    text = str(caught.value)
    assert text.startswith(f"--set: {named(knob)}: expected ")
    assert ", got " in text
    assert len(text) < 300


@given(st.text(max_size=60))
def test_any_text_after_set_gives_a_policy_or_one_line(text: str) -> None:
    for option in (text, f"compaction.preface={text}", f"masking.keep_last={text}", f"{text}=1"):
        refusal = ""
        try:
            load(option)
        except WrongCall as error:
            refusal = str(error)
        assert refusal.isprintable()


@requirement("sliding", "configuration", "options of the command line and variables of the environment set the same")
@given(st.sampled_from(EVERY_KNOB).flatmap(lambda knob: st.tuples(st.just(knob), valid(knob))))
def test_a_variable_sets_what_set_sets(chosen: tuple[Knob, Any]) -> None:
    knob, value = chosen
    variable = "WORKBENCH_" + named(knob).upper().replace(".", "__")
    loaded = load(env={variable: as_toml(value)})
    assert value_of(loaded, named(knob)) == value
    assert loaded.origins[named(knob)] == f"environment {variable}"


def test_the_knobs_are_the_fields_of_the_policy() -> None:
    listed = {
        f"{section.name}.{each.name}"
        for section in dataclasses.fields(Policy)
        if section.name in SECTIONS
        for each in dataclasses.fields(SECTIONS[section.name])
    }
    assert listed - {"truncation.tools"} == set(KNOBS)
    assert {each.name for each in dataclasses.fields(Policy)} - set(SECTIONS) == {"name", "description"}


def test_the_reference_tells_every_knob_in_full() -> None:
    table = knob_table()
    assert [row.name for row in table] == [knob.name for knob in EVERY_KNOB]
    assert all(row.allowed and row.meaning for row in table)
    row = table[[row.name for row in table].index("masking.keep_last")]
    assert row == ("masking.keep_last", "0", "a whole number from 0 up", "The last results are kept.")


@pytest.mark.parametrize("knob", EVERY_KNOB, ids=lambda knob: knob.name)
def test_every_default_is_a_valid_value(knob: Knob) -> None:
    if knob.default is not None:
        assert knob.check_value(knob.default) == knob.default
    assert find_knob(named(knob)) == knob
