"""Where one types to filter a list."""

from __future__ import annotations

from textual.widgets import Input


class FilterField(Input):
    """An input in which a question mark is help as long as nothing is typed: nobody looks for one."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether a key is text here."""
        return (character != "?" or bool(self.value)) and super().check_consume_key(key, character)
