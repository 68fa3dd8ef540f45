"""What a replay's figures depend on besides the session: the code, its tables, and the user's own models.

Two machines with the same stamp get the same figures. It is made from contents, not from dates or paths, so that
installations in different folders agree. A worker of a cluster with another stamp may count differently without a word.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import NamedTuple

from workbench.config.distribution import installed_version, litellm_version, package_folder
from workbench.config.errors import WorkbenchError
from workbench.config.settings import load_settings
from workbench.models.litellm_data import model_table

_KINDS = (".py", ".toml", ".md", ".json")
_SHORT = 12


class StrangeWorker(WorkbenchError):
    """A worker of a cluster has other code or tables. Its figures could not be compared with others."""


class CodeStamp(NamedTuple):
    """Hashes of the parts, so that a difference can be named."""

    version: str
    code: str
    """Of the package's own files."""
    table: str
    """Of litellm's table of models."""
    models: str
    """Of the user's own model and models, which may have other prices and windows."""

    def difference(self, other: CodeStamp) -> str:
        """In words, what is different on the other machine; empty if nothing is."""
        if self.code != other.code:
            return f"other code: {_named(other.version, other.code)}, here {_named(self.version, self.code)}"
        if self.table != other.table:
            return f"another table of models: {_named('litellm', other.table)}, here {_named('litellm', self.table)}"
        return "other models of its own in its settings" if self.models != other.models else ""


def _named(version: str, code: str) -> str:
    return f"{version} ({code})"


@cache
def own_stamp() -> CodeStamp:
    """The stamp of this process. It is made once: a worker does not notice that its files are replaced later."""
    settings = load_settings()
    own = sha256(repr((settings.model, settings.models)).encode()).hexdigest()[:_SHORT]
    return CodeStamp(installed_version(), *content_hashes(), own)


def stamp_difference(theirs: CodeStamp) -> str:
    """What is different here, in words for the machine with the other stamp; empty if nothing is."""
    return CodeStamp(*theirs).difference(own_stamp())


@cache
def content_hashes() -> tuple[str, str]:
    """Hashes of the code and of litellm's table. They take some tens of milliseconds, once per process."""
    folder, code = package_folder(), sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _KINDS and path.is_file()):
        code.update(f"{path.relative_to(folder).as_posix()}\0".encode())
        code.update(sha256(path.read_bytes()).digest())
    table = sha256(litellm_version().encode())
    found = model_table()
    if found is not None:
        table.update(found.read_bytes())
    return code.hexdigest()[:_SHORT], table.hexdigest()[:_SHORT]
