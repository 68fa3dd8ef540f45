"""Text with its own wrapping: between buttons, and with a hanging indent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from workbench.config.text import printable
from workbench.tui.widgets.cells import wrapped_line


class WrappedLines(Widget):
    """A widget that wraps its lines itself; its height is their number. Without lines it is not seen."""

    def lines(self, width: int) -> Sequence[Content]:
        """The lines for a width."""
        raise NotImplementedError

    def render(self) -> Content:
        return Content("\n").join(self.lines(self.content_size.width)) if self.content_size.width else Content()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines(width))


class FigureTable(WrappedLines):
    """Names in one column, figures in the other; or a line that explains why there are none."""

    rows: reactive[Sequence[tuple[str, str]]] = reactive((), layout=True)
    note: reactive[Content] = reactive(Content(), layout=True)

    def lines(self, width: int) -> Sequence[Content]:
        """Long figures have a hanging indent."""
        wide = max((len(name) for name, _ in self.rows), default=0)
        found = [
            line
            for name, value in self.rows
            for line in hanging_lines(Content.styled(f"{name.ljust(wide)}  ", "bold"), printable(value), width)
        ]
        note = self.note.wrap(width) if self.note and width else []
        return [*found, *note]


def flow_pieces(pieces: Iterable[Content], width: int, between: str = " ") -> list[Content]:
    """Pieces side by side; one that does not fit starts another line."""
    lines: list[Content] = []
    for piece in pieces:
        longer = Content.assemble(lines[-1], between, piece) if lines else piece
        if lines and longer.cell_length <= width:
            lines[-1] = longer
        else:
            lines.append(piece)
    return lines


def hanging_lines(head: Content, text: str, width: int) -> Iterator[Content]:
    """A text after a head, wrapped so that all of it is to the right of the head."""
    indent = head.cell_length
    room = width - indent
    if room < 12:
        yield from (Content(piece) for piece in wrapped_line(f"{head.plain}{text}", max(width, 1)))
        return
    for number, piece in enumerate(wrapped_line(text, room)):
        yield Content.assemble(" " * indent if number else head, piece)
