"""Knobs in the lab: turned while the lines follow, used in the session, saved as a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from support.waiting import patiently
from tui.play import until
from tui.screens.lab_sample import choose, lab_of, replay, replayed, row
from tui.screens.looking import listed, seen, values
from workbench.context.policy_names import RECORDED
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.screens.lab import LabScreen
from workbench.tui.screens.lab_knobs import LabKnobs, step_knob
from workbench.tui.screens.policy_diff import PolicyDiffScreen
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.text_dialog import TextDialog

pytestmark = pytest.mark.usefixtures("project")


async def turn(pilot: Pilot[Any], lab: LabScreen, knob: str, value: str) -> LabKnobs:
    """Open the knobs of the marked policy and give one another value."""
    await pilot.press("e")
    await until(lambda: isinstance(pilot.app.screen, LabKnobs))
    editor = await listed(pilot)
    assert isinstance(editor, LabKnobs)
    editor.field.value = knob
    await pilot.pause()
    await listed(pilot)
    await pilot.press("enter")
    await until(lambda: pilot.app.screen is not editor)
    pilot.app.screen.query_one(Input).value = value
    await pilot.press("enter")
    await until(lambda: pilot.app.screen is editor)
    await until(lambda: f"{knob}={value}" in editor.change.knobs)
    await listed(pilot)
    return editor


async def turn_and_leave(pilot: Pilot[Any], lab: LabScreen) -> None:
    """A knob of `layers`, and back to the lab."""
    await choose(pilot, lab, "layers")
    await turn(pilot, lab, "masking.keep_last", "12")
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is lab)
    await until(lambda: "✎1" in row(lab, "layers"))
    await replayed(pilot, lab)


async def test_knobs_are_turned_saved_as_a_policy_and_used(reader: Services, tmp_path: Path) -> None:
    async with lab_of(reader) as (pilot, screen, lab):
        await what_was_sent_has_no_knobs(pilot, lab)
        await a_knob_is_turned_and_the_line_follows(pilot, screen, lab, reader)
        path = tmp_path / "config" / "policies" / "patient.toml"
        await what_was_turned_is_saved_as_a_policy_with_a_row_of_its_own(pilot, lab, reader, path)
        await what_was_turned_is_used_in_this_session(pilot, screen, lab)


async def a_knob_is_turned_and_the_line_follows(
    pilot: Pilot[Any], screen: MainScreen, lab: LabScreen, reader: Services
) -> None:
    await choose(pilot, lab, "layers")
    before = lab.plot.picture
    editor = await turn(pilot, lab, "masking.keep_last", "12")
    wide = replay(reader, "layers", "masking.keep_last=12")
    assert not wide.misses
    await until(lambda: "1 → 0 missed" in str(editor.box.border_subtitle))
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is lab)
    await replayed(pilot, lab)
    assert f"{wide.tokens:,}" in row(lab, "layers")
    assert "✎1" in row(lab, "layers")
    assert lab.plot.picture != before
    assert "masking.keep_last=12" in str(lab.box.border_subtitle)
    await pilot.press("minus")
    await replayed(pilot, lab)
    assert f"{replay(reader, 'layers', 'masking.keep_last=11').tokens:,}" in row(lab, "layers")
    await pilot.press("z")
    await replayed(pilot, lab)
    assert f"{replay(reader, 'layers').tokens:,}" in row(lab, "layers")
    assert screen.model.state.status.policy == "workbench", "nothing holds before it is used"


async def what_was_turned_is_used_in_this_session(pilot: Pilot[Any], screen: MainScreen, lab: LabScreen) -> None:
    await turn_and_leave(pilot, lab)
    await pilot.press("u")
    await until(lambda: pilot.app.screen is screen)
    await until(lambda: screen.model.state.status.policy == "layers")
    async with patiently():
        while "masking.keep_last=12" not in await screen.from_session(lambda opened: opened.knobs):
            await screen.model.settled()


async def what_was_turned_is_saved_as_a_policy_with_a_row_of_its_own(
    pilot: Pilot[Any], lab: LabScreen, reader: Services, path: Path
) -> None:
    await turn_and_leave(pilot, lab)
    await pilot.press("s")
    await until(lambda: pilot.app.screen is not lab)
    pilot.app.screen.query_one(Input).value = "patient"
    await pilot.press("enter")
    await until(path.exists)
    await until(lambda: str(path) in values(lab))
    await replayed(pilot, lab)
    assert "keep_last = 12" in path.read_text()
    assert lab.marked == str(path)
    assert f"{replay(reader, 'layers', 'masking.keep_last=12').tokens:,}" in row(lab, str(path))
    assert "✎" not in row(lab, "layers")


async def test_a_policy_that_is_saved_over_is_replayed_again_with_those_that_extend_it_and_used(
    reader: Services, tmp_path: Path
) -> None:
    folder = tmp_path / "config" / "policies"
    folder.mkdir(parents=True)
    mine, child = folder / "mine.toml", folder / "child.toml"
    mine.write_text('extends = "layers"\n[masking]\nkeep_last = 12\n')
    child.write_text('extends = "mine"\n')
    async with lab_of(reader, policy=str(mine)) as (pilot, screen, lab):
        before = replay(reader, str(mine))
        assert f"{before.tokens:,}" in row(lab, str(child))
        layers = lab._known.runs["layers"]
        await choose(pilot, lab, str(mine))
        await compared(pilot, lab, before.points[-1].tokens)
        await turn(pilot, lab, "masking.keep_last", "1")
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is lab)
        await replayed(pilot, lab)
        await save_over(pilot, lab)
        await until(lambda: "keep_last = 1\n" in mine.read_text())
        await seen(pilot, "u uses it in this session")
        await replayed(pilot, lab)
        after = replay(reader, str(mine))
        assert after.tokens != before.tokens
        for policy in (str(mine), str(child)):
            assert f"{after.tokens:,}" in row(lab, policy)
            assert "✎" not in row(lab, policy)
        assert lab._known.runs["layers"] is layers, "what the file does not change is kept"
        await compared(pilot, lab, after.points[-1].tokens)
        await pilot.press("u")
        await until(lambda: pilot.app.screen is screen)
        async with patiently():
            while await screen.from_session(lambda opened: opened.setup.loaded.policy.masking.keep_last) != 1:
                await screen.model.settled()


async def compared(pilot: Pilot[Any], lab: LabScreen, tokens: int) -> None:
    """The last request under the marked policy has so many tokens, item by item."""
    await pilot.press("enter")
    await until(lambda: isinstance(pilot.app.screen, PolicyDiffScreen))
    diff = await listed(pilot)
    await until(lambda: f"→ mine {tokens:,} tokens" in str(diff.box.border_title))
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is lab)


async def save_over(pilot: Pilot[Any], lab: LabScreen) -> None:
    """Save the marked policy under its own name."""
    await pilot.press("s")
    await until(lambda: isinstance(pilot.app.screen, TextDialog))
    await pilot.pause()
    await pilot.press("enter")
    await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
    await pilot.press("y")
    await until(lambda: pilot.app.screen is lab)


async def what_was_sent_has_no_knobs(pilot: Pilot[Any], lab: LabScreen) -> None:
    await choose(pilot, lab, RECORDED)
    for key in ("e", "plus", "s"):
        await pilot.press(key)
        assert pilot.app.screen is lab
    await seen(pilot, "recorded is what was sent: it has no knobs")


@pytest.mark.parametrize(
    ("knob", "by", "then"),
    [
        ("masking.keep_last=5", 1, "masking.keep_last=6"),
        ("masking.keep_last=0", -1, "masking.keep_last=0"),
        ("truncation.max_tokens=8000", -1, "truncation.max_tokens=7200"),
        ("compaction.threshold=0.7", 1, "compaction.threshold=0.75"),
        ("compaction.threshold=1.0", 1, "compaction.threshold=1"),
        ("turn.drop_groups=false", 1, "turn.drop_groups=true"),
        ('masking.scope="session"', 1, "masking.scope=turn"),
        ("masking.scope='session'", 1, "masking.scope=turn"),
        ("masking.keep_last = 3", 1, "masking.keep_last=4"),
        ("turn.drop_groups = true", 1, "turn.drop_groups=false"),
        ("compaction.preface='x'", 1, "compaction.preface='x'"),
    ],
)
def test_a_knob_is_turned_a_little(knob: str, by: int, then: str) -> None:
    assert step_knob(knob, by) == then
