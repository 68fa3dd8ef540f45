"""Events are values: they cannot be changed once they are made."""

from __future__ import annotations

import msgspec

from workbench.log import events


def test_no_event_and_no_part_of_one_can_be_changed() -> None:
    kinds = [each for each in vars(events).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)]
    assert len(kinds) > 20
    assert [kind.__name__ for kind in kinds if kind is not msgspec.Struct and not kind.__struct_config__.frozen] == []
