"""The panes of the main screen: which are seen, how they share the room, and which has the focus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from textual import on
from textual.binding import Binding
from textual.getters import query_one
from textual.reactive import var
from textual.screen import Screen
from textual.widget import Widget

from workbench.tui.chat.pane import ChatPane
from workbench.tui.compaction.panel import CompactionPanel
from workbench.tui.inspector.pane import InspectorPane
from workbench.tui.main.layout import PaneLayout
from workbench.tui.main.lines import TabLine
from workbench.tui.messages import Jump
from workbench.tui.textual_patches import WorkerScreen
from workbench.tui.widgets.help import Keys
from workbench.tui.widgets.host import PaneName


class PaneScreen(WorkerScreen, Screen[None]):
    """Side by side, or one at a time; the focus comes back to where it was in each."""

    arrangement: var[PaneLayout] = var(PaneLayout())

    chat = query_one(ChatPane)
    inspector = query_one(InspectorPane)
    panel = query_one(CompactionPanel)

    def __init__(self) -> None:
        super().__init__()
        self._focused: dict[PaneName, Widget] = {}

    def on_mount(self) -> None:
        """To where one types."""
        self.focus_pane("chat")

    def panes(self) -> Iterator[tuple[PaneName, Widget]]:
        """The panes by name, in the order of their tabs."""
        yield "chat", self.chat
        yield "context", self.inspector
        yield "compaction", self.panel

    @property
    def active_pane(self) -> PaneName:
        """The pane that has the focus, or had it last."""
        return self.arrangement.active

    def active_keys(self) -> list[Keys]:
        """The keys of the panes, of whoever has them, for the help."""
        found: list[Keys] = []
        for name, pane in self.panes():
            bindings = [
                binding
                for widget in (pane, *pane.walk_children(Widget))
                for binding in type(widget).BINDINGS
                if isinstance(binding, Binding) and binding.id and binding.description
            ]
            if bindings:
                found.append(Keys(name, list(dict.fromkeys(bindings))))
        return found

    # What is shown

    def maximise(self) -> None:
        """The other panes follow the focus meanwhile."""
        self.arrangement = replace(self.arrangement, maximised=not self.arrangement.maximised)

    def hide(self, name: PaneName | None) -> None:
        """Hide a pane or bring it back; None: all beside the chat."""
        if name is None:
            self.arrangement = self.arrangement.toggled_side()
        else:
            self.arrangement = replace(self.arrangement.toggled(name), maximised=False)

    def resize(self, columns: int, lines: int) -> None:
        """Move the borders by so many steps: to the right, and down."""
        self.arrangement = self.arrangement.resized(columns, lines)

    @on(TabLine.Clicked)
    def _tab(self, message: TabLine.Clicked) -> None:
        self.focus_pane(message.pane)

    @on(Jump)
    def _jump(self, message: Jump) -> None:
        self.focus_pane("chat" if message.pane == "chat" else "context")
        pane = self.chat if message.pane == "chat" else self.inspector
        pane.show_event(message.seq)

    def watch_arrangement(self, arrangement: PaneLayout) -> None:
        """Show, hide and size the panes."""
        if self.is_mounted:
            self._lay_out()

    def on_resize(self) -> None:
        """A narrow terminal has room for one pane at a time."""
        self._lay_out()

    def _lay_out(self) -> None:
        arrangement = self.arrangement.fitted(self.size.width, self.size.height)
        visible = arrangement.visible
        for name, pane in self.panes():
            pane.display = name in visible
        self.query_one("#side").display = bool({"context", "compaction"} & visible)
        self.set_class(arrangement.tabs, "-tabs")
        self.chat.styles.width = f"{arrangement.chat_share}fr"
        self.query_one("#side").styles.width = f"{100 - arrangement.chat_share}fr"
        self.inspector.styles.height = f"{arrangement.context_share}fr"
        self.panel.styles.height = f"{100 - arrangement.context_share}fr"
        focused = self._pane_of(self.focused)
        if focused is None or focused not in visible:
            self._focus(arrangement.active)

    def _pane_of(self, widget: Widget | None) -> PaneName | None:
        """The pane that a widget is in."""
        for name, pane in self.panes():
            if widget is not None and pane in widget.ancestors_with_self:
                return name
        return None

    def on_descendant_focus(self) -> None:
        """Remember where the focus was in each pane; the tabs follow it."""
        name = self._pane_of(self.focused)
        if name is not None and self.focused is not None:
            self._focused[name] = self.focused
            if self.arrangement.active != name:
                self.arrangement = self.arrangement.with_active(name)

    def focus_pane(self, name: PaneName) -> None:
        """Show a pane and go there."""
        self.arrangement = self.arrangement.with_active(name)
        self._focus(name)

    def _focus(self, name: PaneName) -> None:
        last = self._focused.get(name)
        if last is not None and last.is_attached and last.focusable:
            last.focus()
        elif name == "chat":
            self.chat.take_focus()
        elif name == "context":
            self.inspector.take_focus()
        else:
            self.panel.take_focus()
