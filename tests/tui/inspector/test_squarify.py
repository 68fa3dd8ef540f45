"""The boxes of the treemap: they fill the area exactly, and their areas stand for the weights."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Size

from workbench.tui.inspector.squarify import LEAST, MOST, squarify, tile_weights

weights = st.lists(st.integers(1, 100_000), min_size=1, max_size=80).map(lambda made: sorted(made, reverse=True))
sizes = st.builds(Size, st.integers(1, 160), st.integers(1, 60))


@given(weights, sizes)
def test_the_boxes_are_the_area_and_no_cell_is_in_two(found: list[int], size: Size) -> None:
    made = tile_weights(found, size)
    assert sum(box.area for box in made.boxes) == size.area
    cells = {(x, y) for box in made.boxes for x in range(box.x, box.right) for y in range(box.y, box.bottom)}
    assert cells == {(x, y) for x in range(size.width) for y in range(size.height)}


@given(weights, sizes)
def test_nothing_is_lost_and_what_has_a_box_has_room_in_it(found: list[int], size: Size) -> None:
    made = tile_weights(found, size)
    assert len(made.boxes) - (made.others > 0) + made.others == len(found)
    assert len(made.boxes) <= MOST + 1
    if len(made.boxes) > 1:
        assert all(box.width >= LEAST.width and box.height >= LEAST.height for box in made.boxes)


@given(weights, st.builds(Size, st.integers(40, 160), st.integers(12, 60)))
def test_areas_are_as_near_to_the_weights_as_whole_cells_allow(found: list[int], size: Size) -> None:
    made = tile_weights(found, size)
    kept = [*found[: len(found) - made.others], *([sum(found[len(found) - made.others :])] if made.others else [])]
    for weight, box in zip(kept, made.boxes, strict=True):
        ideal = size.area * weight / sum(found)
        strip = min(LEAST.width * size.height, LEAST.height * size.width)
        assert abs(box.area - ideal) <= max(size.width + size.height, strip), "a row and a column, or a box in a strip"


@given(weights, st.builds(Size, st.integers(40, 160), st.integers(12, 60)))
def test_what_is_opened_always_shows_more_than_one_box_for_all(found: list[int], size: Size) -> None:
    assert len(tile_weights(found, size).boxes) > 1 or len(found) == 1


def test_boxes_are_nearly_square_on_a_screen() -> None:
    boxes = squarify([1] * 12, Size(96, 24).region)
    assert boxes is not None
    assert all(0.5 <= box.width / (2 * box.height) <= 2 for box in boxes)


def test_there_are_not_more_boxes_than_cells() -> None:
    assert squarify([1] * 7, Size(3, 2).region) is None
