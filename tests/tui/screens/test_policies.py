"""Policies: what each would do to this session, their knobs, and policies of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Input

from tui.play import ONE_PANE, main_screen, program, settle, shown, until
from tui.screens.looking import listed, look, narrowed, next_request, seen, values
from workbench.config.errors import Refused, WorkbenchError, WrongCall
from workbench.context import policy_files
from workbench.context.knobs import KNOBS
from workbench.context.load import load_policy, preset_names
from workbench.session.open_session import OpenSession
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send
from workbench.tui.screens.policy_editor import PolicyEditor
from workbench.tui.screens.what_if import policy_outcome, session_snapshot, what_if_setup
from workbench.tui.widgets.chooser import Chooser
from workbench.tui.widgets.text_dialog import TextDialog

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def services(many_results: Services) -> Services:
    """What all of these look at."""
    return many_results


async def test_policies_are_listed_compared_changed_saved_and_used(services: Services, tmp_path: Path) -> None:
    async with program(services, (140, 30)) as (pilot, screen):
        await the_list_has_all_policies_and_says_what_each_would_do_here(pilot, screen)
        await leave(pilot, screen)
        await the_lab_has_a_row_for_each_and_its_figures_are_those_of_the_plan(pilot, screen, services)
        await go_on_under_workbench(pilot, screen)
        await a_knob_for_one_tool_can_be_added(pilot, screen)
        await leave(pilot, screen)
        await pilot.resize_terminal(*ONE_PANE)
        await every_knob_is_told_with_value_default_range_and_origin(pilot, screen)
        await what_is_wrong_is_told_in_place_and_what_is_right_shows_its_effect(pilot, screen)
        await leave(pilot, screen)
        await a_policy_is_saved_used_and_changed_again(pilot, screen, tmp_path / "config" / "policies" / "brief.toml")
        await enter_goes_on_under_the_marked_one(pilot, screen)
        await go_on_under_workbench(pilot, screen)
        await a_knob_with_few_values_is_chosen_from_them_and_used_in_this_session(pilot, screen)


async def leave(pilot: Pilot[Any], screen: MainScreen) -> None:
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is screen)


async def go_on_under_workbench(pilot: Pilot[Any], screen: MainScreen) -> None:
    screen.send_or_run(Send("/policy workbench"))
    await until(lambda: screen.model.state.status.policy == "workbench")
    await settle(pilot)


async def the_list_has_all_policies_and_says_what_each_would_do_here(pilot: Pilot[Any], screen: MainScreen) -> None:
    finder = await look(pilot, screen, "policy")
    names = [Path(value).stem for value in values(finder)]
    assert names == [*preset_names(), "mine", "torn"]
    now = screen.model.state.status.tokens
    await seen(pilot, "● workbench", f"{now:,} tokens", "broken:", "mine alone")
    await narrowed(pilot, "layers")
    await seen(pilot, "masking.keep_last", "under workbench")
    await narrowed(pilot, "torn")
    await seen(pilot, "expected TOML")


async def enter_goes_on_under_the_marked_one(pilot: Pilot[Any], screen: MainScreen) -> None:
    await look(pilot, screen, "policy")
    await narrowed(pilot, "codex")
    await pilot.press("enter")
    await until(lambda: screen.model.state.status.policy == "codex")


async def the_lab_has_a_row_for_each_and_its_figures_are_those_of_the_plan(
    pilot: Pilot[Any], screen: MainScreen, services: Services
) -> None:
    finder = await next_request(pilot, screen)
    asked = await screen.from_session(session_snapshot)
    for ref in preset_names():
        made = policy_outcome(what_if_setup(services, screen.options, asked, ref, ()), asked, ref)
        row = next(str(option.prompt) for option in finder.found.options if option.id == ref)
        assert f"{made.tokens:,}" in row, row
        assert str(made.states.get("truncated", 0)) in row.split()
    assert "broken" in str(finder.found.options[-1].prompt)
    await seen(pilot, "tokens, as under workbench", "if nothing were left out", "t truncated")
    assert values(await narrowed(pilot, "codex")) == ["codex"]
    await seen(pilot, "fewer than workbench")
    await pilot.press("enter")
    await until(lambda: screen.model.state.status.policy == "codex")


# The editor


async def change(pilot: Pilot[Any], knob: str, value: str) -> None:
    """Give a knob another value."""
    await narrowed(pilot, knob)
    await pilot.press("enter")
    await until(lambda: isinstance(pilot.app.screen, TextDialog | Chooser))
    await pilot.pause()
    pilot.app.screen.query_one(Input).value = value
    await pilot.pause()
    await pilot.press("enter")
    await pilot.pause()


async def every_knob_is_told_with_value_default_range_and_origin(pilot: Pilot[Any], screen: MainScreen) -> None:
    finder = await look(pilot, screen, "knobs")
    assert values(finder) == list(KNOBS)
    await narrowed(pilot, "masking.keep_first")
    await seen(pilot, "value    2", "default  0", "a whole number from 0 up", "preset workbench", "this session: ")


async def what_is_wrong_is_told_in_place_and_what_is_right_shows_its_effect(
    pilot: Pilot[Any], screen: MainScreen
) -> None:
    now = screen.model.state.status.tokens
    await change(pilot, "truncation.max_tokens", "many")
    await seen(pilot, "expected a whole number")
    pilot.app.screen.query_one(Input).value = "100"
    await pilot.press("enter")
    await listed(pilot)
    await seen(pilot, "✎ truncation.max_tokens", "not in use yet", "policy workbench (changed)")
    await until(lambda: f"{now:,} → " in shown(pilot.app) and f"{now:,} → {now:,}" not in shown(pilot.app))
    assert screen.model.state.status.tokens == now
    await pilot.press("ctrl+z")
    await until(lambda: "✎" not in shown(pilot.app))
    await pilot.press("ctrl+z")
    await seen(pilot, "This knob was not changed here")


async def a_knob_with_few_values_is_chosen_from_them_and_used_in_this_session(
    pilot: Pilot[Any], screen: MainScreen
) -> None:
    def knobs(opened: OpenSession) -> tuple[str, ...]:
        return opened.knobs

    before = screen.model.state.status.tokens
    await look(pilot, screen, "knobs", "codex")
    await the_value_that_it_has_is_no_change(pilot, "truncation.strategy")
    await change(pilot, "truncation.strategy", "head")
    await listed(pilot)
    await change(pilot, "truncation.max_tokens", "120")
    await listed(pilot)
    await pilot.press("ctrl+u")
    await until(lambda: pilot.app.screen is main_screen(pilot.app))
    await until(lambda: screen.model.state.status.policy == "codex")
    await settle(pilot)
    assert set(await screen.from_session(knobs)) == {"truncation.strategy=head", "truncation.max_tokens=120"}
    assert screen.model.state.status.tokens < before


async def the_value_that_it_has_is_no_change(pilot: Pilot[Any], knob: str) -> None:
    await change(pilot, knob, "now")  # the note next to it, by which the list finds it
    editor = await listed(pilot)
    assert isinstance(editor, PolicyEditor)
    assert editor.change.knobs == ()


async def a_knob_for_one_tool_can_be_added(pilot: Pilot[Any], screen: MainScreen) -> None:
    await look(pilot, screen, "knobs")
    await pilot.press("ctrl+n")
    await until(lambda: isinstance(pilot.app.screen, TextDialog))
    await pilot.pause()
    for text, complaint in (
        ("nonsense", "expected KNOB=VALUE"),
        ("masking.nope=1", "no such knob"),
        ("truncation.tools.read_file.max_tokens=x", "expected a whole number"),
    ):
        pilot.app.screen.query_one(Input).value = text
        await pilot.press("enter")
        await seen(pilot, complaint)
    pilot.app.screen.query_one(Input).value = "truncation.tools.read_file.max_tokens=90"
    await pilot.press("enter")
    await narrowed(pilot, "tools.read_file")
    await seen(pilot, "✎ truncation.tools.read_file.max_tokens", "for this tool alone")


async def a_policy_is_saved_used_and_changed_again(pilot: Pilot[Any], screen: MainScreen, path: Path) -> None:
    async def save(pilot: Pilot[Any], name: str) -> None:
        await listed(pilot)
        await pilot.press("ctrl+s")
        await until(lambda: isinstance(pilot.app.screen, TextDialog))
        await pilot.pause()
        if name:
            pilot.app.screen.query_one(Input).value = name
        await pilot.press("enter")
        await pilot.pause()

    await look(pilot, screen, "policy")
    await narrowed(pilot, "layers")
    await pilot.press("ctrl+e")
    await listed(pilot)
    await change(pilot, "truncation.max_tokens", "100")
    await save(pilot, "codex")
    await seen(pilot, "codex: is a preset; expected another name")
    pilot.app.screen.query_one(Input).value = "brief"
    await pilot.press("enter")
    await until(path.exists)
    assert load_policy(str(path)).policy.truncation.max_tokens == 100
    assert load_policy(str(path)).policy.masking == load_policy("layers").policy.masking
    await listed(pilot)
    await change(pilot, "masking.keep_last", "7")
    await save(pilot, "")  # under the name it has
    await seen(pilot, "already exists. Replace it?")
    await pilot.press("n")
    assert load_policy(str(path)).policy.masking.keep_last == 5
    await save(pilot, "")
    await pilot.press("y")
    await until(lambda: load_policy(str(path)).policy.masking.keep_last == 7)
    assert load_policy(str(path)).policy.truncation.max_tokens == 100
    await listed(pilot)
    await pilot.press("ctrl+u")
    await until(lambda: screen.model.state.status.policy == str(path))


@given(st.sampled_from(preset_names()), st.sampled_from([name for name, knob in KNOBS.items() if knob.kind == "int"]))
def test_a_saved_policy_is_read_back_as_it_was_meant(preset: str, knob: str) -> None:
    section, key = knob.split(".")
    value = max(int(KNOBS[knob].low), 3)
    path = policy_files.policy_path("saved")
    path.unlink(missing_ok=True)
    try:
        policy_files.save_policy("saved", preset, {knob: value})
    except WrongCall:  # a value that contradicts the preset's others; then nothing is left behind
        assert not path.exists()
        return
    assert getattr(getattr(load_policy("saved", env={}).policy, section), key) == value


def test_comments_and_order_stay_when_a_knob_is_changed() -> None:
    path = policy_files.policy_path("mine")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("""# why
