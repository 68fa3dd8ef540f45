"""A table of a file is read as it is described, or refused in one line."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from workbench.config import tables
from workbench.config.errors import WrongCall
from workbench.config.tables import Table, read_table

PACKAGE = Path(tables.__file__).parents[1]


class Oven(Table, frozen=True):
    degrees: Annotated[int, Meta(ge=50, le=300, description="degrees from 50 to 300")] = 180
    hours: Annotated[float, Meta(gt=0, description="hours above 0")] | None = None
    trays: Annotated[tuple[Annotated[str, Meta(pattern=r"\S")], ...], Meta(description="a list of trays")] = ()
    notes: Any = None


def test_no_table_of_a_file_can_be_changed() -> None:
    """Each has to say so: msgspec lets a subclass undo it."""
    for file in PACKAGE.rglob("*.py"):
        if "(Table, " in file.read_text(encoding="utf-8"):
            import_module(".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts))
    assert len(Table.__subclasses__()) > 10
    assert [each.__name__ for each in Table.__subclasses__() if not each.__struct_config__.frozen] == []


def test_what_is_left_out_has_its_default() -> None:
    assert read_table(Oven, {}, "c.toml", "oven") == Oven()
    table = MappingProxyType({"hours": 2, "trays": ("top",), "notes": {"a": [1]}})
    assert read_table(Oven, table, "c.toml", "oven") == Oven(180, 2.0, ("top",), {"a": [1]})


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (3, "oven: expected a table, got 3"),
        ({"degrees": True}, "oven.degrees: expected degrees from 50 to 300, got True"),
        ({"degrees": "200"}, "oven.degrees: expected degrees from 50 to 300, got '200'"),
        ({"degrees": 10**30}, f"oven.degrees: expected degrees from 50 to 300, got {10**30}"),
        ({"hours": 0}, "oven.hours: expected hours above 0, got 0"),
        ({"trays": ["top", " "]}, "oven.trays: expected a list of trays, got ['top', ' ']"),
        ({"heat": 1}, "oven.heat: no such key; expected one of degrees, hours, trays, notes"),
        ({"tray": 1}, "oven.tray: no such key; expected one of degrees, hours, trays, notes; did you mean trays?"),
        ({"degrees": 1, " - at `$.hours`\n": 1}, "oven.' - at `$.hours`\\n': no such key; expected one of degrees"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(table: Any, said: str) -> None:
    frozen = MappingProxyType(table) if isinstance(table, dict) else table
    for each in (table, frozen):
        with pytest.raises(WrongCall) as caught:
            read_table(Oven, each, "c.toml", "oven")
        assert str(caught.value).startswith(f"c.toml: {said}")


def test_of_a_long_key_only_the_beginning_is_shown() -> None:
    with pytest.raises(WrongCall) as raised:
        read_table(Oven, {"h" * 100_000: 1}, "c.toml", "oven")
    assert str(raised.value).startswith(f"c.toml: oven.{'h' * 80}")
    assert len(str(raised.value)) < 250


def test_a_whole_file_has_no_name() -> None:
    with pytest.raises(WrongCall, match=r"^c.toml: hours: expected hours above 0, got 'x'$"):
        read_table(Oven, {"hours": "x"}, "c.toml")


plain = st.integers() | st.floats() | st.booleans() | st.text(max_size=5) | st.dates() | st.integers(10**4300, 10**4301)
values = st.recursive(plain, lambda each: st.lists(each) | st.dictionaries(st.text(), each), max_leaves=5)


@given(values | st.dictionaries(st.sampled_from(["degrees", "hours", "trays", "notes"]) | st.text(max_size=9), values))
def test_any_value_gives_a_table_or_one_line(value: Any) -> None:
    try:
        read_table(Oven, value, "c.toml", "oven")
    except WrongCall as error:
        said = str(error)
    else:
        return
    assert said.startswith("c.toml: oven")
    assert "\n" not in said
