"""How the panes share the screen. Pure: the main screen asks, and sets what it is told."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.tui.widgets.host import PANES, PaneName

SPLIT_COLUMNS = 100
"""Columns that the panes need side by side."""
SPLIT_LINES = 28
"""Lines from which on all panes are shown, where the user has not chosen."""
SMALLEST, LARGEST = 20, 80
"""What a pane gets of the room at least and at most, in per cent."""
STEP = 5


@dataclass(frozen=True, slots=True)
class PaneLayout:
    """What the user chose, and what the terminal allows."""

    active: PaneName = "chat"
    """The pane with the focus; the one that is seen where one is shown at a time."""
    hidden: frozenset[PaneName] = frozenset()
    split: bool | None = None
    """Whether all panes are shown; None: as the terminal has room."""
    chat_share: int = 45
    """Per cent of the columns."""
    context_share: int = 68
    """Per cent of the lines beside the chat."""
    narrow: bool = False
    """Whether there is room for one pane at a time only."""

    @property
    def is_split(self) -> bool:
        """Whether more than one pane can be seen."""
        return bool(self.split) and not self.narrow

    @property
    def visible(self) -> frozenset[PaneName]:
        """The panes that are seen."""
        return frozenset(PANES) - self.hidden if self.is_split else frozenset({self.active})

    def fitted(self, width: int, height: int) -> PaneLayout:
        """For a terminal of this size; a low one has no room for two panes over each other."""
        split = height >= SPLIT_LINES if self.split is None else self.split
        low = height < 24 and self.active != "compaction"
        return replace(
            self, split=split, narrow=width < SPLIT_COLUMNS, hidden=self.hidden | {"compaction"} if low else self.hidden
        )

    def with_active(self, name: PaneName) -> PaneLayout:
        """Go to a pane; a hidden one comes back."""
        return replace(self, active=name, hidden=self.hidden - {name})

    def toggled(self, name: PaneName) -> PaneLayout:
        """Hide a pane, or bring it back. One always stays."""
        if name in self.hidden:
            return replace(self, hidden=self.hidden - {name})
        hidden = self.hidden | {name}
        left = [pane for pane in PANES if pane not in hidden]
        if not left:
            return self
        return replace(self, hidden=hidden, active=self.active if self.active in left else left[0])

    def toggled_side(self) -> PaneLayout:
        """Hide everything beside the chat, or bring it back."""
        side: frozenset[PaneName] = frozenset({"context", "compaction"})
        if side <= self.hidden:
            return replace(self, hidden=self.hidden - side)
        return replace(self, hidden=side, active="chat")

    def resized(self, columns: int, lines: int) -> PaneLayout:
        """Move the borders by so many steps: to the right, and down."""
        return self.shared(self.chat_share + columns * STEP, self.context_share + lines * STEP)

    def shared(self, chat: int, context: int) -> PaneLayout:
        """With the borders at these places, in per cent."""
        return replace(self, chat_share=_within(chat), context_share=_within(context))


def _within(share: int) -> int:
    return max(SMALLEST, min(LARGEST, share))