extends = "layers"  # the base
"masking.keep_first" = 2 # whole
[truncation]
max_tokens = 50 # short

# tools
[truncation.tools."a.b"]
max_tokens = 60
[history] # last
""")
    knobs = {"truncation.max_tokens": 70, "truncation.tools.a.b.max_tokens": 80, "truncation.tools.c.max_tokens": 90}
    policy_files.save_policy("mine", str(path), {**knobs, "masking.keep_first": 3, "masking.keep_last": 4}, over=True)
    written = path.read_text().splitlines()
    assert "[history] # last" in written
    assert written[:9] == [
        "# why",
        'extends = "layers"  # the base',
        '"masking.keep_first" = 3 # whole',
        "[truncation]",
        "max_tokens = 70 # short",
        "",
        "# tools",
        '[truncation.tools."a.b"]',
        "max_tokens = 80",
    ]
    policy = load_policy("mine").policy
    assert (policy.masking.keep_first, policy.masking.keep_last) == (3, 4)
    assert policy.truncation.tools["c"].max_tokens == 90


def test_a_file_that_is_there_is_not_replaced_unless_that_is_meant_and_a_bad_one_never_stays() -> None:
    path = policy_files.save_policy("mine", "layers", {"masking.keep_last": 4, "truncation.tools.a.b.max_tokens": 50})
    with pytest.raises(Refused, match="already exists"):
        policy_files.save_policy("mine", "layers", {})
    before = path.read_bytes()
    with pytest.raises(WorkbenchError):
        policy_files.save_policy("mine", "nowhere", {}, over=True)
    assert path.read_bytes() == before
    assert load_policy("mine").policy.truncation.tools["a.b"].max_tokens == 50
    for name in ("", "../x", "a b", "layers"):
        with pytest.raises(WrongCall):
            policy_files.policy_path(name)
