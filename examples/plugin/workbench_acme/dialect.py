"""A dialect: Acme's service takes OpenAI's chat completions at a path of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from workbench.plugins import ChatDialect, ProviderHome


class AcmeDialect(ChatDialect):
    """Only what is different is written here; a dialect of another form derives from `Dialect`."""

    name = "acme"
    title = "Acme"
    provider = ProviderHome("acme", "https://llm.acme.example/api", ("ACME_BASE_URL",))
    path = "/acme/talk"
    ends: ClassVar[Mapping[str, str]] = {"/acme/talk": ""}

    def recognises_body(self, body: dict[str, object]) -> bool:
        """Bodies are OpenAI's own; only the path shows the difference."""
        return False

    def recognises_request(self, body: dict[str, object], answered: bool) -> bool:
        """The same in logs of requests."""
        return False
