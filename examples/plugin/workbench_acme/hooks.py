"""A hook: called after each tool of Workbench's own agent. It gets a dictionary of its own."""

from __future__ import annotations

from typing import Any


def after_tool(payload: dict[str, Any]) -> None:
    """Look at what happened. A `before_` hook may return `(False, "reason")` to refuse."""
