"""How the panes share the screen, as pure values that the main screen applies."""

from __future__ import annotations

from msgspec import Struct

from workbench.config.values import replace
from workbench.tui.widgets.main_screen_api import PANES, PaneName

SPLIT_COLUMNS = 100
"""The least width for panes side by side."""
SPLIT_LINES = 28
"""From this height on, all panes are shown by default."""
COMPACTION_LINES = 24
"""The least height for the compaction next to other panes, unless it is the active one."""
SMALLEST, LARGEST = 20, 80
"""The least and the largest share of a pane, in per cent."""
STEP = 5


class PaneLayout(Struct, frozen=True):
    """The user's choice, and what fits on the terminal."""

    active: PaneName = "chat"
    """The focused pane; the only visible one if they are not split."""
    hidden: frozenset[PaneName] = frozenset()
    split: bool | None = None
    """Whether all panes are shown; None: if the terminal is large enough."""
    chat_share: int = 45
    """The chat's share of the columns, in per cent."""
    context_share: int = 68
    """The context's share of the lines next to the chat, in per cent."""
    narrow: bool = False
    """Whether there is room for only one pane."""
    low: bool = False
    """Whether there is room for the compaction only while it is the active pane."""

    @property
    def is_split(self) -> bool:
        """Whether more than one pane is visible."""
        return bool(self.split) and not self.narrow

    @property
    def visible(self) -> frozenset[PaneName]:
        return frozenset(PANES) - self.hidden if self.is_split else frozenset({self.active})

    def fitted(self, width: int, height: int) -> PaneLayout:
        """The layout for a terminal of this size. A low one shows the compaction only while that is active."""
        split = height >= SPLIT_LINES if self.split is None else self.split
        low = height < COMPACTION_LINES
        too_low: frozenset[PaneName] = frozenset({"compaction"} if low and self.active != "compaction" else ())
        return replace(self, split=split, narrow=width < SPLIT_COLUMNS, low=low, hidden=self.hidden | too_low)

    def with_active(self, name: PaneName) -> PaneLayout:
        """The layout with another active pane, which is shown if it was hidden."""
        return replace(self, active=name, hidden=self.hidden - {name})

    def toggled(self, name: PaneName) -> PaneLayout:
        """The layout with a pane hidden or shown. One pane always stays."""
        if name in self.hidden:
            return replace(self, hidden=self.hidden - {name})
        hidden = self.hidden | {name}
        left = [pane for pane in PANES if pane not in hidden]
        if not left:
            return self
        return replace(self, hidden=hidden, active=self.active if self.active in left else left[0])

    def toggled_side(self) -> PaneLayout:
        """The layout with everything next to the chat hidden or shown."""
        side: frozenset[PaneName] = frozenset({"context", "compaction"})
        if side <= self.hidden:
            return replace(self, hidden=self.hidden - side)
        return replace(self, hidden=side, active="chat")

    def resized(self, columns: int, lines: int) -> PaneLayout:
        """The layout with the borders moved by a number of steps to the right and down."""
        return self.shared(self.chat_share + columns * STEP, self.context_share + lines * STEP)

    def shared(self, chat: int, context: int) -> PaneLayout:
        """The layout with these shares, in per cent."""
        return replace(self, chat_share=_within(chat), context_share=_within(context))


def _within(share: int) -> int:
    return max(SMALLEST, min(LARGEST, share))
