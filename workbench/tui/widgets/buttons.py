"""Buttons in a line, each with its key. They wrap over several lines, which Textual's buttons do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content
from textual.events import Click
from textual.reactive import reactive
from textual.style import Style

from workbench.tui.widgets.key_names import key_name
from workbench.tui.widgets.wrapped_lines import WrappedLines, flow_pieces


class Button(NamedTuple):
    key: str
    """The key as Textual names it in a `Binding`, for example `ctrl+s`."""
    action: str
    """What a click does: an action of the screen, as in a `Binding`."""
    label: str


class ButtonLine(WrappedLines):
    """A line of buttons. The keys are bound by the screen that contains the line."""

    buttons: reactive[tuple[Button, ...]] = reactive((), layout=True)

    def lines(self, width: int) -> Sequence[Content]:
        return flow_pieces(map(_drawn, self.buttons), width)

    async def on_click(self, event: Click) -> None:
        """Press the button under the mouse."""
        action = event.style.meta.get("button")
        if isinstance(action, str):
            event.stop()
            await self.screen.run_action(action)


def _drawn(button: Button) -> Content:
    made = Content.assemble((f" {key_name(button.key)}", "bold $accent"), f" {button.label} ")
    return made.stylize(Style.from_meta({"button": button.action})).stylize_before("on $surface")
