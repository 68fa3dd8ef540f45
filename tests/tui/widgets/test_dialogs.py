"""The buttons of a dialog do what their keys do."""

from __future__ import annotations

import pytest

from tui.small_app import SmallApp
from workbench.tui.widgets.buttons import ButtonLine
from workbench.tui.widgets.dialogs import ConfirmDialog


@pytest.mark.parametrize(("label", "answer"), [("n keep it", False), ("y delete it", True)])
async def test_a_click_on_a_button_gives_its_answer(label: str, answer: bool) -> None:
    answers: list[bool | None] = []
    async with SmallApp().run_test(size=(80, 24)) as pilot:
        dialog = ConfirmDialog("delete", "This deletes the session.", "delete it", "keep it")
        await pilot.app.push_screen(dialog, answers.append)
        line = dialog.query_one(ButtonLine)
        await pilot.click(ButtonLine, offset=(line.lines(80)[0].plain.index(label), 0))
        await pilot.pause()
    assert answers == [answer]
