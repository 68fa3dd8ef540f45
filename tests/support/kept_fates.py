"""What became of faults that were tried, in a file: a run that was cut short goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Literal, TypedDict

from support.code_mutants import CodeMutant

Fate = Literal["noticed", "hangs", "survived"]


class KeptFate(TypedDict):
    """How one attempt at a fault ended."""

    fate: Fate
    by: str
    """The test that noticed it."""
    digest: str
    """Of the file with the fault, and of the tests: of this one, or of all that were asked."""


class KeptFates:
    """The fates of faults, oldest first. One counts until its files change."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._lock = Lock()
        text = file.read_text(encoding="utf-8") if file and file.exists() else "{}"
        self._known: dict[str, list[KeptFate]] = json.loads(text)

    def known(self, project: Path, fault: CodeMutant, asked: Sequence[str]) -> KeptFate | None:
        """What became of it when the same files were as they are now."""
        for each in self._known.get(fault.key, ()):
            if each["digest"] == _digest(project, fault, [each["by"]] if each["by"] else asked):
                return each
        return None

    def was_tried(self, fault: CodeMutant) -> bool:
        """Whether anything is known of it, however its files were then."""
        return fault.key in self._known

    def has_hung(self, fault: CodeMutant) -> bool:
        """Whether the nearest tests once hung with it. Nobody knows which of them."""
        return any(each["fate"] == "hangs" for each in self._known.get(fault.key, ()))

    def noticed_by(self, fault: CodeMutant) -> list[str]:
        """The tests that noticed it before, the last first, whatever has changed since."""
        return list(dict.fromkeys(each["by"] for each in reversed(self._known.get(fault.key, [])) if each["by"]))

    def add(self, project: Path, fault: CodeMutant, asked: Sequence[str], fate: Fate, by: str) -> KeptFate:
        """Keep it at once."""
        kept = KeptFate(fate=fate, by=by, digest=_digest(project, fault, [by] if by else asked))
        with self._lock:
            self._known.setdefault(fault.key, []).append(kept)
            if self._file is not None:
                new = self._file.with_name(f"{self._file.name}.new")
                new.write_text(json.dumps(self._known, indent=1), encoding="utf-8")
                new.replace(self._file)
        return kept


def _digest(project: Path, fault: CodeMutant, tests: Sequence[str]) -> str:
    digest = sha256("\n".join([fault.key, *tests]).encode())
    for name in [fault.file, *sorted({each.partition("::")[0] for each in tests})]:
        file = project / name
        digest.update(file.read_bytes() if file.is_file() else b"")
    return digest.hexdigest()
