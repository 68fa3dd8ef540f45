"""The shape of a call of the program, for tests that make one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, Protocol


class Outcome(NamedTuple):
    """What a call left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Call(Protocol):
    """Run the program with these arguments."""

    def __call__(self, *arguments: str | Path) -> Outcome: ...
