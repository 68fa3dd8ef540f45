"""The input that filters a list."""

from __future__ import annotations

from textual.widgets import Input


class FilterField(Input):
    """An input in which a question mark opens the help while it is empty."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return (character != "?" or bool(self.value)) and super().check_consume_key(key, character)
