"""The help overlay: keys from the bindings themselves, states and their signs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.context.items import SIGNS

STATES = {
    "sent": "whole, as it was said",
    "truncated": "a part of it, with a marker that says so",
    "masked": "a marker in place of a tool's result",
    "summarised": "a summary stands for it",
    "dropped": "left out, because there was no room",
    "excluded": "left out, because you said so",
    "aside": "never sent: thinking, usage, snapshots",
}
KEYS = {"question_mark": "?", "pageup": "page up", "pagedown": "page down"}


class Help(ModalScreen[None]):
    """Which keys there are, and what the letters mean."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,enter", "dismiss", "close this help")]

    def __init__(self, bindings: Iterable[BindingType]) -> None:
        super().__init__()
        self._keys = list(bindings)

    def compose(self) -> ComposeResult:
        """One text that scrolls where the terminal is low."""
        with VerticalScroll() as page:
            page.border_title = "help"
            page.border_subtitle = "escape closes"
            yield Static(self._content())

    def _content(self) -> Content:
        bindings = [binding for binding in self._keys if isinstance(binding, Binding)]
        keys = [(_keys(binding.key), binding.description) for binding in bindings]
        wide = max(len(key) for key, _ in keys)
        lines = [Content.styled("Keys", "bold $primary")]
        lines += [Content.assemble((key.ljust(wide), "bold"), f"  {text}") for key, text in keys]
        lines += [Content(""), Content.styled("States", "bold $primary")]
        for state, sign in SIGNS.items():
            lines.append(Content.assemble((f"{sign} {state:<{wide - 2}}", f"$state-{state}"), f"  {STATES[state]}"))
        lines += [
            Content(""),
            Content.assemble(("⚑".ljust(wide), "$accent"), "  pinned: passes every stage untouched"),
            Content.assemble(("~".ljust(wide), "bold"), "  before a number: approximate"),
            Content.assemble(("share".ljust(wide), "bold"), "  the row's part of the whole request"),
        ]
        return Content("\n").join(lines)


def _keys(keys: str) -> str:
    return ", ".join(KEYS.get(key, key) for key in keys.split(","))
