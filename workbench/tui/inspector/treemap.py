"""The treemap: the context as boxes whose areas are proportional to their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events, work
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive, var
from textual.strip import Strip
from textual.widget import Widget

from workbench.config.background import in_background
from workbench.config.text import percent
from workbench.context.items import SIGNS, state_words
from workbench.session.observable import ObservableSession
from workbench.tui.inspector.order import Grouping
from workbench.tui.inspector.squarify import Tiling, tile_weights
from workbench.tui.inspector.token_groups import Part, TokenGroup, token_groups
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.cells import fit_cells
from workbench.views.context_view import ContextView

PLAIN, HEAVY = ("╭", "─", "╮", "│", "╰", "╯"), ("┏", "━", "┓", "┃", "┗", "┛")
"""The border of a box, and of the one under the cursor."""


class Treemap(Observing, Widget, can_focus=True):
    """Boxes: arrows move between them, Enter opens one, Escape leaves it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"treemap--cursor", *(f"treemap--{state}" for state in SIGNS)}
    BINDING_GROUP_TITLE = "Treemap of the context"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(0, -1)", "the box above", id="treemap.up"),
        Binding("down,j", "move(0, 1)", "the box below", id="treemap.down"),
        Binding("left,h", "move(-1, 0)", "the box to the left", id="treemap.left"),
        Binding("right,l", "move(1, 0)", "the box to the right", id="treemap.right"),
        Binding("home,g", "edge(0)", "the largest", id="treemap.first"),
        Binding("end,G", "edge(-1)", "the smallest", id="treemap.last"),
        Binding("enter,space", "open", "what is in the box", id="treemap.open"),
        Binding("backspace", "leave", "back to what the box is in", id="treemap.leave"),
    ]

    shown = observed(lambda session: session.shown, repaint=False)
    by: var[Grouping] = var("")
    """The grouping of the rows."""
    cursor: var[int] = var(0)
    asking: var[bool] = var(False)
    """Whether Enter answers a question."""
    notice: reactive[str | None] = reactive(None)
    """A notice with priority over the title."""

    @dataclass(eq=False)
    class Chosen(Message):
        """The cursor is on an item; `opened`: show its detail."""

        row: int
        opened: bool = False

    def __init__(self, session: ObservableSession) -> None:
        super().__init__(session)
        self.levels: list[TokenGroup] = []
        """The opened groups; the last one is shown."""
        self._path: list[str] = []
        self._tiling = Tiling(())
        self._made_for: tuple[object, Size] | None = None
        self._parts: dict[int, Part] = {}
        self._pictures: dict[tuple[int, bool], list[str]] = {}
        self._working = False

    # What is shown

    def watch_shown(self) -> None:
        """Use another plan, once the treemap is visible."""
        self._work_out()

    def watch_by(self) -> None:
        self.levels, self._path = [], []
        self._work_out()

    def on_show(self) -> None:
        """Catch up with changes made while it was hidden."""
        self._work_out()

    def _work_out(self) -> None:
        if self.is_mounted and self.display and self.region and not self._working:
            self._working = True
            self._gather()

    @work
    async def _gather(self) -> None:
        """Compute groups until they match the latest plan, which may change meanwhile."""
        seen: tuple[ContextView | None, Grouping] | None = None
        while self.shown is not None and seen != (self.shown, self.by):
            shown, by = seen = (self.shown, self.by)
            found = await in_background(token_groups, shown.plan, by, shown.rest)
            if found is not None and seen == (self.shown, self.by):
                self._show_groups(found)
        self._working = False

    def _show_groups(self, found: TokenGroup) -> None:
        """Show groups, and stay in the open box if it still exists."""
        self.levels = [found]
        for name in self._path:
            here = self.levels[-1]
            parts = (here.part(at) for at in range(min(len(here.weights), len(self._tiling.boxes) + 1)))
            inside = next((part.inside for part in parts if part.name == name), None)
            if inside is None:
                break
            self.levels.append(inside)
        self._path = [level.title for level in self.levels[1:]]
        self._lay_out()

    def _lay_out(self) -> None:
        self._made_for = None
        self.cursor = min(self.cursor, max(0, len(self.boxes) - 1))
        self.refresh()
        self._post_chosen()

    @property
    def boxes(self) -> tuple[Region, ...]:
        """The boxes of the open group's parts, in order; the first line is the title."""
        size = Size(self.size.width, max(0, self.size.height - 1))
        level = self.levels[-1] if self.levels else None
        if level is not None and self._made_for != (level, size):
            self._made_for = (level, size)
            self._tiling = tile_weights(level.weights, size)
            self._parts.clear()
            self._pictures.clear()
        return self._tiling.boxes if level is not None else ()

    def part(self, at: int) -> Part:
        """The part of a box."""
        level, boxes = self.levels[-1], self.boxes
        if at not in self._parts:
            is_others = self._tiling.others and at == len(boxes) - 1
            made = level.others(len(level.weights) - self._tiling.others) if is_others else level.part(at)
            self._parts[at] = made
        return self._parts[at]

    # The cursor

    def watch_cursor(self) -> None:
        self.refresh()
        self._post_chosen()

    def _post_chosen(self, opened: bool = False) -> None:
        if self.boxes and (row := self.part(self.cursor).row) is not None and (self.has_focus or opened):
            self.post_message(self.Chosen(row, opened))

    def action_move(self, across: int, down: int) -> None:
        """Move to the nearest box in a direction."""
        boxes = self.boxes
        if not boxes:
            return
        x, y, width, height = boxes[self.cursor]
        here = (2 * x + width, 2 * y + height)

        def away(at: int) -> float:
            box = boxes[at]
            ahead = (box.x - x - width + 1) * across if across > 0 else (x - box.right + 1) * -across
            ahead = ahead if across else (box.y - y - height + 1 if down > 0 else y - box.bottom + 1)
            if ahead < 1:
                return float("inf")
            aside = abs(2 * box.y + box.height - here[1]) * 2 if across else abs(2 * box.x + box.width - here[0])
            return ahead * 100 + aside

        nearest = min(range(len(boxes)), key=away)
        if away(nearest) < float("inf"):
            self.cursor = nearest

    def action_edge(self, at: int) -> None:
        self.cursor = range(len(self.boxes))[at] if self.boxes else 0

    def action_open(self) -> None:
        """Open the box; an item is shown in the detail."""
        if self.asking:
            raise SkipAction
        if not self.boxes:
            return
        inside = self.part(self.cursor).inside
        if inside is None:
            self._post_chosen(opened=True)
        else:
            self.levels.append(inside)
            self._path.append(inside.title)
            self.cursor = 0
            self._lay_out()

    @property
    def is_inside(self) -> bool:
        """Whether a box is open."""
        return len(self.levels) > 1

    def action_leave(self) -> None:
        """Go back to the outer group, onto the box that was open."""
        if self.is_inside:
            left = self.levels.pop()
            self._path.pop()
            names = [self.part(at).name for at in range(len(self.boxes))]
            self.cursor = names.index(left.title) if left.title in names else 0
            self._lay_out()

    def on_click(self, event: events.Click) -> None:
        """Move to the box under the mouse; open it if the cursor is already there."""
        at = next((at for at, box in enumerate(self.boxes) if box.contains(event.x, event.y - 1)), None)
        if at is not None and at == self.cursor:
            self.action_open()
        elif at is not None:
            self.cursor = at

    def on_focus(self) -> None:
        self._post_chosen()

    def on_resize(self) -> None:
        self._work_out()
        if self.levels:
            self._lay_out()

    # Drawing

    def render_line(self, y: int) -> Strip:
        """The title, or the parts of the boxes on this line."""
        width = self.size.width
        if not self.levels:
            texts = "adding up what fills the context…" if y == 0 and self.shown is not None else ""
            return Strip([Segment(fit_cells(texts, width), self.rich_style)], width)
        level = self.levels[-1]
        if y == 0 and self.notice is not None:
            return Strip([Segment(fit_cells(f" {self.notice}", width), self.rich_style)], width)
        if y == 0:
            path = " › ".join([self.levels[0].title, *self._path])
            return Strip([Segment(fit_cells(f" {path}: {level.tokens:,} tokens", width), self.rich_style)], width)
        crossed = [(box.x, at) for at, box in enumerate(self.boxes) if box.y <= y - 1 < box.bottom]
        pieces = []
        for _, at in sorted(crossed):
            box, part = self.boxes[at], self.part(at)
            chosen = at == self.cursor
            style = self.get_component_rich_style(f"treemap--{part.state}")
            if chosen and self.has_focus:
                style += self.get_component_rich_style("treemap--cursor", partial=True)
            lines = self._pictures.get((at, chosen))
            if lines is None:
                lines = self._pictures[at, chosen] = box_lines(part, box.size, level.tokens, chosen)
            pieces.append(Segment(lines[y - 1 - box.y], style))
        return Strip(pieces).adjust_cell_length(width)


def box_lines(part: Part, size: Size, whole: int, chosen: bool) -> list[str]:
    """The lines of a box: name, states, tokens and text."""
    width, height = size
    states = ", ".join(state_words(state) for state, sign in SIGNS.items() if sign in part.signs)
    name, with_states = part.name, f"{part.name} ({states})" if states else part.name
    if len(with_states) <= width - 2:
        name, states = with_states, ""
    share = percent(part.tokens / max(whole, 1), 0)
    figures = f"{part.tokens:,} · {share}"
    left, bar, right, side, low, end = HEAVY if chosen else PLAIN
    if height < 3:
        edge = side if chosen else "▏"
        lines = [f"{name} {part.tokens:,}"] if height == 1 else [name, figures]
        return [edge + fit_cells(line, width - 1) for line in lines]
    inner = width - 2
    title = fit_cells(name, min(len(name), inner)) if inner > 0 else ""
    top = left + title + bar * (inner - len(fit_cells(title, inner).rstrip())) + right
    texts = [f" {figures}", *(f" {text}" for text in (states, part.about) if height > 3 and text)]
    body = [side + fit_cells(line, inner) + side for line in (*texts, *[""] * height)][: height - 2]
    return [fit_cells(top, width), *body, low + bar * inner + end]
