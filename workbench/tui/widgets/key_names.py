"""Names of keys as on a keyboard: `Ctrl+R`, `Page Up`, `Shift+F9`, `?`."""

from __future__ import annotations

from textual.keys import format_key

NAMES = {
    "pageup": "Page Up",
    "pagedown": "Page Down",
    "escape": "Esc",
    "enter": "Enter",
    "space": "Space",
    "backspace": "Backspace",
    "delete": "Delete",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
}


def key_name(key: str) -> str:
    """The name of a key with its modifiers."""
    *held, last = key.split("+") if key != "+" else [key]
    return "+".join([*(each.capitalize() for each in held), _name(last, bool(held))])


def key_names(keys: str) -> str:
    """The names of several keys, separated by commas as in a binding."""
    return " ".join(key_name(key.strip()) for key in keys.split(",") if key.strip()) if keys != "," else ","


def _name(key: str, is_held: bool) -> str:
    if key in NAMES:
        return NAMES[key]
    if len(key) == 1:
        return key.upper() if is_held else key
    sign = format_key(key)
    return sign if len(sign) == 1 else key.capitalize()
