"""The names of the policies that come with the program."""

from __future__ import annotations

DEFAULT = "workbench"
RECORDED = "recorded"
"""The policy of what was sent. No knob of the user changes it, unless set for one call."""
PRESETS = ("workbench", "codex", "layers", "sliding", "window", "confirm", RECORDED)
