"""Dialogs on terminals of a few columns: nothing may be drawn outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.screen import ModalScreen
from textual.widget import Widget

from tui.small_app import SmallApp
from workbench.tui.widgets.chooser import Chooser, ChooserOption
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.report import ReportScreen
from workbench.tui.widgets.text_dialog import EditDialog, TextDialog

DIALOGS: dict[str, Callable[[], ModalScreen[Any]]] = {
    "confirm": lambda: ConfirmDialog("delete", "This deletes the session.", "delete it", "keep it"),
    "edit": lambda: EditDialog("edit", "some words"),
    "text": lambda: TextDialog("rename", "a title", "The session's title."),
    "choose": lambda: Chooser("which?", [ChooserOption("1", "the first"), ChooserOption("2", "the second")]),
    "report": lambda: ReportScreen("figures", [("tokens", "1,000"), ("turns", "2")]),
}


@pytest.mark.parametrize("name", DIALOGS)
async def test_a_dialog_is_never_wider_than_the_terminal(name: str) -> None:
    async with SmallApp().run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(DIALOGS[name]())
        for columns in (12, 5, 1):
            await pilot.resize_terminal(columns, 24)
            await pilot.pause()
            [box] = pilot.app.screen.children
            within = [each for each in pilot.app.screen.walk_children(Widget) if each.region.area]
            assert box in within
            assert not [(each, each.region) for each in within if each.region.right > columns]
