"""Keys as they are called on a keyboard."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.tui.widgets.key_names import key_name, key_names


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ("ctrl+r", "Ctrl+R"),
        ("pageup", "Page Up"),
        ("enter", "Enter"),
        ("left", "←"),
        ("shift+f9", "Shift+F9"),
        ("alt+up", "Alt+↑"),
        ("ctrl+shift+z", "Ctrl+Shift+Z"),
        ("question_mark", "?"),
        ("?", "?"),
        ("slash", "/"),
        ("plus", "+"),
        ("+", "+"),
        ("full_stop", "."),
        ("comma", ","),
        ("left_square_bracket", "["),
        ("right_curly_bracket", "}"),
        ("backslash", "\\\\"[:1]),
        ("g", "g"),
        ("G", "G"),
        ("escape", "Esc"),
        ("space", "Space"),
        ("home", "Home"),
        ("f1", "F1"),
    ],
)
def test_a_key_has_the_name_that_is_printed_on_it(keys: str, named: str) -> None:
    assert key_name(keys) == named


def test_several_keys_stand_side_by_side() -> None:
    assert key_names("escape,q") == "Esc q"
    assert key_names("") == ""


@given(st.text())
def test_any_text_of_a_keymap_has_a_name(keys: str) -> None:
    assert isinstance(key_names(keys), str)
