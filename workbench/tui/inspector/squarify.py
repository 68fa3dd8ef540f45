"""Boxes whose areas are proportional to weights, as square as possible, in whole cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from textual.geometry import Region, Size

CELL = 2
"""The ratio of a terminal cell's height to its width."""
LEAST = Size(9, 2)
"""A smaller box has no room for a name and a figure."""
MOST = 60
"""The most boxes that people can tell apart."""


class Tiling(NamedTuple):
    """Boxes that fill an area, for the largest weights."""

    boxes: tuple[Region, ...]
    """The last one is for all `others` together, if there are any."""
    others: int = 0
    """The number of weights that are too small for a box."""


def tile_weights(weights: Sequence[int], size: Size) -> Tiling:
    """A box for each of the largest weights that fit; the rest share one."""
    if not weights or not size.area:
        return Tiling((), len(weights))
    most = min(len(weights), MOST, max(1, size.area // LEAST.area))
    total = sum(weights)
    for count in range(most, 0, -1):
        rest = total - sum(weights[:count])
        others = len(weights) - count
        boxes = squarify([*weights[:count], rest] if others else weights, size.region)
        if boxes is not None and all(box.width >= LEAST.width and box.height >= LEAST.height for box in boxes):
            return Tiling(tuple(boxes), others)
    return _with_a_strip(len(weights), size.region)


def _with_a_strip(count: int, area: Region) -> Tiling:
    """The largest next to a strip for the others, even if that is more than their share."""
    upright = area.height * LEAST.width <= area.width * LEAST.height
    strip = LEAST.width if upright else LEAST.height
    room = area.width >= LEAST.width and area.height >= LEAST.height
    if count == 1 or not room or (area.width if upright else area.height) < 2 * strip:
        return Tiling((area,), 0 if count == 1 else count)
    row, rest = _cut(area, (area.width if upright else area.height) - strip, upright)
    return Tiling((row, rest), count - 1)


def squarify(weights: Sequence[int], area: Region) -> list[Region] | None:
    """One box for each weight, in order, that together fill the area; None if there are too few cells.

    The algorithm of Bruls, Huizing and van Wijk: fill rows along the shorter side while the worst box gets no worse.
    """
    made: list[Region] = []
    at, total = 0, sum(weights)
    while at < len(weights):
        rest = weights[at:]
        upright = area.width > area.height * CELL
        count, thick = _next_row(rest, total, area, upright)
        if _is_thin(thick, area, upright) and count < len(rest):
            other = _next_row(rest, total, area, not upright)
            if not _is_thin(other[1], area, not upright):
                upright, (count, thick) = not upright, other
        row, area = _cut(area, thick, upright)
        boxes = _divide(rest[:count], row, upright)
        if boxes is None:
            return None
        made += boxes
        at, total = at + count, total - sum(rest[:count])
    return made


def _next_row(weights: Sequence[int], total: int, area: Region, upright: bool) -> tuple[int, int]:
    """The number of weights in the next row, and its thickness; the last row takes the rest."""
    length = area.width if upright else area.height
    count = _row(weights, total, area, upright)
    if count == len(weights) or length < 2:
        return len(weights), length
    return count, max(1, min(round(length * sum(weights[:count]) / total), length - 1))


def _is_thin(thick: int, area: Region, upright: bool) -> bool:
    """Whether a row, or the rest of the area, is too thin for boxes with text."""
    least, length = (LEAST.width, area.width) if upright else (LEAST.height, area.height)
    return thick < least or 0 < length - thick < least


def _row(weights: Sequence[int], total: int, area: Region, upright: bool) -> int:
    """The number of weights in the next row."""
    side = area.height * CELL if upright else area.width
    length = area.width if upright else area.height * CELL
    part, worst = 0, 0.0
    for count, weight in enumerate(weights):
        part += weight
        thick = length * part / total
        ends = (side * weights[0] / part, side * weight / part)
        ratio = max(max(end / thick, thick / end) for end in ends)
        if count and ratio > worst:
            return count
        worst = ratio
    return len(weights)


def _cut(area: Region, thick: int, upright: bool) -> tuple[Region, Region]:
    x, y, width, height = area
    if upright:
        return Region(x, y, thick, height), Region(x + thick, y, width - thick, height)
    return Region(x, y, width, thick), Region(x, y + thick, width, height - thick)


def _divide(weights: Sequence[int], row: Region, upright: bool) -> list[Region] | None:
    """The boxes of a row; each has at least one cell."""
    side = row.height if upright else row.width
    if side < len(weights):
        return None
    total, start = sum(weights), 0
    boxes = []
    for number, upto in enumerate(accumulate(weights), 1):
        end = max(start + 1, min(round(side * upto / total), side - (len(weights) - number)))
        x, y, width, height = row
        if upright:
            boxes.append(Region(x, y + start, width, end - start))
        else:
            boxes.append(Region(x + start, y, end - start, height))
        start = end
    return boxes
