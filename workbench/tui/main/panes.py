"""The panes of the main screen: which are visible, how they share the room, and which has the focus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from textual import events, on
from textual.binding import Binding
from textual.getters import query_one
from textual.reactive import var
from textual.screen import Screen
from textual.widget import Widget

from workbench.config.errors import Refused
from workbench.config.values import replace
from workbench.tui.chat.pane import ChatPane
from workbench.tui.compaction.panel import CompactionPanel
from workbench.tui.inspector.pane import InspectorPane
from workbench.tui.main.layout import COMPACTION_LINES, SPLIT_COLUMNS, PaneLayout
from workbench.tui.main.timeline import HINTS, Timeline
from workbench.tui.messages import HintsChanged, Jump, MarkEvent
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.help import PaneKeys
from workbench.tui.widgets.hints import Hints, chosen_names, hints_with_user_keys, key_hints
from workbench.tui.widgets.main_screen_api import PANES, PaneName

LOW = 28
"""Below this height, the legend of the bar is hidden, unless the context is the active pane."""


MARK_SECONDS = 0.06
"""The delay before a pane marks the event that is selected in another."""


def _bindings(pane: Widget) -> list[Binding]:
    """The bindings of a pane and of its widgets."""
    widgets = (pane, *pane.walk_children(Widget))
    found = (binding for widget in widgets for binding in type(widget).BINDINGS)
    ours = (each for each in found if isinstance(each, Binding) and each.id and each.description)
    return list(dict.fromkeys(ours))


class PaneScreen(Screen[None]):
    """Panes one at a time or side by side; each pane remembers where its focus was."""

    arrangement: var[PaneLayout] = var(PaneLayout())
    """The layout that the user chose."""
    fitted: var[PaneLayout] = var(PaneLayout())
    """The layout for the current terminal size."""

    chat = query_one(ChatPane)
    inspector = query_one(InspectorPane)
    panel = query_one(CompactionPanel)
    timeline = query_one(Timeline)

    def __init__(self) -> None:
        super().__init__()
        self.own_keys: Mapping[str, str] = {}
        """The user's own keys, by binding id."""
        self._focused: dict[PaneName, Widget] = {}
        self._dragged: Literal["", "columns", "lines"] = ""
        self._to_mark: MarkEvent | None = None
        """The event that the other pane will mark."""

    def on_mount(self) -> None:
        """Focus the composer."""
        for name, pane in self.panes():
            pane.border_title = one_line(name.capitalize())
        self.focus_pane("chat")
        self._lay_out(is_styled=False)

    def panes(self) -> Iterator[tuple[PaneName, ChatPane | InspectorPane | CompactionPanel]]:
        """The panes by name, in the order of their keys."""
        yield "chat", self.chat
        yield "context", self.inspector
        yield "compaction", self.panel

    @property
    def active_pane(self) -> PaneName:
        return self.arrangement.active

    def active_keys(self) -> list[PaneKeys]:
        """The keys of all panes, for the help."""
        named = (*self.panes(), ("timeline", self.timeline))
        return [PaneKeys(name, found) for name, pane in named if (found := _bindings(pane))]

    # What is shown

    def toggle_split(self) -> bool:
        self._check_width()
        self.arrangement = replace(self.arrangement, split=not self.fitted.split)
        return self.fitted.is_split

    def hide(self, name: PaneName | None) -> None:
        self._check_width()
        shown = replace(self.arrangement, split=True)
        if name is None:
            self.arrangement = replace(shown, hidden=frozenset(PANES) - self.fitted.visible).toggled_side()
            return
        if name == "compaction" and self.fitted.low and shown.active != name:
            raise Refused(f"the compaction next to other panes needs {COMPACTION_LINES} lines; F4 goes there")
        self.arrangement = shown.toggled(name)

    def _check_width(self) -> None:
        """Raise Refused if there is room for only one pane."""
        if self.fitted.narrow:
            raise Refused(
                f"all panes side by side need {SPLIT_COLUMNS} columns; F2, F3 and F4 go from one to the other"
            )

    def resize(self, columns: int, lines: int) -> None:
        self.arrangement = self.arrangement.resized(columns, lines)

    @on(Timeline.SearchWanted)
    def _search(self) -> None:
        self.focus_pane("context")
        self.inspector.search()

    @on(Jump)
    def _jump(self, message: Jump) -> None:
        self.focus_pane("chat" if message.pane == "chat" else "context")
        pane = self.chat if message.pane == "chat" else self.inspector
        pane.show_event(message.seq)

    @on(MarkEvent)
    def _follow(self, message: MarkEvent) -> None:
        """Mark the event in the other pane a little later, so that a held key stays fast."""
        if self._to_mark is None:
            self.set_timer(MARK_SECONDS, self._mark_in_other_pane)
        self._to_mark = message

    def _mark_in_other_pane(self) -> None:
        message, self._to_mark = self._to_mark, None
        if message is not None:
            (self.chat if message.pane == "chat" else self.inspector).mark_event(message.seq)

    def watch_arrangement(self, arrangement: PaneLayout) -> None:
        """Show, hide and size the panes."""
        if self.is_mounted:
            self._lay_out()

    def on_resize(self) -> None:
        self._lay_out()

    def _lay_out(self, *, is_styled: bool = True) -> None:
        """Arrange the panes. Before the first frame, when nothing `is_styled` yet, the styles follow anyway."""
        width, height = self.app.size
        fitted = self.fitted = self.arrangement.fitted(width, height)
        visible = fitted.visible
        for name, pane in self.panes():
            pane.display = name in visible
        self.query_one("#side").display = bool({"context", "compaction"} & visible)
        is_low = height < LOW and not (fitted.active == "context" and not fitted.is_split)
        self.update_classes({"-single": not fitted.is_split, "-low": is_low}, update=is_styled)
        self.chat.styles.width = f"{fitted.chat_share}fr"
        self.query_one("#side").styles.width = f"{100 - fitted.chat_share}fr"
        self.inspector.styles.height = f"{fitted.context_share}fr"
        self.panel.styles.height = f"{100 - fitted.context_share}fr"
        focused = self._pane_of(self.focused)
        if self.focused is not self.timeline and (focused is None or focused not in visible):
            self._focus(fitted.active)
        self.call_after_refresh(self.show_hints)

    # Dragging the borders between the panes

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Start to drag a border."""
        side = self.query_one("#side").region
        x, y = event.screen_x, event.screen_y
        if not self.fitted.is_split or not side.contains(side.x, y):
            return
        if self.chat.display and x in (side.x - 1, side.x):
            self._dragged = "columns"
        elif side.contains(x, y) and self.inspector.display and y in (self.panel.region.y - 1, self.panel.region.y):
            self._dragged = "lines" if self.panel.display else ""
        if self._dragged:
            event.stop()
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if not self._dragged:
            return
        panes, side = self.query_one("#panes").region, self.query_one("#side").region
        shares = self.arrangement.chat_share, self.arrangement.context_share
        if self._dragged == "columns":
            shares = round(100 * (event.screen_x - panes.x) / max(1, panes.width)), shares[1]
        else:
            shares = shares[0], round(100 * (event.screen_y - side.y) / max(1, side.height))
        self.arrangement = self.arrangement.shared(*shares)

    def on_mouse_up(self) -> None:
        if self._dragged:
            self._dragged = ""
            self.release_mouse()

    # Focus

    def _pane_of(self, widget: Widget | None) -> PaneName | None:
        for name, pane in self.panes():
            if widget is not None and pane in widget.ancestors_with_self:
                return name
        return None

    def on_descendant_focus(self) -> None:
        """Remember the focus of each pane, and update header and hints."""
        name = self._pane_of(self.focused)
        if name is not None and self.focused is not None:
            self._focused[name] = self.focused
            if self.arrangement.active != name:
                self.arrangement = self.arrangement.with_active(name)
        self.show_hints()

    @on(HintsChanged)
    def show_hints(self) -> None:
        """Show the keys of the focused pane, or of the timeline, in its lower border."""
        on_timeline = self.focused is self.timeline
        active = self.arrangement.active if on_timeline else self._pane_of(self.focused)
        for name, pane in self.panes():
            hints = () if name != active else HINTS if on_timeline else pane.hints()
            pane.border_subtitle = key_hints(hints, pane.size.width - 4, self._renamed(pane))

    def _renamed(self, pane: Widget) -> dict[str, str]:
        return chosen_names((*type(self).BINDINGS, *_bindings(pane)), self.own_keys) if self.own_keys else {}

    def hints_here(self) -> Hints:
        """The most important keys of the focused pane, with the user's own keys."""
        pane = dict(self.panes())[self.active_pane]
        return hints_with_user_keys(pane.hints(), self._renamed(pane))

    def focus_pane(self, name: PaneName) -> None:
        """Show and focus a pane; in the chat, always the composer."""
        self.arrangement = self.arrangement.with_active(name)
        if name == "chat":
            self.chat.take_focus()
        else:
            self._focus(name)

    def _focus(self, name: PaneName) -> None:
        last = self._focused.get(name)
        if last is not None and last.is_attached and last.focusable:
            last.focus()
        else:
            dict(self.panes())[name].take_focus()
